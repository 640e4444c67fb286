"""What a page alone asks: images, a segment's last form, lost outputs, what a prompt may name, an inspector's questions."""

import asyncio
import os
from typing import Any, Literal

from pydantic import Field

from palimpsest.frontends.operations.operation import Desk, DrawnText, Operation, WithContent
from palimpsest.frontends.protocol.segments import TurnSegment
from palimpsest.frontends.turn_output.closed_segment import closed_bundle
from palimpsest.frontends.turn_output.restored_outputs import turn_outputs
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.review.timeline_view.view_queries import ViewAnswer, ViewQuery
from palimpsest.session.prompts.pasted_files import PastedFile
from palimpsest.transcript.context_values.prompt_mentions import MentionList, MentionPreview
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.values import Value

NOTHING_TO_INSPECT = "This notebook has no session yet. Ask the agent, then inspect it."


class Image(Value):
    """An image."""

    image: str
    """A ``data:`` URL, small enough for a page."""


class ShowImage(Operation):
    """Show an image of the session that its log keeps as a blob."""

    type: Literal["image"] = "image"
    session: str | None = None
    url: str = Field(max_length=200)
    """The URL of the attachment: ``blob:`` and a hash."""

    async def run(self, at: Desk) -> Image:
        session = await at.find(self.session)
        return Image(image=await asyncio.to_thread(session.picture, self.url))


class CloseSegment(TurnSegment, Operation):
    """Build the final output of a segment that its cell did not get, since the page was reloaded."""

    type: Literal["close"] = "close"

    async def run(self, at: Desk) -> DrawnText:
        session = await at.find(self.session)

        def close() -> dict[str, Any]:
            notes = OutlineNotes.of(session.records_after(max(self.first_seq - 1, 0)))
            return closed_bundle(
                self, session.snapshot(), notes, scrubber(os.environ), session.density
            )

        return DrawnText(bundle=await asyncio.to_thread(close))


class RecreatedOutputs(Value):
    """The outputs of a turn's cell, as a notebook saves them."""

    outputs: tuple[dict[str, Any], ...]


class RecreateOutputs(Operation):
    """Build the outputs of a turn's cell again, where the notebook no longer has them."""

    type: Literal["recreate-outputs"] = "recreate-outputs"
    session: str
    turn: str

    async def run(self, at: Desk) -> RecreatedOutputs:
        session = await at.find(self.session)
        made = await asyncio.to_thread(
            lambda: turn_outputs(
                session.id,
                self.turn,
                session.snapshot(),
                session.records_after(0),
                scrub=scrubber(os.environ),
                picture=session.picture,
                density=session.density,
            )
        )
        return RecreatedOutputs(outputs=made)


class ListMentions(Operation):
    """List what a prompt may name: the newest error, variables, cells, outputs and files."""

    type: Literal["mentions"] = "mentions"
    session: str | None = None
    agent: str | None = None
    """The agent that would answer, since rules may be its own; None means the session's."""
    query: str = ""
    """Letters of a file's path; the other kinds are listed whole, and the page chooses among them."""

    async def run(self, at: Desk) -> MentionList:
        session = await at.find(self.session)
        return await session.mentions.offered(self.query, self.agent)


class PreviewedMentions(Value):
    """What would go along with each mention of a prompt."""

    previews: tuple[MentionPreview, ...]


class PreviewMentions(Operation):
    """Say what would go along with a prompt that is being typed; nothing is sent."""

    type: Literal["mention-preview"] = "mention-preview"
    session: str | None = None
    agent: str | None = None
    text: str

    async def run(self, at: Desk) -> PreviewedMentions:
        session = await at.find(self.session)
        return PreviewedMentions(previews=await session.mentions.previews(self.text, self.agent))


class AttachFile(Operation):
    """Keep a file that was pasted or dropped into the composer, and say what it would add; nothing is sent."""

    type: Literal["attach"] = "attach"
    session: str | None = None
    model: str | None = None
    """The model that would answer; None means that it is not known."""
    file: WithContent

    async def run(self, at: Desk) -> PastedFile:
        session = await at.find(self.session)
        return await session.attach(self.file, self.model)


class ListedPrompts(Value):
    """Earlier prompts of the project, newest first."""

    prompts: tuple[str, ...]
    cursor: str | None = None
    """Where the next page begins; None on the last one."""


class ListPrompts(Operation):
    """List what was asked in the project before: in this session, then in the others, the newest first."""

    type: Literal["prompt-history"] = "prompt-history"
    session: str | None = None
    cursor: str | None = Field(default=None, max_length=200)
    """The cursor that the page before returned."""

    async def run(self, at: Desk) -> ListedPrompts:
        session = await at.find(self.session)
        found = await at.services.workspace.typed_prompts(session.id, self.cursor)
        return ListedPrompts(prompts=found.prompts, cursor=found.cursor)


class Inspect(Operation):
    """Ask one question about a session, or about a recording that lies in a file; nothing is written."""

    type: Literal["inspect"] = "inspect"
    session: str | None = None
    """None for the notebook's; with ``path`` one of the recording's, or None for its first."""
    path: str | None = Field(default=None, max_length=4_096)
    """A recorded file or folder, from the kernel's start directory; none of it is imported."""
    query: ViewQuery
    client: str = Field(default="", max_length=200)
    """The page that asks: of its questions for a track that wait, only the newest is answered."""

    async def run(self, at: Desk) -> ViewAnswer:
        inspections = at.services.inspections
        if self.path is not None:
            return await inspections.answer_recording(
                self.path, self.session or "", self.query, self.client
            )
        session = self.session
        if session is None:
            known = await at.services.workspace.known(at.notebook)
            if known is None:
                raise NotFound(NOTHING_TO_INSPECT)
            session = known.id
        return await inspections.answer_session(session, self.query, self.client)

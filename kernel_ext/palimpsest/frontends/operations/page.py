"""Operations of pages only: images, final and lost outputs of cells, mentions, earlier prompts, inspectors' questions."""

import asyncio
import os
from typing import Any, Literal

from pydantic import Field

from palimpsest.frontends.operation_base.operation import (
    ContentFile,
    DrawnText,
    Operation,
    OperationContext,
)
from palimpsest.frontends.protocol.segments import TurnSegment
from palimpsest.frontends.turn_output.restored_outputs import (
    closed_bundle,
    notebook_outputs,
    turn_pieces,
)
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.review.timeline_view.view_queries import MAX_PATH_CHARS, ViewAnswer, ViewQuery
from palimpsest.session.prompts.pasted_files import PastedFile
from palimpsest.transcript.context_values.prompt_mentions import MentionList, MentionPreview
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.values import Value

NOTHING_TO_INSPECT = "This notebook has no session yet. Ask the agent, then inspect it."


class Image(Value):
    """An image of a session, for a page."""

    image: str
    """A ``data:`` URL, small enough for a page."""


class ShowImage(Operation):
    """Show an image of the session that its log keeps as a blob."""

    type: Literal["image"] = "image"
    session: str | None = None
    url: str = Field(max_length=200)
    """The URL of the attachment: ``blob:`` and a hash."""

    async def run(self, context: OperationContext) -> Image:
        session = await context.find(self.session)
        return Image(image=await asyncio.to_thread(session.picture, self.url))


class CloseSegment(TurnSegment, Operation):
    """Build the final output of a part of a turn whose cell missed it because the page was reloaded."""

    type: Literal["close"] = "close"

    async def run(self, context: OperationContext) -> DrawnText:
        session = await context.find(self.session)

        def final_bundle() -> dict[str, Any]:
            notes = OutlineNotes.of_records(session.records_after(max(self.first_seq - 1, 0)))
            scrub = scrubber(os.environ)
            return closed_bundle(self, session.snapshot(), notes, scrub, session.density)

        return DrawnText(bundle=await asyncio.to_thread(final_bundle))


class RecreatedOutputs(Value):
    """The outputs of a turn's cell, as a notebook saves them."""

    outputs: tuple[dict[str, Any], ...]


class RecreateOutputs(Operation):
    """Rebuild the outputs of a turn's cell, where the notebook no longer has them."""

    type: Literal["recreate-outputs"] = "recreate-outputs"
    session: str
    turn: str

    async def run(self, context: OperationContext) -> RecreatedOutputs:
        session = await context.find(self.session)
        outputs = await asyncio.to_thread(
            lambda: notebook_outputs(
                turn_pieces(
                    session.id,
                    self.turn,
                    session.snapshot(),
                    session.records_after(0),
                    scrub=scrubber(os.environ),
                    read_image=session.picture,
                    density=session.density,
                )
            )
        )
        return RecreatedOutputs(outputs=outputs)


class ListMentions(Operation):
    """List what a prompt can mention: the newest error, variables, cells, outputs and files."""

    type: Literal["mentions"] = "mentions"
    session: str | None = None
    agent: str | None = None
    """The agent that would answer, whose rules may differ; None means the session's."""
    query: str = ""
    """Part of a file's path; the other kinds are listed completely, and the page filters them."""

    async def run(self, context: OperationContext) -> MentionList:
        session = await context.find(self.session)
        return await session.mentions.list_mentions(self.query, self.agent)


class PreviewedMentions(Value):
    """The content that each mention would add to a prompt."""

    previews: tuple[MentionPreview, ...]


class PreviewMentions(Operation):
    """Return the content that mentions would add to a prompt that is being typed; sends nothing."""

    type: Literal["mention-preview"] = "mention-preview"
    session: str | None = None
    agent: str | None = None
    text: str

    async def run(self, context: OperationContext) -> PreviewedMentions:
        session = await context.find(self.session)
        return PreviewedMentions(previews=await session.mentions.previews(self.text, self.agent))


class AttachFile(Operation):
    """Store a file that was pasted or dropped into the composer, and return what it would add; sends nothing."""

    type: Literal["attach"] = "attach"
    session: str | None = None
    model: str | None = None
    """The model that would answer; None means that it is not known."""
    file: ContentFile

    async def run(self, context: OperationContext) -> PastedFile:
        session = await context.find(self.session)
        return await session.attach(self.file, self.model)


class ListedPrompts(Value):
    """Earlier prompts of the project, newest first."""

    prompts: tuple[str, ...]
    cursor: str | None = None
    """Passed to get the next page; None on the last page."""


class ListPrompts(Operation):
    """List earlier prompts of the project, newest first: those of this session, then of the others."""

    type: Literal["prompt-history"] = "prompt-history"
    session: str | None = None
    cursor: str | None = Field(default=None, max_length=200)
    """The cursor in the answer for the page before."""

    async def run(self, context: OperationContext) -> ListedPrompts:
        session = await context.find(self.session)
        page = await context.services.workspace.typed_prompts(session.id, self.cursor)
        return ListedPrompts(prompts=page.prompts, cursor=page.cursor)


class Inspect(Operation):
    """Answer a question about a session, or about a recording in a file; writes nothing."""

    type: Literal["inspect"] = "inspect"
    session: str | None = None
    """None means the notebook's session; with ``path``, a session of the recording, or None for its first."""
    path: str | None = Field(default=None, max_length=MAX_PATH_CHARS)
    """A recorded file or folder, from the kernel's start directory; none of it is imported."""
    query: ViewQuery
    client: str = Field(default="", max_length=200)
    """The page that sends it: of its waiting questions for a track, only the newest is answered."""

    async def run(self, context: OperationContext) -> ViewAnswer:
        inspections = context.services.inspections
        if self.path is not None:
            return await inspections.answer_recording(
                self.path, self.session or "", self.query, self.client
            )
        session_id = await context.begun_session_id(self.session, NOTHING_TO_INSPECT)
        return await inspections.answer_session(session_id, self.query, self.client)

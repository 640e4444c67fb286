"""How a page connects to the kernel and watches sessions, what it learns of the current one, and is asked for.

The kernel asks by a notice and a page answers by a command, since a kernel cannot send requests to a page. A
large notebook is answered in several commands, each well below what a server passes in one message.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from palimpsest.transcript.context_values.page_cells import PageNotebook
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.session_record.events import QuestionAsked
from palimpsest.transcript.session_record.sessions import Status
from palimpsest.transcript.values import Ask, Density, Value

PROTOCOL_VERSION = 4

WATCH_SECONDS = 20.0
"""A watch that is not renewed within this time is over; a page that was closed sends nothing."""


class CommandBase(Value):
    """The fields that every command has."""

    id: str = Field(min_length=1, max_length=200)
    """Chosen by the page; sending the same id again is harmless."""


class Hello(CommandBase):
    """Connect a page; the reply names versions, project and session."""

    type: Literal["hello"] = "hello"
    protocol: int
    version: str = ""
    """Version of the page's own package."""
    client: str = ""


class Watch(CommandBase):
    """Send this page the session's records for the next 20 seconds."""

    type: Literal["watch"] = "watch"
    client: str
    session: str | None = None
    """None means every session of this kernel."""
    pings: bool = False
    """This page answers a ping by watching again."""
    cells: bool = False
    """This page shows notebooks of the kernel, and answers what their cells hold."""


class Unwatch(CommandBase):
    """Send this page no more records."""

    type: Literal["unwatch"] = "unwatch"
    client: str
    session: str | None = None


class AnnounceRun(CommandBase):
    """Announce that the page sends several cells together, as with Run All."""

    type: Literal["announce-run"] = "announce-run"
    cells: int = Field(ge=2, le=100_000)


class Prepare(CommandBase):
    """Say that a person is about to ask, so that what the model needs is imported meanwhile."""

    type: Literal["prepare"] = "prepare"
    session: str | None = None


class SessionHead(Value):
    """The summary of a session that a page shows before it has the session's messages."""

    session: str
    title: str = ""
    notebook: str | None = None
    read_only: bool = False
    seq: int = 0
    status: Status
    asks: tuple[Ask, ...] = ()
    questions: tuple[QuestionAsked, ...] = ()
    """Questions of the model that wait for the person's answer."""
    stepping: bool = False
    """Step mode is on: each request is held until a person lets it go."""
    held: tuple[ProposedRequest, ...] = ()
    """Requests that wait for a person to let them go, as they would be sent now."""
    waiting: int = 0
    """Prompts in the inbox."""
    partial: bool = False
    """Messages that a summary replaced were not loaded: one that is missing may still be in the log."""
    problem: str | None = None
    """One sentence while nothing can be written, since the disk does not respond or the folder is gone."""
    notice: str | None = None
    """What is unusual about the session's opening, such as that its notebook was moved, until the next prompt."""
    density: Density = "quiet"
    """What is shown of a turn, as the kernel's settings say."""
    order: int = 0
    """Of two heads the one with the higher order was made later, also by a restarted kernel; they can arrive the
    other way round, since replies and notices have channels of their own. 0 by an older kernel."""


class CommandReply(Value):
    """The reply to a command, from what is known at once."""

    status: Literal["ok", "error", "loading"]
    id: str | None = None
    error: str | None = None
    """One sentence."""
    protocol: int = PROTOCOL_VERSION
    version: str = ""
    """Version of the kernel's package."""
    repeated: bool = False
    """This id was seen before; nothing was done again."""
    project: str | None = None
    notebook: str | None = None
    session: SessionHead | None = None
    """The session that the command was about, once it is open."""
    watch_seconds: float | None = None


View = Literal["inspector", "sessions", "share", "window"]
"""What a page has a view of its own for: the inspector, the list of sessions, how to share one, what fills the window."""


class TypedAnswer(Value):
    """What a command that was typed behind a slash does in the panel, beside what it did in the kernel."""

    markdown: str = ""
    """What a cell would show of the answer; empty where the transcript shows it."""
    view: View | None = None
    """The view to open."""
    model: str | None = None
    """The model to choose for the next prompt."""
    agent: str | None = None


class OutcomeNotice(Value):
    """The result of a command that was not finished when it was replied to."""

    kind: Literal["outcome"] = "outcome"
    id: str
    error: str | None = None
    """One sentence, when it failed."""
    answer: Annotated[Any, WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "null"}]})] = None
    """What the operation answers, as ``Answers`` says."""
    words: str | None = None
    """What a cell would show of the answer, as text, where the operation has a button."""
    typed: TypedAnswer | None = None
    """Of a prompt that was a command."""


class CurrentNotice(Value):
    """This session is the notebook's current one from now on, or its summary changed without a record."""

    kind: Literal["current"] = "current"
    session: SessionHead


class InsertCellsNotice(Value):
    """Insert new code cells; nothing is run."""

    kind: Literal["insert-cells"] = "insert-cells"
    client: str
    """The page that inserts them, by the name that it watches under; another page does nothing."""
    sources: tuple[str, ...]
    below: str | None = None
    """The id of the cell below which they are inserted; None for the active cell."""


class PingNotice(Value):
    """A question is open; a page that receives this watches again, at once."""

    kind: Literal["ping"] = "ping"


class CellsRequestNotice(Value):
    """The kernel asks every page that has notebooks of it for their cells."""

    kind: Literal["cells"] = "cells"
    request: str
    """Names the question; the answer repeats it."""
    cell: str | None = None
    """Only the cell with this id."""
    output_chars: int = 0
    """Characters of each output's text that are wanted; with 0, no outputs are."""
    images: bool = False
    """Pictures are wanted, too."""


class TellCells(CommandBase):
    """Answer a ``cells`` notice with what the page's notebooks hold; a piece, or the last piece."""

    type: Literal["cells"] = "cells"
    client: str
    request: str
    notebooks: tuple[PageNotebook, ...] = ()
    """Cells of one notebook may be in several pieces, in order."""
    last: bool = True

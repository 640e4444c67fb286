"""Messages with which a page connects to the kernel, watches sessions and receives requests for its cells.

The kernel asks with a notice and a page answers with a command, since a kernel cannot send requests to a page. A
large notebook is sent in several commands, each well below the limit of a server for one message.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from palimpsest.transcript.context_values.cell_changes import CellChange, CellOrigin, CellResult
from palimpsest.transcript.context_values.page_cells import PageNotebook
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.session_record.events import QuestionAsked
from palimpsest.transcript.session_record.sessions import Status
from palimpsest.transcript.values import Ask, Density, Value

PROTOCOL_VERSION = 4

WATCH_SECONDS = 20.0
"""Time after which a watch ends that is not renewed; a closed page sends nothing."""


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


class RenameNotebook(CommandBase):
    """Record that the notebook was renamed, and move its sessions to the new name.

    Both paths are those that the server reports. If the kernel has another notebook, or it was
    renamed already, the command has no effect.
    """

    type: Literal["rename"] = "rename"
    was: str
    """The path before."""
    notebook: str
    """The path now."""


class Watch(CommandBase):
    """Send this page the session's records for the next 20 seconds."""

    type: Literal["watch"] = "watch"
    client: str
    session: str | None = None
    """None means every session of this kernel."""
    pings: bool = False
    """This page answers a ping by another ``Watch``."""
    cells: bool = False
    """This page shows notebooks of the kernel, and can send their cells."""


class Unwatch(CommandBase):
    """Stop sending records to this page."""

    type: Literal["unwatch"] = "unwatch"
    client: str
    session: str | None = None


class AnnounceRun(CommandBase):
    """Announce that the page sends several cells together, as with Run All."""

    type: Literal["announce-run"] = "announce-run"
    cells: int = Field(ge=2, le=100_000)


class Prepare(CommandBase):
    """Announce that the user is about to ask, so that the model's modules are imported meanwhile."""

    type: Literal["prepare"] = "prepare"
    session: str | None = None


class SessionHead(Value):
    """The summary of a session that a page shows before it has the session's messages."""

    session: str
    """The session's id."""
    title: str = ""
    notebook: str | None = None
    """The path of its notebook."""
    read_only: bool = False
    seq: int = 0
    status: Status
    asks: tuple[Ask, ...] = ()
    questions: tuple[QuestionAsked, ...] = ()
    """Questions of the model that wait for the user's answer."""
    stepping: bool = False
    """Step mode is on: each request is held until the user releases it."""
    held: tuple[ProposedRequest, ...] = ()
    """Held requests, as they would be sent now."""
    waiting: int = 0
    """Prompts in the inbox."""
    partial: bool = False
    """Messages that a summary replaced were not loaded: a missing one may still be in the log."""
    problem: str | None = None
    """One sentence while nothing can be written, because the disk does not respond or the folder is missing."""
    notice: str | None = None
    """A remark on the session's opening, such as that its notebook was moved, until the next prompt."""
    density: Density = "quiet"
    """The amount of detail shown of a turn, by the kernel's settings."""
    order: int = 0
    """Of two heads, the one with the higher order is newer, also from a restarted kernel; they can arrive the
    other way round, since replies and notices have separate channels. 0 from an older kernel."""


class CommandReply(Value):
    """The immediate reply to a command."""

    status: Literal["ok", "error", "loading"]
    id: str | None = None
    error: str | None = None
    """One sentence."""
    protocol: int = PROTOCOL_VERSION
    version: str = ""
    """Version of the kernel's package."""
    repeated: bool = False
    """The id was received before; the command was not run again."""
    project: str | None = None
    notebook: str | None = None
    session: SessionHead | None = None
    """The session of the command, if it is open."""
    watch_seconds: float | None = None


View = Literal["inspector", "sessions", "share", "window"]
"""Views of a page: the inspector, the list of sessions, sharing, and the context window."""


class TypedAnswer(Value):
    """What the panel does after a typed slash command."""

    markdown: str = ""
    """The text that a cell would show of the answer; empty where the transcript shows it."""
    view: View | None = None
    """The view to open."""
    model: str | None = None
    """The model to choose for the next prompt."""
    agent: str | None = None


class OutcomeNotice(Value):
    """The result of a command that ran longer than its reply."""

    kind: Literal["outcome"] = "outcome"
    id: str
    error: str | None = None
    """One sentence, if the command failed."""
    answer: Annotated[Any, WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "null"}]})] = None
    """The operation's answer, of the type in ``Answers``."""
    words: str | None = None
    """The text that a cell would show of the answer, where the operation has a button."""
    typed: TypedAnswer | None = None
    """The answer to a prompt that was a slash command."""


class CurrentNotice(Value):
    """The session became the notebook's current one, or its summary changed without a record."""

    kind: Literal["current"] = "current"
    session: SessionHead


class PingNotice(Value):
    """A question is open; a page that receives this sends ``Watch`` at once."""

    kind: Literal["ping"] = "ping"


class CellsRequestNotice(Value):
    """Request the cells of the kernel's notebooks from every page that shows them."""

    kind: Literal["cells"] = "cells"
    request: str
    """Id of the request, which the answer repeats."""
    cell: str | None = None
    """Only the cell with this id."""
    output_chars: int = 0
    """Characters of each output's text to send; 0 means no outputs."""
    images: bool = False
    """Send images, too."""


class TellCells(CommandBase):
    """Answer a ``cells`` notice with the cells of the page's notebooks; a piece, or the last piece."""

    type: Literal["cells"] = "cells"
    client: str
    request: str
    notebooks: tuple[PageNotebook, ...] = ()
    """Cells of one notebook may be in several pieces, in order."""
    last: bool = True


class ChangeCellsNotice(Value):
    """Change cells of a notebook, all or none, as one step of its undo."""

    kind: Literal["change-cells"] = "change-cells"
    request: str
    """Id of the request, which the answer repeats."""
    client: str
    """The page that does it, by the ``client`` of its watch; other pages ignore the notice."""
    notebook: str
    """The path of the notebook, as that page named it."""
    changes: tuple[CellChange, ...]
    origin: CellOrigin | None = None
    """Where the new sources come from; None where changes are taken back."""


class RunCellNotice(Value):
    """Run a cell as a person would, if it still has this source."""

    kind: Literal["run-cell"] = "run-cell"
    request: str
    client: str
    notebook: str
    cell: str
    source: str


class CellsChanged(CommandBase):
    """Answer a ``change-cells`` or ``run-cell`` notice; with a problem in any result, nothing was done."""

    type: Literal["cells-changed"] = "cells-changed"
    client: str
    request: str
    results: tuple[CellResult, ...] = ()
    """One for each change, in their order."""
    refusal: Literal["closed", "read-only", "no-kernel"] | None = None
    """Why nothing was done at all."""

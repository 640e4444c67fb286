"""Recorded answers of cells: what a cell asks, and what is found for it."""

from dataclasses import dataclass
from typing import Literal

from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.transcript.messages import Message, Messages, UserMessage
from palimpsest.transcript.parts import ToolPart

Unanswered = Literal["new", "changed", "moved", "unfinished"]
"""Why no recorded answer holds: the cell never asked; its prompt is another one than it asked; its starting
point is another one; or its turn did not finish."""
MayRun = Literal["yes", "ask", "locked", "denied"]
"""Whether recorded Python may run again: it may, the user is asked, is asked each time since an administrator locked
the question, or a rule denies it."""


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A turn that a cell asked for."""

    session_id: str
    begun: Message
    """The user message that began it."""
    info: UserMessage
    """The same message, without its parts."""
    prompt: str
    messages: Messages
    """Those of the turn, without the prompt."""

    @property
    def id(self) -> str:
        """The id of the user message that began it."""
        return self.info.id

    @property
    def asked(self) -> int:
        """When it was asked, in milliseconds since 1970; a later turn of the session has a larger one."""
        return self.info.time.created

    @property
    def cell_id(self) -> str | None:
        """The cell that asked, where its front end named it."""
        return self.info.origin.cell_id if self.info.origin is not None else None


@dataclass(frozen=True, slots=True)
class CellPrompt:
    """What a cell is about to ask."""

    text: str
    options: PromptOptions
    cell_id: str | None = None


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """The recorded answer of a prompt, or why none holds."""

    turn: RecordedTurn | None = None
    why: Unanswered = "new"
    session_id: str = ""
    """The session in which the cell asked before; empty where it never did."""
    has_history: bool = False
    """Cells asked in this session before this run of the notebook began, or may have in one not looked at."""
    earlier: str = ""
    """The cell's newest turn in that session, whose answer does not hold; empty where there is none."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call of Python in a recorded turn."""

    part: ToolPart
    session_id: str
    """The session that made the call: the turn's, or that of one of its tasks."""
    shown_in: str
    """The call of the turn's own messages under which its output is shown."""

    @property
    def code(self) -> str:
        """The code."""
        return str(self.part.state.input["code"])

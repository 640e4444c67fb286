"""Recorded answers of cells: what a cell asks, what is found for it, and the operations that find it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from palimpsest.session.config.settings import ReplayMode
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.transcript.messages import Message, Messages, UserMessage
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.session_record.events import Record

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


class ReplayOperations(Protocol):
    """Finds recorded answers, and what of them may run again; implemented by ``RecordedAnswers``."""

    def mode(self, notebook: str | None) -> ReplayMode:
        """Return whether the notebook's cells show recorded answers."""
        ...

    def switch(self, notebook: str | None, *, on: bool) -> None:
        """Let the notebook's cells show their recorded answers, or have them ask each time, from now on."""
        ...

    async def find(
        self,
        prompt: CellPrompt,
        notebook: str | None,
        *,
        current: str,
        anew: bool,
        only_this: bool,
        reached: Mapping[str, int],
        began: int,
    ) -> FoundAnswer:
        """Return the recorded answer of a prompt, or why none holds."""
        ...

    async def calls(self, turn: RecordedTurn) -> tuple[RecordedCall, ...]:
        """Return the Python that a turn and its tasks ran to its end, in order."""
        ...

    async def notes(self, turn: RecordedTurn) -> tuple[Record, ...]:
        """Return the records of a turn's questions, answers and decisions, and of its prompt's delivery."""
        ...

    async def may_run(self, call: RecordedCall, agent: str, *, yes: bool) -> MayRun:
        """Return whether a recorded call may run again."""
        ...

    def approved_texts(self, call: RecordedCall) -> tuple[str, ...]:
        """Return the newest code of the call's session that the user approved on this machine, without keys."""
        ...

    def approve(self, call: RecordedCall) -> None:
        """Record that the user approved a recorded call on this machine."""
        ...

    async def costs_nothing(self, model: str | None, session_id: str) -> bool:
        """Return whether the rehearsal model would answer a prompt to a session, which spends nothing."""
        ...

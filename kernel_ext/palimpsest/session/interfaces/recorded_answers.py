"""Values of recorded answers: the prompt of a cell, its recorded turn, and the calls in it."""

from dataclasses import dataclass
from typing import Literal

from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.transcript.messages import Message, Messages, UserMessage
from palimpsest.transcript.parts import ToolPart

Unanswered = Literal["new", "changed", "moved", "unfinished"]
"""Why no recorded answer applies: the cell never sent a prompt; its prompt changed; the conversation before it
changed; or its turn did not finish."""
MayRun = Literal["yes", "ask", "locked", "denied"]
"""Whether recorded Python may run again: ``ask`` asks the user, ``locked`` does so each time, because an administrator
locked the rule, and ``denied`` means that a rule denies it."""


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A turn that a cell began."""

    session_id: str
    user_message: Message
    """The user message that began it."""
    info: UserMessage
    """The same message, without its parts."""
    prompt: str
    messages: Messages
    """The messages of the turn, without the prompt."""

    @property
    def id(self) -> str:
        """The id of the user message that began it."""
        return self.info.id

    @property
    def asked_ms(self) -> int:
        """Time at which the prompt was sent, in milliseconds since 1970; later turns of a session have larger values."""
        return self.info.time.created

    @property
    def cell_id(self) -> str | None:
        """Id of the cell that sent the prompt; None where its front end sent no id."""
        return self.info.origin.cell_id if self.info.origin is not None else None


@dataclass(frozen=True, slots=True)
class CellPrompt:
    """The prompt that a cell is about to send."""

    text: str
    options: PromptOptions
    cell_id: str | None = None


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """The recorded answer of a prompt, or the reason why there is none."""

    turn: RecordedTurn | None = None
    unanswered_reason: Unanswered = "new"
    session_id: str = ""
    """The session to which the cell sent a prompt before; empty where it never did."""
    has_history: bool = False
    """Whether cells sent prompts to this session before this run of the notebook; also True where a session that
    may have such prompts was not read."""
    earlier_turn_id: str = ""
    """The cell's newest turn in that session, whose answer does not apply; empty where there is none."""


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
        """The Python code of the call."""
        return str(self.part.state.input["code"])

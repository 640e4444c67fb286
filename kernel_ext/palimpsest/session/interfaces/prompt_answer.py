"""What comes with a prompt, and what a turn answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from palimpsest.transcript.errors import ErrorValue
from palimpsest.transcript.messages import Message, Origin, StoppedBy
from palimpsest.transcript.parts import Attachment
from palimpsest.transcript.values import Usage

Delivery = Literal["steer", "queue"]


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """What comes with a prompt; None means "as the session or the configuration says"."""

    model: str | None = None
    """``provider/name`` or a bare name that the catalog knows."""
    variant: str | None = None
    agent: str | None = None
    system: str | None = None
    tools: Sequence[str] | Mapping[str, bool] | None = None
    """Names: only these tools are offered, an empty sequence means none. A mapping of name to bool
    switches single tools on and off, and leaves the others as they are; ``"*"`` stands for all that
    it does not name."""
    files: tuple[Attachment, ...] = ()
    """Pictures and documents, as ``data:`` or ``blob:`` urls."""
    format: Mapping[str, Any] | None = None
    """The form that the answer must have: ``type`` (``json_schema``), ``schema`` and ``retryCount``."""
    max_steps: int | None = None
    yes: bool = False
    """Answer permission questions of this turn with "once"; never a deny, a doom loop or a budget."""
    delivery: Delivery = "queue"
    """For a prompt that arrives while a turn runs: before the next request, or after the turn."""
    origin: Origin = field(default_factory=Origin)
    prompt_id: str | None = None
    """Given by the sender, so that sending again is harmless."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a prompt. Returned, never raised: a failed or stopped turn is an answer too."""

    session_id: str
    turn_id: str
    """Id of the user message that began the turn; empty when the prompt was withdrawn."""
    messages: tuple[Message, ...] = ()
    """The assistant messages of the turn, in order."""
    text: str = ""
    """The text of the last assistant message."""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    """US dollars; None means unknown."""
    steps: int = 0
    error: ErrorValue | None = None
    stopped_by: StoppedBy = "error"
    """Why the turn ended; ``finished`` is the provider's own end of the answer and nothing else."""
    seq: tuple[int, int] = (0, 0)
    """First and last journal record of the turn."""
    structured: dict[str, Any] | None = None
    """The answer in the form that ``format`` asked for; None where it asked for none, or the turn failed."""

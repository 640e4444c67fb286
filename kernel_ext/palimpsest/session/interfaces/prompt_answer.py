"""The options of a prompt, and the answer of its turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from palimpsest.transcript.errors import ErrorValue
from palimpsest.transcript.messages import Message, Origin, StoppedBy
from palimpsest.transcript.parts import Attachment
from palimpsest.transcript.values import Usage

Delivery = Literal["steer", "queue"]
CHOSEN_BY_NAME = ("model", "variant", "agent", "system", "tools", "max_steps")
"""The options that a user chooses by name in a cell or on a page."""


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """The options of a prompt; None means the session's or the configured value."""

    model: str | None = None
    """``provider/name`` or a bare name that the catalog knows."""
    variant: str | None = None
    agent: str | None = None
    system: str | None = None
    tools: Sequence[str] | Mapping[str, bool] | None = None
    """Names: only these tools are offered, an empty sequence means none. A mapping of name to bool switches single
    tools on and off, and leaves the others as they are; ``"*"`` stands for all that it does not name."""
    files: tuple[Attachment, ...] = ()
    """Pictures and documents, as ``data:`` or ``blob:`` URLs."""
    format: Mapping[str, Any] | None = None
    """The format of a structured answer: ``type`` (``json_schema``), ``schema`` and ``retryCount``."""
    max_steps: int | None = None
    yes: bool = False
    """Whether permission questions of this turn are answered with "once"; a denial, a doom loop or a spending limit never is."""
    delivery: Delivery = "queue"
    """When a prompt sent during a turn is delivered: before the next request, or after the turn."""
    origin: Origin = field(default_factory=Origin)
    prompt_id: str | None = None
    """Set by the sender, so that sending the same prompt twice has no effect."""

    @classmethod
    def of_choices(cls, choices: Any, **others: Any) -> "PromptOptions":
        """Return the options that a cell or page chose for a prompt, with other options by name."""
        return cls(**{name: getattr(choices, name) for name in CHOSEN_BY_NAME}, **others)


@dataclass(frozen=True, slots=True)
class TurnToRetry:
    """A turn whose prompt is sent again, in the place of the turn and of what follows it."""

    target: str = ""
    """The id of one of its messages or parts; empty means the newest."""
    overwrite: tuple[str, ...] = ()
    """Files to bring back although they were changed outside the session."""
    model: str | None = None
    """The model that answers this time."""
    mode: str | None = None
    """The permission mode of the session from now on."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a prompt. Returned, never raised: a failed or stopped turn has an answer too."""

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
    """Why the turn ended; ``finished`` means only that the provider ended the answer normally."""
    seq: tuple[int, int] = (0, 0)
    """First and last journal record of the turn."""
    structured: dict[str, Any] | None = None
    """The structured answer that ``format`` asked for; None where it asked for none, or the turn failed."""

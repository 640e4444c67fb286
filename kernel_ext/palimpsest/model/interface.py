"""The interface of a model: a request in, a stream of small events out.

A provider's types stay within this folder. Events are plain slotted dataclasses,
since thousands of them arrive in a second.
"""

import math
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from palimpsest.transcript.context_values.policies import Refusals
from palimpsest.transcript.values import ModelInfo, ToolSpec, Usage


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a provider."""

    model: ModelInfo
    messages: tuple[dict[str, Any], ...]
    """Provider messages in OpenAI's shape, from ``model.wire``, system messages first, cache marks set."""
    tools: tuple[ToolSpec, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    """Parameters of the request: ``temperature``, ``max_tokens``, ``reasoning_effort``, ``tool_choice``."""
    session_id: str | None = None
    """Identifies the session to the rehearsal model and to prompt caches."""
    purpose: str = "step"
    """``step``, ``title``, ``turn-summary``, ``compaction`` or ``subagent``."""
    refusals: Refusals = "union"
    """The table of a provider's error messages for requests that are too long, from the session's policy."""

    @property
    def all_parameters(self) -> dict[str, Any]:
        """The parameters with those that follow from the model."""
        model = {"max_tokens": self.model.output_limit, "reasoning_effort": self.model.ref.variant}
        return model | self.parameters


@dataclass(frozen=True, slots=True)
class StepStarted:
    """The provider accepted the request."""


@dataclass(frozen=True, slots=True)
class TextStarted:
    """A block of text begins."""

    id: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class TextEnded:
    """The block of text is complete."""

    id: str
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ReasoningStarted:
    """A block of thinking begins."""

    id: str
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More thinking; ``metadata``, when given, replaces the earlier one."""

    id: str
    text: str
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ReasoningEnded:
    """The block of thinking is complete; ``metadata`` must be sent back (signatures)."""

    id: str
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolInputStarted:
    """The model begins to write a tool call; ``id`` is the provider's call id, kept verbatim."""

    id: str
    tool: str
    provider_executed: bool = False
    """Whether the provider runs the call itself; then we never run it, even where the answer was cut off."""


@dataclass(frozen=True, slots=True)
class ToolInputDelta:
    """More of the call's JSON input."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolInputEnded:
    """The call's input is complete as text."""

    id: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A complete call. ``input`` is the parsed JSON; ``raw`` is the model's text.

    When the text does not parse, ``input`` is an empty object and ``problem`` is the reason, which the
    processor returns to the model without running the call.
    """

    id: str
    tool: str
    input: Any
    raw: str = ""
    problem: str | None = None
    provider_executed: bool = False
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A tool result: from the provider for calls it ran itself, else from our own tools."""

    id: str
    output: Any
    """A ``ToolOutcome`` of ours, text, or any JSON value."""


@dataclass(frozen=True, slots=True)
class ToolErred:
    """A tool call failed."""

    id: str
    error: str
    rejected: bool = False
    """Whether the user rejected the call without feedback."""
    guard: str | None = None
    """Name of the guard that ends the turn with this call; None where no guard does."""
    metadata: dict[str, Any] | None = None


LISTED_AS = "listed_as"
"""Key in the metadata of an answer's end: the other model whose price was used to estimate the cost."""


@dataclass(frozen=True, slots=True)
class StepFinished:
    """The provider's real end of the answer. A stream that lacks it was cut off.

    An impossible usage or cost (negative, not finite) is replaced, so that no sum of spending can become
    smaller; such a cost is unknown.
    """

    reason: str
    """``stop``, ``tool-calls``, ``length``, ``paused``, ``content-filter``, ``error`` or ``unknown``."""
    usage: Usage
    cost: float | None = None
    """US dollars; None means unknown."""
    metadata: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "usage", self.usage.with_possible_numbers)
        if self.cost is not None and not (math.isfinite(self.cost) and self.cost >= 0):
            object.__setattr__(self, "cost", None)


StreamEvent = (
    StepStarted
    | TextStarted
    | TextDelta
    | TextEnded
    | ReasoningStarted
    | ReasoningDelta
    | ReasoningEnded
    | ToolInputStarted
    | ToolInputDelta
    | ToolInputEnded
    | ToolCalled
    | ToolReturned
    | ToolErred
    | StepFinished
)


@runtime_checkable
class LazilyImportedModel(Protocol):
    """A model whose requests need a library that takes seconds to import."""

    def pending_import(self, model: ModelInfo) -> Coroutine[Any, Any, None] | None:
        """Return a coroutine that imports the libraries of a request; None where all are imported."""


class Model(Protocol):
    """A model that answers requests.

    Contract: ``stream`` yields events and ends normally only after one ``StepFinished``; every
    failure is raised as ``ModelFailed`` with a classified error value, including a stream that
    ended early. It never retries, and closing the iterator closes the connection at once.
    """

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Send the request and yield the events of its answer."""

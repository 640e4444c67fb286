"""The interface of a context policy over a timeline, and what it answers.

A policy is a value; what it remembers between requests is the state it returns. It sees the past only, by
the view that it is given, reads no clock and keeps nothing else, so that the same session gives the same
decisions again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal, NamedTuple, Protocol

from palimpsest.transcript.timeline import (
    GONE_STATES,
    ItemState,
    Timeline,
    TimelineItem,
    TimelineRequest,
)

Since = Literal["nothing", "estimated", "counted"]
"""What came after the last report: left out, estimated by the policy's estimator, or as the provider would count it."""

When = Literal["request", "turn end", "both"]
"""``request``: before each request; ``turn end``: before the first request of the next turn, without its prompt;
``both``: at these moments, which a pipeline tells apart by the turns of view and request."""


class Change(NamedTuple):
    """A decision: from this request on an item is shown in another state."""

    item: int
    state: ItemState
    shown: str = ""
    """The text that stands in its place."""
    chars: int | None = None
    """Its length, where the text itself is not needed."""
    tokens: int | None = None
    """Its size in tokens, where it is no text: a summary of a stated size."""
    numbers: Mapping[str, Any] = {}

    @property
    def length(self) -> int:
        """Characters of what is shown instead."""
        return len(self.shown) if self.chars is None else self.chars

    def tokens_of(self, whole: int, count: Callable[[str], int] | None) -> int:
        """Return the tokens of what is shown, of an item of so many; without a count four characters are a token."""
        if self.state == "whole":
            return whole
        if self.tokens is not None:
            return self.tokens
        if self.state in GONE_STATES:
            return 0
        return count(self.shown) if count is not None and self.shown else -(-self.length // 4)


Layer = Mapping[int, Change]
"""What one policy shows otherwise, by item."""


def with_changes(layer: Layer, changes: Iterable[Change]) -> Layer:
    """Return a layer with what a policy decided now; an item that it shows whole again is not in it."""
    told = {**layer, **{one.item: one for one in changes}}
    return {item: one for item, one in told.items() if one.state != "whole"}


@dataclass(frozen=True, slots=True)
class Probe:
    """What a rule looked at and its threshold; it acts above that, or where it is ``inclusive`` at it already."""

    signal: str
    """Such as ``tokens of tool results that may be cleared``."""
    value: float
    threshold: float
    unit: str = "tokens"
    after: "Probe | None" = None
    """The condition before it, whose threshold was passed: this one held the rule back."""
    inclusive: bool = False
    """The rule acts also where the value is the threshold, as its original does that compares with ``>=``."""

    @property
    def passed(self) -> bool:
        """The rule acts at this value, unless another condition holds it back."""
        return self.value >= self.threshold if self.inclusive else self.value > self.threshold

    @property
    def nearness(self) -> tuple[float, float]:
        """How near the rule was to acting; it is comparable also between probes of different signals."""
        share = self.value / self.threshold if self.threshold else self.value
        before = 0 if self.after is None else 1 + self.after.nearness[0]
        return (inf if self.passed else before), share


@dataclass(frozen=True, slots=True)
class Decided:
    """What a policy answers at one request."""

    state: Any
    """What it will be given at the next request: a value that is never changed in place."""
    changes: Sequence[Change] = ()
    probe: Probe | None = None
    """Also where it does nothing: it shows how far it was from acting."""
    fired: bool = False
    """The rule acted as a whole, once, whatever number of items it changed."""
    idle: Mapping[str, int] = field(default_factory=dict)
    """How many of its decisions changed nothing, by what the items that they named were: pinned, say."""

    @property
    def held_by(self) -> Probe | None:
        """The probe, as what held the rule back where it did not act though the probe's threshold was passed."""
        if self.probe is None or self.fired or not self.probe.passed:
            return self.probe
        return none_of("items that it may show otherwise", self.probe)


NO_LIMIT = Probe("requests to a model whose limit is known; a window can be given", 0, 0)
"""What a rule looked at that compares requests with a limit which nobody told."""


def none_of(signal: str, after: Probe) -> Probe:
    """Return that a rule was held back because there was nothing of what it shows otherwise."""
    return Probe(signal, 0, 0, "", after)


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What is known of a session before its first request."""

    timeline: Timeline
    window: int
    """Tokens of context, of the recorded model or as the caller assumes; 0 for none."""
    unseen: int
    """Tokens that every request holds besides the items, by the policy's estimator."""
    assumed: int = 0
    """The window that the caller assumes for all policies, in the place of a preset's own; 0 for none."""


class PolicyView(Protocol):
    """What a policy sees at a request: the items so far, as they are shown now; no future."""

    @property
    def timeline(self) -> Timeline:
        """The session; only what lies before this request may be looked at."""

    @property
    def request(self) -> TimelineRequest:
        """The request that is about to be sent."""

    @property
    def count(self) -> int:
        """Items so far; a policy looks at those numbered below."""

    @property
    def outputs(self) -> Sequence[int]:
        """The results of calls among them, oldest first."""

    @property
    def shown_outputs(self) -> int:
        """How many of these are in the request, whole or in part."""

    @property
    def shown_items(self) -> Sequence[int]:
        """The items so far that are in the request, oldest first.

        In a long session most items may be gone, so that a rule which looks at these alone stays quick.
        """

    @property
    def turn(self) -> int:
        """The turn to which this moment belongs."""

    @property
    def gap_seconds(self) -> float | None:
        """Seconds since the request before; None where it is the first, or times are not known."""

    @property
    def changes(self) -> int | None:
        """How often items were shown otherwise so far; None where that is not known, as in a pipeline."""

    def item(self, index: int) -> TimelineItem:
        """Return an item."""

    def weight(self, index: int) -> int:
        """Return an item's tokens, whole."""

    def tokens(self, index: int) -> int:
        """Return the tokens of what is shown of an item now."""

    def chars(self, index: int) -> int:
        """Return the characters of what is shown of an item now."""

    def state(self, index: int) -> ItemState:
        """Return what is shown of an item now."""

    def shows(self, index: int) -> bool:
        """Return whether an item is in the request, whole or in part."""

    @property
    def total(self) -> int:
        """Tokens of the request as it stands, with what is not seen."""

    @property
    def raw_total(self) -> int:
        """The same, with every item whole."""

    def reported(self, *, answer: bool, since: Since) -> int | None:
        """Return the tokens of the request by the provider's count, as an agent knows them before it sends it.

        That is the prompt that was reported last, with the tokens of its ``answer`` and of what came ``since``. From
        the first request on that differs from the recorded one, the prompt is what the replay's ruler makes of it. None
        while nothing was reported.
        """

    def read(self, index: int) -> str:
        """Return the whole text of an item."""


class ContextPolicy(Protocol):
    """Decides, request by request, what is shown of each item."""

    @property
    def name(self) -> str:
        """Its name with the numbers that differ from the preset's: ``sweagent.last_n n=10``."""

    @property
    def source(self) -> str:
        """Where its rule and numbers come from, with the version."""

    @property
    def estimator(self) -> str:
        """How it counts tokens: ``chars/4``, or a tokenizer's name."""

    @property
    def when(self) -> When:
        """When it decides."""

    def start(self, facts: SessionFacts) -> Any:
        """Return its state before the first request."""

    def step(self, state: Any, view: PolicyView) -> Decided:
        """Return what it decides at a request."""

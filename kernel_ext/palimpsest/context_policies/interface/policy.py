"""The interface of a context policy over a timeline, and its decisions.

A policy is a value; what it keeps between requests is the state it returns. Its view shows only the past; it reads
no clock and keeps nothing else, so that the same session gives the same decisions again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal, NamedTuple, Protocol

from palimpsest.direct_init import with_direct_init
from palimpsest.transcript.timeline import (
    GONE_STATES,
    ItemState,
    Timeline,
    TimelineItem,
    TimelineRequest,
)
from palimpsest.transcript.values import CHARS_PER_TOKEN

LaterItems = Literal["nothing", "estimated", "counted"]
"""How the tokens after the last report are counted: not at all, by the policy's estimator, or scaled to the provider's."""

When = Literal["request", "turn end", "both"]
"""``request``: before each request; ``turn end``: before the first request of the next turn, without its prompt;
``both``: at either moment; a pipeline distinguishes them by the turns of view and request."""


class Change(NamedTuple):
    """A decision: from this request on an item is shown in another state."""

    item: int
    """The index of the item."""
    state: ItemState
    replacement: str = ""
    """The text that is shown in place of the item."""
    chars: int | None = None
    """The length of what is shown, where the text itself is not needed."""
    tokens: int | None = None
    """The size of what is shown in tokens, if it is no text: a placeholder summary."""
    numbers: Mapping[str, Any] = {}

    @property
    def length(self) -> int:
        """Number of characters that are shown instead."""
        return len(self.replacement) if self.chars is None else self.chars

    def tokens_of(self, whole_tokens: int, count_tokens: Callable[[str], int] | None) -> int:
        """Return the shown tokens of an item with ``whole_tokens``; without a ``count_tokens`` a token is four characters."""
        if self.state == "whole":
            return whole_tokens
        if self.tokens is not None:
            return self.tokens
        if self.state in GONE_STATES:
            return 0
        if count_tokens is not None and self.replacement:
            return count_tokens(self.replacement)
        return -(-self.length // CHARS_PER_TOKEN)


Layer = Mapping[int, Change]
"""The changes that one policy has in effect, by item."""


def with_changes(layer: Layer, changes: Iterable[Change]) -> Layer:
    """Return a layer with a policy's new changes; an item that is shown whole again is removed from it."""
    merged = {**layer, **{change.item: change for change in changes}}
    return {item: change for item, change in merged.items() if change.state != "whole"}


@with_direct_init
@dataclass(frozen=True, slots=True)
class Probe:
    """A rule's measured value and its threshold; the rule acts above that, or at it if it is ``inclusive``."""

    signal: str
    """Name of the measured value, such as ``tokens of tool results that may be cleared``."""
    value: float
    threshold: float
    unit: str = "tokens"
    passed_before: "Probe | None" = None
    """An earlier condition whose threshold was passed, if the rule then did not act because of this one."""
    inclusive: bool = False
    """Whether the rule also acts at the threshold itself, as originals that compare with ``>=`` do."""

    @property
    def is_passed(self) -> bool:
        """Whether the value is beyond the threshold, so that the rule acts unless another condition prevents it."""
        return self.value >= self.threshold if self.inclusive else self.value > self.threshold

    @property
    def nearness(self) -> tuple[float, float]:
        """How near the rule was to acting; comparable between probes of different signals."""
        share = self.value / self.threshold if self.threshold else self.value
        before = 0 if self.passed_before is None else 1 + self.passed_before.nearness[0]
        return (inf if self.is_passed else before), share


@with_direct_init
@dataclass(frozen=True, slots=True)
class PolicyResult:
    """A policy's answer at one request."""

    state: Any
    """The state for the next request: a value that is never changed in place."""
    changes: Sequence[Change] = ()
    probe: Probe | None = None
    """The measured value, also where the rule does nothing: it shows how far the rule was from acting."""
    fired: bool = False
    """Whether the rule acted as a whole, whatever number of items it changed."""
    ineffective_counts: Mapping[str, int] = field(default_factory=dict)
    """Number of decisions that changed nothing, by the reason, such as ``pinned``."""

    @property
    def reported_probe(self) -> Probe | None:
        """The probe; if its threshold was passed and the rule did not act, it is marked as held back."""
        if self.probe is None or self.fired or not self.probe.is_passed:
            return self.probe
        return nothing_to_reduce("items that it may show otherwise", self.probe)


NO_LIMIT = Probe("requests to a model whose limit is known; a window can be given", 0, 0)
"""The probe of a rule that compares requests with a limit that is not known."""


def nothing_to_reduce(signal: str, passed_probe: Probe) -> Probe:
    """Return the probe of a rule that did not act because there was nothing that it may reduce."""
    return Probe(signal, 0, 0, "", passed_probe)


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """Facts about a session before its first request."""

    timeline: Timeline
    window: int
    """The window in tokens, of the recorded model or as the caller assumes; 0 for none."""
    unseen_tokens: int
    """Tokens of every request besides its items, by the policy's estimator."""
    assumed_window: int = 0
    """The window that the caller assumes for all policies, instead of a preset's own; 0 for none."""


class PolicyView(Protocol):
    """A policy's view at a request: the items so far, in their current states; nothing of the future."""

    @property
    def timeline(self) -> Timeline:
        """The session; only the part before this request may be used."""

    @property
    def request(self) -> TimelineRequest:
        """The request that is about to be sent."""

    @property
    def count(self) -> int:
        """Number of items so far; a policy may use the indexes below."""

    @property
    def outputs(self) -> Sequence[int]:
        """The results of calls among the items so far, oldest first."""

    @property
    def shown_outputs(self) -> int:
        """Number of results that are in the request, whole or in part."""

    @property
    def shown_items(self) -> Sequence[int]:
        """The items so far that are in the request, oldest first.

        In a long session most items may be gone, so a rule that uses these alone stays fast.
        """

    @property
    def turn(self) -> int:
        """The current turn."""

    @property
    def gap_seconds(self) -> float | None:
        """Seconds since the request before; None where it is the first, or times are not known."""

    @property
    def changes(self) -> int | None:
        """Number of changes of items so far; None where that is not known, as in a pipeline."""

    def item(self, index: int) -> TimelineItem:
        """Return an item."""

    def weight(self, index: int) -> int:
        """Return the tokens of an item if it were whole."""

    def tokens(self, index: int) -> int:
        """Return the tokens of an item as it is shown now."""

    def chars(self, index: int) -> int:
        """Return the number of characters of an item that are shown now."""

    def state(self, index: int) -> ItemState:
        """Return the current state of an item."""

    def shows(self, index: int) -> bool:
        """Return whether an item is in the request, whole or in part."""

    @property
    def total(self) -> int:
        """Tokens of the request with all current changes, including tokens that the recording does not show."""

    @property
    def raw_total(self) -> int:
        """Tokens of the request if every item were whole."""

    def reported(self, *, answer: bool, later_items: LaterItems) -> int | None:
        """Return the tokens of the request by the provider's count, as far as it is known before the request is sent.

        The count is the last reported prompt, with the tokens of its ``answer`` and the ``later_items``. Once a request
        differs from the recorded one, the replay's ruler estimates the prompt. None while nothing was reported.
        """

    def read(self, index: int) -> str:
        """Return the whole text of an item."""


class ContextPolicy(Protocol):
    """Decides, request by request, how each item is shown."""

    @property
    def name(self) -> str:
        """Its name with the numbers that differ from the preset's: ``sweagent.last_n n=10``."""

    @property
    def source(self) -> str:
        """The source of its rule and numbers, with the version."""

    @property
    def estimator(self) -> str:
        """How it counts tokens: ``chars/4``, or a tokenizer's name."""

    @property
    def when(self) -> When:
        """When it decides."""

    def start(self, facts: SessionFacts) -> Any:
        """Return its state before the first request."""

    def step(self, state: Any, view: PolicyView) -> PolicyResult:
        """Return its decisions at a request."""

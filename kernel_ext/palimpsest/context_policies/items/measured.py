"""How a preset's threshold counts the request: by the provider's reported tokens, or by the preset's own estimate.

Most agents compare the usage of the last answer with their threshold; a few count the request themselves. Each preset
states which, with the place in the original's source. The tokens that a rule frees or keeps are always counted by its
estimator.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

from palimpsest.context_policies.interface.policy import (
    NO_LIMIT,
    Change,
    LaterItems,
    PolicyResult,
    PolicyView,
    Probe,
    SessionFacts,
)
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.items.reducible import decided_with_reason

Measure = Literal["reported", "estimated"]

REPORTED_SIGNAL = "reported tokens of the request"
ESTIMATED_SIGNAL = "estimated tokens of the request"
NOT_REPORTED_SIGNAL = "estimated tokens of the request (none were reported)"
SIZE_SIGNALS = (REPORTED_SIGNAL, ESTIMATED_SIGNAL, NOT_REPORTED_SIGNAL)


class Measured(Preset):
    """Common base of the presets whose threshold is a number of tokens of the whole request."""

    with_answer: ClassVar[bool] = True
    """Whether the last answer's tokens are added to the reported prompt."""
    later_items: ClassVar[LaterItems] = "estimated"
    """How the tokens of later items are added to the last report."""
    estimate_factor: ClassVar[float] = 1.0
    """The original's own estimate as a multiple of this estimator's."""
    inclusive: ClassVar[bool] = False
    """Whether the rule also acts at the threshold itself, not only above it."""
    measure: Measure = "reported"
    """``reported``: usage of the last answer and the later tokens; ``estimated``: the estimator's count of the whole request."""

    def measured_size(self, view: PolicyView) -> tuple[float, str]:
        """Return the tokens of the request as this preset counts them, and the name of the count for a table."""
        if self.measure == "estimated":
            return self.estimate_factor * view.total, ESTIMATED_SIGNAL
        reported_tokens = view.reported(answer=self.with_answer, later_items=self.later_items)
        if reported_tokens is None:
            return view.total, NOT_REPORTED_SIGNAL
        return reported_tokens, REPORTED_SIGNAL

    def probe_against(self, view: PolicyView, threshold: float) -> Probe:
        """Return the probe of the request's size against a threshold."""
        value, signal = self.measured_size(view)
        return Probe(signal, value, threshold, inclusive=self.inclusive)


class WindowThreshold(Measured):
    """Common base of the stateless rules that act where a request reaches a threshold of their window."""

    candidates_text: ClassVar[str]
    """Description of the items that the rule may reduce, for the sentence that there are none."""
    window: int = 200_000
    """The window in tokens; 0 takes the recorded one."""

    def start(self, facts: SessionFacts) -> int:
        """Return the assumed window, or the recorded window where the assumed one is 0."""
        return self.window_of(facts)

    def step(self, state: int, view: PolicyView) -> PolicyResult:
        """Make the rule's changes where the request reaches its threshold."""
        if state <= 0:
            return PolicyResult(state, probe=NO_LIMIT)
        probe = self.probe_against(view, self.threshold_tokens(state))
        if not probe.is_passed:
            return PolicyResult(state, probe=probe)
        return decided_with_reason(
            state, self.new_changes(view, probe), probe, self.candidates_text
        )

    def threshold_tokens(self, window: int) -> float:
        """Return the threshold in tokens."""
        raise NotImplementedError

    def new_changes(self, view: PolicyView, probe: Probe) -> Sequence[Change]:
        """Return the changes that take effect with this request."""
        raise NotImplementedError


class WindowShare(WindowThreshold):
    """Common base of the presets that check each request and act above a share of the window."""

    window_share: float = 1.0
    """Share of the window over which a request is too large."""

    def threshold_tokens(self, window: int) -> float:
        """Return the share of the window in tokens."""
        return self.window_share * window


def in_own_tokens(tokens: float, view: PolicyView, probe: Probe) -> float:
    """Convert tokens as the probe counts them into tokens of the policy's estimator, to compare items with them."""
    return tokens * view.total / probe.value if probe.value else tokens

"""How a preset's threshold counts the request: by what the provider reported, or by the preset's own estimate.

Most agents compare the usage of the last answer with their threshold; a few count the request themselves. Each preset
says which, and where in the original's source that stands. What a rule frees or keeps is counted by its estimator
all the same.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

from palimpsest.review.policies.policy import (
    NO_LIMIT,
    Change,
    Decided,
    PolicyView,
    Probe,
    SessionFacts,
    Since,
)
from palimpsest.review.policies.reducible import decided
from palimpsest.review.policies.settings import Preset

Measure = Literal["reported", "estimated"]

REPORTED = "reported tokens of the request"
ESTIMATED = "estimated tokens of the request"
NOT_REPORTED = "estimated tokens of the request (none were reported)"
MEASURES = (REPORTED, ESTIMATED, NOT_REPORTED)


class Measured(Preset):
    """What the presets have in common whose threshold is a number of tokens of the whole request."""

    with_answer: ClassVar[bool] = True
    """The last answer's tokens are added to the prompt that was reported."""
    since: ClassVar[Since] = "estimated"
    """How what came after the last report is added."""
    times: ClassVar[float] = 1.0
    """The original's own estimate as a multiple of this estimator's."""
    inclusive: ClassVar[bool] = False
    """It acts at its threshold already, not only above it."""
    measure: Measure = "reported"
    """``reported``: usage of the last answer and what came since; ``estimated``: the estimator's count of all."""

    def size(self, view: PolicyView) -> tuple[float, str]:
        """Return the tokens of the request as this preset counts them, and how they are told."""
        if self.measure == "estimated":
            return self.times * view.total, ESTIMATED
        found = view.reported(answer=self.with_answer, since=self.since)
        return (view.total, NOT_REPORTED) if found is None else (found, REPORTED)

    def over(self, view: PolicyView, threshold: float) -> Probe:
        """Return the size of the request beside a threshold."""
        value, signal = self.size(view)
        return Probe(signal, value, threshold, inclusive=self.inclusive)


class AtWindow(Measured):
    """What the rules have in common that remember nothing and act where a request reaches a threshold in their window."""

    able: ClassVar[str]
    """What it may show otherwise, as a verdict says that there is none of it."""
    window: int = 200_000
    """0 takes the recorded one."""

    def start(self, facts: SessionFacts) -> int:
        """Return the window: the assumed one, or the recorded one where that is 0."""
        return self.window_of(facts)

    def step(self, state: int, view: PolicyView) -> Decided:
        """Change what the rule says where the request reaches its threshold."""
        if state <= 0:
            return Decided(state, probe=NO_LIMIT)
        probe = self.over(view, self.trigger(state))
        if not probe.passed:
            return Decided(state, probe=probe)
        return decided(state, self.changed(view, probe), probe, self.able)

    def trigger(self, window: int) -> float:
        """Return the threshold in tokens."""
        raise NotImplementedError

    def changed(self, view: PolicyView, probe: Probe) -> Sequence[Change]:
        """Return what is shown otherwise from this request on."""
        raise NotImplementedError


class AtShare(AtWindow):
    """What the presets have in common that look at each request and act over a share of the window."""

    at: float = 1.0
    """Share of the window over which a request is too large."""

    def trigger(self, window: int) -> float:
        """Return the share of the window."""
        return self.at * window


def in_own_tokens(tokens: float, view: PolicyView, probe: Probe) -> float:
    """Return tokens of a probe's measure as tokens of the policy's estimator, so that items can be weighed against them."""
    return tokens * view.total / probe.value if probe.value else tokens

"""Say whether a request may be sent: it fits, or it does not and why."""

from dataclasses import dataclass

from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.policies import OverflowPolicy
from palimpsest.transcript.values import ModelInfo, Usage

CALIBRATION_RANGE = (0.5, 4.0)
"""A ratio outside of this says that the report is wrong rather than our estimate."""


@dataclass(frozen=True, slots=True)
class BudgetCheck:
    """Where a request goes from here."""

    fits: bool
    tokens: int
    """Estimated tokens, corrected by what the provider reported before."""
    budget: int
    """The window minus the reserve for the answer; 0 where the window has no limit."""


def usage_ratio(usage: Usage, estimated: int) -> float:
    """Return real over estimated prompt tokens; 1 where nothing was reported."""
    if usage.estimated or not usage.prompt or not estimated:
        return 1.0
    low, high = CALIBRATION_RANGE
    return round(min(max(usage.prompt / estimated, low), high), 4)


def answer_tokens(tokens: int, facts: Facts, model: ModelInfo, policy: OverflowPolicy) -> int:
    """Return the most tokens that an answer may take; ``tokens`` are the estimate of its request.

    Providers count them against the window: a model's whole output limit would refuse long sessions early.
    """
    room = max(facts.capacity - round(tokens * facts.calibration), facts.reserve)
    return min(model.output_limit, policy.output_cap, room)


def check_budget(tokens: int, facts: Facts) -> BudgetCheck:
    """Compare an estimate with the budget; a window without a limit has room for everything."""
    corrected = round(tokens * facts.calibration)
    if not facts.window:
        return BudgetCheck(fits=True, tokens=corrected, budget=0)
    budget = max(facts.window - facts.reserve, 0)
    return BudgetCheck(fits=corrected < budget, tokens=corrected, budget=budget)

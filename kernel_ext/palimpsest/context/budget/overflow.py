"""Compute how much of a context window is usable, and check whether a request fits or overflows it.

OpenCode's rules (spec/session-engine.md 1.12) use the usage that the provider reported for the last
answer; ours uses an estimate of the request that is about to be sent, and keeps its reserve for
every model, including those without a separate input limit.
"""

from dataclasses import dataclass

from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.policies import OverflowPolicy, Policy
from palimpsest.transcript.values import ModelInfo, Usage

CALIBRATION_RANGE = (0.5, 4.0)
"""A ratio outside of this range means that the report is wrong rather than our estimate."""


@dataclass(frozen=True, slots=True)
class BudgetCheck:
    """Whether a request fits its budget, and the numbers that were compared."""

    fits: bool
    tokens: int
    """Estimated tokens, corrected by what the provider reported before."""
    budget: int
    """The window minus the reserve for the answer; 0 where the window has no limit."""


def usage_ratio(usage: Usage, estimated: int) -> float:
    """Return the ratio of reported to estimated prompt tokens; 1 where nothing was reported."""
    if usage.estimated or not usage.prompt or not estimated:
        return 1.0
    low, high = CALIBRATION_RANGE
    return round(min(max(usage.prompt / estimated, low), high), 4)


def answer_tokens(tokens: int, facts: Facts, model: ModelInfo, policy: OverflowPolicy) -> int:
    """Return the maximum tokens to allow for an answer; ``tokens`` is the estimate of its request.

    Providers count them against the window, so a model's whole output limit gets long sessions refused early.
    """
    room = max(facts.capacity - round(tokens * facts.calibration), facts.reserve)
    return min(model.output_limit, policy.output_cap, room)


def check_budget(tokens: int, facts: Facts) -> BudgetCheck:
    """Compare an estimate with the budget; everything fits a window without a limit."""
    corrected = round(tokens * facts.calibration)
    if not facts.window:
        return BudgetCheck(fits=True, tokens=corrected, budget=0)
    budget = max(facts.window - facts.reserve, 0)
    return BudgetCheck(fits=corrected < budget, tokens=corrected, budget=budget)


FULL_SHARE = 0.99
"""An empty answer at its length limit had no tokens left if the prompt filled this share of the window."""

BUFFER = 20_000
"""Tokens kept free by rules after ``opencode-1.1`` where none are configured, at most the longest answer."""


def longest_answer(model: ModelInfo, policy: OverflowPolicy) -> int:
    """Return the maximum number of tokens requested for one answer."""
    return min(model.output_limit, policy.output_cap) or policy.output_cap


def usable(model: ModelInfo, policy: OverflowPolicy) -> int:
    """Return the tokens of the window that a request may fill."""
    answer = longest_answer(model, policy)
    reserved = min(BUFFER, answer) if policy.reserved is None else policy.reserved
    match policy.rule:
        case "opencode-1.1":
            return model.input_limit or model.window - answer
        case "opencode-1.18":
            if model.input_limit:
                return max(0, model.input_limit - reserved)
            return max(0, model.window - answer)
        case "precheck" | "estimate":
            # A window too small for its reserve still leaves half of itself to the request.
            whole = min(model.input_limit or model.window, model.window)
            return max(0, whole - min(reserved, whole // 2))


def overflows(usage: Usage, model: ModelInfo, policy: OverflowPolicy) -> bool:
    """Return whether the reported usage of the last answer calls for a compaction."""
    if not policy.auto or model.window <= 0:
        return False
    if policy.rule == "opencode-1.1":
        return usage.input + usage.cache_read + usage.output > usable(model, policy)
    counted = usage.total or (usage.prompt + usage.output)
    return counted >= usable(model, policy)


def cut_in_silence(
    usage: Usage, finish: str | None, model: ModelInfo, policy: OverflowPolicy
) -> bool:
    """Return whether an answer's usage shows that the provider truncated the prompt without an error.

    Such a provider answers as if nothing had happened, but reports more tokens than the window holds, or
    returns an empty answer because no tokens were left (spec/context-stability.md 1.9). Our own estimates
    are no evidence of it.
    """
    if policy.silent == "none" or usage.estimated or model.window <= 0:
        return False
    prompt = usage.prompt if policy.silent == "all" else usage.input + usage.cache_read
    if finish == "stop":
        return prompt > model.window
    full = prompt >= FULL_SHARE * model.window
    return policy.silent == "all" and finish == "length" and not usage.output and full


def reserve(policy: Policy, model: ModelInfo) -> int:
    """Return the tokens kept free for the answer: the policy's, the model's limit, at most half the window.

    It is 0 for a window without a limit.
    """
    return min(policy.reserved, model.output_limit, model.window // 2)

"""Say how much of a window may be used, whether a count of tokens overflows it, and whether a request may be sent.

The rules of the recorded agent (spec/session-engine.md 1.12) look at what the provider reported
of the last answer; ours looks at an estimate of the request that is about to be sent, and keeps
its reserve for every model, also for those without a limit of their own for input.
"""

from dataclasses import dataclass

from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.policies import OverflowPolicy, Policy
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


FULL_SHARE = 0.99
"""An empty answer at once after a prompt that fills this share of the window found no room."""

BUFFER = 20_000
"""Kept free by the newer rule where nothing is configured, at most the longest answer."""


def longest_answer(model: ModelInfo, policy: OverflowPolicy) -> int:
    """Return the most tokens asked of one answer."""
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
    """Say whether the tokens of the last answer call for a compaction."""
    if not policy.auto or model.window <= 0:
        return False
    if policy.rule == "opencode-1.1":
        return usage.input + usage.cache_read + usage.output > usable(model, policy)
    counted = usage.total or (usage.prompt + usage.output)
    return counted >= usable(model, policy)


def cut_in_silence(
    usage: Usage, finish: str | None, model: ModelInfo, policy: OverflowPolicy
) -> bool:
    """Say whether an answer's usage shows that the provider cut the prompt without a word.

    Such a provider answers as if nothing had happened, but to more tokens than the window holds, or
    with nothing at all because no room was left (spec/context-stability.md 1.9). Estimates of our own
    prove nothing of the kind.
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

    Nothing is kept of a window without a limit.
    """
    return min(policy.reserved, model.output_limit, model.window // 2)

"""Clear the outputs behind the newest tokens when a turn has ended, as OpenCode does.

Follows spec/session-engine.md 1.13: the output that crosses the line is cleared too, and nothing is where too
little would be freed at once.
"""

from palimpsest.context.reduction.request_outputs import (
    LookedAt,
    OutputReduction,
    RequestOutputs,
    RuleAnswer,
)
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.prune_policy import PrunePolicy


def prune_behind_newest(outputs: RequestOutputs, rule: PrunePolicy, _facts: Facts) -> RuleAnswer:
    """Decide what is cleared after a turn; it looks no further than an output that was cleared before."""
    total = freed = 0
    behind: list[tuple[str, int, int]] = []
    for one in outputs.older(rule.protect_turns):
        if one.tool in rule.protected_tools:
            continue
        if one.cleared:
            break
        if one.kept:
            continue
        tokens = one.tokens
        total += tokens
        if total > rule.protect_tokens:
            freed += tokens
            behind.append((one.part_id, tokens, total))
    looked_at = LookedAt("tokens of results that may be cleared", freed, rule.minimum_tokens)
    if freed <= rule.minimum_tokens:
        return RuleAnswer((), looked_at)
    made = (
        OutputReduction(
            name,
            "clear",
            {
                "text": rule.placeholder,
                "reached_tokens": reached,
                "protect_tokens": rule.protect_tokens,
                "batch_tokens": freed,
                "minimum_tokens": rule.minimum_tokens,
            },
            rule.placeholder,
            tokens,
        )
        for name, tokens, reached in behind
    )
    return RuleAnswer(tuple(made), looked_at)

"""Clear the outputs before the newest ``protect_tokens`` of output when a turn has ended, as OpenCode does.

The output that exceeds the protected tokens is cleared too, and nothing is cleared where too little would be freed at
once.
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
    """Decide which outputs are cleared after a turn, back to the newest output that is cleared already."""
    older_tokens = freed_tokens = 0
    clearable_outputs: list[tuple[str, int, int]] = []
    for output in outputs.older_than(rule.protect_turns):
        if output.tool in rule.protected_tools:
            continue
        if output.is_cleared:
            break
        if output.is_kept_by_user:
            continue
        tokens = output.tokens
        older_tokens += tokens
        if older_tokens > rule.protect_tokens:
            freed_tokens += tokens
            clearable_outputs.append((output.part_id, tokens, older_tokens))
    checked_figure = LookedAt(
        "tokens of results that may be cleared", freed_tokens, rule.minimum_tokens
    )
    if freed_tokens <= rule.minimum_tokens:
        return RuleAnswer((), checked_figure)
    reductions = (
        OutputReduction(
            part_id,
            "clear",
            {
                "text": rule.placeholder,
                "reached_tokens": reached_tokens,
                "protect_tokens": rule.protect_tokens,
                "batch_tokens": freed_tokens,
                "minimum_tokens": rule.minimum_tokens,
            },
            rule.placeholder,
            tokens,
        )
        for part_id, tokens, reached_tokens in clearable_outputs
    )
    return RuleAnswer(tuple(reductions), checked_figure)

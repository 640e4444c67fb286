"""Clear old tool outputs: the calls stay visible, only their results are replaced.

Border: pure and total. Each pruning rule is one function in its own file over the outputs of
``request_outputs.py``, so that it acts alike before a live request and in every replay. This module maps each
rule to its function and the moment when that runs.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple, assert_never

from palimpsest.context.reduction.batch_pruning import prune_batch
from palimpsest.context.reduction.cache_ttl_pruning import prune_cache
from palimpsest.context.reduction.message_outputs import MessageOutputs
from palimpsest.context.reduction.opencode_pruning import prune_behind_newest
from palimpsest.context.reduction.request_outputs import Rule, RuleAnswer
from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Decision, Facts
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.context_values.prune_policy import PRUNE_RULE, PruneRule


class Pruner(NamedTuple):
    """The function of a pruning rule, when it runs, and which of its numbers matter most."""

    decide: Rule
    when: Literal["request", "turn end"] | None
    """``request``: before each request; ``turn end``: when a turn has ended; None: never."""
    numbers: tuple[str, ...] = ()
    """Fields of ``PrunePolicy`` that a view offers for a change while a request is held."""


def pruning_function(rule: PruneRule) -> Pruner:
    """Return how a rule prunes: its function, when it runs, and its main numbers."""
    match rule:
        case "none":
            return Pruner(lambda *_: RuleAnswer(), None)
        case "opencode":
            return Pruner(prune_behind_newest, "turn end", ("protect_tokens", "minimum_tokens"))
        case "cache-ttl":
            return Pruner(prune_cache, "request", ("ttl_seconds", "keep_assistants"))
        case "batch":
            return Pruner(prune_batch, "request", ("protect_tokens", "minimum_tokens"))
        case _:
            assert_never(rule)


def prune(
    view: View, policy: Policy, facts: Facts, new_id: Callable[[], str], count: Callable[[str], int]
) -> tuple[Decision, ...]:
    """Decide which old outputs are cleared or restored; usually none.

    ``view`` is of the whole session. Earlier decisions are not repeated; a decision to restore undoes
    a decision for a single request.
    """
    outputs = MessageOutputs(view, policy, count)
    answer = pruning_function(policy.prune.rule).decide(outputs, policy.prune, facts)
    return outputs.decisions(rule_name(policy), answer.reductions, new_id)


def rule_name(policy: Policy) -> str:
    """Return the rule of a policy's pruning decisions, as in a log: ``prune/batch``."""
    return f"{PRUNE_RULE}{policy.prune.rule}"

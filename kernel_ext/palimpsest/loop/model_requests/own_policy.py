"""Run the user's own policy before a request, and journal its decisions.

Border: the policy itself is in a layer above, behind ``PolicyStage``; its effect can be rebuilt from the journaled
decisions without it.
"""

import functools
from collections.abc import Callable, Iterator

from palimpsest.context.budget.request_tokens import block_tokens, tools_tokens
from palimpsest.context.request_assembly.fit import DecisionBatch
from palimpsest.context.request_assembly.projection import system_messages, tokens_by_kind
from palimpsest.context.visible_messages import View
from palimpsest.loop.model_requests.request_builder import facts_for, write_decisions
from palimpsest.loop.run_inputs.policy_stage import PolicyMoment, PolicyProposal, PolicyStage
from palimpsest.loop.run_inputs.run_context import RequestServices, StepSetup
from palimpsest.processor.session_log import SessionLog
from palimpsest.transcript.context_values.decisions import (
    Decision,
    Facts,
    effective_reductions,
    is_of_own_policy,
)


async def run_own_policy(services: RequestServices, setup: StepSetup, stage: PolicyStage) -> None:
    """Journal the decisions of the user's own policy about later requests."""
    facts = facts_for(services.log, setup)
    new_id = functools.partial(services.log.ids.new, "dec")
    moment = _policy_moment(services.log, setup, services.log.view(), facts, new_id)
    decisions = await stage.decide(moment)
    services.policy_notices.extend(stage.take_notices())
    if decisions:
        write_decisions(services.log, DecisionBatch(tuple(decisions), facts))


async def propose_own_policy(
    services: RequestServices, setup: StepSetup, view: View, new_id: Callable[[], str]
) -> PolicyProposal:
    """Return the decisions that the user's own policy would make about a view now; nothing is journaled."""
    stage = services.own_policy()
    if stage is None:
        return PolicyProposal()
    facts = facts_for(services.log, setup)
    return await stage.propose(_policy_moment(services.log, setup, view, facts, new_id))


def _policy_moment(
    log: SessionLog, setup: StepSetup, view: View, facts: Facts, new_id: Callable[[], str]
) -> PolicyMoment:
    return PolicyMoment(
        session_id=log.session_id,
        view=view,
        compact=setup.policy.compact,
        model=setup.info,
        reserved_tokens=facts.reserve,
        now_milliseconds=facts.now,
        system=setup.system,
        tools="\n".join(spec.model_dump_json() for spec in setup.specs),
        opening_tokens=_opening_tokens(setup),
        count=setup.count,
        new_id=new_id,
    )


def _opening_tokens(setup: StepSetup) -> dict[str, int]:
    """Return the tokens of system prompt and tools by kind, as a request's record has them."""
    messages = system_messages(setup.system)
    weights = [
        [block_tokens(block, setup.count) for block in message.blocks] for message in messages
    ]
    return tokens_by_kind(messages, weights, tools_tokens(setup.specs, setup.count), frozenset())


def restoring_decisions(
    decisions: tuple[Decision, ...], new_id: Callable[[], str]
) -> Iterator[Decision]:
    """Yield decisions that restore the parts which the user's own policy still reduces."""
    for part_id, reduction in effective_reductions(decisions).items():
        if is_of_own_policy(reduction):
            yield Decision(
                id=new_id(),
                action="restore",
                rule=reduction.rule,
                message_id=reduction.message_id,
                part_id=part_id,
                tokens_before=reduction.tokens_after,
                tokens_after=reduction.tokens_before,
            )

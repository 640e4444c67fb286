"""Make room in the window for the next request: leave out what costs nothing, and ask for a summary where that is not enough.

Border: pure. No clock, no disk, no model: ``fit`` yields what it decides, batch by batch, and asks
for a summary by yielding too; whoever drives it journals or applies each yield before it goes on, and
sends back what became of the summary. The live loop and what-if drive this same one, so they cannot
begin to differ. The order follows spec/context-stability.md 1.10 and 1.11: reminders, old outputs, a
summary, oversized results, and in the end a sentence (docs/design/0028-fit.md).
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Literal

from palimpsest.context.budget.conservative_estimate import conservative_tokens
from palimpsest.context.budget.overflow import BudgetCheck, check_budget, overflows
from palimpsest.context.budget.precheck import FitAction, precheck, reducible
from palimpsest.context.budget.token_estimate import Count
from palimpsest.context.engine_text.reminders import remind
from palimpsest.context.reduction.oversized_results import truncate_oversized
from palimpsest.context.reduction.pruning import BEFORE_REQUESTS, prune
from palimpsest.context.reduction.shown_outputs import shown_outputs
from palimpsest.context.request_assembly.projection import Projection
from palimpsest.context.visible_messages.view import View
from palimpsest.transcript.context_values.decisions import Decision, Facts
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import ContextOverflowError
from palimpsest.transcript.messages import AssistantMessage, Message, Messages
from palimpsest.transcript.values import ModelInfo, Usage

UNMEASURED = 1.0
"""How far estimates are off where no provider reported anything."""


Cause = Literal["size", "full", "refused", "failed"]
"""Why room is wanted: by the estimate of the request, by the tokens that an answer reported, because a
provider refused the request as too long, or because a summary failed and cannot be asked for again."""


@dataclass(frozen=True, slots=True)
class FitInputs:
    """What a request is made from besides the conversation; all of it values and pure functions."""

    policy: Policy
    facts: Facts
    """As they are before anything is decided; ``used_tokens`` are those of the request before."""
    count: Count
    project: Callable[[View], Projection]
    """Make the request of a view, with this model, system prompt and tools."""
    new_id: Callable[[], str]
    """The id of the next decision."""


@dataclass(slots=True)
class FitAttempts:
    """What was tried in one turn to make room, and what may still be; ``fit`` counts."""

    compactions: int = 0
    refused: int = 0
    """Of those, how often because the provider refused a request as too long."""
    failed: int = 0
    """Of those, how many gave no summary that could stand for anything."""
    truncations: int = 0
    shorten: bool = False
    """The way out asks for oversized results to be cut once the summary is there."""

    def may_compact(self, policy: Policy) -> bool:
        """Tell whether another compaction may be tried in this turn."""
        compact = policy.compact
        tried = self.compactions < compact.max_attempts and self.failed < compact.max_failed
        return policy.overflow.auto and tried

    def may_truncate(self, policy: Policy) -> bool:
        """Tell whether oversized results may still be cut in this turn."""
        return self.truncations < policy.recovery.truncations

    def may_summarise(self, cause: Cause, messages: Messages, policy: Policy) -> bool:
        """Tell whether a summary may be asked for, and whether there is more to summarise than a prompt."""
        if cause == "refused":
            # The answer that was refused says nothing that could be summarised.
            older = messages[:-1] if messages and _is_refused(messages[-1]) else messages
            tried = self.refused < policy.recovery.compactions
            return tried and self.may_compact(policy) and has_history_to_summarise(older)
        return cause != "failed" and self.may_compact(policy) and has_history_to_summarise(messages)


@dataclass(frozen=True, slots=True)
class DecisionBatch:
    """What one decider decided at once, and the facts that it was told."""

    decisions: tuple[Decision, ...]
    facts: Facts


@dataclass(frozen=True, slots=True)
class SummaryNeeded:
    """Asks for a summary of what was said so far; to be answered with an ``FitOutcome``."""

    overflow: bool
    """A provider refused the request as too long."""


@dataclass(frozen=True, slots=True)
class ResultsShortened:
    """Oversized results were cut in place of a summary: say so, and answer with an ``FitOutcome``."""


@dataclass(frozen=True, slots=True)
class FitOutcome:
    """What became of what was asked for, and the session as it is now.

    The words of a summary are messages of the view; a turn that was stopped sends nothing more.
    """

    view: View
    inputs: FitInputs
    failed: bool = False
    """There is no summary that could stand for anything."""


@dataclass(frozen=True, slots=True)
class FittedRequest:
    """The next request, and whether it fits: one that does not is not sent."""

    view: View
    projection: Projection
    facts: Facts
    route: BudgetCheck


FitEvent = DecisionBatch | SummaryNeeded | ResultsShortened
Fit = Generator[FitEvent, FitOutcome | None, FittedRequest | None]
DeciderRun = Generator[FitEvent, FitOutcome | None, View]


def fit(view: View, inputs: FitInputs, tries: FitAttempts, cause: Cause = "size") -> Fit:
    """Make room until the next request fits, or as far as the policy allows.

    Returns the request, which may still not fit; None where a request was refused or a summary
    failed, and nothing is left to cut.
    """
    while True:
        made = None
        if cause == "size":
            made = yield from _reduced(view, inputs, tries)
            view = made.view
            if made.route.fits:
                return made
        if tries.may_summarise(cause, view.messages, inputs.policy):
            tries.compactions += 1
            tries.refused += cause == "refused"
            outcome = yield SummaryNeeded(overflow=cause == "refused")
            assert outcome is not None
            view, inputs = outcome.view, outcome.inputs
            tries.failed += outcome.failed
            cause = "failed" if outcome.failed else "size"
        elif cause == "size":
            return made
        elif cause == "full":
            # Reported tokens are a reason to summarise, and none to hold a request back.
            cause = "size"
        else:
            before = view
            if tries.may_truncate(inputs.policy):
                view = yield from _cut(view, inputs, tries, inputs.facts)
            if view is before:
                return None
            outcome = yield ResultsShortened()
            assert outcome is not None
            view, inputs, cause = outcome.view, outcome.inputs, "size"


def prune_after_turn(view: View, inputs: FitInputs) -> DeciderRun:
    """Prune where the policy does that when a turn has ended."""
    policy = inputs.policy
    if policy.prune.rule in BEFORE_REQUESTS:
        return view
    found = prune(view, policy, inputs.facts, inputs.new_id, inputs.count)
    return (yield from _decided(view, found, inputs.facts))


def has_history_to_summarise(messages: Messages) -> bool:
    """Tell whether there is more to summarise than the newest prompt alone."""
    return any(isinstance(message.info, AssistantMessage) for message in messages)


def reported_full(tokens: Usage, model: ModelInfo, policy: Policy) -> bool:
    """Tell whether the tokens of an answer call for a summary; ours looks at the next request instead."""
    overflow = policy.overflow
    return overflow.rule.startswith("opencode") and overflows(tokens, model, overflow)


def stored_full(
    messages: Messages,
    model: ModelInfo,
    policy: Policy,
    usage: Callable[[AssistantMessage], Usage] = lambda info: info.tokens,
) -> bool:
    """Tell whether the newest answer that ended, if no summary came since, calls for a summary."""
    for message in reversed(messages):
        info = message.info
        if isinstance(info, AssistantMessage) and (info.finish is not None or info.summary):
            return not info.summary and reported_full(usage(info), model, policy)
    return False


def _is_refused(message: Message) -> bool:
    info = message.info
    return isinstance(info, AssistantMessage) and isinstance(info.error, ContextOverflowError)


def _reduced(
    view: View, inputs: FitInputs, tries: FitAttempts
) -> Generator[FitEvent, FitOutcome | None, FittedRequest]:
    """Take out of the next request what the policy takes out without asking anybody."""
    policy, count, new_id = inputs.policy, inputs.count, inputs.new_id
    reminders = remind(view, policy.reminders, new_id, count)
    view = yield from _decided(view, reminders, inputs.facts)
    projection = inputs.project(view)
    facts = inputs.facts.model_copy(update={"used_tokens": projection.total})
    before = view
    if policy.prune.rule in BEFORE_REQUESTS:
        view = yield from _decided(view, prune(view, policy, facts, new_id, count), facts)
    projection = projection if view is before else inputs.project(view)
    way, route = choose_fit_action(view, projection, policy, facts)
    if _cuts_now(way, policy, tries):
        before, view = view, (yield from _cut(view, inputs, tries, facts))
        if view is not before:
            projection = inputs.project(view)
            way, route = choose_fit_action(view, projection, policy, facts)
    tries.shorten = way == "compact_then_truncate"
    return FittedRequest(view, projection, facts, route)


def _cuts_now(way: FitAction, policy: Policy, tries: FitAttempts) -> bool:
    """Tell whether oversized results are to be cut before anything else, or at last."""
    if way == "fits" or not tries.may_truncate(policy):
        return False
    first = way == "truncate_tool_results_only" or tries.shorten
    return first or not tries.may_compact(policy)


def _cut(view: View, inputs: FitInputs, tries: FitAttempts, facts: Facts) -> DeciderRun:
    """Cut tool results that are too long for the window; the view stays the same one where there are none."""
    tries.truncations += 1
    policy = inputs.policy
    seen = view.folded(policy.compact)
    found = truncate_oversized(view, seen, policy.recovery, facts, inputs.new_id, inputs.count)
    return (yield from _decided(view, found, facts))


def _decided(view: View, found: Sequence[Decision], facts: Facts) -> DeciderRun:
    if not found:
        return view
    yield DecisionBatch(tuple(found), facts)
    return view.decided(*found)


def choose_fit_action(
    view: View, projection: Projection, policy: Policy, facts: Facts
) -> tuple[FitAction, BudgetCheck]:
    """Choose the cheapest way to make a request fit, as the policy weighs it."""
    if policy.overflow.rule != "precheck" or not facts.window:
        found = check_budget(projection.total, facts)
        return ("fits" if found.fits else "compact_only"), found
    results = [len(one.shown) for one in shown_outputs(view, view.folded(policy.compact))]
    measured = policy.overflow.measured and facts.calibration != UNMEASURED
    checked = precheck(
        round(projection.total * facts.calibration)
        if measured
        else conservative_tokens(projection.messages, policy.overflow),
        reducible(results, facts.window, policy.recovery),
        facts.window,
        policy.reserved,
        policy.overflow,
    )
    return checked.way, BudgetCheck(checked.way == "fits", checked.tokens, checked.budget)

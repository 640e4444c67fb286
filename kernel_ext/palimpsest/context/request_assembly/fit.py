"""Make the next request fit its window: reduce what costs nothing, then request a summary if need be.

Border: pure. No clock, no disk, no model: ``fit`` is a generator that yields its decisions, batch by
batch, and yields a request for a summary too; the caller journals or applies each yield before it resumes
the generator, and sends the outcome of a summary back. The live loop and what-if drive the same
generator, so they cannot diverge. The order follows spec/context-stability.md 1.10 and 1.11: reminders, old
outputs, a summary, oversized results, and in the end an error message (docs/design/0028-fit.md).
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Literal

from palimpsest.context.budget.conservative_estimate import conservative_tokens
from palimpsest.context.budget.precheck import FitAction, precheck, reducible, reserve_of
from palimpsest.context.budget.request_tokens import BudgetCheck, Count, check_budget, overflows
from palimpsest.context.engine_text.reminders import remind
from palimpsest.context.reduction.oversized_results import truncate_oversized
from palimpsest.context.reduction.picture_limits import (
    Shrink,
    cannot_shrink,
    keep_picture_limits,
)
from palimpsest.context.reduction.pruning import BEFORE_REQUESTS, prune
from palimpsest.context.reduction.shown_outputs import shown_outputs
from palimpsest.context.request_assembly.projection import Projection
from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Decision, Facts
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import ContextOverflowError
from palimpsest.transcript.messages import AssistantMessage, Message, Messages
from palimpsest.transcript.provider_profile.request_limits import NO_LIMITS, RequestLimits
from palimpsest.transcript.values import ModelInfo, Usage

KEEPS_LIMITS = "union"
"""The table of refusals under which the limits of providers are kept: ours. Recorded agents know their own table alone."""
UNMEASURED = 1.0
"""The calibration where no provider has reported usage yet."""


Cause = Literal["size", "full", "refused", "failed"]
"""Why the context must shrink: the estimate of the request, the tokens that an answer reported, a provider
that refused the request as too long, or a summary that failed and cannot be requested again."""


FitMove = Literal["summarise", "send", "look at the size", "cut"]
"""What is tried next: ``send`` the request as it is, or ``cut`` results where a summary cannot be had."""


@dataclass(frozen=True, slots=True)
class FitInputs:
    """What a request is made from besides the messages; all of it values and pure functions."""

    policy: Policy
    facts: Facts
    """As they are before anything is decided; ``used_tokens`` is that of the previous request."""
    count: Count
    project: Callable[[View], Projection]
    """Make the request of a view, with this model, system prompt and tools."""
    new_id: Callable[[], str]
    """The id of the next decision."""
    model: ModelInfo | None = None
    """The model of the request, whose limits on pictures are kept; None keeps none."""
    shrink: Shrink = cannot_shrink
    """Makes a picture smaller."""
    learned: RequestLimits = NO_LIMITS
    """What the provider named when it refused the request."""


@dataclass(slots=True)
class FitAttempts:
    """Counts what ``fit`` has tried in one turn to make requests fit, and decides what may still be tried."""

    compactions: int = 0
    refused: int = 0
    """Of those, how often because the provider refused a request as too long."""
    failed: int = 0
    """Of those, how many gave no usable summary."""
    truncations: int = 0
    shorten: bool = False
    """Oversized results are to be cut once the summary is written."""

    def may_compact(self, policy: Policy) -> bool:
        """Return whether another compaction may be tried in this turn."""
        compact = policy.compact
        tried = self.compactions < compact.max_attempts and self.failed < compact.max_failed
        return policy.overflow.auto and tried

    def may_truncate(self, policy: Policy) -> bool:
        """Return whether oversized results may still be cut in this turn."""
        return self.truncations < policy.recovery.truncations

    def may_summarise(self, cause: Cause, messages: Messages, policy: Policy) -> bool:
        """Return whether a summary may be requested, and whether there is more to summarise than a prompt."""
        if cause == "refused" and messages and _is_refused(messages[-1]):
            # The answer of a refused request is empty, so it does not count as history.
            messages = messages[:-1]
        return self.may_ask(cause, policy) and has_history_to_summarise(messages)

    def may_ask(self, cause: Cause, policy: Policy) -> bool:
        """Return whether a summary may be requested, if there is something to summarise."""
        if cause == "refused" and self.refused >= policy.recovery.compactions:
            return False
        return cause != "failed" and self.may_compact(policy)

    def next_move(self, cause: Cause, *, may: bool) -> FitMove:
        """Return what is tried next where the context must shrink, and count it; ``may``: a summary may be asked for."""
        if may:
            self.compactions += 1
            self.refused += cause == "refused"
            return "summarise"
        if cause == "size":
            return "send"
        # Reported tokens are a reason to summarise, but not to hold a request back.
        return "look at the size" if cause == "full" else "cut"

    def summarised(self, *, failed: bool) -> Cause:
        """Count the outcome of a summary, and return why the context must shrink then."""
        self.failed += failed
        return "failed" if failed else "size"

    def cuts_now(self, way: FitAction, policy: Policy) -> bool:
        """Return whether oversized results are to be cut now: before anything else, or as the last resort."""
        if way == "fits" or not self.may_truncate(policy):
            return False
        first = way == "truncate_tool_results_only" or self.shorten
        return first or not self.may_compact(policy)


@dataclass(frozen=True, slots=True)
class DecisionBatch:
    """The decisions that one decider made at once, and the facts they are based on."""

    decisions: tuple[Decision, ...]
    facts: Facts


@dataclass(frozen=True, slots=True)
class SummaryNeeded:
    """Requests a summary of the conversation so far; to be answered with a ``FitOutcome``."""

    overflow: bool
    """A provider refused the request as too long."""


@dataclass(frozen=True, slots=True)
class ResultsShortened:
    """Oversized results were cut instead of a summary: note it, and answer with a ``FitOutcome``."""


@dataclass(frozen=True, slots=True)
class FitOutcome:
    """The outcome of what was yielded, and the session as it is now.

    The text of a summary is in messages of the view; a turn that was stopped sends no outcome.
    """

    view: View
    inputs: FitInputs
    failed: bool = False
    """There is no usable summary."""


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
    """Reduce the context until the next request fits, or as far as the policy allows.

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
        match tries.next_move(cause, may=tries.may_summarise(cause, view.messages, inputs.policy)):
            case "summarise":
                outcome = yield SummaryNeeded(overflow=cause == "refused")
                assert outcome is not None
                view, inputs = outcome.view, outcome.inputs
                cause = tries.summarised(failed=outcome.failed)
            case "send":
                return made
            case "look at the size":
                cause = "size"
            case "cut":
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
    """Return whether there is more to summarise than the newest prompt alone."""
    return any(isinstance(message.info, AssistantMessage) for message in messages)


def reported_full(tokens: Usage, model: ModelInfo, policy: Policy) -> bool:
    """Return whether an answer's usage calls for a summary; our rule estimates the next request instead."""
    overflow = policy.overflow
    return overflow.rule.startswith("opencode") and overflows(tokens, model, overflow)


def stored_full(
    messages: Messages,
    model: ModelInfo,
    policy: Policy,
    usage: Callable[[AssistantMessage], Usage] = lambda info: info.tokens,
) -> bool:
    """Return whether the newest ended answer calls for a summary; false where one was written since."""
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
    """Reduce the next request by everything that the policy reduces without a summary."""
    policy, count, new_id = inputs.policy, inputs.count, inputs.new_id
    reminders = remind(view, policy.reminders, new_id, count)
    view = yield from _decided(view, reminders, inputs.facts)
    projection = inputs.project(view)
    facts = inputs.facts.model_copy(update={"used_tokens": projection.total})
    before = view
    if policy.prune.rule in BEFORE_REQUESTS:
        view = yield from _decided(view, prune(view, policy, facts, new_id, count), facts)
    projection = projection if view is before else inputs.project(view)
    before, view = view, (yield from limit_pictures(view, projection, inputs, facts))
    projection = projection if view is before else inputs.project(view)
    way, route = choose_fit_action(view, projection, policy, facts)
    if tries.cuts_now(way, policy):
        before, view = view, (yield from _cut(view, inputs, tries, facts))
        if view is not before:
            projection = inputs.project(view)
            way, route = choose_fit_action(view, projection, policy, facts)
    tries.shorten = way == "compact_then_truncate"
    return FittedRequest(view, projection, facts, route)


def limit_pictures(
    view: View, projection: Projection, inputs: FitInputs, facts: Facts
) -> DeciderRun:
    """Keep the limits of the provider on pictures; the view stays the same one where nothing is beyond them.

    The presets of recorded agents know none: they know their own words of a refusal alone, too.
    """
    if inputs.model is None or inputs.policy.overflow.refusals != KEEPS_LIMITS:
        return view
    found = keep_picture_limits(
        view, projection.messages, inputs.model, inputs.new_id, inputs.shrink, inputs.learned
    )
    return (yield from _decided(view, found, facts))


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
    """Choose the cheapest action to make a request fit, with the policy's rule and estimate."""
    return fit_action(
        projection.total,
        policy,
        facts,
        conservative=lambda: conservative_tokens(projection.messages, policy.overflow),
        results=lambda: [
            len(one.shown) for one in shown_outputs(view, view.folded(policy.compact))
        ],
    )


def fit_action(
    total: int,
    policy: Policy,
    facts: Facts,
    *,
    conservative: Callable[[], int],
    results: Callable[[], Sequence[int]],
) -> tuple[FitAction, BudgetCheck]:
    """Choose the cheapest action by sizes: the request's tokens, and the characters of each result.

    ``conservative`` returns the tokens on the safe side, and with ``results`` is asked only where they count.
    """
    if policy.overflow.rule != "precheck" or not facts.window:
        found = check_budget(total, facts)
        return ("fits" if found.fits else "compact_only"), found
    measured = policy.overflow.measured and facts.calibration != UNMEASURED
    tokens = round(total * facts.calibration) if measured else conservative()
    fits = tokens <= facts.window - reserve_of(facts.window, policy.reserved, policy.overflow)
    checked = precheck(
        tokens,
        0 if fits else reducible(results(), facts.window, policy.recovery),
        facts.window,
        policy.reserved,
        policy.overflow,
    )
    return checked.way, BudgetCheck(checked.way == "fits", checked.tokens, checked.budget)

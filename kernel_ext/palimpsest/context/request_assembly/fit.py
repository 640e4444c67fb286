"""Make the next request fit its window: first by reductions that cost nothing, then by a summary.

Border: pure. No clock, no disk, no model: the generator ``fit_request`` yields its decisions, batch by batch, and its
need for a summary; the caller journals or applies each yield before it resumes the generator, and sends the outcome of
a summary back. Requests are made of messages (``MessageRequest``) or of the items of a timeline
(``context_policies/engine_presets/item_request.py``): the live loop and every replay drive the same generator, so they
cannot diverge. The order is that of docs/design/0028-fit.md: reminders, old outputs, a summary, oversized results, and
in the end an error message.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, Literal, Self, TypeVar

from palimpsest.context.budget.conservative_estimate import conservative_tokens
from palimpsest.context.budget.precheck import (
    FitAction,
    count_reducible_chars,
    precheck,
    reserve_of,
)
from palimpsest.context.budget.request_tokens import (
    BudgetCheck,
    Count,
    check_budget,
    usage_overflows,
)
from palimpsest.context.engine_text.reminders import decide_reminders
from palimpsest.context.reduction.message_outputs import MessageOutputs
from palimpsest.context.reduction.oversized_results import OVERSIZED_RULE as OVERSIZED
from palimpsest.context.reduction.oversized_results import cut_oversized
from palimpsest.context.reduction.picture_limits import Shrink, cannot_shrink, keep_picture_limits
from palimpsest.context.reduction.pruning import pruning_function, rule_name
from palimpsest.context.reduction.request_outputs import OutputReduction, RuleAnswer
from palimpsest.context.request_assembly.fittable_request import Cause, FittableRequest
from palimpsest.context.request_assembly.projection import Projection
from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Decision, Facts
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import ContextOverflowError
from palimpsest.transcript.messages import AssistantMessage, Message, Messages
from palimpsest.transcript.provider_profile.request_limits import NO_LIMITS, RequestLimits
from palimpsest.transcript.values import ModelInfo, Usage

REFUSALS_WITH_LIMITS = "union"
"""The setting ``refusals`` under which providers' limits on pictures are kept; recorded agents have no such limits."""
UNMEASURED_CALIBRATION = 1.0
"""The calibration where no provider has reported usage yet."""

FitMove = Literal["summarise", "send", "look at the size", "cut"]
"""The next attempt: ``send`` the request as it is, or ``cut`` results where no summary is possible."""


R = TypeVar("R", bound=FittableRequest)


@dataclass(slots=True)
class FitAttempts:
    """Counts the attempts of ``fit_request`` in one turn, and decides which may still be made."""

    compactions: int = 0
    refused_compactions: int = 0
    """Compactions after the provider refused a request as too long."""
    failed_compactions: int = 0
    """Compactions without a usable summary."""
    truncations: int = 0
    must_shorten: bool = False
    """Whether oversized results must be cut after the summary is written."""

    def may_compact(self, policy: Policy) -> bool:
        """Return whether another compaction may be tried in this turn."""
        compact = policy.compact
        has_attempts = self.compactions < compact.max_attempts
        may_fail = self.failed_compactions < compact.max_failed
        return policy.overflow.auto and has_attempts and may_fail

    def may_truncate(self, policy: Policy) -> bool:
        """Return whether oversized results may still be cut in this turn."""
        return self.truncations < policy.recovery.truncations

    def may_summarise(self, cause: Cause, messages: Messages, policy: Policy) -> bool:
        """Return whether a summary may be requested, and whether there is more to summarise than a prompt."""
        return self.may_request_summary(cause, policy) and has_history_to_summarise(messages, cause)

    def may_request_summary(self, cause: Cause, policy: Policy) -> bool:
        """Return whether a summary may be requested, if there is something to summarise."""
        if cause == "refused" and self.refused_compactions >= policy.recovery.compactions:
            return False
        return cause != "failed" and self.may_compact(policy)

    def next_move(self, cause: Cause, *, can_summarise: bool) -> FitMove:
        """Return the next attempt to shrink the context, and count it; ``can_summarise``: a summary may be requested."""
        if can_summarise:
            self.compactions += 1
            self.refused_compactions += cause == "refused"
            return "summarise"
        if cause == "size":
            return "send"
        # Reported tokens justify a summary, but do not stop a request.
        return "look at the size" if cause == "full" else "cut"

    def count_summary(self, *, has_failed: bool) -> Cause:
        """Count the outcome of a summary, and return the next cause."""
        self.failed_compactions += has_failed
        return "failed" if has_failed else "size"

    def must_cut(self, action: FitAction, policy: Policy) -> bool:
        """Return whether oversized results must be cut now: first of all, or as the last resort."""
        if action == "fits" or not self.may_truncate(policy):
            return False
        is_first_choice = action == "truncate_tool_results_only" or self.must_shorten
        return is_first_choice or not self.may_compact(policy)


@dataclass(frozen=True, slots=True)
class DecisionBatch:
    """The decisions that one decider made at once, and the facts they are based on."""

    decisions: tuple[Decision, ...]
    facts: Facts


@dataclass(frozen=True, slots=True)
class SummaryNeeded:
    """A request for a summary of the conversation so far; answered with a ``FitOutcome``."""

    overflow: bool
    """Whether the provider refused the request as too long."""


@dataclass(frozen=True, slots=True)
class ResultsShortened:
    """A report that oversized results were cut instead of a summary; answered with a ``FitOutcome``."""


@dataclass(frozen=True, slots=True)
class FitOutcome(Generic[R]):
    """The caller's answer to a yielded event, with the changed request.

    The request contains the text of a new summary; after a stopped turn there is no outcome.
    """

    request: R
    summary_failed: bool = False
    """Whether there is no usable summary."""


@dataclass(frozen=True, slots=True)
class FittedRequest(Generic[R]):
    """The next request, and whether it fits; otherwise it is not sent."""

    request: R
    facts: Facts
    budget_check: BudgetCheck


FitEvent = DecisionBatch | SummaryNeeded | ResultsShortened
Fit = Generator[FitEvent, FitOutcome[R] | None, FittedRequest[R] | None]
DeciderRun = Generator[DecisionBatch, None, R]


def fit_request(request: R, attempts: FitAttempts, cause: Cause = "size") -> Fit[R]:
    """Reduce the context until the next request fits, or as far as the policy allows.

    Returns the request, which may still not fit; None where a request was refused or a summary
    failed, and nothing is left to cut.
    """
    while True:
        fitted = None
        if cause == "size":
            fitted = yield from _reduce_without_summary(request, attempts)
            request = fitted.request
            if fitted.budget_check.fits:
                return fitted
        may_request = attempts.may_request_summary(cause, request.policy)
        can_summarise = may_request and request.has_history(cause)
        match attempts.next_move(cause, can_summarise=can_summarise):
            case "summarise":
                outcome = yield SummaryNeeded(overflow=cause == "refused")
                assert outcome is not None
                request = outcome.request
                cause = attempts.count_summary(has_failed=outcome.summary_failed)
            case "send":
                return fitted
            case "look at the size":
                cause = "size"
            case "cut":
                cuts = _oversized_cuts(request, attempts)
                if not cuts:
                    return None
                request = yield from _run_rule(request, OVERSIZED, RuleAnswer(cuts), request.facts)
                outcome = yield ResultsShortened()
                assert outcome is not None
                request, cause = outcome.request, "size"


def resume_fit(
    fit: Fit[R], outcome: FitOutcome[R] | None = None
) -> FitEvent | FittedRequest[R] | None:
    """Start or resume ``fit_request``, and return its next event, or at its end the request."""
    try:
        return fit.send(outcome)
    except StopIteration as stop:
        fitted: FittedRequest[R] | None = stop.value
        return fitted


def prune_after_turn(request: R) -> DeciderRun[R]:
    """Prune where the policy prunes at the end of a turn."""
    return (yield from _prune(request, "turn end", request.facts))


def has_history_to_summarise(messages: Messages, cause: Cause = "size") -> bool:
    """Return whether there is more to summarise than the newest prompt alone."""
    if cause == "refused" and messages and _is_refused(messages[-1]):
        # The answer of a refused request is empty, so it does not count as history.
        messages = messages[:-1]
    return any(isinstance(message.info, AssistantMessage) for message in messages)


def usage_needs_summary(tokens: Usage, model: ModelInfo, policy: Policy) -> bool:
    """Return whether an answer's usage calls for a summary: only by OpenCode's rules; others estimate the next request."""
    overflow = policy.overflow
    return overflow.rule.startswith("opencode") and usage_overflows(tokens, model, overflow)


def newest_answer_needs_summary(
    messages: Messages,
    model: ModelInfo,
    policy: Policy,
    usage: Callable[[AssistantMessage], Usage] = lambda info: info.tokens,
) -> bool:
    """Return whether the newest finished answer calls for a summary; False where a summary was written since."""
    for message in reversed(messages):
        info = message.info
        if isinstance(info, AssistantMessage) and (info.finish is not None or info.summary):
            return not info.summary and usage_needs_summary(usage(info), model, policy)
    return False


def _is_refused(message: Message) -> bool:
    info = message.info
    return isinstance(info, AssistantMessage) and isinstance(info.error, ContextOverflowError)


def _reduce_without_summary(
    request: R, attempts: FitAttempts
) -> Generator[DecisionBatch, None, FittedRequest[R]]:
    """Apply all reductions of the policy that need no summary."""
    decisions, request = request.with_reminders()
    if decisions:
        yield DecisionBatch(decisions, request.facts)
    facts, used_tokens = request.facts, request.total
    if facts.used_tokens != used_tokens:
        facts = facts.model_copy(update={"used_tokens": used_tokens})
    request = yield from _prune(request, "request", facts)
    decisions, request = request.with_limits()
    if decisions:
        yield DecisionBatch(decisions, facts)
    action, budget_check = choose_fit_action(request, facts)
    request.note_check(budget_check)
    if attempts.must_cut(action, request.policy) and (cuts := _oversized_cuts(request, attempts)):
        request = yield from _run_rule(request, OVERSIZED, RuleAnswer(cuts), facts)
        action, budget_check = choose_fit_action(request, facts)
        request.note_check(budget_check)
    attempts.must_shorten = action == "compact_then_truncate"
    return FittedRequest(request, facts, budget_check)


def _prune(request: R, when: str, facts: Facts) -> DeciderRun[R]:
    """Prune where the policy's rule runs at this moment."""
    rule = pruning_function(request.policy.prune.rule)
    if rule.when != when:
        return request
    answer = rule.decide(request.outputs, request.policy.prune, facts)
    return (yield from _run_rule(request, rule_name(request.policy), answer, facts))


def _oversized_cuts(request: FittableRequest, attempts: FitAttempts) -> tuple[OutputReduction, ...]:
    """Return the cuts of tool results that are too long for the window, and count the attempt; none after the last one."""
    if not attempts.may_truncate(request.policy):
        return ()
    attempts.truncations += 1
    return cut_oversized(request.outputs, request.policy.recovery, request.facts.window)


def _run_rule(request: R, rule: str, answer: RuleAnswer, facts: Facts) -> DeciderRun[R]:
    decisions, request = request.with_reductions(rule, answer)
    if decisions:
        yield DecisionBatch(decisions, facts)
    return request


def choose_fit_action(request: FittableRequest, facts: Facts) -> tuple[FitAction, BudgetCheck]:
    """Choose the cheapest action to make a request fit, with the policy's rule and estimate."""
    policy, total_tokens = request.policy, request.total
    if policy.overflow.rule != "precheck" or not facts.window:
        budget_check = check_budget(total_tokens, facts)
        return ("fits" if budget_check.fits else "compact_only"), budget_check
    is_measured = policy.overflow.measured and facts.calibration != UNMEASURED_CALIBRATION
    tokens = (
        round(total_tokens * facts.calibration) if is_measured else request.conservative_tokens()
    )
    is_within_budget = tokens <= facts.window - reserve_of(
        facts.window, policy.reserved, policy.overflow
    )
    result_lengths = (
        ()
        if is_within_budget
        else [output.shown_chars for output in request.outputs.newest_first()]
    )
    reducible_chars = count_reducible_chars(result_lengths, facts.window, policy.recovery)
    check = precheck(tokens, reducible_chars, facts.window, policy.reserved, policy.overflow)
    action = check.fit_action
    return action, BudgetCheck(action == "fits", check.tokens, check.budget)


@dataclass(frozen=True)
class MessageRequest:
    """A request made of messages, by values and pure functions alone; see ``FittableRequest``."""

    view: View
    policy: Policy
    facts: Facts
    """The facts before any decision; ``used_tokens`` are those of the previous request."""
    count: Count
    project: Callable[[View], Projection]
    """Makes the request of a view, with this model, system prompt and tools."""
    new_id: Callable[[], str]
    """Returns the id of the next decision."""
    model: ModelInfo | None = None
    """The model of the request, whose limits on pictures are kept; None keeps no limits."""
    shrink_picture: Shrink = cannot_shrink
    """Makes a picture smaller."""
    learned_limits: RequestLimits = NO_LIMITS
    """The limits that the provider named when it refused the request."""

    @cached_property
    def outputs(self) -> MessageOutputs:
        """The outputs that the request shows, for pruning rules."""
        return MessageOutputs(self.view, self.policy, self.count)

    @cached_property
    def projection(self) -> Projection:
        """The request as it would be sent now."""
        return self.project(self.view)

    @property
    def total(self) -> int:
        """Estimated tokens of the request."""
        return self.projection.total

    def conservative_tokens(self) -> int:
        """Return a conservative estimate of the request's tokens."""
        return conservative_tokens(self.projection.messages, self.policy.overflow)

    def has_history(self, cause: Cause) -> bool:
        """Return whether there is more to summarise than a prompt."""
        return has_history_to_summarise(self.view.messages, cause)

    def with_reminders(self) -> tuple[tuple[Decision, ...], Self]:
        """Add the reminders of the policy."""
        reminders = self.policy.reminders
        return self._with_decisions(decide_reminders(self.view, reminders, self.new_id, self.count))

    def with_reductions(self, rule: str, answer: RuleAnswer) -> tuple[tuple[Decision, ...], Self]:
        """Apply a rule's reductions as decisions."""
        if not answer.reductions:
            return (), self
        return self._with_decisions(self.outputs.decisions(rule, answer.reductions, self.new_id))

    def with_limits(self) -> tuple[tuple[Decision, ...], Self]:
        """Keep the limits of the provider on pictures.

        The presets of recorded agents keep no such limits, as they have only their own table of refusals.
        """
        if self.model is None or not self.model.vision:
            return (), self
        if self.policy.overflow.refusals != REFUSALS_WITH_LIMITS:
            return (), self
        messages, learned_limits = self.projection.messages, self.learned_limits
        decisions = keep_picture_limits(
            self.view, messages, self.model, self.new_id, self.shrink_picture, learned_limits
        )
        return self._with_decisions(decisions)

    def note_check(self, check: BudgetCheck) -> None:
        """Do nothing, since the compared numbers are journalled with the request."""

    def _with_decisions(self, decisions: Sequence[Decision]) -> tuple[tuple[Decision, ...], Self]:
        changed_request = (
            replace(self, view=self.view.with_decisions(*decisions)) if decisions else self
        )
        return tuple(decisions), changed_request

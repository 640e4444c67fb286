"""Replay a journal under another policy: compute the request that would have been sent at each step.

The same policy gives the recorded requests, to the byte. After the first difference the result is an
estimate: with another request the model might have answered something else.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.compaction.summary_request import COMPACT_RULE as COMPACT
from palimpsest.context.engine_text.reminders import MODE_RULE, STEERED_RULE
from palimpsest.context.reduction.oversized_results import OVERSIZED_RULE as OVERSIZED
from palimpsest.context.request_assembly.fit import (
    FittedRequest,
    ResultsShortened,
    SummaryNeeded,
    newest_answer_needs_summary,
    usage_needs_summary,
)
from palimpsest.context.request_assembly.fittable_request import Cause
from palimpsest.context.visible_messages import View, place_of
from palimpsest.context_policies.engine_presets.engine_step import with_prompt
from palimpsest.context_policies.summary_size import SUMMARY_TOKENS
from palimpsest.context_policies.whatif.moved_compaction import (
    RecordedMarker,
    compact,
    hide_compaction,
)
from palimpsest.context_policies.whatif.recorded_compactions import (
    RecordedCompaction,
    RecordedCompactions,
    read_compactions,
)
from palimpsest.context_policies.whatif.recorded_requests import RequestRecordings
from palimpsest.context_policies.whatif.request_fit import Fitted, ReplayedFit
from palimpsest.context_policies.whatif.request_writer import ReplayedRequest
from palimpsest.context_policies.whatif.simulated_session import SimulatedSession, StepInputs
from palimpsest.context_policies.whatif.step_builder import StepBuilder
from palimpsest.context_policies.whatif.steps import Compaction, Step
from palimpsest.model.wire.provider_messages import message_hash, provider_messages, request_hash
from palimpsest.store.interface import Store
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import (
    BESIDE_PURPOSES,
    PRUNE_RULE,
    Decision,
    StepRequest,
)
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import ContextOverflowError
from palimpsest.transcript.messages import AssistantMessage, UserMessage
from palimpsest.transcript.parts import CompactionPart, ToolCompleted, ToolPart
from palimpsest.transcript.provider_profile.older_profiles import profile_at
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    MessageUpdated,
    PartUpdated,
    Record,
    SessionStatus,
    StepRequested,
)
from palimpsest.transcript.values import Usage

ROLLBACK_RULE = "compact/aside"
"""Rule of decisions that drop the messages of a failed compaction."""
RULES_REPEATED = frozenset({"truncate", OVERSIZED, STEERED_RULE, MODE_RULE})
"""Rules, besides those of pruning, that are decided again under another policy."""


@dataclass(slots=True)
class DecisionsSinceStep:
    """Decisions and compactions since the newest step."""

    decisions: list[Decision] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _SentStep:
    """The newest step, as it would have been sent."""

    step: Step
    request: StepRequest
    inputs: StepInputs


class CounterfactualReplay:
    """Makes the loop's decisions under a policy at each record; builds a simulated and a recorded step of each request."""

    def __init__(
        self,
        store: Store,
        session_id: str,
        policy: Policy | None,
        counter: Callable[[str], Count],
        summary_tokens: int = SUMMARY_TOKENS,
    ) -> None:
        self.recorded_steps: list[Step] = []
        self.since_step = DecisionsSinceStep()
        self.recorded_since_step = DecisionsSinceStep()
        self._store = store
        self._session_id = session_id
        self._policy = policy
        self._counter = counter
        self._summary_tokens = summary_tokens
        self._state = State()
        self._recorded_compactions = RecordedCompactions()
        self._recordings = RequestRecordings(store, session_id, policy, counter)
        self._simulated = SimulatedSession(self._state, self._recordings.read, counter)
        self._step_builder = StepBuilder(session_id)
        self._newest_step: _SentStep | None = None
        self._handled_markers: set[str] = set()
        """Ids of the compaction markers that were handled."""
        self._fit = ReplayedFit(self._simulated)
        self._cause: Cause = "size"
        """Why the context must shrink: its size, or the newest answer, which reported a full window or failed."""
        self._is_answer_as_recorded = False
        """Whether the journal contains the newest answer's consequences: request and rule are the recorded ones."""
        self._checked_answer_id = ""
        """Id of the newest ended answer, which ``_check_answer`` need not check again."""
        self._scaled_usages: dict[str, Usage] = {}
        """The usage that would have been reported for answers to requests of another size."""
        self._applies_recorded_summary = False
        """Whether decisions that drop the messages of a failed compaction also apply in this simulation."""
        self._turn_inputs: StepInputs | None = None
        """The inputs of the turn's newest request; None where the turn sent no request."""
        self._marker_inputs: StepInputs | None = None

    def steps(self) -> Iterator[Step]:
        """Yield every simulated step."""
        self._recorded_compactions = read_compactions(self._store.read(self._session_id))
        for record in self._store.read(self._session_id):
            if record.seq > self._recorded_compactions.seq:
                # Records written since the first pass, by a kernel that has the session open.
                return
            self._before_record(record)
            self._state.apply(record)
            step = self._after_record(record)
            if step is not None:
                yield step

    def decisions_after_last_step(self) -> tuple[Decision, ...]:
        """Return the decisions after the newest step."""
        return tuple(self._simulated.new_decisions)

    # Records of the journal

    def _before_record(self, record: Record) -> None:
        match record.event:
            case MessageUpdated(info=AssistantMessage() as info) if (
                info.id in self._recorded_compactions.unsent_answers
            ):
                if self._state.message(info.id) is None:
                    self._handle_unsent_request(info)
            case MessageUpdated(info=UserMessage() as info):
                is_new = self._state.message(info.id) is None
                if is_new and not info.by_engine and not info.joins:
                    self._end_turn()
            case SessionStatus(status=status) if status.type == "idle":
                self._end_turn()
            case PartUpdated(part=ToolPart(state=ToolCompleted()) as part):
                self._truncate_output(part)
            case _:
                pass

    def _after_record(self, record: Record) -> Step | None:
        match record.event:
            case DecisionMade(decision=decision):
                self._record_decision(decision)
            case PartUpdated(part=CompactionPart() as part):
                self._handle_marker(part.message_id)
            case MessageUpdated(info=AssistantMessage() as info):
                self._check_answer(info)
            case StepRequested(request=request) if request.purpose == "step":
                return self._step(record.seq, request)
            case StepRequested(request=request):
                self._handle_side_request(request)
            case _:
                pass
        return None

    def _record_decision(self, decision: Decision) -> None:
        """Record a recorded decision; the user's decisions apply under every policy."""
        if decision.rule in RULES_REPEATED or decision.rule.startswith(PRUNE_RULE):
            self.recorded_since_step.decisions.append(decision)
        elif decision.rule != COMPACT and (
            decision.rule != ROLLBACK_RULE or self._applies_recorded_summary
        ):
            message_id = decision.message_id
            message_id = self._simulated.replaced_summaries.get(message_id or "", message_id)
            self._simulated.decisions.append(decision.model_copy(update={"message_id": message_id}))

    def _truncate_output(self, part: ToolPart) -> None:
        part_before = self._state.part(part.message_id, part.id)
        had_ended = isinstance(part_before, ToolPart) and isinstance(
            part_before.state, ToolCompleted
        )
        # A subtask of a prompt runs before the first request of its turn.
        request = self._recorded_compactions.requests_following.get(part.message_id)
        if not had_ended and request is not None:
            self._simulated.truncate(part, self._recordings.inputs_of(request))

    def _end_turn(self) -> None:
        """Make the loop's decisions at the end of a turn."""
        if self._turn_inputs is not None:
            self._finish_turn(replace(self._turn_inputs, answer_left_out=None))
        turn_inputs, self._turn_inputs, self._cause = self._turn_inputs, None, "size"
        self._fit.end_turn(turn_inputs and replace(turn_inputs, answer_left_out=None))

    def _finish_turn(self, inputs: StepInputs) -> None:
        """Reduce the context at the end of a turn, or cut results after a failed summary, where the loop would do so."""
        if self._fit.is_suspended:
            if not self._fit.has_failed:
                return
        elif self._cause == "size":
            return
        else:
            may_summarise = self._fit.may_summarise(inputs, self._cause)
            if (may_summarise and self._is_answer_as_recorded) or (
                not may_summarise and self._cause == "full"
            ):
                return
        outcome = self._fit.next_outcome(inputs, self._cause)
        while isinstance(outcome, SummaryNeeded):
            self._compact(inputs, None, overflow=outcome.overflow)
            outcome = self._fit.next_outcome(inputs) if self._fit.has_failed else None

    # Compactions

    def _handle_marker(self, marker_id: str) -> None:
        """Handle a recorded marker: compact here if the policy would do so, else hide the compaction."""
        compaction = self._recorded_compactions.compactions.get(marker_id)
        if compaction is None or marker_id in self._handled_markers:
            return
        self._handled_markers.add(marker_id)
        inputs = self._inputs_at(compaction)
        if inputs is None:
            return
        self._marker_inputs = inputs
        recorded_marker = self._recorded_marker(compaction, inputs)
        self.recorded_since_step.compactions.append(recorded_marker.compaction())
        is_requested = not compaction.is_automatic or self._decide_compaction(compaction, inputs)
        if is_requested:
            self._compact(inputs, recorded_marker)
        else:
            hide_compaction(self._simulated, compaction)
            self._applies_recorded_summary = False

    def _decide_compaction(self, compaction: RecordedCompaction, inputs: StepInputs) -> bool:
        """Apply the policy at a recorded marker; returns whether it requests a compaction there."""
        is_before_first_request = self._newest_step is None
        if is_before_first_request and compaction.summary_request is None:
            # The compaction was imported with a conversation, so it was not requested by this engine's loop.
            return True
        if compaction.overflow and not is_before_first_request and not self._would_be_refused():
            return False
        inputs_before = replace(inputs, answer_left_out=compaction.marker_id)
        cause, self._cause = (
            self._cause_to_shrink(inputs_before, refused=compaction.overflow),
            "size",
        )
        if isinstance(self._fit.next_outcome(inputs_before, cause), SummaryNeeded):
            return True
        if self._newest_step is None:
            return self._policy is None
        # The window at the compaction may differ from that of the previous step. It is recorded with the request for the
        # summary; if the kernel ended before sending that request, only the journal shows why it was requested.
        last_request = self._newest_step.request
        return (
            compaction.summary_request is None
            and self._recordings.policy(last_request) == inputs.policy
        )

    def _cause_to_shrink(self, inputs: StepInputs, *, refused: bool = False) -> Cause:
        """Return why the context must shrink before the next request."""
        if refused or self._cause in ("refused", "failed"):
            return "refused" if refused else self._cause
        effective_inputs = self._simulated.with_undo(inputs)
        scaled_usages = self._scaled_usages
        needs_summary = newest_answer_needs_summary(
            self._simulated.messages(inputs.answer_left_out),
            inputs.model,
            effective_inputs.policy,
            lambda info: scaled_usages.get(info.id, info.tokens),
        )
        return "full" if needs_summary else "size"

    def _would_be_refused(self) -> bool:
        """Return whether the provider, which refused the recorded request, would have refused the simulated one."""
        if self._newest_step is None or not self.recorded_steps:
            return False
        recorded_step, simulated_step = self.recorded_steps[-1], self._newest_step.step
        return (
            simulated_step.sha256 == recorded_step.sha256
            or simulated_step.tokens >= recorded_step.tokens
        )

    def _compact(
        self, inputs: StepInputs, recorded_marker: RecordedMarker | None, *, overflow: bool = False
    ) -> None:
        """Compact now, and pass the outcome to ``ReplayedFit``."""
        if recorded_marker is not None:
            inputs = replace(inputs, answer_left_out=recorded_marker.message.id)
        effective_inputs = self._simulated.with_undo(inputs)
        compaction = compact(
            self._simulated,
            effective_inputs,
            recorded_marker,
            self._summary_tokens,
            overflow=overflow,
        )
        self._applies_recorded_summary = compaction is not None and not compaction.stand_in
        if compaction is not None:
            self.since_step.compactions.append(compaction)
        recorded_compaction = (
            None if recorded_marker is None else recorded_marker.recorded_compaction
        )
        was_stopped = (
            recorded_compaction is not None
            and self._applies_recorded_summary
            and recorded_compaction.was_stopped
        )
        # After a failed summary that the user requested, the loop cuts no results: the turn continues or ends.
        is_by_loop = recorded_compaction is None or recorded_compaction.is_automatic
        has_failed = is_by_loop and (compaction is None or not compaction.succeeded)
        self._fit.set_summary_outcome(failed=has_failed, was_stopped=was_stopped)

    def _recorded_marker(
        self, compaction: RecordedCompaction, inputs: StepInputs
    ) -> RecordedMarker:
        messages = self._state.messages()
        index = place_of(messages, compaction.marker_id)
        view = View.of(messages[: index + 1], self._state.decisions, self._recordings.read)
        request = compaction.summary_request or (
            self._newest_step.request if self._newest_step else None
        )
        policy = self._recordings.policy(request) if request is not None else Policy()
        return RecordedMarker(
            compaction, messages[index], view, policy, inputs.model, self._counter
        )

    def _inputs_at(self, compaction: RecordedCompaction) -> StepInputs | None:
        """Return the inputs of a request at a marker: those of the neighbouring step."""
        message = self._state.message(compaction.marker_id)
        info = message.info if message is not None else None
        request = self._recorded_compactions.requests_following.get(compaction.marker_id)
        if self._newest_step is not None:
            is_same_model = self._newest_step.request.model.ref == getattr(info, "model", None)
            if request is None or (self._turn_inputs is not None and is_same_model):
                request = self._newest_step.request
        if request is None or info is None:
            return None
        request_with_policy = compaction.summary_request or request
        policy = self._recordings.policy_for(request_with_policy)
        inputs, model = self._recordings.inputs_of(request), request.model
        if request_with_policy.model.ref == model.ref:
            # The known facts about a model may have changed since the step before.
            model = request_with_policy.model
        return replace(
            inputs, model=model, policy=policy, time=info.time.created, answer_left_out=None
        )

    # Requests

    def _handle_side_request(self, request: StepRequest) -> None:
        """Handle a request that is not a step; ignore it if it would not have been sent."""
        if request.purpose in BESIDE_PURPOSES:
            return
        message = self._state.message(request.message_id or "")
        if request.purpose == "compaction" and (
            message is None or not self._applies_recorded_summary
        ):
            return
        if request.purpose == "compaction" and self._marker_inputs is not None:
            self._turn_inputs = self._marker_inputs
        self._store_request(request)

    def _handle_unsent_request(self, info: AssistantMessage) -> None:
        """Reduce the context for a request that was never sent, since it could not be made to fit."""
        request = self._newest_step.request if self._newest_step else None
        if request is None or request.model.ref != info.model:
            request = self._recorded_compactions.requests_following.get(info.id)
        if request is None or request.model.ref != info.model:
            # The window of this model is unknown.
            return
        inputs = replace(
            self._recordings.inputs_of(request), time=info.time.created, answer_left_out=None
        )
        cause, self._cause = self._cause_to_shrink(inputs), "size"
        outcome = self._fit.next_outcome(inputs, cause)
        while isinstance(outcome, SummaryNeeded | ResultsShortened):
            if isinstance(outcome, SummaryNeeded):
                self._compact(inputs, None, overflow=outcome.overflow)
            outcome = self._fit.next_outcome(inputs)

    def _store_request(self, request: StepRequest) -> None:
        """Store a request that would have been sent: its reported usage calibrates the next request."""
        simulated = self._simulated
        simulated.newest_request = request
        simulated.cache_used_at = request.facts.now
        simulated.request_tokens = request.tokens
        estimator = self._recordings.policy_for(request).estimator
        if estimator != request.facts.estimator:
            simulated.weights[request.id] = self._recordings.projection(
                request, self._state, estimator, simulated.token_counts(estimator)
            ).total

    def _step(self, seq: int, request: StepRequest) -> Step:
        inputs = self._recordings.inputs_of(request)
        fitted, written_request, fits = self._make_fitting_request(request, inputs)
        recorded_since = self.recorded_since_step
        recorded_step = self._step_builder.recorded_step(
            seq,
            request,
            self._state.request_items,
            recorded_since.decisions,
            recorded_since.compactions,
        )
        decisions, self._simulated.new_decisions = tuple(self._simulated.new_decisions), []
        step = self._step_builder.simulated_step(recorded_step, request, fitted, written_request)
        step = replace(
            step, fits=fits, decisions=decisions, compactions=tuple(self.since_step.compactions)
        )
        self.recorded_steps.append(recorded_step)
        self._newest_step = _SentStep(step, request, inputs)
        self._turn_inputs = inputs
        self._simulated.drop_unused()
        self._store_request(request)
        self._simulated.request_tokens = fitted.request.total
        self.since_step, self.recorded_since_step = DecisionsSinceStep(), DecisionsSinceStep()
        return step

    def _make_fitting_request(
        self, request: StepRequest, inputs: StepInputs
    ) -> tuple[Fitted, ReplayedRequest, bool]:
        """Make a request that fits, with as many compactions as necessary and allowed."""
        cause, self._cause = self._cause_to_shrink(inputs), "size"
        fitted_request: tuple[Fitted, ReplayedRequest] | None = None
        while True:
            outcome = self._fit.next_outcome(inputs, cause)
            match outcome:
                case FittedRequest():
                    fitted_request = outcome, self._written_request(request, inputs, outcome)
                    is_refused = self._is_refused(request, fitted_request[1])
                    if not is_refused:
                        return *fitted_request, outcome.budget_check.fits
                    cause = "refused"
                case SummaryNeeded():
                    self._compact(inputs, None, overflow=outcome.overflow)
                case ResultsShortened():
                    pass
                case None if fitted_request is not None:
                    return *fitted_request, False
                case None:
                    # The simulated turn would have ended here; the recorded turn, or a later one, continues.
                    cause = "size"

    def _written_request(
        self, request: StepRequest, inputs: StepInputs, fitted: Fitted
    ) -> ReplayedRequest:
        """Write a request in its provider's format, or as the recorded hook wrote the same request."""
        estimator = request.facts.estimator
        token_counts = self._simulated.token_counts(estimator)
        effective_inputs = self._simulated.with_undo(inputs)
        count_tokens, messages_so_far = self._counter(estimator), fitted.request.view.messages
        written_request = self._step_builder.writer.write(
            fitted.request.projection, effective_inputs, count_tokens, messages_so_far, token_counts
        )
        if request.opaque is None:
            return written_request
        hook_projection = self._recordings.projection(request, self._state, estimator, token_counts)
        recorded_profile = profile_at(request.model.ref, request.projection)
        hook_messages = provider_messages(hook_projection.messages, request.model, recorded_profile)
        hashes = tuple(message_hash(message.body) for message in hook_messages)
        if request_hash(hashes) != written_request.sha256:
            return written_request
        written_messages = self._recordings.hook_messages(request)
        return self._step_builder.written_by_hook(
            written_request, request, self._state.request_items, written_messages
        )

    def _is_refused(self, request: StepRequest, written_request: ReplayedRequest) -> bool:
        """Return whether the provider would refuse a request, by the usage it reported for others.

        The recorded request was accepted, even if the estimate exceeds the limit.
        """
        if written_request.sha256 == request.sha256:
            return False
        return round(written_request.tokens * request.facts.calibration) > request.model.capacity

    def _check_answer(self, info: AssistantMessage) -> None:
        """Check whether the context must shrink after an answer, by its usage or because it was refused."""
        newest_step = self._newest_step
        if (
            newest_step is None
            or newest_step.request.message_id != info.id
            or info.time.completed is None
        ):
            return
        if self._checked_answer_id == info.id:
            # The answer was checked before; this update only added the reason why the turn ended.
            return
        self._checked_answer_id = info.id
        policy, usage = newest_step.inputs.policy, info.tokens
        recorded_step = self.recorded_steps[-1]
        is_same = newest_step.step.sha256 == recorded_step.sha256
        recorded_overflow = self._recordings.policy(newest_step.request).overflow
        self._is_answer_as_recorded = is_same and recorded_overflow == policy.overflow
        if not is_same:
            prompt_tokens = usage.prompt
            if recorded_step.tokens:
                prompt_tokens = round(
                    prompt_tokens * newest_step.step.tokens / recorded_step.tokens
                )
            usage = self._scaled_usages[info.id] = with_prompt(usage, prompt_tokens)
        if isinstance(info.error, ContextOverflowError) and self._would_be_refused():
            self._cause = "failed" if info.error.compaction_failed else "refused"
        elif info.error is None and usage_needs_summary(usage, newest_step.request.model, policy):
            self._cause = "full"

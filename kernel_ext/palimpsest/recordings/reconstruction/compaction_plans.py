"""Make the decisions of a compaction again: the tail's beginning, each request's content, the summary's check.

Border: uses only views and recorded requests that are passed in. A plan is recorded before its request,
so it is stored until the request shows which policy was in effect.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.context.budget.request_tokens import Count, usable_tokens
from palimpsest.context.compaction.audit import summary_defects
from palimpsest.context.compaction.plan import CompactionPlan, compaction_plan, message_counter
from palimpsest.context.compaction.quality_check import messages_tokens, summary_report
from palimpsest.context.compaction.stage_selection import StageSelector
from palimpsest.context.compaction.stages import StageProgress, SummaryStage
from palimpsest.context.compaction.summary_request import (
    messages_seen_at,
    rejected_text,
    stage_numbers,
)
from palimpsest.context.visible_messages import View, messages_before
from palimpsest.recordings.reconstruction.decision_points import DecisionPoint
from palimpsest.transcript.context_values.decisions import Decision, Facts, OwnRule, StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import AssistantMessage, UserMessage
from palimpsest.transcript.parts import CompactionPart
from palimpsest.transcript.values import ModelInfo

PLAN_RULE: OwnRule = "compact/plan"
"""Rule for the beginning of a tail, which is recorded in the marker and not in a decision."""
NO_REQUEST_REASON = "no request for the summary tells which model and policy held"


@dataclass(frozen=True, slots=True)
class _PendingDecision:
    """A decision that was made before its request was recorded."""

    seq: int
    view: View
    decision: Decision
    facts: Facts | None = None


class CompactionRedecision:
    """Makes the compaction decisions of one log again, each as soon as its request is read."""

    def __init__(
        self,
        counter: Callable[[str], Count],
        policy_of: Callable[[StepRequest], Policy],
        read_blob: Callable[[str], bytes],
    ) -> None:
        self._counter = counter
        self._policy_of = policy_of
        self._read_blob = read_blob
        self._pending: list[_PendingDecision] = []
        self._step_model: ModelInfo | None = None
        """The newest step's model, for which compactions are planned and checked, even if another model writes them."""
        self._stage_progress: StageProgress | None = None
        """The progress of a summary that is written in stages; None where none is being written."""

    def add_marker(self, seq: int, part: CompactionPart, view: View) -> None:
        """Store a marker, which contains the tail's beginning, to be decided again."""
        decision = _tail_decision(part.message_id, part.tail_start_id)
        self._pending.append(_PendingDecision(seq, view, decision))

    def add_content_decision(
        self, seq: int, decision: Decision, view: View, facts: Facts | None
    ) -> None:
        """Store a decision about a request's content, to be decided again."""
        self._pending.append(_PendingDecision(seq, view, decision, facts))

    def decide_pending(
        self, request: StepRequest, newest_request: StepRequest | None
    ) -> Iterator[DecisionPoint]:
        """Make the decisions that wait for a request again; ``newest_request`` is the request before it."""
        if request.purpose == "step":
            yield from self.decide_unsent(newest_request)
            self._step_model = request.model
            return
        if request.purpose != "compaction":
            return
        pending_decisions, self._pending = self._pending, []
        for pending_decision in pending_decisions:
            yield self._decided_point(pending_decision, request)
        stage = (
            SummaryStage.from_numbers(pending_decisions[-1].decision.numbers)
            if pending_decisions
            else None
        )
        if self._stage_progress is not None and stage is not None:
            self._stage_progress = self._stage_progress.after_request(stage, request.id)

    def check_summary(
        self, seq: int, decision: Decision, view: View, request: StepRequest | None
    ) -> DecisionPoint:
        """Check a summary again, under the policy of the request that wrote it."""
        summary_infos = (m.info for m in view.messages if m.id == decision.message_id)
        summary_info = next(summary_infos, None)
        if request is None or not isinstance(summary_info, AssistantMessage):
            return DecisionPoint("compact", seq, "", (decision,), (), NO_REQUEST_REASON)
        policy, model = (
            self._policy_of(request),
            self._session_model(view, summary_info.parent_id, request),
        )
        count = self._counter(policy.estimator)
        # Another view loads the texts, which the view after the summary does not contain.
        covered_messages = messages_before(view.messages, summary_info.parent_id)
        earlier_view = View.of(covered_messages, view.decisions, self._read_blob)
        tokens_before = messages_tokens(earlier_view, policy, model, count)
        # In older sessions, whose summaries were not graded, the report is different.
        is_graded = "recent" in decision.numbers
        if is_graded:
            # Grading needs the texts that the summary covers.
            view = View(view.messages, view.decisions, {**view.texts, **earlier_view.texts})
        # Older sessions, in which the rules for names had no version, contain none.
        names_version = decision.numbers.get("names")
        new_report = summary_report(
            view,
            summary_info,
            policy,
            model,
            count,
            tokens_before,
            decision.id,
            is_graded=is_graded,
            names_version=names_version if isinstance(names_version, int) else 1,
            has_kept_numbers="kept" in decision.numbers,
        )
        new_decisions = (new_report,) if isinstance(new_report, Decision) else ()
        return DecisionPoint("compact", seq, request.id, (decision,), new_decisions)

    def decide_unsent(self, newest_request: StepRequest | None) -> Iterator[DecisionPoint]:
        """Repeat the decisions for requests that were never sent, under the policy of the newest request."""
        pending_decisions, self._pending = self._pending, []
        for pending_decision in pending_decisions:
            point = self._decided_point(pending_decision, newest_request)
            yield (
                point
                if point.is_same
                else replace(point, new_decisions=(), problem=NO_REQUEST_REASON)
            )

    def _decided_point(
        self, pending: _PendingDecision, request: StepRequest | None
    ) -> DecisionPoint:
        """Return the decision point of a pending decision; without a request nothing is decided."""
        new_decision = None if request is None else self._decide_again(pending, request)
        return DecisionPoint(
            "compact",
            pending.seq,
            "" if request is None else request.id,
            (pending.decision,),
            () if new_decision is None else (new_decision,),
        )

    def _decide_again(self, pending: _PendingDecision, request: StepRequest) -> Decision | None:
        policy = self._policy_of(request)
        marker_id = pending.decision.message_id or ""
        if pending.decision.rule == PLAN_RULE:
            model = self._session_model(pending.view, marker_id, request)
            plan = plan_at(pending.view, marker_id, policy, model, self._counter)
            return _tail_decision(marker_id, plan.tail_start_id)
        system_blocks: list[str] = json.loads(self._read_blob(request.system.sha256))
        facts = pending.facts or request.facts
        count = self._counter(facts.estimator)
        selector = StageSelector(
            marker_id, tuple(system_blocks), request.model, policy, count, facts.calibration
        )
        numbers = self._content_numbers(pending, selector)
        return None if numbers is None else selector.decision(pending.decision.id, numbers)

    def _content_numbers(
        self, pending: _PendingDecision, selector: StageSelector
    ) -> dict[str, Any] | None:
        """Return the numbers of the decision about the request's content."""
        view, numbers = pending.view, pending.decision.numbers
        if "lacks" in numbers:
            return _repeated_request_numbers(view, selector)
        if numbers.get("stage") in (None, 1):
            whole_history = selector.whole_history(view)
            if whole_history.fits_one_request or not selector.policy.compact.serialize:
                return whole_history.numbers
            result_chars = whole_history.result_chars
            self._stage_progress = selector.stage_progress(view, result_chars)
            return selector.next_stage_numbers(view, result_chars, self._stage_progress)
        if self._stage_progress is None:
            return None
        return selector.next_stage_numbers(view, int(numbers["result_chars"]), self._stage_progress)

    def _session_model(self, view: View, marker_id: str, request: StepRequest) -> ModelInfo:
        """Return the session's model at a marker; another model may write the summary."""
        info = next((message.info for message in view.messages if message.id == marker_id), None)
        marker_model = info.model if isinstance(info, UserMessage) else None
        if request.model.ref == marker_model or self._step_model is None:
            return request.model
        return self._step_model


def _repeated_request_numbers(view: View, selector: StageSelector) -> dict[str, Any]:
    """Return the numbers of a repeated request for a summary: the earlier ones, and what the rejected text lacks."""
    policy, marker_id = selector.policy, selector.marker_id
    history = messages_seen_at(view, marker_id, policy)
    rejected_summary = rejected_text(view.messages, marker_id)
    defects = summary_defects(rejected_summary, history, policy.compact)
    return {**stage_numbers(view.decisions, marker_id), "lacks": list(defects)}


def _tail_decision(marker_id: str, tail_start_id: str | None) -> Decision:
    """Return a decision that contains the beginning of a tail."""
    return Decision(
        id=marker_id,
        action="summarise",
        rule=PLAN_RULE,
        message_id=marker_id,
        numbers={"tail_start_id": tail_start_id},
    )


def plan_at(
    view: View, marker_id: str, policy: Policy, model: ModelInfo, counter: Callable[[str], Count]
) -> CompactionPlan:
    """Plan the compaction of a marker, which is the last message and has no tail yet."""
    history = messages_seen_at(view, marker_id, policy)
    count = message_counter(policy, model.ref, counter(policy.estimator))
    return compaction_plan(history, policy.compact, usable_tokens(model, policy.overflow), count)

"""Decide a compaction again: where the tail began, what each request contained, and the summary's check.

Border: uses only views and recorded requests that are passed in. A plan is recorded before its request,
so it is held until the request shows which policy was in effect.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.context.budget.request_tokens import Count, usable_tokens
from palimpsest.context.compaction.audit import missing_from_summary
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

PLAN: OwnRule = "compact/plan"
"""Rule for where a tail begins, which is recorded in the marker and not in a decision."""
NO_REQUEST = "no request for the summary tells which model and policy held"


@dataclass(frozen=True, slots=True)
class _PendingDecision:
    """A decision that was made before its request was recorded."""

    seq: int
    view: View
    decision: Decision
    facts: Facts | None = None


class CompactionRedecision:
    """Makes the compaction decisions of one log again, each once its request is read."""

    def __init__(
        self,
        counter: Callable[[str], Count],
        policy_of: Callable[[StepRequest], Policy],
        read: Callable[[str], bytes],
    ) -> None:
        self._counter = counter
        self._policy_of = policy_of
        self._read = read
        self._pending: list[_PendingDecision] = []
        self._model: ModelInfo | None = None
        """The model of the newest step: compactions are planned and checked for it, whichever model writes them."""
        self._stages: StageProgress | None = None
        """The progress of a summary in stages."""

    def record_marker(self, seq: int, part: CompactionPart, view: View) -> None:
        """Record a marker that names its tail."""
        self._pending.append(
            _PendingDecision(seq, view, _tail_decision(part.message_id, part.tail_start_id))
        )

    def record_choice(self, seq: int, decision: Decision, view: View, facts: Facts | None) -> None:
        """Record a decision about what a request contains."""
        self._pending.append(_PendingDecision(seq, view, decision, facts))

    def decide_waiting(
        self, request: StepRequest, newest: StepRequest | None
    ) -> Iterator[DecisionPoint]:
        """Make the decisions for a request again; ``newest`` is the request before it."""
        if request.purpose == "step":
            yield from self.undecided(newest)
            self._model = request.model
            return
        if request.purpose != "compaction":
            return
        pending, self._pending = self._pending, []
        for waiting in pending:
            redecided = self._decide_again(waiting, request)
            new_decisions = () if redecided is None else (redecided,)
            yield DecisionPoint(
                "compact",
                waiting.seq,
                request.id,
                (waiting.decision,),
                new_decisions,
            )
        stage = SummaryStage.of(pending[-1].decision.numbers) if pending else None
        if self._stages is not None and stage is not None:
            self._stages = self._stages.after_request(stage, request.id)

    def check_summary(
        self, seq: int, decision: Decision, view: View, request: StepRequest | None
    ) -> DecisionPoint:
        """Check a summary again; ``request`` wrote it."""
        info = next(
            (message.info for message in view.messages if message.id == decision.message_id), None
        )
        if request is None or not isinstance(info, AssistantMessage):
            return DecisionPoint("compact", seq, "", (decision,), (), NO_REQUEST)
        policy, model = self._policy_of(request), self._session_model(view, info.parent_id, request)
        count = self._counter(policy.estimator)
        # A view of its own loads the texts; the view after the summary does not need them any more.
        own_messages = messages_before(view.messages, info.parent_id)
        earlier = View.of(own_messages, view.decisions, self._read)
        before = messages_tokens(earlier, policy, model, count)
        # Sessions from before summaries were graded have another report.
        graded = "recent" in decision.numbers
        # Grading needs the texts that the summary covers.
        whole = (
            View(view.messages, view.decisions, {**view.texts, **earlier.texts}) if graded else view
        )
        # Sessions from before the names had versioned rules hold no version.
        version = decision.numbers.get("names")
        report_again = summary_report(
            whole,
            info,
            policy,
            model,
            count,
            before,
            decision.id,
            graded=graded,
            names=version if isinstance(version, int) else 1,
            with_kept="kept" in decision.numbers,
        )
        redecided = (report_again,) if isinstance(report_again, Decision) else ()
        return DecisionPoint("compact", seq, request.id, (decision,), redecided)

    def undecided(self, newest: StepRequest | None) -> Iterator[DecisionPoint]:
        """Make the decisions for requests that were never sent again, under the policy of the newest request."""
        pending, self._pending = self._pending, []
        for waiting in pending:
            redecided = self._decide_again(waiting, newest) if newest is not None else None
            new_decisions = (redecided,) if redecided is not None else ()
            point = DecisionPoint(
                "compact",
                waiting.seq,
                newest.id if newest else "",
                (waiting.decision,),
                new_decisions,
            )
            yield point if point.same else replace(point, made=(), problem=NO_REQUEST)

    def _decide_again(self, waiting: _PendingDecision, request: StepRequest) -> Decision | None:
        policy = self._policy_of(request)
        marker_id = waiting.decision.message_id or ""
        if waiting.decision.rule == PLAN:
            model = self._session_model(waiting.view, marker_id, request)
            plan = plan_at(waiting.view, marker_id, policy, model, self._counter)
            return _tail_decision(marker_id, plan.tail_start_id)
        system: list[str] = json.loads(self._read(request.system.sha256))
        facts = waiting.facts or request.facts
        count = self._counter(facts.estimator)
        selector = StageSelector(
            marker_id, tuple(system), request.model, policy, count, facts.calibration
        )
        numbers = self._numbers(waiting, selector)
        return selector.decision(waiting.decision.id, numbers) if numbers is not None else None

    def _numbers(self, waiting: _PendingDecision, selector: StageSelector) -> dict[str, Any] | None:
        """Return the numbers of the decision about what the request contains."""
        if "lacks" in waiting.decision.numbers:
            return self._repeated_request_numbers(waiting, selector)
        if waiting.decision.numbers.get("stage") in (None, 1):
            whole = selector.whole_history(waiting.view)
            if whole.fits or not selector.policy.compact.serialize:
                return whole.numbers
            self._stages = selector.stage_progress(waiting.view, whole.result_chars)
            return selector.next_stage_numbers(waiting.view, whole.result_chars, self._stages)
        if self._stages is None:
            return None
        return selector.next_stage_numbers(
            waiting.view,
            int(waiting.decision.numbers["result_chars"]),
            self._stages,
        )

    def _repeated_request_numbers(
        self, waiting: _PendingDecision, selector: StageSelector
    ) -> dict[str, Any]:
        """Return the numbers of a repeated request for a summary: the earlier ones, and what the rejected text lacked."""
        policy = selector.policy
        history = messages_seen_at(waiting.view, selector.marker_id, policy)
        missing = missing_from_summary(
            rejected_text(waiting.view.messages, selector.marker_id),
            history,
            policy.compact,
        )
        return {
            **stage_numbers(waiting.view.decisions, selector.marker_id),
            "lacks": list(missing),
        }

    def _session_model(self, view: View, marker_id: str, request: StepRequest) -> ModelInfo:
        """Return the session's model at a marker, which need not be the one that writes the summary."""
        info = next((message.info for message in view.messages if message.id == marker_id), None)
        marker_model = info.model if isinstance(info, UserMessage) else None
        if request.model.ref == marker_model or self._model is None:
            return request.model
        return self._model


def _tail_decision(marker_id: str, tail_start_id: str | None) -> Decision:
    """Return where a tail begins, as a decision."""
    return Decision(
        id=marker_id,
        action="summarise",
        rule=PLAN,
        message_id=marker_id,
        numbers={"tail_start_id": tail_start_id},
    )


def plan_at(
    view: View,
    marker_id: str,
    policy: Policy,
    model: ModelInfo,
    counter: Callable[[str], Count],
) -> CompactionPlan:
    """Plan the compaction that a marker requests; it is the last message, and names no tail yet."""
    history = messages_seen_at(view, marker_id, policy)
    weigh = message_counter(policy, model.ref, counter(policy.estimator))
    return compaction_plan(history, policy.compact, usable_tokens(model, policy.overflow), weigh)

"""Decide a compaction again: where the tail began, what each request contained, and the summary's check.

Border: uses only views and recorded requests that are passed in. A plan is recorded before its request,
so it is held until the request shows which policy was in effect.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.context.budget.request_tokens import Count, usable
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
from palimpsest.review.reconstruction.decision_points import DecisionPoint
from palimpsest.transcript.context_values.decisions import Decision, Facts, OwnRule, StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import AssistantMessage, UserMessage
from palimpsest.transcript.parts import CompactionPart
from palimpsest.transcript.values import ModelInfo

PLAN: OwnRule = "compact/plan"
"""Rule for where a tail begins, which is recorded in the marker and not in a decision."""
NO_REQUEST = "no request for the summary tells which model and policy held"


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A choice that was made before its request was recorded."""

    seq: int
    view: View
    decision: Decision
    facts: Facts | None = None


class CompactionRedecision:
    """Decides the compactions of one log again.

    Responsibilities: hold each choice until its request is read; track the session's model; follow a
    summary in stages.
    """

    def __init__(
        self,
        counter: Callable[[str], Count],
        policy_of: Callable[[StepRequest], Policy],
        read: Callable[[str], bytes],
    ) -> None:
        self._counter = counter
        self._policy_of = policy_of
        self._read = read
        self._waiting: list[_Waiting] = []
        self._model: ModelInfo | None = None
        """Of the newest step: compactions are planned and checked for it, whichever model writes them."""
        self._parts: StageProgress | None = None
        """The progress of a summary in stages."""

    def planned(self, seq: int, part: CompactionPart, view: View) -> None:
        """Record a marker that names its tail."""
        self._waiting.append(_Waiting(seq, view, _tail(part.message_id, part.tail_start_id)))

    def chose(self, seq: int, decision: Decision, view: View, facts: Facts | None) -> None:
        """Record a decision about what a request contains."""
        self._waiting.append(_Waiting(seq, view, decision, facts))

    def requested(
        self, request: StepRequest, newest: StepRequest | None
    ) -> Iterator[DecisionPoint]:
        """Decide again what was chosen for a request; ``newest`` is the one before it."""
        if request.purpose == "step":
            yield from self.left_over(newest)
            self._model = request.model
            return
        if request.purpose != "compaction":
            return
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            again = self._again(one, request)
            made = () if again is None else (again,)
            yield DecisionPoint("compact", one.seq, request.id, (one.decision,), made)
        stretch = SummaryStage.of(waiting[-1].decision.numbers) if waiting else None
        if self._parts is not None and stretch is not None:
            self._parts = self._parts.after(stretch, request.id)

    def judged(
        self, seq: int, decision: Decision, view: View, request: StepRequest | None
    ) -> DecisionPoint:
        """Check a summary again; ``request`` wrote it."""
        info = next((one.info for one in view.messages if one.id == decision.message_id), None)
        if request is None or not isinstance(info, AssistantMessage):
            return DecisionPoint("compact", seq, "", (decision,), (), NO_REQUEST)
        policy, model = self._policy_of(request), self._speaks(view, info.parent_id, request)
        count = self._counter(policy.estimator)
        # A view of its own loads the texts; the view after the summary does not need them any more.
        said = messages_before(view.messages, info.parent_id)
        earlier = View.of(said, view.decisions, self._read)
        before = messages_tokens(earlier, policy, model, count)
        # Sessions from before summaries were graded have another report.
        graded = "recent" in decision.numbers
        # The texts of what the summary covers are needed to grade it.
        whole = (
            View(view.messages, view.decisions, {**view.texts, **earlier.texts}) if graded else view
        )
        # Those before names had other rules hold no version of them.
        version = decision.numbers.get("names")
        made = summary_report(
            whole,
            info,
            policy,
            model,
            count,
            before,
            decision.id,
            graded=graded,
            names=version if isinstance(version, int) else 1,
            tells_kept="kept" in decision.numbers,
        )
        again = (made,) if isinstance(made, Decision) else ()
        return DecisionPoint("compact", seq, request.id, (decision,), again)

    def left_over(self, newest: StepRequest | None) -> Iterator[DecisionPoint]:
        """Decide again the choices whose request was never sent, as far as the newest request allows."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            again = self._again(one, newest) if newest is not None else None
            made = (again,) if again is not None else ()
            told = DecisionPoint(
                "compact", one.seq, newest.id if newest else "", (one.decision,), made
            )
            yield told if told.same else replace(told, made=(), problem=NO_REQUEST)

    def _again(self, one: _Waiting, request: StepRequest) -> Decision | None:
        policy = self._policy_of(request)
        marker_id = one.decision.message_id or ""
        if one.decision.rule == PLAN:
            model = self._speaks(one.view, marker_id, request)
            made = plan_at(one.view, marker_id, policy, model, self._counter)
            return _tail(marker_id, made.tail_start_id)
        system: list[str] = json.loads(self._read(request.system.sha256))
        facts = one.facts or request.facts
        count = self._counter(facts.estimator)
        telling = StageSelector(
            marker_id, tuple(system), request.model, policy, count, facts.calibration
        )
        numbers = self._told(one, telling)
        return telling.decision(one.decision.id, numbers) if numbers is not None else None

    def _told(self, one: _Waiting, telling: StageSelector) -> dict[str, Any] | None:
        """Return the numbers of the decision about what the request contains."""
        if "lacks" in one.decision.numbers:
            return self._told_again(one, telling)
        if one.decision.numbers.get("stage") in (None, 1):
            whole = telling.whole(one.view)
            if whole.fits or not telling.policy.compact.serialize:
                return whole.numbers
            self._parts = telling.parts(one.view, whole.result_chars)
            return telling.part(one.view, whole.result_chars, self._parts)
        if self._parts is None:
            return None
        return telling.part(one.view, int(one.decision.numbers["result_chars"]), self._parts)

    def _told_again(self, one: _Waiting, telling: StageSelector) -> dict[str, Any]:
        """Return the numbers of a repeated request for a summary: the earlier ones, and what it lacked."""
        policy = telling.policy
        seen = messages_seen_at(one.view, telling.marker_id, policy)
        found = missing_from_summary(
            rejected_text(one.view.messages, telling.marker_id), seen, policy.compact
        )
        return {**stage_numbers(one.view.decisions, telling.marker_id), "lacks": list(found)}

    def _speaks(self, view: View, marker_id: str, request: StepRequest) -> ModelInfo:
        """Return the session's model at a marker, which need not be the one that writes the summary."""
        info = next((one.info for one in view.messages if one.id == marker_id), None)
        wanted = info.model if isinstance(info, UserMessage) else None
        if request.model.ref == wanted or self._model is None:
            return request.model
        return self._model


def _tail(marker_id: str, tail_start_id: str | None) -> Decision:
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
    seen = messages_seen_at(view, marker_id, policy)
    weigh = message_counter(policy, model.ref, counter(policy.estimator))
    return compaction_plan(seen, policy.compact, usable(model, policy.overflow), weigh)

"""Compact under another policy: with the recorded summary where it would have been the same, else a stand-in.

The recorded summary is used when the same messages would have been summarised and the same kept:
then the model was sent the same request. Otherwise a stand-in of a stated size replaces it, and
the recorded messages of the compaction are hidden.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.compaction.plan import CompactionPlan, message_counter
from palimpsest.context.compaction.summary_request import SYSTEM, project_summary
from palimpsest.context.visible_messages import View
from palimpsest.review.counterfactual.placeholder_summary import (
    SUMMARY_TOKENS,
    bare_marker,
    placeholder_summary,
    summary_text,
    with_tail,
)
from palimpsest.review.counterfactual.recorded_compactions import RecordedCompaction
from palimpsest.review.counterfactual.simulated_session import SimulatedSession, StepInputs
from palimpsest.review.counterfactual.steps import Compaction
from palimpsest.review.reconstruction.compaction_plans import plan_at
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import Message, Messages, UserMessage
from palimpsest.transcript.values import ModelInfo


@dataclass(frozen=True, slots=True)
class RecordedMarker:
    """A recorded marker, and the session and policy under which its compaction ran."""

    recorded: RecordedCompaction
    message: Message
    view: View
    """Of the recorded session, up to the marker."""
    policy: Policy
    """The policy under which the recorded compaction was planned."""

    model: ModelInfo
    counter: Callable[[str], Count]

    @property
    def plan(self) -> CompactionPlan:
        """The plan of the recorded compaction, made again as the loop made it."""
        bare = with_tail(self.message, None)
        view = replace(self.view, messages=(*self.view.messages[:-1], bare))
        return plan_at(view, bare.id, self.policy, self.model, self.counter)

    def compaction(self, covered: int | None = None) -> Compaction:
        """Return the recorded compaction as a value."""
        recorded = self.recorded
        return Compaction(
            marker_id=recorded.marker_id,
            covered=len(self.plan.head) if covered is None else covered,
            tokens_before=recorded.tokens_before,
            tokens_after=recorded.tokens_after,
            requested=recorded.requested,
            stand_in=False,
            good=recorded.good,
            by_hand=not recorded.auto,
        )


def compact(
    other: SimulatedSession,
    asking: StepInputs,
    marked: RecordedMarker | None,
    size: int = SUMMARY_TOKENS,
    *,
    overflow: bool = False,
) -> Compaction | None:
    """Compact the simulated session now; None where that would save too little.

    ``marked`` is the recorded marker at this point, if there is one; ``overflow`` means that the
    provider would have refused a request.
    """
    before = other.messages(asking.without)
    if marked is not None:
        before = tuple(one for one in before if one.id != marked.message.id)
    user = next((one.info for one in reversed(before) if isinstance(one.info, UserMessage)), None)
    if user is None:
        return None
    name = f"msg_{other.new_id()}"
    marker = (
        marked.message
        if marked is not None
        else bare_marker(name, user, asking.now, auto=True, overflow=overflow)
    )
    view = other.view((*before, with_tail(marker, None)))
    made = plan_at(view, marker.id, asking.policy, asking.model, other.counter)
    if marked is not None and _same(marked, made, asking.policy):
        return marked.compaction(len(made.head))
    return _stand_in(other, asking, marked, view, made, before, size)


def hide_compaction(other: SimulatedSession, recorded: RecordedCompaction) -> None:
    """Hide the messages of a recorded compaction that would not have happened."""
    goes_on = (recorded.goes_on,) if recorded.goes_on is not None else ()
    other.hide((recorded.marker_id, *recorded.summaries, *goes_on))


def _same(marked: RecordedMarker, made: CompactionPlan, policy: Policy) -> bool:
    """Return whether the recorded compaction summarised and kept the same, with the same prompt and model."""
    theirs, ours = marked.policy.compact, policy.compact
    if (theirs.model, theirs.prompt, theirs.serialize) != (ours.model, ours.prompt, ours.serialize):
        return False
    was = marked.plan
    return (was.tail_start_id, was.previous, was.head, was.replay) == (
        made.tail_start_id,
        made.previous,
        made.head,
        made.replay,
    )


def _stand_in(
    other: SimulatedSession,
    asking: StepInputs,
    marked: RecordedMarker | None,
    view: View,
    made: CompactionPlan,
    before: Messages,
    size: int,
) -> Compaction | None:
    """Replace what a plan covers by a text of ``size`` tokens; the marker is the view's last message."""
    marker = view.messages[-1]
    requested = project_summary(
        view,
        marker_id=marker.id,
        system=(SYSTEM,),
        model=asking.model.ref,
        policy=asking.policy,
        count=other.counter(asking.policy.estimator),
    ).total
    policy = asking.policy
    count = other.counter(policy.estimator)
    weight = message_counter(policy, asking.model.ref, count)(made.head)
    text = summary_text(made, weight, size, count)
    name = marker.id if marked is None else f"{marker.id}-moved"
    moved = marker.model_copy(update={"info": marker.info.model_copy(update={"id": name})})
    added = placeholder_summary(
        moved, made, before, policy, asking.model.ref, other.state.todos, text
    )
    tokens_before = other.size(before, asking)
    tokens_after = other.size((*before, *added), asking)
    if marked is not None:
        hide_compaction(other, marked.recorded)
    if policy.compact.judge and tokens_after > policy.compact.max_share_after * tokens_before:
        return None
    other.add(_last(other, marked, asking), added)
    if marked is not None:
        other.replaced |= dict.fromkeys(marked.recorded.summaries, added[1].id)
    other.touched = asking.now
    return Compaction(
        marker_id=name,
        covered=len(made.head),
        tokens_before=tokens_before,
        tokens_after=tokens_after,
        requested=requested,
        stand_in=True,
        by_hand=marked is not None and not marked.recorded.auto,
    )


def _last(other: SimulatedSession, marked: RecordedMarker | None, asking: StepInputs) -> str:
    """Return the id of the recorded message after which the compaction is inserted."""
    if marked is not None:
        return marked.message.id
    names = [message.id for message in other.state.messages() if message.id != asking.without]
    return names[-1]

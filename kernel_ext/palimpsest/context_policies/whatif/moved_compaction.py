"""Compact under another policy: with the recorded summary where it applies, else with a placeholder.

The recorded summary applies when the same messages would have been summarised and kept, so that the model was sent the
same request. Otherwise a placeholder of a stated size replaces it, and the recorded messages of the compaction are
hidden.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.compaction.plan import CompactionPlan, message_counter
from palimpsest.context.compaction.summary_request import SYSTEM, project_summary
from palimpsest.context.visible_messages import View
from palimpsest.context_policies.whatif.placeholder_summary import (
    automatic_marker,
    placeholder_summary,
    placeholder_text,
    with_tail,
)
from palimpsest.context_policies.whatif.recorded_compactions import RecordedCompaction
from palimpsest.context_policies.whatif.simulated_session import SimulatedSession, StepInputs
from palimpsest.context_policies.whatif.steps import Compaction
from palimpsest.recordings.reconstruction.compaction_plans import plan_at
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import Message, Messages, UserMessage
from palimpsest.transcript.values import ModelInfo


@dataclass(frozen=True)
class RecordedMarker:
    """A recorded marker, and the session and policy under which its compaction ran."""

    recorded_compaction: RecordedCompaction
    message: Message
    view: View
    """The view of the recorded session, up to the marker."""
    policy: Policy
    """The policy under which the recorded compaction was planned."""

    model: ModelInfo
    counter: Callable[[str], Count]

    @cached_property
    def plan(self) -> CompactionPlan:
        """The plan of the recorded compaction, computed again as in the live loop."""
        marker = with_tail(self.message, None)
        view = replace(self.view, messages=(*self.view.messages[:-1], marker))
        return plan_at(view, marker.id, self.policy, self.model, self.counter)

    def compaction(self) -> Compaction:
        """Return the recorded compaction as a value."""
        recorded_compaction = self.recorded_compaction
        return Compaction(
            marker_id=recorded_compaction.marker_id,
            covered_count=len(self.plan.summarised_messages),
            tokens_before=recorded_compaction.tokens_before,
            tokens_after=recorded_compaction.tokens_after,
            requested_tokens=recorded_compaction.requested_tokens,
            stand_in=False,
            succeeded=recorded_compaction.succeeded,
            by_hand=not recorded_compaction.is_automatic,
        )


def compact(
    simulated: SimulatedSession,
    inputs: StepInputs,
    recorded_marker: RecordedMarker | None,
    placeholder_tokens: int,
    *,
    overflow: bool,
) -> Compaction | None:
    """Compact the simulated session; returns None where that would save too little.

    ``recorded_marker`` is the recorded marker at this point, if there is one, which ``inputs`` leave out; ``placeholder_tokens`` is that
    of a placeholder in tokens; ``overflow`` is set where the provider would have refused a request.
    """
    messages_before = simulated.messages(inputs.answer_left_out)
    infos = (message.info for message in reversed(messages_before))
    user_message = next((info for info in infos if isinstance(info, UserMessage)), None)
    if user_message is None:
        return None
    marker_id = f"msg_{simulated.new_id()}"
    if recorded_marker is None:
        marker = automatic_marker(marker_id, user_message, inputs.time, overflow=overflow)
    else:
        marker = recorded_marker.message
    view = simulated.view((*messages_before, with_tail(marker, None)))
    new_plan = plan_at(view, marker.id, inputs.policy, inputs.model, simulated.counter)
    if recorded_marker is not None and _has_same_plan(recorded_marker, new_plan, inputs.policy):
        return recorded_marker.compaction()
    return _with_placeholder(
        simulated, inputs, recorded_marker, view, new_plan, messages_before, placeholder_tokens
    )


def hide_compaction(simulated: SimulatedSession, compaction: RecordedCompaction) -> None:
    """Hide the messages of a recorded compaction that would not have happened."""
    continuation_ids = (
        (compaction.continuation_id,) if compaction.continuation_id is not None else ()
    )
    simulated.hide((compaction.marker_id, *compaction.summary_ids, *continuation_ids))


def _has_same_plan(
    recorded_marker: RecordedMarker, new_plan: CompactionPlan, policy: Policy
) -> bool:
    """Return whether the recorded compaction summarised and kept the same messages, with the same prompt and model."""
    fields_of_policy = attrgetter("model", "prompt", "serialize")
    if fields_of_policy(recorded_marker.policy.compact) != fields_of_policy(policy.compact):
        return False
    fields_of_plan = attrgetter(
        "tail_start_id", "previous_summary", "summarised_messages", "replay"
    )
    return bool(fields_of_plan(recorded_marker.plan) == fields_of_plan(new_plan))


def _with_placeholder(
    simulated: SimulatedSession,
    inputs: StepInputs,
    recorded_marker: RecordedMarker | None,
    view: View,
    plan: CompactionPlan,
    messages_before: Messages,
    placeholder_tokens: int,
) -> Compaction | None:
    """Replace the messages that a plan covers by a text of ``placeholder_tokens`` tokens; the marker is the view's last message."""
    marker, policy, model = view.messages[-1], inputs.policy, inputs.model.ref
    count = simulated.counter(policy.estimator)
    requested_tokens = project_summary(
        view, marker_id=marker.id, system=(SYSTEM,), model=model, policy=policy, count=count
    ).total
    covered_tokens = message_counter(policy, model, count)(plan.summarised_messages)
    text = placeholder_text(plan, covered_tokens, placeholder_tokens, count)
    moved_id = marker.id if recorded_marker is None else f"{marker.id}-moved"
    moved_marker = marker.model_copy(
        update={"info": marker.info.model_copy(update={"id": moved_id})}
    )
    placeholder = placeholder_summary(
        moved_marker, plan, messages_before, policy, model, simulated.state.todos, text
    )
    tokens_before = simulated.size(messages_before, inputs)
    tokens_after = simulated.size((*messages_before, *placeholder), inputs)
    if recorded_marker is not None:
        hide_compaction(simulated, recorded_marker.recorded_compaction)
    if policy.compact.judge and tokens_after > policy.compact.max_share_after * tokens_before:
        return None
    if recorded_marker is None:
        answer_left_out_id, recorded_messages = inputs.answer_left_out, simulated.state.messages()
        after_id = [
            message.id for message in recorded_messages if message.id != answer_left_out_id
        ][-1]
    else:
        after_id, summary_ids = (
            recorded_marker.message.id,
            recorded_marker.recorded_compaction.summary_ids,
        )
        simulated.replaced_summaries |= dict.fromkeys(summary_ids, placeholder[1].id)
    simulated.add(after_id, placeholder)
    simulated.cache_used_at = inputs.time
    return Compaction(
        marker_id=moved_id,
        covered_count=len(plan.summarised_messages),
        tokens_before=tokens_before,
        tokens_after=tokens_after,
        requested_tokens=requested_tokens,
        stand_in=True,
        by_hand=recorded_marker is not None
        and not recorded_marker.recorded_compaction.is_automatic,
    )

"""The view of the user's own policy in a live session: the items as the next request would show them.

The view is that of a replay, but filled from the decisions and summaries of the session instead of a simulation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from palimpsest.context.visible_messages import View
from palimpsest.context_policies.interface.policy import Change
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.replay.replay_view import ReplayView, TokenScale
from palimpsest.context_policies.replay.reported_tokens import ReportedTokens
from palimpsest.live_policies.live_items import LiveItems
from palimpsest.loop.run_inputs.policy_stage import PolicyMoment
from palimpsest.recordings.timeline.message_items import part_id_of
from palimpsest.transcript.context_values.decisions import (
    Decision,
    EffectiveDecisions,
    is_of_own_policy,
    pinned_part_ids,
)
from palimpsest.transcript.context_values.request_items import STATE_OF_ACTION, ItemState
from palimpsest.transcript.timeline import SECTION_KINDS, Timeline, TimelineItem
from palimpsest.transcript.values import CHARS_PER_TOKEN


@dataclass(frozen=True)
class LiveView:
    """The items before a request, with those that no policy may change."""

    view: ReplayView
    timeline: Timeline
    session_view: View
    """The session's messages and decisions."""
    fixed_indexes: frozenset[int]
    """Indexes of items that no policy may change: pinned or restored by the user, or in the newest prompt."""
    scale: TokenScale

    def apply(self, changes: Sequence[Change]) -> None:
        """Apply a policy's changes to the view."""
        for change in changes:
            self.scale.change(change)
            is_whole = change.state == "whole"
            chars = self.timeline.items[change.item].chars if is_whole else change.length
            self.view.show(change.item, change.state, chars)
        self.view.changes = None


def live_view(
    items: LiveItems,
    moment: PolicyMoment,
    estimator: str,
    *,
    includes_own: bool,
    is_turn_end: bool = False,
) -> LiveView:
    """Return the view at a moment; ``includes_own`` keeps the policy's decisions, ``is_turn_end`` omits the new prompt."""
    session_view = moment.view
    timeline = _with_pins(items.timeline(moment), session_view)
    decisions = session_view.decisions
    if not includes_own:
        decisions = tuple(decision for decision in decisions if not is_of_own_policy(decision))
    scale = TokenScale(timeline, estimator, 0)
    view = ReplayView(timeline, scale)
    request = timeline.requests[-1]
    view.request, view.turn = request, request.turn
    view.gap_seconds = request.seconds_since(next(iter(timeline.requests[-2:-1]), None))
    item_count = request.items
    if is_turn_end:
        view.turn = request.turn - 1
        item_count = sum(1 for item in timeline.items if item.turn < request.turn)
    scale.add(item_count)
    view.add(item_count)
    for change in _items_not_whole(timeline, moment, decisions, items.replaced_sections):
        if change.item < item_count:
            scale.change(change)
            view.show(change.item, change.state, change.length)
    view.changes = None
    reported_tokens = ReportedTokens(scale, scale, Ruler(estimator=estimator))
    for answered_request in timeline.requests[items.first_usage_request : -1]:
        reported_tokens.add_reported_usage(answered_request)
    view.count_reported = reported_tokens.reported_total
    fixed_groups = {item.group for item in timeline.items if item.pinned} - {""}
    fixed_indexes = {
        item.index for item in timeline.items if item.pinned or item.group in fixed_groups
    }
    # Without the newest prompt a request would have no question.
    prompt_items = [item for item in timeline.items if item.kind == "user"]
    fixed_indexes |= {
        item.index for item in prompt_items if item.message == prompt_items[-1].message
    }
    return LiveView(view, timeline, session_view, frozenset(fixed_indexes), scale)


def _with_pins(timeline: Timeline, view: View) -> Timeline:
    """Return the items with a pin on those that the user pinned or restored."""
    effective = EffectiveDecisions(view.decisions)
    pinned_ids = pinned_part_ids(view.messages, view.decisions) | effective.restored_ids
    if not pinned_ids:
        return timeline
    items = tuple(
        replace(item, pinned=part_id_of(item) in pinned_ids or item.message in pinned_ids)
        for item in timeline.items
    )
    return replace(timeline, items=items)


def _items_not_whole(
    timeline: Timeline,
    moment: PolicyMoment,
    decisions: tuple[Decision, ...],
    replaced_sections: set[int],
) -> Iterator[Change]:
    """Yield a change for each item that is not shown whole, because of a summary or a decision."""
    sent_ids = {message.id for message in moment.view.folded_messages(moment.compact)}
    effective = EffectiveDecisions(decisions)
    decided_ids = {
        decided_id
        for decision in decisions
        for decided_id in (decision.part_id, decision.message_id)
    }
    for item in timeline.items:
        if item.kind in SECTION_KINDS:
            if item.index in replaced_sections:
                yield Change(item.index, "out")
        elif item.message not in sent_ids:
            yield Change(item.index, "summarised", tokens=0)
        elif item.message in decided_ids or part_id_of(item) in decided_ids:
            reduction = effective.reduction(part_id_of(item), item.message)
            if reduction is not None:
                yield from _changes_of_reduction(item, reduction)


def _changes_of_reduction(item: TimelineItem, reduction: Decision) -> Iterator[Change]:
    is_by_own_policy = is_of_own_policy(reduction)
    state: ItemState = STATE_OF_ACTION[reduction.action]
    recorded_state = reduction.numbers.get("state")
    if is_by_own_policy and recorded_state in ("masked", "offloaded"):
        state = recorded_state
    if item.kind == "call" and state != "out":
        return
    shown_text = reduction.numbers.get("text")
    if state == "out":
        yield Change(item.index, "out")
    elif isinstance(shown_text, str):
        yield Change(item.index, state, shown_text)
    else:
        head_chars = reduction.numbers.get("head_chars")
        chars = (
            head_chars
            if is_by_own_policy and isinstance(head_chars, int)
            else reduction.tokens_after * CHARS_PER_TOKEN
        )
        yield Change(item.index, state, chars=min(chars, item.chars))

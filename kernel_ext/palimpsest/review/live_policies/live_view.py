"""What a person's own policy sees in a live session: its items as the coming request would show them.

It is the view of a replay, filled from the decisions and summaries of the session instead of a simulation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from palimpsest.context.visible_messages import View
from palimpsest.loop.run_inputs.policy_stage import PolicyMoment
from palimpsest.review.live_policies.live_items import LiveItems
from palimpsest.review.policies.policy import Change
from palimpsest.review.replay.replay_view import ReplayView, TokenScale
from palimpsest.review.replay.reported_tokens import ReportedTokens
from palimpsest.review.replay.ruler import Ruler
from palimpsest.review.timeline.message_items import part_of
from palimpsest.transcript.context_values.decisions import (
    Decision,
    EffectiveDecisions,
    is_of_own_policy,
    pinned_parts,
)
from palimpsest.transcript.context_values.request_items import STATES, ItemState
from palimpsest.transcript.timeline import Timeline, TimelineItem

BESIDE = frozenset({"system", "tools"})


@dataclass(frozen=True)
class LiveView:
    """The items before a request, and what of them a person holds."""

    view: ReplayView
    timeline: Timeline
    seen: View
    """The session's messages and decisions."""
    held: frozenset[int]
    """Items that stay as they are: a person pinned or restored them, or the coming request answers them."""
    scale: TokenScale

    def apply(self, changes: Sequence[Change]) -> None:
        """Show items as a policy just decided."""
        for one in changes:
            self.scale.change(one)
            whole = self.timeline.items[one.item].chars
            self.view.show(one.item, one.state, whole if one.state == "whole" else one.length)
        self.view.changes = None


def live_view(
    items: LiveItems,
    moment: PolicyMoment,
    estimator: str,
    *,
    own: bool,
    turn_end: bool = False,
) -> LiveView:
    """Return the view of a moment; without ``own`` as if no policy of the person's had decided anything.

    At a ``turn_end`` it is without the new turn's prompt.
    """
    found = moment.view
    timeline = _pinned(items.timeline(moment), found)
    decisions = tuple(one for one in found.decisions if own or not is_of_own_policy(one))
    scale = TokenScale(timeline, estimator, 0)
    view = ReplayView(timeline, scale)
    request = timeline.requests[-1]
    view.request, view.turn = request, request.turn
    view.gap_seconds = request.seconds_since(next(iter(timeline.requests[-2:-1]), None))
    until = request.items
    if turn_end:
        view.turn = request.turn - 1
        until = sum(1 for one in timeline.items if one.turn < request.turn)
    scale.add(until)
    view.add(until)
    for change in _shown(timeline, moment, decisions, items.replaced):
        if change.item < until:
            scale.change(change)
            view.show(change.item, change.state, change.length)
    view.changes = None
    usage = ReportedTokens(scale, scale, Ruler(estimator=estimator))
    for one in timeline.requests[items.usage_from : -1]:
        usage.answered(one)
    view.count_reported = usage.total
    held = {one.index for one in timeline.items if one.pinned}
    groups = {timeline.items[index].group for index in held} - {""}
    held |= {one.index for one in timeline.items if one.group in groups}
    return LiveView(view, timeline, found, frozenset(held | _asked(timeline)), scale)


def _pinned(timeline: Timeline, view: View) -> Timeline:
    """Return the items with those marked as pinned that a person pinned or restored."""
    effective = EffectiveDecisions(view.decisions)
    names = pinned_parts(view.messages, view.decisions) | effective.restored
    if not names:
        return timeline
    items = tuple(
        replace(one, pinned=part_of(one) in names or one.message in names) for one in timeline.items
    )
    return replace(timeline, items=items)


def _asked(timeline: Timeline) -> set[int]:
    """Return the items of the newest prompt, without which a request would ask nothing."""
    prompts = [one for one in timeline.items if one.kind == "user"]
    return {one.index for one in prompts if one.message == prompts[-1].message}


def _shown(
    timeline: Timeline,
    moment: PolicyMoment,
    decisions: tuple[Decision, ...],
    replaced: set[int],
) -> Iterator[Change]:
    """Yield what is not shown whole: by a summary, or by decisions."""
    sent = {message.id for message in moment.view.folded(moment.compact)}
    effective = EffectiveDecisions(decisions)
    named = {name for one in decisions for name in (one.part_id, one.message_id)}
    for item in timeline.items:
        if item.kind in BESIDE:
            if item.index in replaced:
                yield Change(item.index, "out")
        elif item.message not in sent:
            yield Change(item.index, "summarised", tokens=0)
        elif item.message in named or part_of(item) in named:
            reduction = effective.reduction(part_of(item), item.message)
            if reduction is not None:
                yield from _reduced(item, reduction)


def _reduced(item: TimelineItem, reduction: Decision) -> Iterator[Change]:
    told = reduction.numbers.get("state") if is_of_own_policy(reduction) else None
    state: ItemState = told if told in ("masked", "offloaded") else STATES[reduction.action]
    if item.kind == "call" and state != "out":
        return
    shown = reduction.numbers.get("text")
    if state == "out":
        yield Change(item.index, "out")
    elif isinstance(shown, str):
        yield Change(item.index, state, shown)
    else:
        head = reduction.numbers.get("head_chars") if is_of_own_policy(reduction) else None
        chars = head if isinstance(head, int) else reduction.tokens_after * 4
        yield Change(item.index, state, chars=min(chars, item.chars))

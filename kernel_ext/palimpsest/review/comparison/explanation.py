"""Why a request showed an item as it did: state, rule, numbers and time, in one sentence."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from palimpsest.render.safety.escaping import one_line
from palimpsest.transcript.context_values.decisions import (
    EXCLUDE,
    OWN_POLICY,
    PIN,
    RESTORE,
    UNDO,
    UNPIN,
)
from palimpsest.transcript.context_values.prune_policy import PRUNE_RULE, is_prune_rule, why_pruned
from palimpsest.transcript.timeline import Timeline, TimelineItem, Transition

STATES: Mapping[str, str] = {
    "truncated": "cut short",
    "cleared": "cleared",
    "masked": "masked",
    "summarised": "replaced by a summary",
    "offloaded": "moved to a file",
    "out": "left out",
    "reverted": "taken back",
}
BY_HAND: Mapping[str, str] = {
    EXCLUDE: "as the user excluded it",
    RESTORE: "as the user restored it",
    PIN: "as the user pinned it",
    UNPIN: "as the user unpinned it",
    UNDO: "as the user undid the compaction",
    "undo": "by a revert",
    "compact": "by a compaction",
}
"""What stands in the place of a rule's name where it would say nothing to a reader."""
NAMELESS = "a tool without a name"
MOST_NUMBERS = 4


def why(
    timeline: Timeline,
    item: int,
    request: int,
    *,
    factor: float = 1.0,
    uses: Sequence[int] = (),
) -> str:
    """Return in a sentence or two why a request showed an item as it did; raises IndexError for unknown ones.

    Both count from 0. ``factor`` scales the estimator's tokens; ``uses`` are the requests whose answers used a
    name that the item holds, ascending.
    """
    if not 0 <= request < len(timeline.requests) or not 0 <= item < len(timeline.items):
        raise IndexError(
            f"The session has {len(timeline.requests)} requests and {len(timeline.items)} items."
        )
    it, at = timeline.items[item], timeline.requests[request]
    name, where = _name(it), f"request {request + 1}"
    if item >= at.items:
        entered = it.entered
        if entered >= len(timeline.requests):
            return f"{name} is not in {where}: it came after the last request."
        return f"{name} is not in {where}: it came later, before request {entered + 1}{_time(timeline, entered)}."
    found = timeline.at(item, request)
    weights = timeline.weights()
    if found is None:
        since = _since(timeline, item, request, factor)
        tail = _lost_later(timeline, item, request)
        pinned = (
            ", and the user keeps it (pinned)"
            if ";" in since
            else " and the user keeps it (pinned)"
        )
        kept = pinned if it.pinned else ""
        tokens = weights[item] * factor
        return f"{name} is in {where} whole, ~{tokens:,.0f} tokens, {since}{kept}{tail}.{_used(request, uses)}"
    return (
        f"{name} is {STATES.get(found.state, found.state)} in {where}, since request {found.request + 1}"
        f"{_time(timeline, found.request)}, {transition_words(found, weights[item], found.tokens, factor)}."
        f"{_used(request, uses)}"
    )


def _since(timeline: Timeline, item: int, request: int, factor: float) -> str:
    """Return since when a request shows an item whole: since it came, or since it was shown whole again."""
    moves = [one for one in timeline.by_item.get(item, ()) if one.request <= request]
    hidden = [place for place, one in enumerate(moves) if one.state != "whole"]
    if not hidden:
        entered = timeline.items[item].entered
        return f"since request {entered + 1}{_time(timeline, entered)}"
    before, again = moves[hidden[-1]], moves[hidden[-1] + 1]
    told = transition_words(again, timeline.weights()[item], again.tokens, factor)
    return (
        f"again since request {again.request + 1}{_time(timeline, again.request)}, {told}; "
        f"from request {before.request + 1} on it had been {STATES.get(before.state, before.state)}"
    )


def _used(request: int, uses: Sequence[int]) -> str:
    """Return which later answer used a name of the item first, and how many did."""
    later = [one for one in uses if one >= request]
    if not later:
        return ""
    others = f", and {len(later) - 1} more did" if len(later) > 1 else ""
    return f" The answer to request {later[0] + 1} used a name in it{others}."


def transition_words(
    found: Transition, weight: int, tokens: int | None, factor: float = 1.0
) -> str:
    """Return by which rule, with which numbers, an item is shown otherwise: the end of a sentence.

    ``weight`` and ``tokens`` are the item's tokens before and since, which ``factor`` scales.
    """
    shown = (
        ""
        if tokens is None
        else f", ~{weight * factor:,.0f} tokens before and ~{tokens * factor:,.0f} since"
    )
    pruning = found.rule.removeprefix(PRUNE_RULE)
    reason = why_pruned(pruning, found.numbers) if is_prune_rule(pruning) else ""
    if pruning != found.rule and reason:
        return f"{_by(found)}{shown}. {reason.removesuffix('.')}"
    return f"{_by(found)}{_numbers(found)}{shown}"


def _by(found: Transition) -> str:
    """Return who decided it: a person, their own policy, or a rule by its name."""
    if found.rule in BY_HAND:
        return BY_HAND[found.rule]
    own = found.rule.removeprefix(OWN_POLICY)
    if own != found.rule:
        return f"by the policy {one_line(own)}"
    return f"by the rule {found.rule or 'of the recording'}"


def _name(item: TimelineItem) -> str:
    what = {"output": "The result of", "call": "The call of", "summary": "The summary"}.get(
        item.kind
    )
    if item.kind in ("output", "call"):
        about = f" ({item.label})" if item.label and item.label != item.tool else ""
        return f"{what} {item.tool or NAMELESS}{about}"
    if what is not None:
        return what
    return f"“{item.label}” ({item.kind})" if item.label else f"Item {item.index + 1} ({item.kind})"


def _lost_later(timeline: Timeline, item: int, request: int) -> str:
    for one in timeline.by_item.get(item, ()):
        if one.request > request and one.state != "whole":
            return f"; from request {one.request + 1} on it is {STATES.get(one.state, one.state)}"
    return ""


def _numbers(found: Transition) -> str:
    told = [
        f"{key.replace('_', ' ')} {value:,}"
        for key, value in found.numbers.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    return f" ({', '.join(told[:MOST_NUMBERS])})" if told else ""


def _time(timeline: Timeline, request: int) -> str:
    if request >= len(timeline.requests):
        return ""
    started = timeline.requests[request].started
    if started is None:
        return ""
    when = datetime.fromtimestamp(started / 1000, UTC)
    return f" ({when:%Y-%m-%d %H:%M} UTC)"

"""Explain in one sentence how a request showed an item: state, rule, numbers and time."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from palimpsest.render.content.phrases import count
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

STATE_PHRASES: Mapping[str, str] = {
    "truncated": "cut short",
    "cleared": "cleared",
    "masked": "masked",
    "summarised": "replaced by a summary",
    "offloaded": "moved to a file",
    "out": "left out",
    "reverted": "taken back",
}
PHRASE_BY_RULE: Mapping[str, str] = {
    EXCLUDE: "as the user excluded it",
    RESTORE: "as the user restored it",
    PIN: "as the user pinned it",
    UNPIN: "as the user unpinned it",
    UNDO: "as the user undid the compaction",
    "undo": "by a revert",
    "compact": "by a compaction",
}
"""Phrases for rules whose names a user does not know."""
NAMELESS_TOOL = "a tool without a name"
MAX_LISTED_NUMBERS = 4


def explanation(
    timeline: Timeline,
    item: int,
    request: int,
    *,
    factor: float = 1.0,
    using_requests: Sequence[int] = (),
) -> str:
    """Return a sentence or two on how a request showed an item and why; raises IndexError for unknown numbers.

    Both numbers count from 0. ``factor`` scales the estimator's tokens; ``using_requests`` are the requests whose answers used a
    name in the item, ascending.
    """
    if not 0 <= request < len(timeline.requests) or not 0 <= item < len(timeline.items):
        raise IndexError(
            f"The session has {count(len(timeline.requests))} requests and {count(len(timeline.items))} items."
        )
    timeline_item, timeline_request = timeline.items[item], timeline.requests[request]
    item_name, request_text = _item_name(timeline_item), f"request {request + 1}"
    if item >= timeline_request.items:
        entered = timeline_item.entered
        if entered >= len(timeline.requests):
            return f"{item_name} is not in {request_text}: it came after the last request."
        return f"{item_name} is not in {request_text}: it came later, before request {entered + 1}{_time_text(timeline, entered)}."
    transition = timeline.transition_at(item, request)
    weights = timeline.weights()
    if transition is None:
        since_text = _since_text(timeline, item, request, factor)
        later_text = _later_state_text(timeline, item, request)
        comma = "," if ";" in since_text else ""
        pin_text = f"{comma} and the user keeps it (pinned)" if timeline_item.pinned else ""
        tokens = weights[item] * factor
        return f"{item_name} is in {request_text} whole, ~{tokens:,.0f} tokens, {since_text}{pin_text}{later_text}.{_first_use_text(request, using_requests)}"
    return (
        f"{item_name} is {STATE_PHRASES.get(transition.state, transition.state)} in {request_text}, since request {transition.request + 1}"
        f"{_time_text(timeline, transition.request)}, {transition_text(transition, weights[item], transition.tokens, factor)}."
        f"{_first_use_text(request, using_requests, STATE_PHRASES.get(transition.state, transition.state))}"
    )


def _since_text(timeline: Timeline, item: int, request: int, factor: float) -> str:
    """Return a phrase with the request from which on an item is shown whole: the one in which it entered, or was restored."""
    transitions = [
        transition for transition in timeline.by_item.get(item, ()) if transition.request <= request
    ]
    hiding_positions = [
        index for index, transition in enumerate(transitions) if transition.state != "whole"
    ]
    if not hiding_positions:
        entered = timeline.items[item].entered
        return f"since request {entered + 1}{_time_text(timeline, entered)}"
    hiding, restoring = transitions[hiding_positions[-1]], transitions[hiding_positions[-1] + 1]
    change_text = transition_text(restoring, timeline.weights()[item], restoring.tokens, factor)
    return (
        f"again since request {restoring.request + 1}{_time_text(timeline, restoring.request)}, {change_text}; "
        f"from request {hiding.request + 1} on it had been {STATE_PHRASES.get(hiding.state, hiding.state)}"
    )


def _first_use_text(request: int, using_requests: Sequence[int], state_phrase: str = "") -> str:
    """Return a sentence on the first later answer that used a name of the item, and the number of others.

    ``state_phrase`` is how the item was shown then; empty for whole.
    """
    later_requests = [
        request_of_use for request_of_use in using_requests if request_of_use >= request
    ]
    if not later_requests:
        return ""
    others_text = f", and {len(later_requests) - 1} more did" if len(later_requests) > 1 else ""
    after_text = f" after it was {state_phrase}" if state_phrase else ""
    return f" The answer to request {later_requests[0] + 1} used a name in it{after_text}{others_text}."


def transition_text(
    transition: Transition, tokens_before: int, tokens_since: int | None, factor: float = 1.0
) -> str:
    """Return the end of a sentence with the rule that reduced or restored an item, and its numbers.

    ``tokens_before`` and ``tokens_since`` are the item's tokens before and since, which ``factor`` scales.
    """
    size_text = ""
    if tokens_since is not None:
        size_text = f", ~{tokens_before * factor:,.0f} tokens before and ~{tokens_since * factor:,.0f} since"
    prune_rule = transition.rule.removeprefix(PRUNE_RULE)
    reason = why_pruned(prune_rule, transition.numbers) if is_prune_rule(prune_rule) else ""
    if prune_rule != transition.rule and reason:
        return f"{_decider_text(transition)}{size_text}. {reason.removesuffix('.')}"
    return f"{_decider_text(transition)}{_numbers_text(transition)}{size_text}"


def _decider_text(transition: Transition) -> str:
    """Return a phrase on the decider: the user, the user's own policy, or a rule by its name."""
    if transition.rule in PHRASE_BY_RULE:
        return PHRASE_BY_RULE[transition.rule]
    policy_name = transition.rule.removeprefix(OWN_POLICY)
    if policy_name != transition.rule:
        return f"by the policy {one_line(policy_name)}"
    return f"by the rule {transition.rule or 'of the recording'}"


def _item_name(item: TimelineItem) -> str:
    if item.kind in ("output", "call"):
        noun = "result" if item.kind == "output" else "call"
        about_text = f" ({item.label})" if item.label and item.label != item.tool else ""
        return f"The {noun} of {item.tool or NAMELESS_TOOL}{about_text}"
    if item.kind == "summary":
        return "The summary"
    return f"“{item.label}” ({item.kind})" if item.label else f"Item {item.index + 1} ({item.kind})"


def _later_state_text(timeline: Timeline, item: int, request: int) -> str:
    for transition in timeline.by_item.get(item, ()):
        if transition.request > request and transition.state != "whole":
            return f"; from request {transition.request + 1} on it is {STATE_PHRASES.get(transition.state, transition.state)}"
    return ""


def _numbers_text(transition: Transition) -> str:
    number_texts = [
        f"{key.replace('_', ' ')} {value:,}"
        for key, value in transition.numbers.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    return f" ({', '.join(number_texts[:MAX_LISTED_NUMBERS])})" if number_texts else ""


def _time_text(timeline: Timeline, request: int) -> str:
    started = timeline.requests[request].started if request < len(timeline.requests) else None
    if started is None:
        return ""
    start_time = datetime.fromtimestamp(started / 1000, UTC)
    return f" ({start_time:%Y-%m-%d %H:%M} UTC)"

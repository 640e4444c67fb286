"""What a policy may reduce, and how to do it so that a request stays valid.

A system prompt, the tools, what is pinned and what a person took out are left as they are; a call and its result
go together. A placeholder replaces also a result that is shorter than itself, as the agents themselves do.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from palimpsest.review.policies.policy import Change, Decided, PolicyView, Probe, none_of
from palimpsest.transcript.timeline import ItemState, Timeline

BESIDE = frozenset({"system", "tools", "summary"})
"""Kinds that no policy reduces; a recorded summary is in no request of another policy."""

PATH_CHARS = 120
"""Characters of a path in an agent's own folder, in which the whole of a result is stored."""


def is_reducible(view: PolicyView, index: int) -> bool:
    """Return whether a policy may show this item otherwise."""
    item = view.item(index)
    return item.kind not in BESIDE and not item.pinned and view.shows(index)


def is_shown(view: PolicyView, index: int) -> bool:
    """Return whether an item of the conversation is in the request, whole or in part."""
    return view.shows(index) and view.item(index).kind not in BESIDE


def replaced(
    view: PolicyView, indexes: Iterable[int], state: ItemState, placeholder: str
) -> list[Change]:
    """Return the changes that show a placeholder instead of those items that may be reduced."""
    return [Change(one, state, placeholder) for one in indexes if is_reducible(view, one)]


def reopened(view: PolicyView, indexes: Iterable[int], state: ItemState) -> list[Change]:
    """Return the changes that show items whole again which are in a state; a person's decisions stay."""
    return [Change(one, "whole") for one in indexes if view.state(one) == state]


def shortened(
    view: PolicyView, lengths: Iterable[tuple[int, int]], state: ItemState = "truncated"
) -> list[Change]:
    """Return the changes that show so many characters of items, each where that shortens it."""
    return [
        Change(one, state, chars=chars)
        for one, chars in lengths
        if is_reducible(view, one) and chars < view.chars(one)
    ]


def decided(state: Any, changes: Sequence[Change], probe: Probe, able: str) -> Decided:
    """Return what was decided; where the threshold was passed, but nothing ``able`` was there, the probe says so."""
    if probe.passed and not changes:
        probe = none_of(able, probe)
    return Decided(state, changes, probe, fired=bool(changes))


def border_of_newest(view: PolicyView, count: int) -> int:
    """Return the place in the view's results before which all but the newest so many shown ones lie."""
    outputs = view.outputs
    if view.shown_outputs <= count:
        return 0 if count else len(outputs)
    place, left = len(outputs), count
    while left > 0:
        place -= 1
        left -= view.shows(outputs[place])
    return place


def shown_messages(view: PolicyView) -> list[int]:
    """Return the first shown item of each message that is shown, oldest first."""
    messages = view.timeline.derived("messages of items", _numbered)
    found, block = [], -1
    for index in view.shown_items:
        if messages[index] not in (block, -1):
            block = messages[index]
            found.append(index)
    return found


def shown_chat(view: PolicyView, *, calls: bool = False) -> list[int]:
    """Return the first shown item of each message, oldest first, where each result is a message of its own.

    So the chat completions of OpenAI count, and the libraries that are built on them. With ``calls`` each call is a
    message as well, together with what was said before it: so OpenHands counts, whose events are single actions.
    """
    found: list[int] = []
    block, called = -1, False
    for one in view.shown_items:
        item = view.item(one)
        if item.kind in BESIDE:
            continue
        is_call = item.kind == "call"
        if item.block != block or item.kind == "output" or (calls and is_call and called):
            found.append(one)
            block, called = item.block, False
        called = called or is_call
    return found


def shown_turns(view: PolicyView) -> list[int]:
    """Return the first shown item of each message, oldest first, results that follow each other being one message.

    So Anthropic's and Bedrock's APIs count, and the agents that are built on them.
    """
    found: list[int] = []
    for one in shown_messages(view):
        if not (found and is_result(view, one) and is_result(view, found[-1])):
            found.append(one)
    return found


def shown_events(view: PolicyView) -> list[int]:
    """Return the first shown item of each event of OpenHands, oldest first."""
    return shown_chat(view, calls=True)


def begins_message(view: PolicyView, index: int) -> bool:
    """Return whether an item is the first of its message, or the end of all."""
    if index in (0, view.count):
        return True
    return view.item(index - 1).block != view.item(index).block


def after_first_prompt(view: PolicyView, starts: Sequence[int]) -> int:
    """Return the place behind the first message that is a prompt; 1 where none is."""
    return 1 + next((at for at, one in enumerate(starts) if view.item(one).kind == "user"), 0)


def is_result(view: PolicyView, index: int) -> bool:
    """Return whether an item is the result of a call, or came with one."""
    return view.item(index).kind == "output" or (
        view.item(index).kind == "media" and bool(view.item(index).group)
    )


def _numbered(timeline: Timeline) -> tuple[int, ...]:
    """Return of each item the number of its message; -1 of those that no policy reduces."""
    return tuple(-1 if item.kind in BESIDE else item.block for item in timeline.items)


def tokens_in(view: PolicyView, first: int, until: int) -> int:
    """Return the tokens of the shown items of a range, without system prompt and tools."""
    shown = view.shown_items
    return sum(
        view.tokens(one)
        for one in shown[bisect_left(shown, first) : bisect_left(shown, until)]
        if view.item(one).kind not in BESIDE
    )


def newest_that_fit(
    view: PolicyView,
    starts: Sequence[int],
    most: float,
    count: Callable[[PolicyView, int, int], int] = tokens_in,
) -> int:
    """Return the place of the first of the newest messages that have not more tokens; behind all where none fits.

    ``starts`` are the first items of messages, oldest first; ``count`` tells the tokens of a range of items.
    """
    end, place = view.count, len(starts)
    for one in reversed(starts):
        most -= count(view, one, end)
        if most < 0:
            break
        end, place = one, place - 1
    return place


def start_of_unanswered(view: PolicyView) -> int:
    """Return the first item that no answer followed yet, or the newest answer itself with what came after it."""
    if view.request.index:
        return view.timeline.requests[view.request.index - 1].items
    last = view.count - 1
    while last > 0 and view.item(last - 1).block == view.item(last).block:
        last -= 1
    return max(last, 0)


def result_of_call(view: PolicyView, call: int) -> int | None:
    """Return the result of a call; None while there is none."""
    found = view.timeline.derived("results and calls", _partners).get(call)
    return found if found is not None and found < view.count else None


def call_of_result(view: PolicyView, result: int) -> int | None:
    """Return the call that a result answers; None where the recording has none."""
    return view.timeline.derived("results and calls", _partners).get(result)


def _partners(timeline: Timeline) -> Mapping[int, int]:
    """Return of each call the first result that follows it, and of each result the last call before it."""
    found: dict[int, int] = {}
    calls: dict[str, int] = {}
    waiting: dict[str, list[int]] = {}
    for item in timeline.items:
        if item.kind == "call":
            calls[item.group] = item.index
            waiting.setdefault(item.group, []).append(item.index)
        elif item.kind == "output":
            found |= dict.fromkeys(waiting.pop(item.group, ()), item.index)
            if item.group in calls:
                found[item.index] = calls[item.group]
    return found


def with_partners(view: PolicyView, chosen: Iterable[int]) -> list[int]:
    """Return which of the chosen items may leave a request, with the results of calls among them.

    The newest answer and what came after it stay. A call that waits for its result stays, and so does one whose
    result has to stay; a result stays whose call does.
    """
    end = start_of_unanswered(view)
    leaving = {one for one in chosen if one < end and is_reducible(view, one)}
    for one in sorted(leaving):
        kind = view.item(one).kind
        if kind == "call":
            result = result_of_call(view, one)
            if result is None:
                if view.item(one).turn == view.turn:
                    leaving.discard(one)
            elif result < end and is_reducible(view, result):
                leaving.add(result)
            elif is_shown(view, result):
                leaving.discard(one)
        elif kind == "output":
            call = call_of_result(view, one)
            if call is not None and call not in leaving and is_shown(view, call):
                leaving.discard(one)
    return sorted(leaving)


def dropped(view: PolicyView, chosen: Iterable[int]) -> list[Change]:
    """Return the changes that take items out of the request, calls and results together."""
    return [Change(one, "out") for one in with_partners(view, chosen)]

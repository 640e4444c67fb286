"""What a policy may reduce, and how to do it so that a request stays valid.

A system prompt, the tools, what is pinned and what a person took out are left as they are; a call and its result
go together. A placeholder replaces also a result that is shorter than itself, as the agents themselves do.
"""

from collections.abc import Iterable, Sequence

from palimpsest.review.policies.policy import Change, PolicyView
from palimpsest.transcript.timeline import ItemState

BESIDE = frozenset({"system", "tools", "summary"})
"""Kinds that no policy reduces; a recorded summary is in no request of another policy."""


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


def shortened(
    view: PolicyView, index: int, chars: int, state: ItemState = "truncated"
) -> list[Change]:
    """Return the change that shows so many characters of an item, if that shortens it."""
    if not is_reducible(view, index) or chars >= view.chars(index):
        return []
    return [Change(index, state, chars=chars)]


def border_of_newest(view: PolicyView, count: int) -> int:
    """Return the place in the view's results before which all but the newest so many shown ones lie."""
    outputs = view.outputs
    place, left = len(outputs), count
    while place and left > 0:
        place -= 1
        left -= view.shows(outputs[place])
    return place


def start_of_newest(view: PolicyView, messages: int) -> int:
    """Return the first item of the newest so many messages that are shown; 0 where there are not more."""
    seen, block = 0, -1
    for index in range(view.count - 1, -1, -1):
        if not view.shows(index):
            continue
        item = view.item(index)
        if item.block == block or item.kind in BESIDE:
            continue
        if seen == messages:
            return index + 1
        seen, block = seen + 1, item.block
    return 0


def shown_messages(view: PolicyView, gone: tuple[int, int] = (0, 0)) -> list[int]:
    """Return the first shown item of each message that is shown, oldest first.

    ``gone`` is a range of items that are known to be no longer shown.
    """
    found, block = [], -1
    for index in (*range(gone[0]), *range(gone[1], view.count)):
        if not view.shows(index):
            continue
        item = view.item(index)
        if item.block != block and item.kind not in BESIDE:
            block = item.block
            found.append(index)
    return found


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
    group = view.item(call).group
    for index in range(call + 1, view.count):
        if view.item(index).kind == "output" and view.item(index).group == group:
            return index
    return None


def call_of_result(view: PolicyView, result: int) -> int | None:
    """Return the call that a result answers; None where the recording has none."""
    group = view.item(result).group
    for index in range(result - 1, -1, -1):
        if view.item(index).kind == "call" and view.item(index).group == group:
            return index
    return None


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


def gone_range(view: PolicyView, known: tuple[int, int], leaving: Sequence[int]) -> tuple[int, int]:
    """Return the range of items of which none is shown any more, after some have left."""
    if not leaving:
        return known
    left = {*leaving}
    first, end = known if known[1] else (leaving[0], leaving[0])
    while end < view.count and (end in left or not is_shown(view, end)):
        end += 1
    return first, end


def dropped(view: PolicyView, chosen: Iterable[int]) -> list[Change]:
    """Return the changes that take items out of the request, calls and results together."""
    return [Change(one, "out") for one in with_partners(view, chosen)]

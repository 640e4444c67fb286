"""Which items a policy may reduce, and how to do it so that a request stays valid.

A system prompt, the tools, pinned items and items that the user removed are left as they are; a call and its result go
together. A placeholder also replaces a result that is shorter than itself, as the agents themselves do.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeGuard

from palimpsest.context_policies.interface.policy import (
    Change,
    PolicyResult,
    PolicyView,
    Probe,
    nothing_to_reduce,
)
from palimpsest.transcript.timeline import SECTION_KINDS, ItemState, Timeline

FIXED_KINDS = SECTION_KINDS | {"summary"}
"""Kinds that no policy reduces; requests under another policy do not contain the recorded summaries."""
ASSUMED_PATH_CHARS = 120
"""Assumed characters of the path of a file, in an agent's own folder, that stores a whole result."""


def is_reducible(view: PolicyView, index: int) -> bool:
    """Return whether a policy may change an item."""
    item = view.item(index)
    return item.kind not in FIXED_KINDS and not item.pinned and view.shows(index)


def is_shown(view: PolicyView, index: int) -> bool:
    """Return whether an item of the conversation is in the request, whole or in part."""
    return view.shows(index) and view.item(index).kind not in FIXED_KINDS


def placeholder_changes(
    view: PolicyView, indexes: Iterable[int], state: ItemState, placeholder: str
) -> list[Change]:
    """Return the changes that replace items by a placeholder, as far as they may be reduced."""
    return [Change(index, state, placeholder) for index in indexes if is_reducible(view, index)]


def restoring_changes(view: PolicyView, indexes: Iterable[int], state: ItemState) -> list[Change]:
    """Return the changes that show items in a state whole again; the user's decisions stay."""
    return [Change(index, "whole") for index in indexes if view.state(index) == state]


def shortening_changes(
    view: PolicyView, lengths: Iterable[tuple[int, int]], state: ItemState = "truncated"
) -> list[Change]:
    """Return the changes that cut items to a number of characters, for items that this makes shorter."""
    return [
        Change(index, state, chars=chars)
        for index, chars in lengths
        if is_reducible(view, index) and chars < view.chars(index)
    ]


def decided_with_reason(
    state: Any, changes: Sequence[Change], probe: Probe, candidates_text: str
) -> PolicyResult:
    """Return a policy's answer; if the threshold was passed without a change, its probe reports that no ``candidates_text`` exist."""
    if probe.is_passed and not changes:
        probe = nothing_to_reduce(candidates_text, probe)
    return PolicyResult(state, changes, probe, fired=bool(changes))


def border_of_newest(view: PolicyView, count: int) -> int:
    """Return the index in ``view.outputs`` of the oldest of the ``count`` newest shown results."""
    outputs = view.outputs
    if view.shown_outputs <= count:
        return 0 if count else len(outputs)
    border, remaining_count = len(outputs), count
    while remaining_count > 0:
        border -= 1
        remaining_count -= view.shows(outputs[border])
    return border


def shown_messages(view: PolicyView) -> list[int]:
    """Return the first shown item of each message that is shown, oldest first."""
    block_of_item = view.timeline.derived_value(
        "messages of items",
        lambda timeline: [
            -1 if item.kind in FIXED_KINDS else item.block for item in timeline.items
        ],
    )
    message_starts, block = [], -1
    for index in view.shown_items:
        if block_of_item[index] not in (block, -1):
            block = block_of_item[index]
            message_starts.append(index)
    return message_starts


def shown_chat(view: PolicyView, *, calls_apart: bool = False) -> Sequence[int]:
    """Return the first shown item of each message, oldest first, where each result is a message of its own.

    OpenAI's chat completions count this way, and the libraries built on them. With ``calls_apart`` each call is a
    message as well, together with the text before it: as in OpenHands, whose events are single actions.

    The list is valid until the next change of the view.
    """
    if not _caches_values(view):
        return _extended_chat(view, _ShownChat(), calls_apart=calls_apart)
    chat: _ShownChat = view.cached_values.setdefault(f"shown chat {calls_apart}", _ShownChat())
    first_changed_item = min(view.switched_items[chat.seen_changes :], default=view.count)
    chat.seen_changes = len(view.switched_items)
    del chat.starts[bisect_left(chat.starts, first_changed_item) :]
    return _extended_chat(view, chat, calls_apart=calls_apart)


class _CachingView(PolicyView, Protocol):
    """A view that says which items were hidden or shown again, and keeps values from one step to the next."""

    switched_items: list[int]
    cached_values: dict[str, Any]


def _caches_values(view: PolicyView) -> TypeGuard[_CachingView]:
    return hasattr(view, "cached_values") and hasattr(view, "switched_items")


@dataclass(slots=True)
class _ShownChat:
    """The first shown items of messages, up to where something changed since they were found."""

    starts: list[int] = field(default_factory=list)
    seen_changes: int = 0
    """Number of the view's changes that were considered."""


class _ChatColumns(NamedTuple):
    """For each item, what decides whether a message begins with it."""

    blocks: Sequence[int]
    """The provider's message; -1 for kinds that are no message."""
    are_results: Sequence[bool]
    are_calls: Sequence[bool]

    @classmethod
    def of(cls, timeline: Timeline) -> "_ChatColumns":
        items = timeline.items
        return cls(
            [-1 if item.kind in FIXED_KINDS else item.block for item in items],
            [item.kind == "output" for item in items],
            [item.kind == "call" for item in items],
        )


def _extended_chat(view: PolicyView, chat: _ShownChat, *, calls_apart: bool) -> Sequence[int]:
    """Return the first items of all messages; those before the newest known message do not change, so they are kept."""
    message_starts, shown_items = chat.starts, view.shown_items
    blocks, are_results, are_calls = view.timeline.derived_value(
        "messages of chat", _ChatColumns.of
    )
    newest_start = message_starts.pop() if message_starts else -1
    block, has_call = -1, False
    for index in shown_items[bisect_left(shown_items, newest_start) :]:
        block_of_item = blocks[index]
        if block_of_item < 0:
            continue
        is_call = are_calls[index]
        if block_of_item != block or are_results[index] or (calls_apart and is_call and has_call):
            message_starts.append(index)
            block, has_call = block_of_item, False
        has_call = has_call or is_call
    return message_starts


def shown_merged_messages(view: PolicyView) -> list[int]:
    """Return the first shown item of each message, oldest first; results that follow each other are one message.

    Anthropic's and Bedrock's APIs count this way, and the agents built on them.
    """
    message_starts: list[int] = []
    for index in shown_messages(view):
        if not (message_starts and is_result(view, index) and is_result(view, message_starts[-1])):
            message_starts.append(index)
    return message_starts


def shown_events(view: PolicyView) -> Sequence[int]:
    """Return the first shown item of each event of OpenHands, oldest first."""
    return shown_chat(view, calls_apart=True)


def shown_results_since(view: PolicyView, first_item: int) -> int:
    """Return the number of results in the request from an item on."""
    newer_results = view.outputs[bisect_left(view.outputs, first_item) :]
    if view.shown_outputs == len(view.outputs):
        return len(newer_results)
    return sum(map(view.shows, newer_results))


def begins_message(view: PolicyView, index: int) -> bool:
    """Return whether an item is the first of its message; also true for the index after all items."""
    if index in (0, view.count):
        return True
    return view.item(index - 1).block != view.item(index).block


def after_first_prompt(view: PolicyView, message_starts: Sequence[int]) -> int:
    """Return the index in ``message_starts`` after the first message that is a prompt; 1 where there is none."""
    return 1 + next(
        (index for index, start in enumerate(message_starts) if view.item(start).kind == "user"), 0
    )


def is_result(view: PolicyView, index: int) -> bool:
    """Return whether an item is the result of a call, or an image that came with a result."""
    item = view.item(index)
    return item.kind == "output" or (item.kind == "media" and bool(item.group))


def tokens_in(view: PolicyView, start: int, end: int) -> int:
    """Return the tokens of the shown items of a range, without system prompt and tools."""
    shown_items = view.shown_items
    return sum(
        view.tokens(index)
        for index in shown_items[bisect_left(shown_items, start) : bisect_left(shown_items, end)]
        if view.item(index).kind not in FIXED_KINDS
    )


def newest_that_fit(
    view: PolicyView,
    message_starts: Sequence[int],
    max_tokens: float,
    count_tokens: Callable[[PolicyView, int, int], int] = tokens_in,
) -> int:
    """Return the index in ``message_starts`` of the oldest of the newest messages that together have at most ``max_tokens``."""
    end, oldest_that_fits = view.count, len(message_starts)
    for start in reversed(message_starts):
        max_tokens -= count_tokens(view, start, end)
        if max_tokens < 0:
            break
        end, oldest_that_fits = start, oldest_that_fits - 1
    return oldest_that_fits


def start_of_unanswered(view: PolicyView) -> int:
    """Return the first item after the newest answer; before the first request, the first item of the newest message."""
    if view.request.index:
        return view.timeline.requests[view.request.index - 1].items
    first_item = view.count - 1
    while first_item > 0 and view.item(first_item - 1).block == view.item(first_item).block:
        first_item -= 1
    return max(first_item, 0)


def result_of_call(view: PolicyView, call_index: int) -> int | None:
    """Return the result of a call; None while there is none."""
    result_index = view.timeline.derived_value("results and calls", _partners).get(call_index)
    return result_index if result_index is not None and result_index < view.count else None


def call_of_result(view: PolicyView, result_index: int) -> int | None:
    """Return the call that a result answers; None where the recording has none."""
    return view.timeline.derived_value("results and calls", _partners).get(result_index)


def _partners(timeline: Timeline) -> Mapping[int, int]:
    """Return for each call the first result after it, and for each result the last call before it."""
    partners: dict[int, int] = {}
    newest_calls: dict[str, int] = {}
    open_calls: dict[str, list[int]] = {}
    for item in timeline.items:
        if item.kind == "call":
            newest_calls[item.group] = item.index
            open_calls.setdefault(item.group, []).append(item.index)
        elif item.kind == "output":
            partners |= dict.fromkeys(open_calls.pop(item.group, ()), item.index)
            if item.group in newest_calls:
                partners[item.index] = newest_calls[item.group]
    return partners


def with_partners(view: PolicyView, chosen_items: Iterable[int]) -> list[int]:
    """Return the chosen items that may be removed from a request, with the results of the calls among them.

    The newest answer and the items after it stay. A call that waits for its result stays, and so does a call whose result
    may not be removed; a result stays if its call stays.
    """
    end = start_of_unanswered(view)
    removable = {index for index in chosen_items if index < end and is_reducible(view, index)}
    for index in sorted(removable):
        kind = view.item(index).kind
        if kind == "call":
            result_index = result_of_call(view, index)
            if result_index is None:
                if view.item(index).turn == view.turn:
                    removable.discard(index)
            elif result_index < end and is_reducible(view, result_index):
                removable.add(result_index)
            elif is_shown(view, result_index):
                removable.discard(index)
        elif kind == "output":
            call_index = call_of_result(view, index)
            if (
                call_index is not None
                and call_index not in removable
                and is_shown(view, call_index)
            ):
                removable.discard(index)
    return sorted(removable)


def removal_changes(view: PolicyView, chosen_items: Iterable[int]) -> list[Change]:
    """Return the changes that remove items from the request, calls and results together."""
    return [Change(index, "out") for index in with_partners(view, chosen_items)]

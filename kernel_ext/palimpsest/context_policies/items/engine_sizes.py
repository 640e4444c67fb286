"""Sizes of a timeline's items as the engine counts them in a request: with frames of messages, calls and results.

A timeline counts texts; the engine also counts the frames around them. The difference is stored for each item, so that
a light policy compares the same numbers with its thresholds as the engine would.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from pydantic import ValidationError

from palimpsest.context.budget.request_tokens import (
    CALL_TOKENS,
    MESSAGE_TOKENS,
    tools_tokens,
    weigh_chars,
)
from palimpsest.context.reduction.cache_ttl_pruning import MEDIA_CHARS
from palimpsest.context.reduction.superseded_reads import CHANGING_TOOLS, READING_TOOLS, FileCall
from palimpsest.context.reduction.truncation import apply_truncation
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.message_items import part_id_of
from palimpsest.store.bounded_json import json_value
from palimpsest.transcript.timeline import (
    CHARS4,
    GONE_STATES,
    SECTION_KINDS,
    Timeline,
    TimelineItem,
    Transition,
)
from palimpsest.transcript.values import CHARS_PER_TOKEN, ToolSpec


@dataclass(frozen=True)
class EngineSizes:
    """Sizes of all items of a timeline by one estimator."""

    estimator: str
    count_tokens: Callable[[str], int]
    frame_tokens: tuple[int, ...]
    """Tokens around each item's text."""
    extra_tokens: tuple[int, ...]
    """Tokens by which the engine's count of a whole item exceeds its weight."""
    part_ids: tuple[str, ...]
    """The id of the part in the log, for each item."""
    whole_tokens: tuple[int, ...]
    """Tokens of each whole item with its frames."""
    whole_token_sums: tuple[int, ...]
    """Prefix sums of ``whole_tokens``, without recorded summaries."""
    extra_token_sums: tuple[int, ...]
    """Prefix sums of ``extra_tokens``, without recorded summaries, which are shown only in place of what they cover."""
    outputs: tuple[int, ...]
    """The outputs that may be reduced: results of calls that did not fail, and notes about the user's cells."""
    output_by_part_id: Mapping[str, int]
    """Indexes of the outputs, by the ids of their parts."""
    output_token_sums: tuple[int, ...]
    """Prefix sums of the tokens of outputs and their images."""
    user_message_starts: tuple[int, ...]
    """First items of the user's messages."""
    first_items: tuple[int, ...]
    """First item of each item's message."""
    section_items: tuple[int, ...]
    """Items of system prompts and tools."""
    user_edited_items: tuple[int, ...]
    """Items that the user excluded, restored or reverted, in the whole session."""
    request_tokens: tuple[int, ...]
    """Tokens of each recorded request."""
    remainder_tokens: tuple[int, ...]
    """Tokens that the engine counted in each request beyond its items; 0 for requests that it did not count."""


def engine_sizes(timeline: Timeline, estimator: str) -> EngineSizes:
    """Return the sizes of a timeline's items; computed once for each estimator."""
    return timeline.derived_value(
        f"engine sizes by {estimator}", lambda timeline: _sizes(timeline, estimator)
    )


def request_token_counts(
    timeline: Timeline, simulated_timeline: Timeline, estimator: str, weight_estimator: str
) -> list[int]:
    """Return the tokens of each request in the replay of a timeline, as the engine counts them.

    ``weight_estimator`` is the estimator by which the replay counted changed items. Tokens that the engine counted in a
    recorded request beyond its items are added to the replayed request, too.
    """
    sizes = engine_sizes(timeline, estimator)
    replayed_tokens = _request_tokens(
        simulated_timeline, estimator, sizes.whole_tokens, sizes.frame_tokens, weight_estimator
    )
    return [
        tokens + remainder
        for tokens, remainder in zip(replayed_tokens, sizes.remainder_tokens, strict=True)
    ]


def char_sizes(timeline: Timeline, *, counts_width: bool) -> tuple[int, ...]:
    """Return the characters of each item, for the engine's rules that count characters."""
    return timeline.derived_value(
        f"engine characters, wide {counts_width}",
        lambda timeline: tuple(
            _item_chars(timeline, item, counts_width=counts_width) for item in timeline.items
        ),
    )


def call_input(timeline: Timeline, call_index: int) -> dict[str, Any]:
    """Return the input of a call; empty where it cannot be read."""
    tool = timeline.items[call_index].tool
    try:
        tool_input = json_value(timeline.read(call_index).removeprefix(tool))
    except (ValueError, RecursionError):
        return {}
    return tool_input if isinstance(tool_input, dict) else {}


def file_calls(timeline: Timeline) -> tuple[tuple[int, int, FileCall], ...]:
    """Return the calls that read or changed a file: the item of the call, that of its result, and the input."""
    return timeline.derived_value("file calls", _file_calls)


def _file_calls(timeline: Timeline) -> tuple[tuple[int, int, FileCall], ...]:
    result_by_group = {
        item.group: item.index
        for item in timeline.items
        if item.kind == "output" and not item.is_error
    }
    return tuple(
        (
            item.index,
            result_by_group[item.group],
            FileCall(part_id_of(item), item.tool, call_input(timeline, item.index)),
        )
        for item in timeline.items
        if item.kind == "call"
        and item.tool in READING_TOOLS | CHANGING_TOOLS
        and item.group in result_by_group
    )


def is_from_user(item: TimelineItem) -> bool:
    """Return whether an item belongs to a message of the user."""
    is_own_image = item.kind == "media" and not _is_attached(item)
    return not item.continues and (item.kind in ("user", "notebook") or is_own_image)


def is_by_user(transition: Transition) -> bool:
    """Return whether a transition is a decision of the user."""
    return transition.state == "reverted" or transition.rule.startswith("user/")


def _sizes(timeline: Timeline, estimator: str) -> EngineSizes:
    count_tokens = counter(estimator)
    weights = timeline.weights(estimator)
    frame_tokens, first_items = _frames_and_first_items(timeline)
    whole_tokens = [
        weight
        if item.kind == "media"
        else _whole_tokens(timeline, item, weight, count_tokens) + frame
        for item, weight, frame in zip(timeline.items, weights, frame_tokens, strict=True)
    ]
    are_absent = [item.kind == "summary" or item.continues for item in timeline.items]
    extras = tuple(whole - weight for whole, weight in zip(whole_tokens, weights, strict=True))

    def prefix_sums(whole_item_tokens: Iterable[int]) -> tuple[int, ...]:
        present = (
            0 if is_absent else item_tokens
            for is_absent, item_tokens in zip(are_absent, whole_item_tokens, strict=True)
        )
        return (0, *accumulate(present))

    request_tokens = _request_tokens(timeline, estimator, whole_tokens, frame_tokens)
    parts = tuple(map(part_id_of, timeline.items))
    outputs = tuple(
        item.index
        for item in timeline.items
        if (item.kind == "output" and not item.is_error) or item.kind == "notebook"
    )
    recorded_counts = [
        request.estimated if request.estimator == estimator else 0 for request in timeline.requests
    ]
    counted_pairs = list(zip(recorded_counts, request_tokens, strict=True))
    edited_items = {change.item for change in timeline.transitions if is_by_user(change)}
    return EngineSizes(
        estimator=estimator,
        count_tokens=count_tokens,
        frame_tokens=frame_tokens,
        extra_tokens=extras,
        part_ids=parts,
        whole_tokens=tuple(whole_tokens),
        whole_token_sums=prefix_sums(whole_tokens),
        extra_token_sums=prefix_sums(extras),
        outputs=outputs,
        output_by_part_id={parts[output]: output for output in outputs},
        output_token_sums=(
            0,
            *accumulate(
                whole if item.kind in ("output", "notebook") or _is_attached(item) else 0
                for item, whole in zip(timeline.items, whole_tokens, strict=True)
            ),
        ),
        user_message_starts=tuple(
            sorted({first_items[item.index] for item in timeline.items if is_from_user(item)})
        ),
        first_items=first_items,
        section_items=tuple(item.index for item in timeline.items if item.kind in SECTION_KINDS),
        user_edited_items=tuple(sorted(edited_items)),
        request_tokens=tuple(recorded or item_sum for recorded, item_sum in counted_pairs),
        remainder_tokens=tuple(
            recorded - item_sum if recorded else 0 for recorded, item_sum in counted_pairs
        ),
    )


def _frames_and_first_items(timeline: Timeline) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the tokens around each item, and the first item of its message."""
    frame_tokens: list[int] = []
    first_items: list[int] = []
    first_of_message: dict[str, int] = {}
    message_start_by_call: dict[str, int] = {}
    begun_messages: set[tuple[int, bool]] = set()
    for item in timeline.items:
        is_result = item.kind == "output"
        message_start = first_of_message.setdefault(
            item.message or f"block {item.block}", item.index
        )
        if is_result or _is_attached(item):
            # A result belongs to the answer that called for it.
            message_start = message_start_by_call.get(item.group, message_start)
        elif item.kind == "call":
            message_start_by_call[item.group] = message_start
        frame = CALL_TOKENS if is_result or item.kind == "call" else 0
        if (
            item.kind != "tools"
            and (message_start, is_result) not in begun_messages
            and not _is_attached(item)
        ):
            begun_messages.add((message_start, is_result))
            frame += MESSAGE_TOKENS
        frame_tokens.append(frame)
        first_items.append(message_start)
    return tuple(frame_tokens), tuple(first_items)


def _is_attached(item: TimelineItem) -> bool:
    """Return whether an item is an image of a result, which belongs to the result's own message."""
    return item.kind == "media" and bool(item.group)


def _whole_tokens(
    timeline: Timeline, item: TimelineItem, weight: int, count_tokens: Callable[[str], int]
) -> int:
    """Return the tokens of a whole item as the engine counts its text."""
    if item.text != "kept" or not item.chars:
        return weight
    if item.kind in SECTION_KINDS:
        return _section_tokens(timeline, item, weight, count_tokens)
    if item.kind == "call":
        if count_tokens is counter(CHARS4):
            return _chars4_tokens(len(item.tool)) + _chars4_tokens(item.chars - len(item.tool))
        tool_input = json.dumps(call_input(timeline, item.index), ensure_ascii=False)
        return count_tokens(item.tool) + count_tokens(tool_input)
    return _chars4_tokens(item.chars) if count_tokens is counter(CHARS4) else weight


def _chars4_tokens(chars: int) -> int:
    return (chars + CHARS_PER_TOKEN // 2) // CHARS_PER_TOKEN


def _section_tokens(
    timeline: Timeline, item: TimelineItem, weight: int, count_tokens: Callable[[str], int]
) -> int:
    """Return the tokens of a system prompt or of the tools, which are recorded as JSON."""
    if item.kind == "tools":
        try:
            sections = json_value(timeline.read(item.index))
            return tools_tokens([ToolSpec.model_validate(spec) for spec in sections], count_tokens)
        except (ValueError, TypeError, ValidationError):
            return weight
    texts = system_texts(timeline, item.index)
    if not texts:
        return weight
    return sum(map(count_tokens, texts)) + MESSAGE_TOKENS * (len(texts) - 1)


def system_texts(timeline: Timeline, item_index: int) -> list[str]:
    """Return the texts of a system prompt that was recorded as JSON; none where it was not."""
    try:
        sections = json_value(timeline.read(item_index))
    except ValueError:
        return []
    texts = sections if isinstance(sections, list) else []
    return [text for text in texts if isinstance(text, str) and text]


def _request_tokens(
    timeline: Timeline,
    estimator: str,
    whole_tokens: Sequence[int],
    frame_tokens: tuple[int, ...],
    weight_estimator: str = "",
) -> list[int]:
    """Return the tokens of each request: the sum over the items that it shows."""
    shown_tokens = list(whole_tokens)
    request_tokens: list[int] = []
    count_tokens = counter(estimator)
    request_sum = added_until = next_transition = 0
    transitions = timeline.transitions
    for request in timeline.requests:
        request_sum += sum(shown_tokens[added_until : request.items])
        added_until = request.items
        while (
            next_transition < len(transitions)
            and transitions[next_transition].request <= request.index
        ):
            transition = transitions[next_transition]
            next_transition += 1
            tokens = whole_tokens[transition.item]
            if transition.state in GONE_STATES:
                tokens = transition.tokens or 0
            elif transition.state != "whole":
                # A replay rounds quarters of characters up, where the engine rounds them half up.
                counting_estimator = weight_estimator or request.estimator
                is_same_estimator = counting_estimator == estimator and weight_estimator != CHARS4
                tokens = (
                    _shown_tokens(
                        timeline, transition, count_tokens, is_same_estimator=is_same_estimator
                    )
                    + frame_tokens[transition.item]
                )
            if transition.item < added_until:
                request_sum += tokens - shown_tokens[transition.item]
            shown_tokens[transition.item] = tokens
        request_tokens.append(request_sum)
    return request_tokens


def _shown_tokens(
    timeline: Timeline,
    transition: Transition,
    count_tokens: Callable[[str], int],
    *,
    is_same_estimator: bool,
) -> int:
    """Return the tokens of an item as a recorded request showed it."""
    if is_same_estimator and transition.tokens is not None:
        return transition.tokens
    if "head_chars" in transition.numbers:
        return count_tokens(apply_truncation(timeline.read(transition.item), transition.numbers))
    text = transition.shown or transition.numbers.get("text")
    return count_tokens(text) if isinstance(text, str) else -(-transition.chars // CHARS_PER_TOKEN)


def _item_chars(timeline: Timeline, item: TimelineItem, *, counts_width: bool) -> int:
    if item.kind == "media":
        return MEDIA_CHARS
    if item.kind == "call":
        tool_input = json.dumps(
            call_input(timeline, item.index), ensure_ascii=False, separators=(",", ":")
        )
        return len(tool_input)
    if item.kind == "system" and (texts := system_texts(timeline, item.index)):
        return sum(map(len, texts))
    if counts_width and item.text == "kept" and item.kind not in SECTION_KINDS:
        return weigh_chars(timeline.read(item.index))
    return item.chars

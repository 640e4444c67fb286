"""Sizes of a timeline's items as the engine counts them in a request: with frames of messages, calls and results.

A timeline weighs texts; the engine also counts what stands around them. What both differ by is kept for each
item, so that a light policy compares the same numbers with its thresholds as the engine would.
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
from palimpsest.context.reduction.superseded_reads import CHANGES, READS, FileCall
from palimpsest.context.reduction.truncation import shorten
from palimpsest.model.tokenizer import counter
from palimpsest.review.policies.reducible import BESIDE
from palimpsest.review.timeline.message_items import part_of
from palimpsest.store.bounded_json import json_value
from palimpsest.transcript.timeline import CHARS4, GONE_STATES, Timeline, TimelineItem, Transition
from palimpsest.transcript.values import ToolSpec


@dataclass(frozen=True)
class EngineSizes:
    """Sizes of all items of a timeline by one estimator."""

    estimator: str
    count: Callable[[str], int]
    frames: tuple[int, ...]
    """Tokens around each item's text."""
    extras: tuple[int, ...]
    """Tokens by which the engine's count of a whole item is more than its weight."""
    parts: tuple[str, ...]
    """The part of the log that each item stands for."""
    wholes: tuple[int, ...]
    """Tokens of each whole item with what stands around it."""
    wholes_until: tuple[int, ...]
    """Sums of ``wholes`` of the items before each, without recorded summaries."""
    until: tuple[int, ...]
    """Sums of ``extras`` of the items before each, without recorded summaries, which are not there by themselves."""
    outputs: tuple[int, ...]
    """Results of calls that did not fail, and what the user's cells did: the outputs that may be reduced."""
    places: Mapping[str, int]
    """Those, by their parts."""
    outputs_sums: tuple[int, ...]
    """Sums of the tokens of outputs and their images among the items before each."""
    users: tuple[int, ...]
    """First items of the user's messages."""
    firsts: tuple[int, ...]
    """First item of each item's message."""
    beside: tuple[int, ...]
    """System prompts and tools."""
    edited: tuple[int, ...]
    """Items that a person took out, restored or reverted, in the whole session."""
    requests: tuple[int, ...]
    """Tokens of each recorded request."""
    remainders: tuple[int, ...]
    """What the engine counted of it when it was sent, beyond the sizes of its items; 0 where it did not."""


def engine_sizes(timeline: Timeline, estimator: str) -> EngineSizes:
    """Return the sizes of a timeline's items; made once for each estimator."""
    return timeline.derived(f"engine sizes by {estimator}", lambda one: _sizes(one, estimator))


def counted_requests(
    timeline: Timeline, simulated: Timeline, estimator: str, weighed: str
) -> list[int]:
    """Return the tokens of each request of a replay of a timeline, as the engine counts them.

    ``weighed`` is the estimator by which the replay counted what it shows otherwise. What the engine counted of a recorded request beyond its items is added to the replayed one, too.
    """
    sizes = engine_sizes(timeline, estimator)
    found = _requests(simulated, estimator, sizes.wholes, sizes.frames, weighed)
    return [one + more for one, more in zip(found, sizes.remainders, strict=True)]


def char_sizes(timeline: Timeline, *, wide: bool) -> tuple[int, ...]:
    """Return the characters of each item as the engine's rules by characters count them."""
    return timeline.derived(
        f"engine characters, wide {wide}",
        lambda one: tuple(_chars(one, item, wide=wide) for item in one.items),
    )


def call_input(timeline: Timeline, call: int) -> dict[str, Any]:
    """Return the input of a call; empty where it cannot be read."""
    tool = timeline.items[call].tool
    try:
        given = json_value(timeline.read(call).removeprefix(tool))
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def file_calls(timeline: Timeline) -> tuple[tuple[int, int, FileCall], ...]:
    """Return the calls that read or changed a file: their items, those of their results, and what they asked for."""
    return timeline.derived("file calls", _file_calls)


def _file_calls(timeline: Timeline) -> tuple[tuple[int, int, FileCall], ...]:
    results = {
        item.group: item.index
        for item in timeline.items
        if item.kind == "output" and not item.is_error
    }
    return tuple(
        (
            item.index,
            results[item.group],
            FileCall(part_of(item), item.tool, call_input(timeline, item.index)),
        )
        for item in timeline.items
        if item.kind == "call" and item.tool in READS | CHANGES and item.group in results
    )


def is_users(item: TimelineItem) -> bool:
    """Return whether an item belongs to a message of the user."""
    attached = item.kind == "media" and not _is_attached(item)
    return not item.continues and (item.kind in ("user", "notebook") or attached)


def is_by_hand(one: Transition) -> bool:
    """Return whether a transition is what a person decided."""
    return one.state == "reverted" or one.rule.startswith("user/")


def _sizes(timeline: Timeline, estimator: str) -> EngineSizes:
    count = counter(estimator)
    weights = timeline.weights(estimator)
    frames, firsts = _frames(timeline)
    wholes = [
        weight if item.kind == "media" else _whole(timeline, item, weight, count) + frame
        for item, weight, frame in zip(timeline.items, weights, frames, strict=True)
    ]
    absent = [item.kind == "summary" or item.continues for item in timeline.items]
    extras = tuple(whole - weight for whole, weight in zip(wholes, weights, strict=True))

    def sums(those: Iterable[int]) -> tuple[int, ...]:
        present = (0 if gone else one for gone, one in zip(absent, those, strict=True))
        return (0, *accumulate(present))

    requests = _requests(timeline, estimator, wholes, frames)
    parts = tuple(map(part_of, timeline.items))
    outputs = tuple(
        item.index
        for item in timeline.items
        if (item.kind == "output" and not item.is_error) or item.kind == "notebook"
    )
    known = [one.estimated if one.estimator == estimator else 0 for one in timeline.requests]
    return EngineSizes(
        estimator=estimator,
        count=count,
        frames=frames,
        extras=extras,
        parts=parts,
        wholes=tuple(wholes),
        wholes_until=sums(wholes),
        until=sums(extras),
        outputs=outputs,
        places={parts[one]: one for one in outputs},
        outputs_sums=(
            0,
            *accumulate(
                whole if item.kind in ("output", "notebook") or _is_attached(item) else 0
                for item, whole in zip(timeline.items, wholes, strict=True)
            ),
        ),
        users=tuple(sorted({firsts[item.index] for item in timeline.items if is_users(item)})),
        firsts=firsts,
        beside=tuple(
            item.index for item in timeline.items if item.kind in BESIDE and item.kind != "summary"
        ),
        edited=tuple(sorted({one.item for one in timeline.transitions if is_by_hand(one)})),
        requests=tuple(sent or found for sent, found in zip(known, requests, strict=True)),
        remainders=tuple(
            sent - found if sent else 0 for sent, found in zip(known, requests, strict=True)
        ),
    )


def _frames(timeline: Timeline) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the tokens around each item, and the first item of its message."""
    frames: list[int] = []
    firsts: list[int] = []
    known: dict[str, int] = {}
    calls: dict[str, int] = {}
    begun: set[tuple[int, bool]] = set()
    for item in timeline.items:
        results = item.kind == "output"
        first = known.setdefault(item.message or f"block {item.block}", item.index)
        if results or _is_attached(item):
            # A result belongs to the answer that called for it.
            first = calls.get(item.group, first)
        elif item.kind == "call":
            calls[item.group] = first
        frame = CALL_TOKENS if results or item.kind == "call" else 0
        if item.kind != "tools" and (first, results) not in begun and not _is_attached(item):
            begun.add((first, results))
            frame += MESSAGE_TOKENS
        frames.append(frame)
        firsts.append(first)
    return tuple(frames), tuple(firsts)


def _is_attached(item: TimelineItem) -> bool:
    """Return whether an item is an image of a result, which stands in the result's own message."""
    return item.kind == "media" and bool(item.group)


def _whole(timeline: Timeline, item: TimelineItem, weight: int, count: Callable[[str], int]) -> int:
    """Return the tokens of a whole item as the engine counts its text."""
    if item.text != "kept" or not item.chars:
        return weight
    if item.kind in ("system", "tools"):
        return _section(timeline, item, weight, count)
    if item.kind == "call":
        if count is counter(CHARS4):
            return _quarter(len(item.tool)) + _quarter(item.chars - len(item.tool))
        given = json.dumps(call_input(timeline, item.index), ensure_ascii=False)
        return count(item.tool) + count(given)
    return _quarter(item.chars) if count is counter(CHARS4) else weight


def _quarter(chars: int) -> int:
    return (chars + 2) // 4


def _section(
    timeline: Timeline, item: TimelineItem, weight: int, count: Callable[[str], int]
) -> int:
    """Return the tokens of a system prompt or of the tools, which are recorded as JSON."""
    if item.kind == "tools":
        try:
            told = json_value(timeline.read(item.index))
            return tools_tokens([ToolSpec.model_validate(one) for one in told], count)
        except (ValueError, TypeError, ValidationError):
            return weight
    texts = system_texts(timeline, item.index)
    if not texts:
        return weight
    return sum(map(count, texts)) + MESSAGE_TOKENS * (len(texts) - 1)


def system_texts(timeline: Timeline, item: int) -> list[str]:
    """Return the texts of a system prompt that was recorded as JSON; none where it was not."""
    try:
        told = json_value(timeline.read(item))
    except ValueError:
        return []
    return [one for one in told if isinstance(one, str) and one] if isinstance(told, list) else []


def _requests(
    timeline: Timeline,
    estimator: str,
    wholes: Sequence[int],
    frames: tuple[int, ...],
    weighed: str = "",
) -> list[int]:
    """Return the tokens of each request, from the sizes of what it shows."""
    shown = list(wholes)
    found: list[int] = []
    count = counter(estimator)
    total = added = place = 0
    transitions = timeline.transitions
    for request in timeline.requests:
        total += sum(shown[added : request.items])
        added = request.items
        while place < len(transitions) and transitions[place].request <= request.index:
            one = transitions[place]
            place += 1
            tokens = wholes[one.item]
            if one.state in GONE_STATES:
                tokens = one.tokens or 0
            elif one.state != "whole":
                # A replay rounds quarters of characters up, where the engine rounds them half up.
                same = (weighed or request.estimator) == estimator and weighed != CHARS4
                tokens = _shown(timeline, one, count, same=same) + frames[one.item]
            if one.item < added:
                total += tokens - shown[one.item]
            shown[one.item] = tokens
        found.append(total)
    return found


def _shown(timeline: Timeline, one: Transition, count: Callable[[str], int], *, same: bool) -> int:
    """Return the tokens of what a recorded request showed of an item."""
    if same and one.tokens is not None:
        return one.tokens
    if "head_chars" in one.numbers:
        return count(shorten(timeline.read(one.item), one.numbers))
    text = one.shown or one.numbers.get("text")
    return count(text) if isinstance(text, str) else -(-one.chars // 4)


def _chars(timeline: Timeline, item: TimelineItem, *, wide: bool) -> int:
    if item.kind == "media":
        return MEDIA_CHARS
    if item.kind == "call":
        given = json.dumps(
            call_input(timeline, item.index), ensure_ascii=False, separators=(",", ":")
        )
        return len(given)
    if item.kind == "system" and (texts := system_texts(timeline, item.index)):
        return sum(map(len, texts))
    if wide and item.text == "kept" and item.kind not in ("system", "tools"):
        return weigh_chars(timeline.read(item.index))
    return item.chars

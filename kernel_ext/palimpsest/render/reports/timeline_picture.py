"""Draw what filled the context window in each request of a session, as one SVG of bounded size.

Border: pure; numbers in, markup out. The colours are of middling lightness, so that the picture can be read on
a white page and on a dark one; it loads nothing and needs no style sheet. Title and description say in words
what it shows. Of a long session neighbouring requests share a column, which shows the largest of them.
"""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from palimpsest.render.content.phrases import count
from palimpsest.render.safety.escaping import one_line

WIDTH, HEIGHT = 760, 300
LEFT, TOP, BOTTOM = 8, 34, 238
"""Pixels: where the plot begins, its upper and its lower edge."""
MAX_COLUMNS = 160
MAX_MARKS = 60
"""Maximum marks of one kind; more would overlap."""
INK = "#7a7a82"
"""Colour of text and lines, with a contrast of at least 3.9 : 1 on white and on black."""
COLOURS = {
    "system": "#8791a7",
    "tools": "#64708b",
    "instructions": "#a3adbf",
    "summary": "#2f9d8f",
    "user": "#3f88cc",
    "notebook": "#7a9c3a",
    "assistant": "#6a59c9",
    "reasoning": "#a493e0",
    "call": "#c25f9c",
    "output": "#cf8b3c",
    "media": "#b0576a",
    "unseen": "#c3c3c9",
    "placeholder": "#8ab8b0",
}
OTHER_COLOUR = "#9a9a9a"
_WORDS = {
    "unseen": "beside the messages",
    "placeholder": "in place of cleared",
    "user": "you",
    "assistant": "agent",
}
"""Of the kinds that the inspector calls by another name."""
MarkKind = Literal["break", "prune", "compact"]
_MARKS: dict[MarkKind, tuple[str, str]] = {
    "break": ("#d3453d", "cache break"),
    "prune": ("#2f9d8f", "pruned"),
    "compact": ("#6a59c9", "compacted"),
}
"""Colour and words of each kind of mark; kinds also differ in height."""


@dataclass(frozen=True, slots=True)
class TimelineMark:
    """A mark for an event at a request; requests are numbered from 0."""

    request: int
    kind: MarkKind


@dataclass(frozen=True, slots=True)
class TimelinePicture:
    """The values that the picture of a timeline shows."""

    title: str
    sentence: str
    """The contents of the picture as a sentence."""
    names: tuple[str, ...]
    """Kinds of tokens, lowest layer first."""
    tokens_by_kind: tuple[tuple[int, ...], ...]
    """Tokens of each kind at each request."""
    limits: tuple[int, ...] = ()
    """Of the window at each request; 0 where none is known."""
    marks: tuple[TimelineMark, ...] = ()


def kind_words(kind: str) -> str:
    """Return a kind as the inspector calls it."""
    return _WORDS.get(kind, kind)


def timeline_svg(picture: TimelinePicture) -> str:
    """Return the picture as an ``svg`` element of at most about 30 kB."""
    requests = len(picture.tokens_by_kind[0]) if picture.tokens_by_kind else 0
    columns = _drawn_requests(picture, requests)
    heights = [[layer[index] for index in columns] for layer in picture.tokens_by_kind]
    sums = [sum(column) for column in zip(*heights, strict=True)] if heights else []
    limits = [picture.limits[index] for index in columns] if picture.limits else []
    max_tokens = _full_height(sums, limits)
    title = html.escape(one_line(picture.title) or "Session")
    body = [
        *_areas(picture.names, heights, max_tokens),
        *_limit_line(limits, max_tokens),
        *_mark_elements(picture.marks, requests),
        *_axis_elements(requests, max_tokens),
        *_legend(picture),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' width="{WIDTH}" height="{HEIGHT}" font-family="system-ui, sans-serif" font-size="11"'
        f' fill="{INK}"><title>{title}</title><desc>{html.escape(one_line(picture.sentence, 600))}</desc>'
        f"{''.join(body)}</svg>"
    )


def _full_height(sums: Sequence[int], limits: Sequence[int]) -> int:
    """Return the tokens at full height: the largest request, and its limit where that is not far above."""
    largest = max([*sums, 1])
    limit = limits[sums.index(largest)] if limits and largest in sums else 0
    return max(largest, limit) if limit < 4 * largest else largest


def _drawn_requests(picture: TimelinePicture, requests: int) -> list[int]:
    """Return the requests that are drawn: of neighbours that share a column, the largest."""
    if requests <= MAX_COLUMNS:
        return list(range(requests))
    totals = [sum(column) for column in zip(*picture.tokens_by_kind, strict=True)]
    edges = [position * requests // MAX_COLUMNS for position in range(MAX_COLUMNS + 1)]
    return [max(range(start, end), key=totals.__getitem__) for start, end in pairwise(edges)]


def _areas(
    names: Sequence[str], heights: Sequence[Sequence[int]], max_tokens: int
) -> Iterator[str]:
    """Yield the layers, the highest first, each as an area down to the bottom, over which the lower ones are drawn."""
    sums = [0] * (len(heights[0]) if heights else 0)
    areas = []
    for name, layer in zip(names, heights, strict=True):
        sums = [lower_edge + height for lower_edge, height in zip(sums, layer, strict=True)]
        areas.append((name, sums))
    for name, tops in reversed(areas):
        steps = "".join(
            f"V{_y(tokens, max_tokens)}H{_x(position + 1, len(tops))}"
            for position, tokens in enumerate(tops)
        )
        yield f'<path fill="{COLOURS.get(name, OTHER_COLOUR)}" d="M{LEFT} {BOTTOM}{steps}V{BOTTOM}Z"/>'


def _limit_line(limits: Sequence[int], max_tokens: int) -> Iterator[str]:
    steps = "".join(
        f"M{_x(position, len(limits))} {_y(limit, max_tokens)}H{_x(position + 1, len(limits))}"
        for position, limit in enumerate(limits)
        if 0 < limit <= max_tokens
    )
    if steps:
        yield f'<path fill="none" stroke="#d3453d" stroke-dasharray="5 3" d="{steps}"/>'


def _mark_elements(marks: Sequence[TimelineMark], requests: int) -> Iterator[str]:
    for height, (kind, (colour, _)) in enumerate(_MARKS.items()):
        places = [_x(mark.request, requests) for mark in marks if mark.kind == kind]
        top = TOP - 4 - 8 * height
        lines = "".join(f"M{x} {top}v-6" for x in dict.fromkeys(places[:MAX_MARKS]))
        if lines:
            yield f'<path fill="none" stroke="{colour}" stroke-width="2" d="{lines}"/>'


def _axis_elements(requests: int, max_tokens: int) -> Iterator[str]:
    yield f'<path fill="none" stroke="{INK}" d="M{LEFT} {BOTTOM}H{WIDTH - LEFT}"/>'
    yield f'<text x="{LEFT}" y="{BOTTOM + 14}">request 1</text>'
    yield f'<text x="{WIDTH - LEFT}" y="{BOTTOM + 14}" text-anchor="end">{count(requests)}</text>'
    yield (
        f'<text x="{WIDTH - LEFT}" y="{TOP - 22}" text-anchor="end">'
        f"full height: {count(max_tokens)} tokens</text>"
    )


def _legend(picture: TimelinePicture) -> Iterator[str]:
    entries = [(COLOURS.get(name, OTHER_COLOUR), kind_words(name)) for name in picture.names]
    kinds = dict.fromkeys(mark.kind for mark in picture.marks)
    entries += [_MARKS[kind] for kind in _MARKS if kind in kinds]
    if any(picture.limits):
        entries.append(("#d3453d", "limit (dashed)"))
    x, y = LEFT, BOTTOM + 32
    for colour, label in entries:
        length = 22 + 7 * len(label)
        if x + length > WIDTH:
            x, y = LEFT, y + 16
        yield f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{x + 14}" y="{y}">{html.escape(label)}</text>'
        x += length


def _x(position: int, requests: int) -> int:
    return LEFT + round(position * (WIDTH - 2 * LEFT) / max(requests, 1))


def _y(tokens: int, max_tokens: int) -> int:
    return BOTTOM - round(tokens * (BOTTOM - TOP) / max_tokens)

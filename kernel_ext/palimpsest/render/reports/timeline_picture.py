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
MAX_DESCRIPTION_CHARS = 600
MAX_LIMIT_FACTOR = 4
"""A limit above this many times the largest request is not drawn."""
MAX_MARKS = 60
"""Maximum marks of one kind; more would overlap."""
INK_COLOUR = "#7a7a82"
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
_KIND_WORDS = {
    "unseen": "beside the messages",
    "placeholder": "in place of cleared",
    "user": "you",
    "assistant": "agent",
}
"""Words for the kinds that the inspector calls by another name."""
MarkKind = Literal["break", "prune", "compact"]
_MARK_STYLES: dict[MarkKind, tuple[str, str]] = {
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
    """Tokens of the window at each request; 0 where none is known."""
    marks: tuple[TimelineMark, ...] = ()


def kind_words(kind: str) -> str:
    """Return a kind as the inspector calls it."""
    return _KIND_WORDS.get(kind, kind)


def timeline_svg(picture: TimelinePicture) -> str:
    """Return the picture as an ``svg`` element of at most about 30 kB."""
    request_count = len(picture.tokens_by_kind[0]) if picture.tokens_by_kind else 0
    request_indexes = _drawn_requests(picture, request_count)
    tokens_by_layer = [
        [layer[index] for index in request_indexes] for layer in picture.tokens_by_kind
    ]
    request_totals = (
        [sum(column) for column in zip(*tokens_by_layer, strict=True)] if tokens_by_layer else []
    )
    limits = [picture.limits[index] for index in request_indexes] if picture.limits else []
    max_tokens = _tokens_at_full_height(request_totals, limits)
    title = html.escape(one_line(picture.title) or "Session")
    elements = [
        *_area_elements(picture.names, tokens_by_layer, max_tokens),
        *_limit_elements(limits, max_tokens),
        *_mark_elements(picture.marks, request_count),
        *_axis_elements(request_count, max_tokens),
        *_legend_elements(picture),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' width="{WIDTH}" height="{HEIGHT}" font-family="system-ui, sans-serif" font-size="11"'
        f' fill="{INK_COLOUR}"><title>{title}</title><desc>{html.escape(one_line(picture.sentence, MAX_DESCRIPTION_CHARS))}</desc>'
        f"{''.join(elements)}</svg>"
    )


def _tokens_at_full_height(request_totals: Sequence[int], limits: Sequence[int]) -> int:
    """Return the tokens at full height: the largest request, and its limit where that is not far above."""
    largest_tokens = max([*request_totals, 1])
    limit_tokens = (
        limits[request_totals.index(largest_tokens)]
        if limits and largest_tokens in request_totals
        else 0
    )
    return (
        max(largest_tokens, limit_tokens)
        if limit_tokens < MAX_LIMIT_FACTOR * largest_tokens
        else largest_tokens
    )


def _drawn_requests(picture: TimelinePicture, request_count: int) -> list[int]:
    """Return the requests that are drawn: of neighbours that share a column, the largest."""
    if request_count <= MAX_COLUMNS:
        return list(range(request_count))
    totals = [sum(column) for column in zip(*picture.tokens_by_kind, strict=True)]
    edges = [position * request_count // MAX_COLUMNS for position in range(MAX_COLUMNS + 1)]
    return [max(range(start, end), key=totals.__getitem__) for start, end in pairwise(edges)]


def _area_elements(
    names: Sequence[str], tokens_by_layer: Sequence[Sequence[int]], max_tokens: int
) -> Iterator[str]:
    """Yield the layers, the highest first, each as an area down to the bottom, over which the lower ones are drawn."""
    upper_edges = [0] * (len(tokens_by_layer[0]) if tokens_by_layer else 0)
    areas = []
    for name, layer in zip(names, tokens_by_layer, strict=True):
        upper_edges = [
            lower_edge + height for lower_edge, height in zip(upper_edges, layer, strict=True)
        ]
        areas.append((name, upper_edges))
    for name, tops in reversed(areas):
        steps = "".join(
            f"V{_y(tokens, max_tokens)}H{_x(position + 1, len(tops))}"
            for position, tokens in enumerate(tops)
        )
        yield f'<path fill="{COLOURS.get(name, OTHER_COLOUR)}" d="M{LEFT} {BOTTOM}{steps}V{BOTTOM}Z"/>'


def _limit_elements(limits: Sequence[int], max_tokens: int) -> Iterator[str]:
    steps = "".join(
        f"M{_x(position, len(limits))} {_y(limit, max_tokens)}H{_x(position + 1, len(limits))}"
        for position, limit in enumerate(limits)
        if 0 < limit <= max_tokens
    )
    if steps:
        yield f'<path fill="none" stroke="#d3453d" stroke-dasharray="5 3" d="{steps}"/>'


def _mark_elements(marks: Sequence[TimelineMark], request_count: int) -> Iterator[str]:
    for row, (kind, (colour, _)) in enumerate(_MARK_STYLES.items()):
        x_positions = [_x(mark.request, request_count) for mark in marks if mark.kind == kind]
        top = TOP - 4 - 8 * row
        lines = "".join(f"M{x} {top}v-6" for x in dict.fromkeys(x_positions[:MAX_MARKS]))
        if lines:
            yield f'<path fill="none" stroke="{colour}" stroke-width="2" d="{lines}"/>'


def _axis_elements(request_count: int, max_tokens: int) -> Iterator[str]:
    yield f'<path fill="none" stroke="{INK_COLOUR}" d="M{LEFT} {BOTTOM}H{WIDTH - LEFT}"/>'
    yield f'<text x="{LEFT}" y="{BOTTOM + 14}">request 1</text>'
    yield f'<text x="{WIDTH - LEFT}" y="{BOTTOM + 14}" text-anchor="end">{count(request_count)}</text>'
    yield (
        f'<text x="{WIDTH - LEFT}" y="{TOP - 22}" text-anchor="end">'
        f"full height: {count(max_tokens)} tokens</text>"
    )


def _legend_elements(picture: TimelinePicture) -> Iterator[str]:
    entries = [(COLOURS.get(name, OTHER_COLOUR), kind_words(name)) for name in picture.names]
    shown_kinds = dict.fromkeys(mark.kind for mark in picture.marks)
    entries += [_MARK_STYLES[kind] for kind in _MARK_STYLES if kind in shown_kinds]
    if any(picture.limits):
        entries.append(("#d3453d", "limit (dashed)"))
    x, y = LEFT, BOTTOM + 32
    for colour, label in entries:
        width = 22 + 7 * len(label)
        if x + width > WIDTH:
            x, y = LEFT, y + 16
        yield f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{x + 14}" y="{y}">{html.escape(label)}</text>'
        x += width


def _x(position: int, request_count: int) -> int:
    return LEFT + round(position * (WIDTH - 2 * LEFT) / max(request_count, 1))


def _y(tokens: int, max_tokens: int) -> int:
    return BOTTOM - round(tokens * (BOTTOM - TOP) / max_tokens)

"""Find the places in a text that match the old text of an edit, exactly or approximately.

Border: pure text. Models drop trailing spaces, shift indentation and escape too much; each
tolerance is tried only after the stricter one found nothing, and none chooses between two places.
"""

import difflib
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass

SIMILAR_ENOUGH = 0.7
"""Minimum similarity (0 to 1) of a block's middle when its first and last lines match."""

MOST_ANCHORED_LINES = 400
"""Maximum lines of a block that is matched approximately; comparing longer ones takes seconds."""


@dataclass(frozen=True, slots=True)
class SpanEdit:
    """A span of the text to replace, as character positions, and the new text."""

    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True)
class EditMatch:
    """The spans where an edit applies, and the tolerance needed to find them."""

    spans: tuple[SpanEdit, ...]
    how: str
    """``exact``, the differences that were ignored, or ``nowhere``."""


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str


Finder = Callable[[str, str, str], Iterator[SpanEdit]]


def find_edit(text: str, old: str, new: str) -> EditMatch:
    """Return every match of ``old``, by the strictest comparison that finds any."""
    for how, finder in FINDERS:
        spans = _disjoint(finder(text, old, new))
        if spans:
            return EditMatch(spans, how)
    return EditMatch((), "nowhere")


def _disjoint(spans: Iterator[SpanEdit]) -> tuple[SpanEdit, ...]:
    kept: list[SpanEdit] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return tuple(kept)


def line_of(text: str, position: int) -> int:
    """Return the line number, from 1, of a character position."""
    return text.count("\n", 0, position) + 1


def closest(text: str, old: str) -> tuple[int, str] | None:
    """Return number and text of the line most similar to the first non-empty line of ``old``, or None."""
    wanted = next((line.strip() for line in old.splitlines() if line.strip()), "")
    lines = text.splitlines()[:20_000]
    near = difflib.get_close_matches(wanted, {line.strip() for line in lines}, n=1, cutoff=0.6)
    if not near:
        return None
    return next((n, line.strip()) for n, line in enumerate(lines, 1) if line.strip() == near[0])


def _exact(text: str, old: str, new: str) -> Iterator[SpanEdit]:
    position = text.find(old)
    while position >= 0:
        yield SpanEdit(position, position + len(old), new)
        position = text.find(old, position + len(old))


def _lines(text: str) -> list[_Line]:
    lines, start = [], 0
    for line in text.split("\n"):
        lines.append(_Line(start, start + len(line), line))
        start += len(line) + 1
    return lines


def _windows(text: str, old: str) -> Iterator[tuple[list[_Line], list[str]]]:
    wanted = old.strip("\n").split("\n")
    lines = _lines(text)
    for first in range(len(lines) - len(wanted) + 1):
        yield lines[first : first + len(wanted)], wanted


def _span(window: list[_Line], old: str, new: str) -> SpanEdit:
    """Return a span of whole lines; line breaks around ``old`` are also removed from ``new``."""
    if old.startswith("\n") and new.startswith("\n"):
        new = new[1:]
    if old.endswith("\n"):
        new = new.removesuffix("\n")
    return SpanEdit(window[0].start, window[-1].end, new)


def _trailing_space(text: str, old: str, new: str) -> Iterator[SpanEdit]:
    if not old.strip():
        return
    for window, wanted in _windows(text, old):
        if all(
            line.text.rstrip() == want.rstrip() for line, want in zip(window, wanted, strict=True)
        ):
            yield _span(window, old, new)


def _indentation(text: str, old: str, new: str) -> Iterator[SpanEdit]:
    if not old.strip():
        return
    bare = [line.rstrip() for line in textwrap.dedent(old.strip("\n")).split("\n")]
    for window, _ in _windows(text, old):
        have = textwrap.dedent(_block(window))
        if [line.rstrip() for line in have.split("\n")] == bare:
            shifted = _reindent(new, _indent(old.strip("\n")), _indent(_block(window)))
            yield _span(window, old, shifted)


def _block(window: list[_Line]) -> str:
    return "\n".join(line.text for line in window)


def _indent(block: str) -> str:
    lines = [line for line in block.split("\n") if line.strip()]
    return min((line[: len(line) - len(line.lstrip())] for line in lines), key=len, default="")


def _reindent(new: str, given: str, real: str) -> str:
    """Replace the indentation ``given`` by ``real`` in each line."""
    return "\n".join(
        real + line.removeprefix(given) if line.strip() else line for line in new.split("\n")
    )


ESCAPES = {r"\n": "\n", r"\t": "\t", r"\r": "", r"\"": '"', r"\'": "'", r"\\": "\\", r"\`": "`"}


def _unescaped(text: str) -> str:
    return re.sub(r"\\[ntr\"'\\`]", lambda match: ESCAPES[match[0]], text)


def _escapes(text: str, old: str, new: str) -> Iterator[SpanEdit]:
    plain = _unescaped(old)
    if plain != old and plain:
        yield from _exact(text, plain, _unescaped(new))


def _anchors(text: str, old: str, new: str) -> Iterator[SpanEdit]:
    """Match blocks of three or more lines by their first and last lines and a similar middle."""
    wanted = [line.strip() for line in old.strip("\n").split("\n")]
    if not 3 <= len(wanted) <= MOST_ANCHORED_LINES or not wanted[0] or not wanted[-1]:
        return
    lines = _lines(text)
    slack = max(1, len(wanted) // 5)
    for first, line in enumerate(lines):
        if line.text.strip() != wanted[0]:
            continue
        for size in range(max(3, len(wanted) - slack), len(wanted) + slack + 1):
            window = lines[first : first + size]
            if (
                len(window) == size
                and window[-1].text.strip() == wanted[-1]
                and _alike(window, wanted)
            ):
                real = _indent(_block(window))
                yield _span(window, old, _reindent(new, _indent(old.strip("\n")), real))
                break


def _alike(window: list[_Line], wanted: list[str]) -> bool:
    have = "\n".join(line.text.strip() for line in window[1:-1])
    middle = "\n".join(wanted[1:-1])
    return difflib.SequenceMatcher(None, have, middle, autojunk=False).ratio() >= SIMILAR_ENOUGH


FINDERS: tuple[tuple[str, Finder], ...] = (
    ("exact", _exact),
    ("trailing spaces", _trailing_space),
    ("indentation", _indentation),
    ("escapes", _escapes),
    ("small differences between its first and last lines", _anchors),
)

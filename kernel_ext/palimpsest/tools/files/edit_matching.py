"""Find the places in a text where an edit's old text matches, exactly or approximately.

Border: pure text. Models drop trailing spaces, shift indentation and escape too much. A more tolerant comparison is
tried only after the stricter ones found no match; where several places match, all are returned.
"""

import difflib
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass

MIN_SIMILARITY = 0.7
"""Minimum similarity (0 to 1) of a block's middle when its first and last lines match."""

MIN_ANCHORED_LINES = 3
MAX_ANCHORED_LINES = 400
"""Maximum lines of a block that is matched approximately; comparing longer ones takes seconds."""

MAX_LENGTH_SHARE = 5
"""A block may be longer or shorter by one line of this many."""

MAX_SEARCHED_LINES = 20_000
MIN_LINE_SIMILARITY = 0.6
"""Minimum similarity (0 to 1) of a line that is named as the closest one."""


@dataclass(frozen=True, slots=True)
class SpanEdit:
    """A span of the text to replace, as character positions, and the new text."""

    start: int
    end_index: int
    new_text: str


@dataclass(frozen=True, slots=True)
class EditMatch:
    """The spans where an edit applies, and the tolerance needed to find them."""

    spans: tuple[SpanEdit, ...]
    tolerance: str
    """``exact``, the differences that were ignored, or ``nowhere`` without a match."""


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end_index: int
    text: str


Finder = Callable[[str, str, str], Iterator[SpanEdit]]


def find_edit(text: str, old_text: str, new_text: str) -> EditMatch:
    """Return every match of ``old_text``, by the strictest comparison that finds any."""
    for tolerance, finder in FINDERS:
        spans = _disjoint_edits(finder(text, old_text, new_text))
        if spans:
            return EditMatch(spans, tolerance)
    return EditMatch((), "nowhere")


def _disjoint_edits(spans: Iterator[SpanEdit]) -> tuple[SpanEdit, ...]:
    disjoint: list[SpanEdit] = []
    for span in spans:
        if not disjoint or span.start >= disjoint[-1].end_index:
            disjoint.append(span)
    return tuple(disjoint)


def line_of(text: str, position: int) -> int:
    """Return the line number, from 1, of a character position."""
    return text.count("\n", 0, position) + 1


def closest_line(text: str, old_text: str) -> tuple[int, str] | None:
    """Return number and text of the line most similar to the first non-empty line of ``old_text``, or None."""
    first_line = next((line.strip() for line in old_text.splitlines() if line.strip()), "")
    lines = text.splitlines()[:MAX_SEARCHED_LINES]
    close_matches = difflib.get_close_matches(
        first_line, {line.strip() for line in lines}, n=1, cutoff=MIN_LINE_SIMILARITY
    )
    if not close_matches:
        return None
    return next(
        (n, line.strip()) for n, line in enumerate(lines, 1) if line.strip() == close_matches[0]
    )


def _match_exactly(text: str, old_text: str, new_text: str) -> Iterator[SpanEdit]:
    position = text.find(old_text)
    while position >= 0:
        yield SpanEdit(position, position + len(old_text), new_text)
        position = text.find(old_text, position + len(old_text))


def _split_lines(text: str) -> list[_Line]:
    lines, start = [], 0
    for line in text.split("\n"):
        lines.append(_Line(start, start + len(line), line))
        start += len(line) + 1
    return lines


def _line_windows(text: str, old_text: str) -> Iterator[tuple[list[_Line], list[str]]]:
    old_lines = old_text.strip("\n").split("\n")
    lines = _split_lines(text)
    for first_index in range(len(lines) - len(old_lines) + 1):
        yield lines[first_index : first_index + len(old_lines)], old_lines


def _window_edit(window: list[_Line], old_text: str, new_text: str) -> SpanEdit:
    """Return a span of whole lines; line breaks around ``old_text`` are also removed from ``new_text``."""
    if old_text.startswith("\n") and new_text.startswith("\n"):
        new_text = new_text[1:]
    if old_text.endswith("\n"):
        new_text = new_text.removesuffix("\n")
    return SpanEdit(window[0].start, window[-1].end_index, new_text)


def _match_without_trailing_space(text: str, old_text: str, new_text: str) -> Iterator[SpanEdit]:
    if not old_text.strip():
        return
    for window, old_lines in _line_windows(text, old_text):
        if all(
            line.text.rstrip() == old_line.rstrip()
            for line, old_line in zip(window, old_lines, strict=True)
        ):
            yield _window_edit(window, old_text, new_text)


def _match_other_indentation(text: str, old_text: str, new_text: str) -> Iterator[SpanEdit]:
    if not old_text.strip():
        return
    old_lines = [line.rstrip() for line in textwrap.dedent(old_text.strip("\n")).split("\n")]
    for window, _ in _line_windows(text, old_text):
        window_text = textwrap.dedent(_window_text(window))
        if [line.rstrip() for line in window_text.split("\n")] == old_lines:
            yield _reindented_edit(window, old_text, new_text)


def _window_text(window: list[_Line]) -> str:
    return "\n".join(line.text for line in window)


def _least_indent(block: str) -> str:
    lines = [line for line in block.split("\n") if line.strip()]
    return min((line[: len(line) - len(line.lstrip())] for line in lines), key=len, default="")


def _reindented_edit(window: list[_Line], old_text: str, new_text: str) -> SpanEdit:
    """Return a span of whole lines; the new text gets the indentation of the lines."""
    old_indent, indent = _least_indent(old_text.strip("\n")), _least_indent(_window_text(window))
    new_lines = (
        indent + line.removeprefix(old_indent) if line.strip() else line
        for line in new_text.split("\n")
    )
    return _window_edit(window, old_text, "\n".join(new_lines))


ESCAPE_CHARACTERS = {
    r"\n": "\n",
    r"\t": "\t",
    r"\r": "",
    r"\"": '"',
    r"\'": "'",
    r"\\": "\\",
    r"\`": "`",
}


def _unescaped(text: str) -> str:
    return re.sub(r"\\[ntr\"'\\`]", lambda match: ESCAPE_CHARACTERS[match[0]], text)


def _match_unescaped(text: str, old_text: str, new_text: str) -> Iterator[SpanEdit]:
    unescaped = _unescaped(old_text)
    if unescaped != old_text and unescaped:
        yield from _match_exactly(text, unescaped, _unescaped(new_text))


def _match_first_and_last(text: str, old_text: str, new_text: str) -> Iterator[SpanEdit]:
    """Match blocks of three or more lines by their first and last lines and a similar middle."""
    old_lines = [line.strip() for line in old_text.strip("\n").split("\n")]
    if (
        not MIN_ANCHORED_LINES <= len(old_lines) <= MAX_ANCHORED_LINES
        or not old_lines[0]
        or not old_lines[-1]
    ):
        return
    lines = _split_lines(text)
    max_size_difference = max(1, len(old_lines) // MAX_LENGTH_SHARE)
    for first_index, line in enumerate(lines):
        if line.text.strip() != old_lines[0]:
            continue
        min_size = max(MIN_ANCHORED_LINES, len(old_lines) - max_size_difference)
        for size in range(min_size, len(old_lines) + max_size_difference + 1):
            window = lines[first_index : first_index + size]
            if (
                len(window) == size
                and window[-1].text.strip() == old_lines[-1]
                and _is_similar(window, old_lines)
            ):
                yield _reindented_edit(window, old_text, new_text)
                break


def _is_similar(window: list[_Line], old_lines: list[str]) -> bool:
    middle = "\n".join(line.text.strip() for line in window[1:-1])
    old_middle = "\n".join(old_lines[1:-1])
    matcher = difflib.SequenceMatcher(None, middle, old_middle, autojunk=False)
    return matcher.ratio() >= MIN_SIMILARITY


FINDERS: tuple[tuple[str, Finder], ...] = (
    ("exact", _match_exactly),
    ("trailing spaces", _match_without_trailing_space),
    ("indentation", _match_other_indentation),
    ("escapes", _match_unescaped),
    ("small differences between its first and last lines", _match_first_and_last),
)

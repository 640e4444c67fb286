"""Describe in which lines a call's input differs from an input that the user allowed before.

Border: pure. Only texts of several lines that are mostly alike are compared: other differences would be no help.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from palimpsest.transcript.visible_text import visible_code

MIN_LINES, MAX_LINES = 4, 1_000
MIN_ALIKE_SHARE = 0.6
"""Minimum share of equal lines of two texts that are compared."""
MAX_SHOWN_CHARS = 80
MAX_PLACES = 3


def changed_lines(now: Mapping[str, Any], before: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return a sentence for each text of an input that differs from the most similar text allowed before."""
    sentences: list[str] = []
    for key, text in now.items():
        texts = [edit[key] for edit in before if isinstance(edit.get(key), str)]
        if isinstance(text, str) and text not in texts:
            sentences += [f"{key}: {sentence}" for sentence in _difference_sentences(text, texts)]
    return tuple(sentences)


def _difference_sentences(text: str, before: Sequence[str]) -> Iterator[str]:
    lines = text.split("\n")
    if not MIN_LINES <= len(lines) <= MAX_LINES:
        return
    matcher: SequenceMatcher[str] = SequenceMatcher(autojunk=False)
    matcher.set_seq2(lines)
    nearest, share = None, MIN_ALIKE_SHARE
    for earlier in before:
        old = earlier.split("\n")
        matcher.set_seq1(old)
        if len(old) <= MAX_LINES and matcher.quick_ratio() >= share and matcher.ratio() >= share:
            nearest, share = old, matcher.ratio()
    if nearest is None:
        return
    matcher.set_seq1(nearest)
    parts = [opcode for opcode in matcher.get_opcodes() if opcode[0] != "equal"]
    places = [
        _line_with_neighbours(nearest[a:b], lines[c:d], c) for _, a, b, c, d in parts[:MAX_PLACES]
    ]
    more = f"; and {len(parts) - MAX_PLACES} more places" if len(parts) > MAX_PLACES else ""
    yield f"almost what you allowed before, but {'; '.join(places)}{more}."


def _line_with_neighbours(old: Sequence[str], new: Sequence[str], at: int) -> str:
    if not new:
        return f"before line {at + 1} {_quoted_lines(old)} is gone"
    lines = f"line {at + 1}" if len(new) == 1 else f"lines {at + 1} to {at + len(new)}"
    return f"{lines} {'is' if len(new) == 1 else 'are'} new: {_quoted_lines(new)}"


def _quoted_lines(lines: Sequence[str]) -> str:
    text = visible_code("\n".join(lines)).replace("\n", "\\n").strip()
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[: MAX_SHOWN_CHARS - 1]}…"

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


def changed_lines(
    new_input: Mapping[str, Any], allowed_inputs: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    """Return a sentence for each text of an input that differs from the most similar text allowed before."""
    sentences: list[str] = []
    for key, text in new_input.items():
        allowed_texts = [
            allowed[key] for allowed in allowed_inputs if isinstance(allowed.get(key), str)
        ]
        if isinstance(text, str) and text not in allowed_texts:
            sentences += [
                f"{key}: {sentence}" for sentence in _difference_sentences(text, allowed_texts)
            ]
    return tuple(sentences)


def _difference_sentences(text: str, allowed_texts: Sequence[str]) -> Iterator[str]:
    lines = text.split("\n")
    if not MIN_LINES <= len(lines) <= MAX_LINES:
        return
    matcher: SequenceMatcher[str] = SequenceMatcher(autojunk=False)
    matcher.set_seq2(lines)
    nearest, share = None, MIN_ALIKE_SHARE
    for allowed_text in allowed_texts:
        old_lines = allowed_text.split("\n")
        matcher.set_seq1(old_lines)
        if (
            len(old_lines) <= MAX_LINES
            and matcher.quick_ratio() >= share
            and matcher.ratio() >= share
        ):
            nearest, share = old_lines, matcher.ratio()
    if nearest is None:
        return
    matcher.set_seq1(nearest)
    changes = [opcode for opcode in matcher.get_opcodes() if opcode[0] != "equal"]
    clauses = [
        _difference_clause(nearest[a:b], lines[c:d], c) for _, a, b, c, d in changes[:MAX_PLACES]
    ]
    more = f"; and {len(changes) - MAX_PLACES} more places" if len(changes) > MAX_PLACES else ""
    yield f"almost what you allowed before, but {'; '.join(clauses)}{more}."


def _difference_clause(old_lines: Sequence[str], new_lines: Sequence[str], start: int) -> str:
    if not new_lines:
        return f"before line {start + 1} {_quoted_lines(old_lines)} is gone"
    line_numbers = (
        f"line {start + 1}"
        if len(new_lines) == 1
        else f"lines {start + 1} to {start + len(new_lines)}"
    )
    return (
        f"{line_numbers} {'is' if len(new_lines) == 1 else 'are'} new: {_quoted_lines(new_lines)}"
    )


def _quoted_lines(lines: Sequence[str]) -> str:
    text = visible_code("\n".join(lines)).replace("\n", "\\n").strip()
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[: MAX_SHOWN_CHARS - 1]}…"

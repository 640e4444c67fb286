"""Write a permission question as text: the tool, its complete input, warnings, and the possible answers.

Border: pure. Each line of quoted text has a margin, so that none can look like a line of the
question itself; invisible characters are shown (``transcript/visible_text.py``).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from palimpsest.transcript.values import Ask
from palimpsest.transcript.visible_text import visible_code, visible_line, visible_text

Scrub = Callable[[str], str]
MAX_TITLE_CHARS = 160
MAX_ALWAYS_CHARS = 60
"""Length from which on the patterns are listed above the answers, completely."""
MAX_DEPTH = 20
"""Deeper nested values are written as JSON."""
MARGIN = "  "
SENTENCE_PERMISSIONS = frozenset({"budget", "moved", "doom_loop"})
"""Permissions whose question is the sentence in the title."""
REASON_HINT = "(a reason may follow)"


def question_text(ask: Ask, scrub: Scrub) -> str:
    """Return a permission question with its possible answers."""
    return f"{_question_body(ask, scrub)}\n{answers_text(ask, scrub)}"


def _question_body(ask: Ask, scrub: Scrub) -> str:
    """Return the question: the tool, changes since it was allowed, its input, the diff, and what "always" would allow."""
    name = visible_line(ask.tool or ask.permission, MAX_TITLE_CHARS)
    title = visible_line(ask.title, MAX_TITLE_CHARS)
    lines = [f"The agent wants to use {name}: {title}" if title else f"May {name} run?"]
    if ask.permission in SENTENCE_PERMISSIONS:
        lines = [visible_text(ask.title)]
    if ask.changed:
        lines += quoted_lines(ask.changed, scrub)
    for key, value in ask.input.items():
        lines += value_lines(key, value, scrub)
    if ask.diff:
        lines += quoted_lines(ask.diff, scrub)
    if ask.always and not _fits_lines(ask.always):
        lines += value_lines("always would allow", list(ask.always), scrub)
    return scrub("\n".join(lines))


def answers_text(ask: Ask, scrub: Scrub) -> str:
    """Return the warnings and the possible answers, the last lines of a question."""
    return "\n".join([*warning_lines(ask.warnings or (), scrub), _answer_choices(ask), "> "])


def warning_lines(warnings: Iterable[str], scrub: Scrub) -> list[str]:
    """Return warnings about deceptive text, one line each."""
    return [f"! {visible_line(scrub(warning))}" for warning in warnings]


def _answer_choices(ask: Ask) -> str:
    tool = visible_line(ask.tool or "it", MAX_ALWAYS_CHARS)
    if ask.permission == "budget":
        return "1 go on   3 stop"
    if ask.permission == "moved":
        return "1 keep it   3 leave it"
    if ask.permission == "doom_loop":
        always_text = f"2 go on, whenever {tool} repeats itself in this session   "
        return f"1 go on   {always_text if ask.always else ''}3 stop {REASON_HINT}"
    if not ask.always:
        return f"1 once   3 reject {REASON_HINT}"
    always_text = (
        ", ".join(map(visible_code, ask.always)) if _fits_lines(ask.always) else "as above"
    )
    return f"1 once   2 always in this session ({always_text})   3 reject {REASON_HINT}   4 always in this project"


def _fits_lines(patterns: Sequence[str]) -> bool:
    return sum(map(len, patterns)) <= MAX_ALWAYS_CHARS and "\n" not in "".join(patterns)


def quoted_lines(text: str, scrub: Scrub = str, margin: str = MARGIN) -> list[str]:
    """Return a text as lines with a margin, with invisible characters shown."""
    return [margin + line for line in visible_code(scrub(text)).split("\n")]


def value_lines(key: str, value: Any, scrub: Scrub, margin: str = MARGIN) -> list[str]:
    """Return a value with its name as lines, with nested values below it."""
    name = visible_code(str(key)).replace("\n", "\\n").replace("\t", "\\t")
    if isinstance(value, str) and "\n" in value:
        return [f"{margin}{name}:", *quoted_lines(value, scrub, margin + MARGIN)]
    nested_values = _nested_values(value) if len(margin) < MAX_DEPTH * len(MARGIN) else None
    if nested_values is None:
        return [f"{margin}{name}: {visible_code(_single_line(value, scrub))}"]
    nested_lines = [
        line
        for child_key, item in nested_values
        for line in value_lines(child_key, item, scrub, margin + MARGIN)
    ]
    return [f"{margin}{name}:", *nested_lines]


def _nested_values(value: Any) -> Iterator[tuple[str, Any]] | None:
    """Return the names and values inside a mapping or list; None for any other value."""
    if isinstance(value, Mapping) and value:
        return ((str(key), item) for key, item in value.items())
    if isinstance(value, list | tuple) and value:
        return ((f"{number}", item) for number, item in enumerate(value, 1))
    return None


def _single_line(value: Any, scrub: Scrub) -> str:
    """Return a value as one line; a text with blanks at its ends is quoted."""
    if isinstance(value, str) and value and value == value.strip():
        return scrub(value)
    try:
        return scrub(json.dumps(value, ensure_ascii=False, default=repr))
    except (ValueError, RecursionError):
        return scrub(repr(value))

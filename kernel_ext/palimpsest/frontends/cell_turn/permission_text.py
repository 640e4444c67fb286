"""Write a permission question as text: the tool, every character of its input, what could deceive, the answers.

Border: pure. Whatever is quoted stands behind a margin, each of its lines, so that none can look like a line of the
question's own; what is unseen in it is shown (``transcript/visible_text.py``).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from palimpsest.transcript.values import Ask
from palimpsest.transcript.visible_text import visible, visible_code, visible_line

Scrub = Callable[[str], str]
TITLE_CHARS = 160
ALWAYS_CHARS = 60
"""Longer patterns are listed above the answers, whole."""
DEEPEST = 20
"""Values that are nested deeper are written as JSON."""
MARGIN = "  "
NO_TOOL = frozenset({"budget", "moved", "doom_loop"})
"""Permissions whose questions are sentences of their own."""
REASON = "(a reason may follow)"


def question_text(ask: Ask, scrub: Scrub) -> str:
    """Return a permission question whole, with its answers."""
    return f"{_asked(ask, scrub)}\n{answers_text(ask, scrub)}"


def _asked(ask: Ask, scrub: Scrub) -> str:
    """Return what is asked: the tool, what changed since it was allowed, its exact input, the difference in files, and what "always" would allow."""
    name = visible_line(ask.tool or ask.permission, TITLE_CHARS)
    title = visible_line(ask.title, TITLE_CHARS)
    lines = [f"The agent wants to use {name}: {title}" if title else f"May {name} run?"]
    if ask.permission in NO_TOOL:
        lines = [visible(ask.title)]
    if ask.changed:
        lines += quoted(ask.changed, scrub)
    for key, value in ask.input.items():
        lines += value_lines(key, value, scrub)
    if ask.diff:
        lines += quoted(ask.diff, scrub)
    if ask.always and not _fits(ask.always):
        lines += value_lines("always would allow", list(ask.always), scrub)
    return scrub("\n".join(lines))


def answers_text(ask: Ask, scrub: Scrub) -> str:
    """Return the warnings and the possible answers, the last lines of a question."""
    return "\n".join([*warning_lines(ask.warnings or (), scrub), _answers(ask), "> "])


def warning_lines(warnings: Iterable[str], scrub: Scrub) -> list[str]:
    """Return what could deceive a reader, a line for each sentence."""
    return [f"! {visible_line(scrub(one))}" for one in warnings]


def _answers(ask: Ask) -> str:
    tool = visible_line(ask.tool or "it", ALWAYS_CHARS)
    if ask.permission == "budget":
        return "1 go on   3 stop"
    if ask.permission == "moved":
        return "1 keep it   3 leave it"
    if ask.permission == "doom_loop":
        always = f"2 go on, whenever {tool} repeats itself in this session   "
        return f"1 go on   {always if ask.always else ''}3 stop {REASON}"
    if not ask.always:
        return f"1 once   3 reject {REASON}"
    always = ", ".join(map(visible_code, ask.always)) if _fits(ask.always) else "as above"
    return f"1 once   2 always in this session ({always})   3 reject {REASON}   4 always in this project"


def _fits(patterns: Sequence[str]) -> bool:
    return sum(map(len, patterns)) <= ALWAYS_CHARS and not any("\n" in one for one in patterns)


def quoted(text: str, scrub: Scrub = str, margin: str = MARGIN) -> list[str]:
    """Return a text as lines behind a margin, every character shown."""
    return [margin + line for line in visible_code(scrub(text)).split("\n")]


def value_lines(key: str, value: Any, scrub: Scrub, margin: str = MARGIN) -> list[str]:
    """Return a value with its name as lines, nested ones below it."""
    name = visible_code(str(key)).replace("\n", "\\n").replace("\t", "\\t")
    if isinstance(value, str) and "\n" in value:
        return [f"{margin}{name}:", *quoted(value, scrub, margin + MARGIN)]
    below = _below(value) if len(margin) < DEEPEST * len(MARGIN) else None
    if below is None:
        return [f"{margin}{name}: {visible_code(_scalar(value, scrub))}"]
    nested = [
        line for inner, one in below for line in value_lines(inner, one, scrub, margin + MARGIN)
    ]
    return [f"{margin}{name}:", *nested]


def _below(value: Any) -> Iterator[tuple[str, Any]] | None:
    """Return the names and values that a value is made of; None where it is one by itself."""
    if isinstance(value, Mapping) and value:
        return ((str(key), one) for key, one in value.items())
    if isinstance(value, list | tuple) and value:
        return ((f"{number}", one) for number, one in enumerate(value, 1))
    return None


def _scalar(value: Any, scrub: Scrub) -> str:
    """Return a value as one line; blanks at the ends of a text stand in quotes."""
    if isinstance(value, str) and value and value == value.strip():
        return scrub(value)
    try:
        return scrub(json.dumps(value, ensure_ascii=False, default=repr))
    except (ValueError, RecursionError):
        return scrub(repr(value))

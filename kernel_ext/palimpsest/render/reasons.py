"""Say in a sentence why something is not, or not whole, in what the model sees.

Border: pure. A decision keeps its rule and its numbers; the sentence for a learner is made of them
when it is read, so that better words reach old sessions too. Numbers of a log are data: where one
is missing the sentence says less.
"""

from collections.abc import Callable, Mapping
from typing import Any

from palimpsest.render.words import count, duration
from palimpsest.transcript.decisions import EXCLUDE, Decision

MOST_NAMES = 5
"""Lost names that a sentence tells; the decision holds more."""

MOST = 10**15
"""A larger number, or none at all, is nothing that a rule could have counted."""

Numbers = Mapping[str, Any]


def reason(decision: Decision) -> str:
    """Return why, in one or two sentences."""
    return told(decision) or f"Decided by the rule {decision.rule}."


def told(decision: Decision) -> str:
    """Return what the numbers of a decision tell; nothing where the rule is not known."""
    words = _RULES.get(decision.rule)
    return words(decision.numbers) if words is not None else ""


def _truncate(numbers: Numbers) -> str:
    lines, limit = _number(numbers, "max_lines"), _number(numbers, "max_bytes")
    if not lines or not limit:
        return _ends(numbers)
    longer = f"When the tool ended, its output was longer than {lines} lines or {limit} bytes."
    return _joined(longer, _ends(numbers))


def _ends(numbers: Numbers) -> str:
    """Say what of a text is left."""
    head, tail = _number(numbers, "head_chars"), _number(numbers, "tail_chars")
    ends = [
        f"the {end} {chars} characters"
        for end, chars in (("first", head), ("last", tail))
        if chars not in ("", "0")
    ]
    if not ends:
        return ""
    omitted = _number(numbers, "omitted")
    unit = str(numbers.get("unit", ""))
    left_out = f"; {omitted} {unit} are left out" if omitted not in ("", "0") and unit else ""
    return f"Shown: {' and '.join(ends)}{left_out}."


def _opencode(numbers: Numbers) -> str:
    protect, reached = _number(numbers, "protect_tokens"), _number(numbers, "reached_tokens")
    if not protect:
        return ""
    stood = f" (it stood at {reached})" if reached else ""
    return _joined(
        f"Older than the newest {protect} tokens of tool output{stood}.", _at_once(numbers)
    )


def _batch(numbers: Numbers) -> str:
    return _joined(_which(numbers), _why_now(numbers), _at_once(numbers))


def _which(numbers: Numbers) -> str:
    match numbers.get("reason"):
        case "read-again":
            return "The same file was read again later."
        case "changed":
            return "The file was changed later."
        case _:
            protect = _number(numbers, "protect_tokens")
            return f"Older than the newest {protect} tokens of tool output." if protect else ""


def _why_now(numbers: Numbers) -> str:
    if numbers.get("cold"):
        return "The provider's cache was cold, so that a change cost nothing."
    used, start = _number(numbers, "used_tokens"), _number(numbers, "start_tokens")
    if not used or not start:
        return ""
    return f"The request had grown to {used} tokens, and from {start} on old outputs are cleared."


def _at_once(numbers: Numbers) -> str:
    batch, least = _number(numbers, "batch_tokens"), _number(numbers, "minimum_tokens")
    if not batch:
        return ""
    worth = f" ({least} are the least that is worth a change)" if least else ""
    return f"{batch} tokens went at once{worth}."


def _cold(numbers: Numbers) -> str:
    age = numbers.get("cache_age_seconds")
    if isinstance(age, bool) or not isinstance(age, int | float) or not abs(age) < MOST:
        return _ends(numbers)
    words = f"The provider's cache had not been used for {duration(age)}, so that a change cost nothing."
    return _joined(words, _ends(numbers))


def _oversized(numbers: Numbers) -> str:
    limit = _number(numbers, "limit_chars")
    what = "The request did not fit"
    words = f"{what}, and the output was longer than {limit} characters." if limit else f"{what}."
    return _joined(words, _ends(numbers))


def _summary(numbers: Numbers) -> str:
    found = numbers.get("retention")
    if not isinstance(found, Mapping):
        return ""
    lost = [words for kind, told in found.items() if (words := _lost(str(kind), told))]
    if not lost:
        return "Every path, identifier, error and number of them is still in view."
    return f"No longer in view: {'; '.join(lost)}."


def _lost(kind: str, told: object) -> str:
    if not isinstance(told, Mapping) or not _number(told, "lost") or not told.get("lost"):
        return ""
    given = told.get("names")
    names = [str(name) for name in given][:MOST_NAMES] if isinstance(given, list | tuple) else []
    more = ", …" if names and len(names) < told["lost"] else ""
    listed = f" ({', '.join(names)}{more})" if names else ""
    return f"{_number(told, 'lost')} of {_number(told, 'found') or 'all'} {kind}{listed}"


def _number(numbers: Numbers, name: str) -> str:
    """Return a number in words; empty where the log has none."""
    value = numbers.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return count(round(value)) if abs(value) < MOST else ""


def _joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _by_hand(_numbers: Numbers) -> str:
    return "A person left this out of what the model sees."


def _steered(numbers: Numbers) -> str:
    if numbers.get("before"):
        return "It was said while the model was at work, so the model is told that."
    return "It was answered, so nothing is said around it any more."


def _aside(numbers: Numbers) -> str:
    why = "took too long" if numbers.get("timed_out") else "came to nothing"
    return f"It belongs to a compaction that {why}, so the history goes on as it was before."


_RULES: Mapping[str, Callable[[Numbers], str]] = {
    "truncate": _truncate,
    EXCLUDE: _by_hand,
    "prune/opencode": _opencode,
    "prune/batch": _batch,
    "prune/cache-ttl": _cold,
    "recover/oversized": _oversized,
    "remind/steered": _steered,
    "compact": _summary,
    "compact/aside": _aside,
}
"""By the decider's name."""

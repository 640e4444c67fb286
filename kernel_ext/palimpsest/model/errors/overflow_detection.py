"""Recognise a provider's error that means that the request does not fit the context window.

Pure; the patterns are in ``refusal_patterns``, and the session's policy chooses the table. Similar messages about rate
limits, billing or a window that is too small are distinguished. Only real error fields may be passed in, never text of
a user or model, which may well be about context overflow.
"""

import re
from typing import TYPE_CHECKING

from palimpsest.transcript.context_values.policies import Refusals

if TYPE_CHECKING:
    from palimpsest.model.errors.refusal_patterns import Patterns, RefusalPatterns

MAX_ERROR_CHARS = 20_000
"""Characters read of an error: some servers send the whole request back, and patterns take time."""

TOO_MANY_REQUESTS_STATUS = 429
MAY_BE_OVERFLOW_STATUS = frozenset({None, 400, 413, 422})
"""Statuses of a refused request; None for an error that came as an event of a stream."""
ABOUT_INPUT = re.compile(r"tokens?\b|length|\binput|prompt|context", re.IGNORECASE)
SIZE_WORD = re.compile(r"\d|\bmax(?:imum)?\b|\blimit|too (?:long|large|many)|exceed", re.IGNORECASE)
ABOUT_ANSWER = re.compile(r"output|completion|max_(?:new_)?tokens|max_completion", re.IGNORECASE)


def is_overflow(
    message: str,
    code: str | None = None,
    status: int | None = None,
    refusals: Refusals = "union",
) -> bool:
    """Return whether an error means that the request is too long."""
    table = _table(refusals)
    if code in table.codes:
        return True
    parts = (status, code, message) if table.reads_code else (message,)
    text = " ".join(str(part) for part in parts if part)
    if status == TOO_MANY_REQUESTS_STATUS or _is_about_something_else(text, table):
        return False
    if status in table.statuses or certainly_means_overflow(text, refusals):
        return True
    lines = text[:MAX_ERROR_CHARS].split("\n")
    is_likely = any(_match_in_order(line, words) for words in table.likely for line in lines)
    return is_likely and not _contains(text, table.excluding_likely)


def certainly_means_overflow(text: str, refusals: Refusals = "union") -> bool:
    """Return whether a text alone is certain to mean that the request is too long."""
    table = _table(refusals)
    return _contains(text, table.sure) and not _contains(text, table.excluded_first)


def may_be_overflow(
    message: str, status: int | None, *, near_window: bool, refusals: Refusals
) -> bool:
    """Return whether an error in unknown words may mean "too long", so that a shorter attempt is worth it.

    It may if the request was near the window, or if the message names tokens, a length or the input together with a
    number or a maximum; never if it is about the answer's length. An error without a status came inside a stream.
    Only our own table guesses; a recorded agent has only its own patterns.
    """
    if refusals != "union" or status not in MAY_BE_OVERFLOW_STATUS:
        return False
    text = message[:MAX_ERROR_CHARS]
    if _is_about_something_else(text, _table(refusals)) or ABOUT_ANSWER.search(text):
        return False
    return near_window or bool(ABOUT_INPUT.search(text) and SIZE_WORD.search(text))


def is_about_something_else(text: str) -> bool:
    """Return whether an error is about rate limits, billing, thinking or a window that is too small."""
    return _is_about_something_else(text[:MAX_ERROR_CHARS], _table("union"))


def is_compaction_failure(text: str, refusals: Refusals = "union") -> bool:
    """Return whether an overflow error is about a compaction, so that another would not help."""
    is_known = _contains(text, _table(refusals).compaction)
    return is_known and (is_overflow(text, refusals=refusals) or "context overflow" in text.lower())


def is_rate_limit(text: str, refusals: Refusals = "union") -> bool:
    """Return whether an error is about a limit of the rate of requests."""
    return _contains(text, _table(refusals).rate)


def is_billing(text: str, refusals: Refusals = "union") -> bool:
    """Return whether an error is about billing."""
    return _matches_billing(text, _table(refusals))


def observed_tokens(text: str, refusals: Refusals = "union") -> int | None:
    """Return the request's tokens that an error states; None where it states none."""
    for pattern in _table(refusals).tokens:
        if match := pattern.search(text[:MAX_ERROR_CHARS]):
            return sum(int(number.replace(",", "")) for number in match.groups())
    return None


def _table(refusals: Refusals) -> "RefusalPatterns":
    """Return a table of patterns, which are compiled at the first error, since most sessions have none."""
    from palimpsest.model.errors.refusal_patterns import TABLES  # noqa: PLC0415 - see above

    return TABLES[refusals]


def _is_about_something_else(text: str, table: "RefusalPatterns") -> bool:
    """Return whether the text is about rate limits, billing, thinking or a window that is too small."""
    if table.excludes_bills and _matches_billing(text, table):
        return True
    return _contains(text, (*table.excluded_first, *table.excluded))


def _matches_billing(text: str, table: "RefusalPatterns") -> bool:
    bills = table.bills
    if len(text) > bills.max_chars:
        return _contains(text, bills.status)
    matches_head = _contains(text, bills.beginnings) and _contains(text, bills.continuations)
    return matches_head or _contains(text, bills.words)


def _match_in_order(line: str, patterns: "Patterns") -> bool:
    """Return whether patterns match in this order; one joined pattern would take too long on long lines."""
    position = 0
    for pattern in patterns:
        match = pattern.search(line, position)
        if match is None:
            return False
        position = match.end()
    return True


def _contains(text: str, patterns: "Patterns") -> bool:
    return any(pattern.search(text[:MAX_ERROR_CHARS]) for pattern in patterns)

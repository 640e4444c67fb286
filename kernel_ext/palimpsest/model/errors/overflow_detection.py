"""Recognise a provider's error that means that the request does not fit the context window.

Pure; the patterns are in ``refusal_patterns``, and the session's policy says which table holds.
Similar messages about rate limits, billing or a window that is too small are distinguished. Only real
error fields may be passed in, never text of a user or model, which may well be about context
overflow.
"""

import re
from typing import TYPE_CHECKING

from palimpsest.transcript.context_values.policies import Refusals

if TYPE_CHECKING:
    from palimpsest.model.errors.refusal_patterns import RefusalPatterns, Words

LONGEST = 20_000
"""Characters read of an error: some servers send the whole request back, and patterns take time."""

TOO_MANY_REQUESTS = 429
MAY_BE_OVERFLOW_STATUS = frozenset({None, 400, 413, 422})
"""Statuses of a refused request; None for an error that came as an event of a stream."""
ABOUT_INPUT = re.compile(r"tokens?\b|length|\binput|prompt|context", re.IGNORECASE)
MEASURE = re.compile(r"\d|\bmax(?:imum)?\b|\blimit|too (?:long|large|many)|exceed", re.IGNORECASE)
ABOUT_ANSWER = re.compile(r"output|completion|max_(?:new_)?tokens|max_completion", re.IGNORECASE)


def is_overflow(
    message: str,
    code: str | None = None,
    status: int | None = None,
    refusals: Refusals = "union",
) -> bool:
    """Tell whether an error with this message, code and status means "too long"."""
    table = _table(refusals)
    if code in table.codes:
        return True
    parts = (status, code, message) if table.reads_code else (message,)
    told = " ".join(str(part) for part in parts if part)
    if status == TOO_MANY_REQUESTS or _is_else(told, table):
        return False
    if status in table.statuses or says_overflow(told, refusals):
        return True
    lines = told[:LONGEST].split("\n")
    sounds_so = any(_in_order(line, one) for one in table.likely for line in lines)
    return sounds_so and not _holds(told, table.unlike)


def says_overflow(text: str, refusals: Refusals = "union") -> bool:
    """Tell whether this text alone is certain to mean "too long"."""
    table = _table(refusals)
    return _holds(text, table.sure) and not _holds(text, table.first)


def may_be_overflow(
    message: str, status: int | None, *, near_window: bool, refusals: Refusals
) -> bool:
    """Tell whether an error in unknown words may mean "too long", so that one attempt with less is worth it.

    It may if the request was near the window, or if the message names tokens, a length or the input together with a
    number or a maximum; never if it is about the answer's length. An error without a status came inside a stream.
    Only our own table guesses: a recorded agent knows its words and no others.
    """
    if refusals != "union" or status not in MAY_BE_OVERFLOW_STATUS:
        return False
    told = message[:LONGEST]
    if _is_else(told, _table(refusals)) or ABOUT_ANSWER.search(told):
        return False
    return near_window or bool(ABOUT_INPUT.search(told) and MEASURE.search(told))


def is_about_something_else(text: str) -> bool:
    """Tell whether an error is about rate limits, billing, thinking or a window that is too small."""
    return _is_else(text[:LONGEST], _table("union"))


def is_compaction_failure(text: str, refusals: Refusals = "union") -> bool:
    """Tell whether an overflow error is about a compaction, so that one more would not help."""
    said = _holds(text, _table(refusals).compaction)
    return said and (is_overflow(text, refusals=refusals) or "context overflow" in text.lower())


def is_rate_limit(text: str, refusals: Refusals = "union") -> bool:
    """Tell whether an error means "too often"."""
    return _holds(text, _table(refusals).rate)


def is_billing(text: str, refusals: Refusals = "union") -> bool:
    """Tell whether an error is about billing."""
    return _is_bill(text, _table(refusals))


def observed_tokens(text: str, refusals: Refusals = "union") -> int | None:
    """Return the tokens of the request as the error gives them; None when it does not."""
    for pattern in _table(refusals).tokens:
        if found := pattern.search(text[:LONGEST]):
            return sum(int(number.replace(",", "")) for number in found.groups())
    return None


def _table(refusals: Refusals) -> "RefusalPatterns":
    """Return a table of patterns; they are compiled when the first error is read, since most sessions read none."""
    from palimpsest.model.errors.refusal_patterns import TABLES  # noqa: PLC0415 - see above

    return TABLES[refusals]


def _is_else(text: str, table: "RefusalPatterns") -> bool:
    """Tell whether the text is about rate limits, billing, thinking or a window that is too small."""
    bill = table.heeds_bills and _is_bill(text, table)
    return bill or _holds(text, table.first) or _holds(text, table.never)


def _is_bill(text: str, table: "RefusalPatterns") -> bool:
    bills = table.bills
    if len(text) > bills.longest:
        return _holds(text, bills.status)
    head = _holds(text, bills.head) and _holds(text, bills.tail)
    return head or _holds(text, bills.words)


def _in_order(line: str, patterns: "Words") -> bool:
    """Tell whether patterns match in this order; joined into one, they take for ever on long lines."""
    at = 0
    for pattern in patterns:
        found = pattern.search(line, at)
        if found is None:
            return False
        at = found.end()
    return True


def _holds(text: str, patterns: "Words") -> bool:
    return any(pattern.search(text[:LONGEST]) for pattern in patterns)

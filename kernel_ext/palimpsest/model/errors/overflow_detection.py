"""Recognise a refusal that means: the request does not fit the context window.

Pure; the words stand in ``overflow_tables``, and the session's policy says which table holds.
What sounds alike but is a rate limit, a bill or the guard's own sentence is told apart. Only real
error fields are to be read, never the words of a user or model, who may well talk about context
overflow.
"""

from palimpsest.model.errors.refusal_patterns import TABLES, RefusalPatterns, Words
from palimpsest.transcript.context_values.policies import Refusals

LONGEST = 20_000
"""Characters read of a refusal: some servers send the whole request back, and patterns take time."""

TOO_MANY_REQUESTS = 429


def is_overflow(
    message: str,
    code: str | None = None,
    status: int | None = None,
    refusals: Refusals = "union",
) -> bool:
    """Say whether a refusal with this message, code and status means "too long"."""
    table = TABLES[refusals]
    if code in table.codes:
        return True
    parts = (status, code, message) if table.reads_code else (message,)
    told = " ".join(str(part) for part in parts if part)
    if status == TOO_MANY_REQUESTS or _is_else(told, table):
        return False
    if status in table.statuses or says_overflow(told, refusals):
        return True
    return _sounds_so(told, table) and not _holds(told, table.unlike)


def says_overflow(text: str, refusals: Refusals = "union") -> bool:
    """Say whether these words alone can mean nothing else."""
    table = TABLES[refusals]
    return _holds(text, table.sure) and not _holds(text, table.first)


def is_compaction_failure(text: str, refusals: Refusals = "union") -> bool:
    """Say whether a refusal of length speaks of a compaction, so that one more would not help."""
    said = _holds(text, TABLES[refusals].compaction)
    return said and (is_overflow(text, refusals=refusals) or "context overflow" in text.lower())


def is_rate_limit(text: str, refusals: Refusals = "union") -> bool:
    """Say whether a refusal means "too often"."""
    return _holds(text, TABLES[refusals].rate)


def is_billing(text: str, refusals: Refusals = "union") -> bool:
    """Say whether a refusal is about money."""
    return _is_bill(text, TABLES[refusals])


def observed_tokens(text: str, refusals: Refusals = "union") -> int | None:
    """Return the tokens of the request as the refusal gives them; None when it does not."""
    for pattern in TABLES[refusals].tokens:
        if found := pattern.search(text[:LONGEST]):
            return sum(int(number.replace(",", "")) for number in found.groups())
    return None


def _is_else(text: str, table: RefusalPatterns) -> bool:
    """Say whether the words are about rates, money, thinking or the guard."""
    bill = table.heeds_bills and _is_bill(text, table)
    return bill or _holds(text, table.first) or _holds(text, table.never)


def _is_bill(text: str, table: RefusalPatterns) -> bool:
    bills = table.bills
    if len(text) > bills.longest:
        return _holds(text, bills.status)
    head = _holds(text, bills.head) and _holds(text, bills.tail)
    return head or _holds(text, bills.words)


def _sounds_so(text: str, table: RefusalPatterns) -> bool:
    lines = text[:LONGEST].split("\n")
    return any(_in_order(line, patterns) for patterns in table.likely for line in lines)


def _in_order(line: str, patterns: Words) -> bool:
    """Say whether the words stand in this order; as one pattern, long lines would take for ever."""
    at = 0
    for pattern in patterns:
        found = pattern.search(line, at)
        if found is None:
            return False
        at = found.end()
    return True


def _holds(text: str, patterns: Words) -> bool:
    return any(pattern.search(text[:LONGEST]) for pattern in patterns)

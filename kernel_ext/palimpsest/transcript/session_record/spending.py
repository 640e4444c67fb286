"""Add up what the answers of a session report to have cost, without values that cannot be."""

import math
from collections.abc import Iterable

from palimpsest.transcript.messages import AssistantMessage, MessageInfo
from palimpsest.transcript.session_record.sessions import Spent
from palimpsest.transcript.values import COUNTS, Usage


def sane_spending(spent: Spent) -> Spent:
    """Return spending without impossible values: negative or not finite."""
    cost = spent.cost
    if cost is not None and not (math.isfinite(cost) and cost >= 0):
        cost = None
    return Spent(cost=cost, tokens=_sane_usage(spent.tokens), unpriced=max(spent.unpriced, 0))


def recorded_spending(infos: Iterable[MessageInfo], before: Spent | None = None) -> Spent:
    """Return the sum of tokens and cost that the answers of a journal report, and of what is known of those before."""
    found = before or Spent()
    for info in infos:
        if isinstance(info, AssistantMessage):
            found = found.plus(sane_spending(Spent(cost=info.cost, tokens=info.tokens)))
    return found


def _sane_usage(usage: Usage) -> Usage:
    # A sum may be larger than what one request can have.
    wrong = {name: 0 for name in COUNTS if getattr(usage, name) < 0}
    return usage.model_copy(update=wrong) if wrong else usage

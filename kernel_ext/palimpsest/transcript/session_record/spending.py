"""Add up the reported cost of a session's answers."""

from collections.abc import Iterable

from palimpsest.transcript.messages import AssistantMessage, MessageInfo
from palimpsest.transcript.session_record.sessions import Spent, sane_spending


def recorded_spending(infos: Iterable[MessageInfo], spending_before: Spent | None = None) -> Spent:
    """Return the sum of the tokens and cost of answers, and of the spending ``spending_before`` them."""
    spending = spending_before or Spent()
    for info in infos:
        if isinstance(info, AssistantMessage):
            spending = spending.plus(sane_spending(Spent(cost=info.cost, tokens=info.tokens)))
    return spending

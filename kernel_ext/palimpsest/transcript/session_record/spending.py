"""Add up the reported cost of a session's answers."""

from collections.abc import Iterable

from palimpsest.transcript.messages import AssistantMessage, MessageInfo
from palimpsest.transcript.session_record.sessions import Spent, sane_spending


def recorded_spending(infos: Iterable[MessageInfo], before: Spent | None = None) -> Spent:
    """Return the sum of the tokens and cost of answers, and of the spending ``before`` them."""
    spent = before or Spent()
    for info in infos:
        if isinstance(info, AssistantMessage):
            spent = spent.plus(sane_spending(Spent(cost=info.cost, tokens=info.tokens)))
    return spent

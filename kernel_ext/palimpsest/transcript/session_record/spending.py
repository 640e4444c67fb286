"""Add up what the answers of a session report to have cost."""

from collections.abc import Iterable

from palimpsest.transcript.messages import AssistantMessage, MessageInfo
from palimpsest.transcript.session_record.sessions import Spent, sane_spending


def recorded_spending(infos: Iterable[MessageInfo], before: Spent | None = None) -> Spent:
    """Return the sum of tokens and cost that the answers of a journal report, and of what is known of those before."""
    found = before or Spent()
    for info in infos:
        if isinstance(info, AssistantMessage):
            found = found.plus(sane_spending(Spent(cost=info.cost, tokens=info.tokens)))
    return found

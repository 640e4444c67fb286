"""What a session has spent: the tokens and the money of every model request are added up."""

from typing import Any

from palimpsest.loop.run_inputs.run_context import RunContext
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.session_record.budgets import Spent
from palimpsest.transcript.session_record.events import SessionUpdated
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.values import Usage


def add_to_session(run_context: RunContext, message: AssistantMessage) -> None:
    """Add what an answer took to its session; an unknown price leaves the cost as it is."""
    session = run_context.log.state.session
    if session is None:
        return
    took = usage_cost(message.tokens, message.cost)
    time = session.time.model_copy(update={"updated": run_context.clock()})
    update = {**with_usage(session, took), "time": time}
    run_context.write(SessionUpdated(session=session.model_copy(update=update)))
    if run_context.spent is not None:
        run_context.spent(took)


def usage_cost(usage: Usage, cost: float | None) -> Spent:
    """Return what one request took; one without tokens was never answered."""
    asked = usage.prompt + usage.output + usage.reasoning > 0
    return Spent(cost=cost, tokens=usage, unpriced=1 if asked and cost is None else 0)


def with_usage(session: SessionInfo, took: Spent) -> dict[str, Any]:
    """Return what changes in a session's record; a price nobody knows is counted, never as 0."""
    changed: dict[str, Any] = {"tokens": session.tokens.plus(took.tokens)}
    if took.cost is not None:
        changed["cost"] = (session.cost or 0.0) + took.cost
    if took.unpriced:
        changed["unpriced"] = (session.unpriced or 0) + took.unpriced
    return changed

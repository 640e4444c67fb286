"""What a session has spent: the tokens and the money of every model request are added up."""

from palimpsest.loop.stage import Stage
from palimpsest.transcript.events import SessionUpdated
from palimpsest.transcript.messages import AssistantMessage


def add_to_session(stage: Stage, message: AssistantMessage) -> None:
    """Add what an answer took to its session; an unknown price leaves the cost as it is."""
    session = stage.log.state.session
    if session is None:
        return
    cost = session.cost
    if message.cost is not None:
        cost = (cost or 0.0) + message.cost
    time = session.time.model_copy(update={"updated": stage.clock()})
    update = {"cost": cost, "tokens": session.tokens.plus(message.tokens), "time": time}
    stage.write(SessionUpdated(session=session.model_copy(update=update)))

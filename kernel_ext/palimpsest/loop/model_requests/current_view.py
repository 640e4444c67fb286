"""What the session holds at this moment, as those look at it who decide about it."""

from palimpsest.context.visible_messages.view import View
from palimpsest.loop.run_inputs.run_context import Stage
from palimpsest.transcript.messages import Messages


def view_of(stage: Stage, messages: Messages | None = None) -> View:
    """Return the view of the session, or of these of its messages."""
    state = stage.log.state
    found = state.messages() if messages is None else messages
    return View.of(found, state.decisions, stage.blobs.get_blob)


def until(stage: Stage, message_id: str) -> Messages:
    """Return the messages before one."""
    messages = stage.log.state.messages()
    ids = [message.id for message in messages]
    return messages[: ids.index(message_id)]

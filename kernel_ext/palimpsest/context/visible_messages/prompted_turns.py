"""Find the turns that a user's prompt began.

Border: pure. A prompt that was sent into a running turn belongs to that turn, and so do the user
messages that the engine writes.
"""

from palimpsest.context.visible_messages.fold import marker
from palimpsest.transcript.messages import Message, Messages, UserMessage


def begins_turn(message: Message) -> bool:
    """Return whether a message is a user's prompt that was not sent into a running turn."""
    info = message.info
    if not isinstance(info, UserMessage) or marker(message) is not None or info.joins:
        return False
    return not info.by_engine


def newest_turn(messages: Messages) -> Messages:
    """Return the newest user prompt that began a turn, and all that follows."""
    for at in range(len(messages) - 1, -1, -1):
        if begins_turn(messages[at]):
            return messages[at:]
    return ()


def turn_of(messages: Messages, message_id: str) -> Messages:
    """Return the turn that a message belongs to; empty where there is no such message."""
    at = next((i for i, one in enumerate(messages) if one.id == message_id), None)
    if at is None:
        return ()
    starts = [i for i, one in enumerate(messages) if begins_turn(one)]
    first = max((one for one in starts if one <= at), default=0)
    last = min((one for one in starts if one > at), default=len(messages))
    return messages[first:last]


def turn_spans(messages: Messages) -> list[tuple[int, int]]:
    """Return where turns begin and end: each at a user's message that is no marker."""
    starts = [i for i, message in enumerate(messages) if begins_at_user(message)]
    return list(zip(starts, [*starts, len(messages)][1:], strict=True))


def begins_at_user(message: Message) -> bool:
    """Return whether a message is a user's and no marker of a compaction."""
    return isinstance(message.info, UserMessage) and marker(message) is None

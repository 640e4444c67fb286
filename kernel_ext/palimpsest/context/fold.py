"""Show the summary instead of what it covers.

The history is cut at the last good compaction: one whose summary is finished and has no error.
A failed summary never cuts history (spec/session-engine.md 1.10), except under the presets of
systems where it does. Where the compaction kept a tail, the summary comes first, then the tail
word for word, then what followed.
"""

from palimpsest.transcript.errors import ContextOverflowError
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.parts import CompactionPart
from palimpsest.transcript.policies import CompactPolicy


def marker(message: Message) -> CompactionPart | None:
    """Return the compaction marker that a user message carries, if any."""
    if not isinstance(message.info, UserMessage):
        return None
    return next((part for part in message.parts if isinstance(part, CompactionPart)), None)


def good_summaries(messages: Messages) -> dict[str, int]:
    """Map the id of each marker that has a good summary to the summary's position."""
    return {
        message.info.parent_id: position
        for position, message in enumerate(messages)
        if isinstance(message.info, AssistantMessage)
        and message.info.summary
        and message.info.finish
        and message.info.error is None
    }


def fold(messages: Messages, policy: CompactPolicy | None = None) -> Messages:
    """Return the messages that stand for the whole history."""
    cut = (policy or CompactPolicy()).cut
    if cut == "finished":
        return messages[_newest(messages, _finished_summaries(messages)) :]
    kept = messages[_start(messages, good_summaries(messages)) :]
    if cut == "unfinished-tail":
        return _summary_first(kept, _first_summaries(kept), _refused(kept))
    return _summary_first(kept, good_summaries(kept))


def _finished_summaries(messages: Messages) -> frozenset[str]:
    return frozenset(
        message.info.parent_id
        for message in messages
        if isinstance(message.info, AssistantMessage)
        and message.info.summary
        and message.info.finish
    )


def _first_summaries(messages: Messages) -> dict[str, int]:
    found: dict[str, int] = {}
    for position, message in enumerate(messages):
        if isinstance(message.info, AssistantMessage) and message.info.summary:
            found.setdefault(message.info.parent_id, position)
    return found


def _refused(messages: Messages) -> frozenset[str]:
    """Return the markers whose summary did not fit: there the recorded agent notes no tail."""
    return frozenset(
        message.info.parent_id
        for message in messages
        if isinstance(message.info, AssistantMessage)
        and message.info.summary
        and isinstance(message.info.error, ContextOverflowError)
    )


def _newest(messages: Messages, summaries: frozenset[str]) -> int:
    """Return where the newest marker is that has a summary, or the beginning."""
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].id in summaries and marker(messages[position]) is not None:
            return position
    return 0


def _start(messages: Messages, summaries: dict[str, int]) -> int:
    tail_start: str | None = None
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if tail_start is not None:
            if message.id == tail_start:
                return position
            continue
        found = marker(message)
        if found is None or message.id not in summaries:
            continue
        if found.tail_start_id is None:
            return position
        tail_start = found.tail_start_id
    return 0


def _summary_first(
    messages: Messages, summaries: dict[str, int], tailless: frozenset[str] = frozenset()
) -> Messages:
    positions = {message.id: position for position, message in enumerate(messages)}
    for at in range(len(messages) - 1, -1, -1):
        found = marker(messages[at])
        if found is None or found.tail_start_id is None or messages[at].id in tailless:
            continue
        summary = summaries.get(messages[at].id)
        tail = positions.get(found.tail_start_id)
        if summary is None or tail is None or not tail < at < summary:
            return messages
        return messages[at : summary + 1] + messages[tail:at] + messages[summary + 1 :]
    return messages

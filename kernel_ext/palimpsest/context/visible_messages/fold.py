"""Replace history by the summary that covers it, and show it again where the compaction was undone.

The history is cut at the last good compaction: one whose summary is finished and has no error.
A failed summary never cuts history (spec/session-engine.md 1.10), except under the presets of
systems where it does. Where the compaction kept a tail, the summary comes first, then the tail
word for word, then what followed.

Where the user undid a compaction, the messages that it added (its marker, its summary, the synthetic
message that continued the turn) are skipped before the fold, so the model sees the history as if it
had never been compacted. Nothing is removed from the transcript.
"""

from collections.abc import Callable

from palimpsest.context.conversion.part_conversion import FAILED_ATTEMPT
from palimpsest.transcript.context_values.decisions import UNDO, Decision, undone
from palimpsest.transcript.context_values.policies import CompactPolicy, Policy
from palimpsest.transcript.errors import ContextOverflowError
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.parts import CompactionPart, TextPart


def marker(message: Message) -> CompactionPart | None:
    """Return the compaction marker that a user message carries, if any."""
    if not isinstance(message.info, UserMessage):
        return None
    return next((part for part in message.parts if isinstance(part, CompactionPart)), None)


def good_summaries(messages: Messages) -> dict[str, int]:
    """Map the id of each marker that has a good summary to the summary's position."""
    return {
        info.parent_id: position
        for position, info in enumerate(message.info for message in messages)
        if isinstance(info, AssistantMessage) and _is_good(info)
    }


def _is_finished(info: AssistantMessage) -> bool:
    return info.summary and bool(info.finish)


def _is_good(info: AssistantMessage) -> bool:
    return info.summary and bool(info.finish) and info.error is None


def fold(messages: Messages, policy: CompactPolicy | None = None) -> Messages:
    """Return the messages that a request shows for the whole history."""
    cut = (policy or CompactPolicy()).cut
    if cut == "finished":
        return messages[_start(messages, _is_finished, tails=False) :]
    kept = messages[_start(messages, _is_good, tails=True) :]
    if cut == "unfinished-tail":
        return _summary_first(kept, _first_summaries(kept), _refused(kept))
    return _summary_first(kept, good_summaries(kept))


def _first_summaries(messages: Messages) -> dict[str, int]:
    found: dict[str, int] = {}
    for position, message in enumerate(messages):
        if isinstance(message.info, AssistantMessage) and message.info.summary:
            found.setdefault(message.info.parent_id, position)
    return found


def _refused(messages: Messages) -> frozenset[str]:
    """Return the markers whose summary did not fit: there OpenCode records no tail."""
    return frozenset(
        message.info.parent_id
        for message in messages
        if isinstance(message.info, AssistantMessage)
        and message.info.summary
        and isinstance(message.info.error, ContextOverflowError)
    )


def _start(messages: Messages, stands: Callable[[AssistantMessage], bool], *, tails: bool) -> int:
    """Return the index of the newest marker with a valid summary, or of the tail that it kept; else 0.

    Searches from the end, where a summary is found before its marker: of a long session only what is
    still sent is read.
    """
    summarised: set[str] = set()
    tail_start: str | None = None
    for position in range(len(messages) - 1, -1, -1):
        info = messages[position].info
        if tail_start is not None:
            if info.id == tail_start:
                return position
        elif isinstance(info, AssistantMessage):
            if stands(info):
                summarised.add(info.parent_id)
        elif info.id in summarised:
            found = marker(messages[position])
            if found is not None and (found.tail_start_id is None or not tails):
                return position
            tail_start = found.tail_start_id if found is not None else None
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


def summary_text(message: Message) -> str:
    """Return the text of a summary, without drafts and texts of failed attempts."""
    texts = [
        part.text.strip()
        for part in message.parts
        if isinstance(part, TextPart)
        and not part.ignored
        and not (part.metadata or {}).get(FAILED_ATTEMPT)
    ]
    return "\n\n".join(text for text in texts if text)


CONTINUES = "compaction_continue"
"""Key in the metadata of the synthetic text that continues a turn after a summary."""


def without_undone(messages: Messages, decisions: tuple[Decision, ...]) -> Messages:
    """Leave out the messages that undone compactions added."""
    summaries = undone(decisions)
    if not summaries:
        return messages
    markers = {
        message.info.parent_id
        for message in messages
        if message.id in summaries and isinstance(message.info, AssistantMessage)
    }
    gone = summaries | markers
    kept: list[Message] = []
    after = False
    for message in messages:
        if message.id in gone:
            after = True
        elif after and _goes_on(message):
            after = False
        else:
            after = False
            kept.append(message)
    return tuple(kept)


def policy_after_undo(
    messages: Messages, decisions: tuple[Decision, ...], policy: Policy
) -> Policy:
    """Return the policy without automatic compaction from an undo on until the next prompt."""
    newest = next((one for one in reversed(decisions) if one.rule == UNDO), None)
    if newest is None or newest.numbers.get("prompt") != newest_prompt(messages):
        return policy
    overflow = policy.overflow.model_copy(update={"auto": False})
    return policy.model_copy(update={"overflow": overflow})


def newest_prompt(messages: Messages) -> str | None:
    """Return the id of the newest message that the user wrote."""
    for message in reversed(messages):
        info = message.info
        if isinstance(info, UserMessage) and not info.by_engine and marker(message) is None:
            return message.id
    return None


def _goes_on(message: Message) -> bool:
    return any(
        isinstance(part, TextPart) and bool((part.metadata or {}).get(CONTINUES))
        for part in message.parts
    )


def marker_of(messages: Messages, user: UserMessage) -> CompactionPart | None:
    """Return the marker that a user message carries."""
    found = next((message for message in reversed(messages) if message.info.id == user.id), None)
    return marker(found) if found is not None else None

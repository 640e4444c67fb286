"""Choose the messages of a transcript that a request contains: from the newest summary on, without undone compactions.

A projection starts from a ``View``: the messages and their turns, the decisions, and the texts stored in blobs.
The function that reads a blob is an argument, so that this stays pure for the live loop and review alike.

The history is cut at the last good compaction, whose summary is finished and has no error. A failed summary never cuts
history, except under the presets of systems where it does. Where the compaction kept a tail, the summary comes first,
then the tail word for word, then the later messages. Where the user undid a compaction, the messages that it added (its
marker, its summary, the synthetic message that continued the turn) are skipped before the fold, so the model sees the
history as if it had never been compacted. Nothing is removed from the transcript.

A prompt that was sent into a running turn belongs to that turn, and so do the user messages that the engine writes.
"""

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from palimpsest.context.conversion.part_conversion import FAILED_ATTEMPT
from palimpsest.transcript.context_values.decisions import (
    PICTURES_RULE,
    UNDO,
    Decision,
    pictures_of,
    pinned_part_ids,
    undone_compactions,
)
from palimpsest.transcript.context_values.policies import CompactPolicy, Policy
from palimpsest.transcript.errors import ContextOverflowError, NotFound
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.parts import (
    CompactionPart,
    FilePart,
    NotebookPart,
    Part,
    TextPart,
    ToolCompleted,
    ToolPart,
)

Read = Callable[[str], bytes]
"""Returns a blob by its hash."""


def marker(message: Message) -> CompactionPart | None:
    """Return the compaction marker that a user message carries, if any."""
    if not isinstance(message.info, UserMessage):
        return None
    return next((part for part in message.parts if isinstance(part, CompactionPart)), None)


def good_summaries(messages: Messages, indexes: Iterable[int] | None = None) -> dict[str, int]:
    """Map the id of each marker to the position of its good summary, among all or some positions."""
    return {
        info.parent_id: index
        for index in (range(len(messages)) if indexes is None else indexes)
        if isinstance(info := messages[index].info, AssistantMessage) and is_good_summary(info)
    }


def _is_finished_summary(info: AssistantMessage) -> bool:
    return info.summary and bool(info.finish)


def is_good_summary(info: AssistantMessage) -> bool:
    """Return whether an answer is a finished summary without an error."""
    return _is_finished_summary(info) and info.error is None


def fold(messages: Messages, policy: CompactPolicy | None = None) -> Messages:
    """Return the messages that a request shows for the whole history."""
    summary_rule = (policy or CompactPolicy()).cut
    indexes = [index for index, message in enumerate(messages) if _is_of_compaction(message)]
    if summary_rule == "finished":
        return messages[_start(messages, indexes, _is_finished_summary, counts_tails=False) :]
    start = _start(messages, indexes, is_good_summary, counts_tails=True)
    messages, indexes = messages[start:], [index - start for index in indexes if index >= start]
    if summary_rule == "unfinished-tail":
        refused_markers = _refused_markers(messages, indexes)
        return _summary_first(
            messages, indexes, _first_summaries(messages, indexes), refused_markers
        )
    return _summary_first(messages, indexes, good_summaries(messages, indexes))


def _is_of_compaction(message: Message) -> bool:
    """Return whether a message is a marker or a summary."""
    info = message.info
    return info.summary if isinstance(info, AssistantMessage) else marker(message) is not None


def _first_summaries(messages: Messages, indexes: Iterable[int]) -> dict[str, int]:
    first_summaries: dict[str, int] = {}
    for index in indexes:
        info = messages[index].info
        if isinstance(info, AssistantMessage):
            first_summaries.setdefault(info.parent_id, index)
    return first_summaries


def _refused_markers(messages: Messages, indexes: Iterable[int]) -> frozenset[str]:
    """Return the ids of the markers whose summary did not fit, for which OpenCode records no tail."""
    infos = (messages[index].info for index in indexes)
    return frozenset(
        info.parent_id
        for info in infos
        if isinstance(info, AssistantMessage) and isinstance(info.error, ContextOverflowError)
    )


def _start(
    messages: Messages,
    indexes: Sequence[int],
    is_valid: Callable[[AssistantMessage], bool],
    *,
    counts_tails: bool,
) -> int:
    """Return the index of the newest marker with a valid summary, or of its tail; else 0."""
    summarized_ids: set[str] = set()
    for index in reversed(indexes):
        info, marker_part = messages[index].info, marker(messages[index])
        if isinstance(info, AssistantMessage):
            if is_valid(info):
                summarized_ids.add(info.parent_id)
        elif marker_part is not None and info.id in summarized_ids:
            if marker_part.tail_start_id is None or not counts_tails:
                return index
            return _index_before(messages, index, marker_part.tail_start_id) or 0
    return 0


def _index_before(messages: Messages, index: int, message_id: str) -> int | None:
    """Return the last index of a message before another index; None where there is none."""
    indexes = range(index - 1, -1, -1)
    return next(
        (
            earlier_index
            for earlier_index in indexes
            if messages[earlier_index].info.id == message_id
        ),
        None,
    )


def _summary_first(
    messages: Messages,
    indexes: Sequence[int],
    summaries: dict[str, int],
    tailless_ids: frozenset[str] = frozenset(),
) -> Messages:
    for index in reversed(indexes):
        marker_part, marker_id = marker(messages[index]), messages[index].id
        tail_start_id = None if marker_part is None else marker_part.tail_start_id
        if tail_start_id is None or marker_id in tailless_ids:
            continue
        summary_index = summaries.get(marker_id)
        tail_index = _index_before(messages, index, tail_start_id)
        if summary_index is None or tail_index is None or not index < summary_index:
            return messages
        return (
            messages[index : summary_index + 1]
            + messages[tail_index:index]
            + messages[summary_index + 1 :]
        )
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


CONTINUES_KEY = "compaction_continue"
"""Key in the metadata of the synthetic text that continues a turn after a summary."""


def without_undone_compactions(messages: Messages, decisions: tuple[Decision, ...]) -> Messages:
    """Return the messages without those that undone compactions added."""
    undone_summary_ids = undone_compactions(decisions)
    if not undone_summary_ids:
        return messages
    undone_marker_ids = {
        message.info.parent_id
        for message in messages
        if message.id in undone_summary_ids and isinstance(message.info, AssistantMessage)
    }
    removed_ids = undone_summary_ids | undone_marker_ids
    remaining_messages: list[Message] = []
    follows_removed = False
    for message in messages:
        is_removed = message.id in removed_ids
        if not is_removed and not (follows_removed and _continues_turn(message)):
            remaining_messages.append(message)
        follows_removed = is_removed
    return tuple(remaining_messages)


def policy_after_undo(
    messages: Messages, decisions: tuple[Decision, ...], policy: Policy
) -> Policy:
    """Return the policy without automatic compaction from an undo on until the next prompt."""
    newest_undo = next(
        (decision for decision in reversed(decisions) if decision.rule == UNDO), None
    )
    if newest_undo is None or newest_undo.numbers.get("prompt") != newest_prompt(messages):
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


def _continues_turn(message: Message) -> bool:
    return any(
        isinstance(part, TextPart) and bool((part.metadata or {}).get(CONTINUES_KEY))
        for part in message.parts
    )


def marker_of(messages: Messages, user: UserMessage) -> CompactionPart | None:
    """Return the marker that a user message carries."""
    message = next((message for message in reversed(messages) if message.info.id == user.id), None)
    return marker(message) if message is not None else None


def read_texts(
    messages: Messages, read_blob: Read, decisions: tuple[Decision, ...] = ()
) -> dict[str, str]:
    """Return texts by hash; a missing blob has none, so that head and tail in the journal are used."""
    texts: dict[str, str] = {}
    for sha256, mime in (blobs_needed(messages) | smaller_pictures(messages, decisions)).items():
        try:
            content = read_blob(sha256)
        except NotFound:
            continue
        if mime is None:
            texts[sha256] = content.decode("utf-8", "surrogatepass")
        else:
            texts[sha256] = f"data:{mime};base64,{base64.b64encode(content).decode('ascii')}"
    return texts


def blobs_needed(messages: Messages) -> dict[str, str | None]:
    """Return the hashes of the blobs that a projection of these messages needs.

    The value is None for text, and the MIME type for an attachment, whose text in ``View.texts`` is a ``data:`` url.
    """
    blobs: dict[str, str | None] = {}
    for message in messages:
        for part in message.parts:
            match part:
                case ToolPart(state=ToolCompleted(blob=blob, attachments=attachments)):
                    if blob is not None:
                        blobs[blob.sha256] = None
                    for attachment in attachments:
                        if attachment.url.startswith("blob:"):
                            blobs[attachment.url.removeprefix("blob:")] = attachment.mime
                case FilePart(mime=mime, url=url) if url.startswith("blob:"):
                    blobs[url.removeprefix("blob:")] = mime
                case _:
                    pass
    return blobs


def smaller_pictures(messages: Messages, decisions: tuple[Decision, ...]) -> dict[str, str | None]:
    """Return the blobs of pictures' smaller versions that are sent, with their MIME types."""
    picture_decisions = [decision for decision in decisions if decision.rule == PICTURES_RULE]
    if not picture_decisions:
        return {}
    part_ids = {part.id for message in messages for part in message.parts}
    return {
        str(picture["url"]).removeprefix("blob:"): str(picture.get("mime"))
        for decision in picture_decisions
        if decision.part_id in part_ids
        for picture in pictures_of(decision).values()
        if "url" in picture
    }


class LazyTexts(Mapping[str, str]):
    """The texts by hash of visible and pinned messages, loaded when the first is needed."""

    def __init__(
        self, messages: Messages, read_text: Read, decisions: tuple[Decision, ...] = ()
    ) -> None:
        self._messages = messages
        self._read_text = read_text
        self._decisions = decisions

    def __getitem__(self, sha256: str) -> str:
        return self._loaded_texts[sha256]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded_texts)

    def __len__(self) -> int:
        return len(self._loaded_texts)

    @cached_property
    def _loaded_texts(self) -> dict[str, str]:
        pinned_ids = pinned_part_ids(self._messages, self._decisions)
        pinned_messages = [
            message
            for message in self._messages
            if any(part.id in pinned_ids for part in message.parts)
        ]
        visible_messages = fold(without_undone_compactions(self._messages, self._decisions))
        return read_texts((*visible_messages, *pinned_messages), self._read_text, self._decisions)


@dataclass(frozen=True, slots=True)
class View:
    """A session at one moment, ready to be projected."""

    messages: Messages
    decisions: tuple[Decision, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    """Whole texts by sha256, for parts whose output is kept as a blob."""

    @classmethod
    def of(cls, messages: Messages, decisions: tuple[Decision, ...], read_text: Read) -> "View":
        """Return the view of a session; ``read_text`` returns its long texts by hash when they are needed."""
        return cls(messages, decisions, LazyTexts(messages, read_text, decisions))

    def with_decisions(self, *added_decisions: Decision) -> "View":
        """Return the view with these decisions added, which need no further texts."""
        return replace(self, decisions=(*self.decisions, *added_decisions))

    def folded_messages(self, policy: CompactPolicy | None = None) -> Messages:
        """Return the messages after the fold, without undone compactions."""
        return fold(without_undone_compactions(self.messages, self.decisions), policy)


def whole_output(part: Part, texts: Mapping[str, str]) -> str:
    """Return the whole output of a completed call or of cells; the journal's head and tail without the blob."""
    match part:
        case ToolPart(state=ToolCompleted(blob=None, output=output)):
            return output
        case ToolPart(state=ToolCompleted(blob=blob, output=output)) if blob is not None:
            return texts.get(blob.sha256, output)
        case NotebookPart(text=text):
            return text
        case _:
            return ""


def messages_before(messages: Messages, message_id: str) -> Messages:
    """Return the messages before a message; raises ValueError where there is no such message."""
    return messages[: place_of(messages, message_id)]


def place_of(messages: Messages, message_id: str) -> int:
    """Return the last index of a message; raises ValueError where there is none."""
    index = _index_before(messages, len(messages), message_id)
    if index is None:
        raise ValueError(f"There is no message {message_id!r}.")
    return index


def messages_after(messages: Messages, message: Message | None) -> Messages:
    """Return the messages after ``message``; all messages where it is None or no longer loaded."""
    if message is None:
        return messages
    index = _index_before(messages, len(messages), message.info.id)
    return messages if index is None else messages[index + 1 :]


def begins_turn(message: Message) -> bool:
    """Return whether a message is a user's prompt that was not sent into a running turn."""
    info = message.info
    if not isinstance(info, UserMessage) or marker(message) is not None or info.joins:
        return False
    return not info.by_engine


def newest_turn(messages: Messages) -> Messages:
    """Return the newest user prompt that began a turn, and all messages after it."""
    for index in range(len(messages) - 1, -1, -1):
        if begins_turn(messages[index]):
            return messages[index:]
    return ()


def turn_of(messages: Messages, message_id: str) -> Messages:
    """Return the turn that a message belongs to; empty where there is no such message."""
    index = next((i for i, message in enumerate(messages) if message.id == message_id), None)
    if index is None:
        return ()
    starts = [i for i, message in enumerate(messages) if begins_turn(message)]
    start_index = max((start for start in starts if start <= index), default=0)
    end_index = min((start for start in starts if start > index), default=len(messages))
    return messages[start_index:end_index]


def turn_spans(messages: Messages) -> list[tuple[int, int]]:
    """Return the spans of turns, each from a user's message that is no marker."""
    starts = [i for i, message in enumerate(messages) if begins_at_user(message)]
    return list(zip(starts, [*starts, len(messages)][1:], strict=True))


def begins_at_user(message: Message) -> bool:
    """Return whether a message is a user's and no marker of a compaction."""
    return isinstance(message.info, UserMessage) and marker(message) is None

"""Choose the messages of a transcript that a request contains: those after the newest summary, without what was undone.

A projection starts from a ``View``: the messages and their turns, the decisions, and the texts stored in blobs.
The function that reads a blob is an argument, so that this stays pure for the live loop and review alike.

The history is cut at the last good compaction: one whose summary is finished and has no error.
A failed summary never cuts history (spec/session-engine.md 1.10), except under the presets of
systems where it does. Where the compaction kept a tail, the summary comes first, then the tail
word for word, then what followed. Where the user undid a compaction, the messages that it added (its marker, its
summary, the synthetic message that continued the turn) are skipped before the fold, so the model sees the
history as if it had never been compacted. Nothing is removed from the transcript.

A prompt that was sent into a running turn belongs to that turn, and so do the user messages that the
engine writes.
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
    pinned_parts,
    undone,
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


def marker(message: Message) -> CompactionPart | None:
    """Return the compaction marker that a user message carries, if any."""
    if not isinstance(message.info, UserMessage):
        return None
    return next((part for part in message.parts if isinstance(part, CompactionPart)), None)


def good_summaries(messages: Messages, places: Iterable[int] | None = None) -> dict[str, int]:
    """Map the id of each marker that has a good summary to its position, among all or some positions."""
    return {
        info.parent_id: at
        for at in (range(len(messages)) if places is None else places)
        if isinstance(info := messages[at].info, AssistantMessage) and is_good_summary(info)
    }


def _is_finished(info: AssistantMessage) -> bool:
    return info.summary and bool(info.finish)


def is_good_summary(info: AssistantMessage) -> bool:
    """Return whether an answer is a summary that was finished, and did not fail."""
    return info.summary and bool(info.finish) and info.error is None


def fold(messages: Messages, policy: CompactPolicy | None = None) -> Messages:
    """Return the messages that a request shows for the whole history."""
    cut = (policy or CompactPolicy()).cut
    places = [at for at, one in enumerate(messages) if _is_of_compaction(one)]
    if cut == "finished":
        return messages[_start(messages, places, _is_finished, tails=False) :]
    start = _start(messages, places, is_good_summary, tails=True)
    kept, places = messages[start:], [at - start for at in places if at >= start]
    if cut == "unfinished-tail":
        return _summary_first(kept, places, _first_summaries(kept, places), _refused(kept, places))
    return _summary_first(kept, places, good_summaries(kept, places))


def _is_of_compaction(message: Message) -> bool:
    """Return whether a message is a marker or a summary."""
    info = message.info
    return info.summary if isinstance(info, AssistantMessage) else marker(message) is not None


def _first_summaries(messages: Messages, places: Iterable[int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for at in places:
        info = messages[at].info
        if isinstance(info, AssistantMessage):
            found.setdefault(info.parent_id, at)
    return found


def _refused(messages: Messages, places: Iterable[int]) -> frozenset[str]:
    """Return the markers whose summary did not fit: there OpenCode records no tail."""
    infos = (messages[at].info for at in places)
    return frozenset(
        info.parent_id
        for info in infos
        if isinstance(info, AssistantMessage) and isinstance(info.error, ContextOverflowError)
    )


def _start(
    messages: Messages,
    places: Sequence[int],
    stands: Callable[[AssistantMessage], bool],
    *,
    tails: bool,
) -> int:
    """Return the index of the newest marker with a valid summary after it, or of the tail that it kept; else 0."""
    summarised: set[str] = set()
    for at in reversed(places):
        info, found = messages[at].info, marker(messages[at])
        if isinstance(info, AssistantMessage):
            if stands(info):
                summarised.add(info.parent_id)
        elif found is not None and info.id in summarised:
            if found.tail_start_id is None or not tails:
                return at
            return _place_before(messages, at, found.tail_start_id) or 0
    return 0


def _place_before(messages: Messages, end: int, message_id: str) -> int | None:
    """Return the last index before another at which a message stands, if any."""
    return next((at for at in range(end - 1, -1, -1) if messages[at].info.id == message_id), None)


def _summary_first(
    messages: Messages,
    places: Sequence[int],
    summaries: dict[str, int],
    tailless: frozenset[str] = frozenset(),
) -> Messages:
    for at in reversed(places):
        found = marker(messages[at])
        if found is None or found.tail_start_id is None or messages[at].id in tailless:
            continue
        summary = summaries.get(messages[at].id)
        tail = _place_before(messages, at, found.tail_start_id)
        if summary is None or tail is None or not at < summary:
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


def read_texts(
    messages: Messages, read: Read, decisions: tuple[Decision, ...] = ()
) -> dict[str, str]:
    """Return texts by hash, without missing blobs: for those, head and tail in the journal are used."""
    texts: dict[str, str] = {}
    for sha256, mime in (blobs_needed(messages) | smaller_pictures(messages, decisions)).items():
        try:
            content = read(sha256)
        except NotFound:
            continue
        if mime is None:
            texts[sha256] = content.decode("utf-8", "surrogatepass")
        else:
            texts[sha256] = f"data:{mime};base64,{base64.b64encode(content).decode('ascii')}"
    return texts


def blobs_needed(messages: Messages) -> dict[str, str | None]:
    """Name the blobs that a projection of these messages needs.

    The value is None for text, and the MIME type for an attachment, whose text in
    ``View.texts`` is a ``data:`` url.
    """
    found: dict[str, str | None] = {}
    for message in messages:
        for part in message.parts:
            match part:
                case ToolPart(state=ToolCompleted(blob=blob, attachments=attachments)):
                    if blob is not None:
                        found[blob.sha256] = None
                    for attachment in attachments:
                        if attachment.url.startswith("blob:"):
                            found[attachment.url.removeprefix("blob:")] = attachment.mime
                case FilePart(mime=mime, url=url) if url.startswith("blob:"):
                    found[url.removeprefix("blob:")] = mime
                case _:
                    pass
    return found


def smaller_pictures(messages: Messages, decisions: tuple[Decision, ...]) -> dict[str, str | None]:
    """Name the blobs of pictures that are sent in a smaller version, with their MIME types."""
    told = [one for one in decisions if one.rule == PICTURES_RULE]
    if not told:
        return {}
    parts = {part.id for message in messages for part in message.parts}
    return {
        str(picture["url"]).removeprefix("blob:"): str(picture.get("mime"))
        for one in told
        if one.part_id in parts
        for picture in pictures_of(one).values()
        if "url" in picture
    }


class LazyTexts(Mapping[str, str]):
    """The texts, by hash, of the messages left after the fold and of pinned ones; loaded when the first is needed."""

    def __init__(
        self, messages: Messages, read: Read, decisions: tuple[Decision, ...] = ()
    ) -> None:
        self._messages = messages
        self._read = read
        self._decisions = decisions

    def __getitem__(self, sha256: str) -> str:
        return self._texts[sha256]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    @cached_property
    def _texts(self) -> dict[str, str]:
        pinned = pinned_parts(self._messages, self._decisions)
        kept = [one for one in self._messages if any(part.id in pinned for part in one.parts)]
        shown = fold(without_undone(self._messages, self._decisions))
        return read_texts((*shown, *kept), self._read, self._decisions)


@dataclass(frozen=True, slots=True)
class View:
    """A session at one moment, ready to be projected."""

    messages: Messages
    decisions: tuple[Decision, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    """Whole texts by sha256, for parts whose output is kept as a blob."""

    @classmethod
    def of(cls, messages: Messages, decisions: tuple[Decision, ...], read: Read) -> "View":
        """Return the view of a session; ``read`` returns its long texts by hash when they are needed."""
        return cls(messages, decisions, LazyTexts(messages, read, decisions))

    def decided(self, *more: Decision) -> "View":
        """Return the view with these decisions added; they need no other texts."""
        return replace(self, decisions=(*self.decisions, *more))

    def folded(self, policy: CompactPolicy | None = None) -> Messages:
        """Return the messages that are left after the fold, ignoring undone compactions."""
        return fold(without_undone(self.messages, self.decisions), policy)


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
    """Return the messages before one; raises ValueError where there is no such message."""
    return messages[: place_of(messages, message_id)]


def place_of(messages: Messages, message_id: str) -> int:
    """Return the index of a message, looked for from the end; raises ValueError where there is none."""
    found = _place_before(messages, len(messages), message_id)
    if found is None:
        raise ValueError(f"There is no message {message_id!r}.")
    return found


def messages_after(messages: Messages, message: Message | None) -> Messages:
    """Return the messages after one that was the newest once; all where there was none, or it left the memory since."""
    if message is None:
        return messages
    places = range(len(messages) - 1, -1, -1)
    return messages[next((at + 1 for at in places if messages[at].info.id == message.info.id), 0) :]


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

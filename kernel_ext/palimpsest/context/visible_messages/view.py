"""Hold what a projection starts from: the messages and their turns, the decisions, and the texts stored in blobs.

The function that reads a blob is an argument, so that this stays pure for the live loop and review alike.
A prompt that was sent into a running turn belongs to that turn, and so do the user messages that the
engine writes.
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from palimpsest.context.visible_messages.fold import fold, marker, without_undone
from palimpsest.transcript.context_values.decisions import Decision, pinned_parts
from palimpsest.transcript.context_values.policies import CompactPolicy
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import Message, Messages, UserMessage
from palimpsest.transcript.parts import FilePart, NotebookPart, Part, ToolCompleted, ToolPart

Read = Callable[[str], bytes]


def load_texts(
    messages: Messages, read: Read, decisions: tuple[Decision, ...] = ()
) -> Mapping[str, str]:
    """Return texts by hash, loaded when the first is needed: most sessions need none of them."""
    return _Texts(messages, read, decisions)


def read_texts(messages: Messages, read: Read) -> dict[str, str]:
    """Return texts by hash, without missing blobs: for those, head and tail in the journal are used."""
    texts: dict[str, str] = {}
    for sha256, mime in blobs_needed(messages).items():
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


class _Texts(Mapping[str, str]):
    """The texts of the messages that are left after the fold, and of pinned ones."""

    def __init__(self, messages: Messages, read: Read, decisions: tuple[Decision, ...]) -> None:
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
        return read_texts((*shown, *kept), self._read)


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
        return cls(messages, decisions, load_texts(messages, read, decisions))

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
    """Return the messages before one."""
    ids = [message.id for message in messages]
    return messages[: ids.index(message_id)]


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

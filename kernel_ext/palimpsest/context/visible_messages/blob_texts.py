"""Read in the texts that a projection needs from blobs.

The reading itself is handed in, so that this stays pure; live loop and review use the same
function.
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from palimpsest.context.visible_messages.fold import fold
from palimpsest.context.visible_messages.undone_compactions import without_undone
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.effective_decisions import pinned_parts
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import FilePart, ToolCompleted, ToolPart

Read = Callable[[str], bytes]


def load_texts(
    messages: Messages, read: Read, decisions: tuple[Decision, ...] = ()
) -> Mapping[str, str]:
    """Return text by hash, read when the first is asked for: most sessions need none of them."""
    return _Texts(messages, read, decisions)


def read_texts(messages: Messages, read: Read) -> dict[str, str]:
    """Return text by hash; for a blob that is gone, the head and tail in the log must do."""
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
    """The texts of what is folded and of what is pinned."""

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

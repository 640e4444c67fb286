"""Walk messages in the order of a reader, and write their items in the form of one format.

Border: pure. A format gives a function for each kind of item, and one that puts the items of a message together.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from palimpsest.render.content.outline import (
    Caps,
    Item,
    NoticeItem,
    OutlineCall,
    OutlineNotes,
    OutlineStep,
    ReasoningItem,
    ReductionItem,
    Scrub,
    TextItem,
    outline_message,
    outline_message_error,
    outline_parts,
)
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import Part


def in_turns(messages: Iterable[Message], caps: Caps) -> Iterator[tuple[Message, Caps, int]]:
    """Yield messages with what is left of their turn's caps, and the number of their first step in it."""
    left, step = caps, 1
    for message in messages:
        if message.info.role == "user":
            left, step = caps, 1
        yield message, left, step
        left = left.after(message.parts)
        step += sum(part.type == "step-finish" for part in message.parts)


@dataclass(frozen=True, slots=True)
class ItemWriter:
    """Writes parts and messages in one format."""

    text: Callable[[TextItem], str]
    thought: Callable[[ReasoningItem], str]
    call: Callable[[OutlineCall], str]
    step: Callable[[OutlineStep], str]
    reduction: Callable[[str], str]
    notice: Callable[[NoticeItem], str]
    framed: Callable[[Message, str], str]
    """Returns a message, given its items."""
    between: str = "\n\n"
    """What stands between two items."""
    visible: Callable[[str], str] = str
    """Replaces what the format must not hold, before words are shortened and again in what was made."""
    usual: Caps | None = None
    """Caps where none are given."""

    def item(self, item: Item) -> str:
        """Return one item."""
        match item:
            case TextItem():
                return self.text(item)
            case ReasoningItem():
                return self.thought(item)
            case OutlineCall():
                return self.call(item)
            case OutlineStep():
                return self.step(item)
            case ReductionItem():
                return self.reduction(item.words)
            case NoticeItem():
                return self.notice(item)

    def parts(
        self,
        parts: Sequence[Part],
        *,
        caps: Caps | None = None,
        scrub: Scrub = str,
        notes: OutlineNotes | None = None,
    ) -> str:
        """Return parts; the same parts give the same text."""
        shown = self._shown(scrub)
        return self._joined(outline_parts(parts, caps=caps or self.usual, scrub=shown, notes=notes))

    def message(
        self,
        message: Message,
        *,
        caps: Caps | None = None,
        scrub: Scrub = str,
        notes: OutlineNotes | None = None,
        first_step: int = 1,
    ) -> str:
        """Return one message, with the error it ended in."""
        shown, left = self._shown(scrub), caps or self.usual
        items = outline_message(message, caps=left, scrub=shown, notes=notes, first_step=first_step)
        error = outline_message_error(message, shown)
        return self.framed(message, self._joined(items if error is None else (*items, error)))

    def messages(
        self, messages: Iterable[Message], caps: Caps, scrub: Scrub, notes: OutlineNotes | None
    ) -> Iterator[str]:
        """Yield messages; caps and step numbers begin anew with each turn."""
        for message, left, step in in_turns(messages, caps):
            yield self.message(message, caps=left, scrub=scrub, notes=notes, first_step=step)

    def _shown(self, scrub: Scrub) -> Scrub:
        return lambda text: self.visible(scrub(text))

    def _joined(self, items: Iterable[Item]) -> str:
        return joined((self.visible(self.item(item)) for item in items), self.between)


def joined(blocks: Iterable[str], between: str = "\n\n") -> str:
    """Return the blocks that are not empty in one text."""
    return between.join(block for block in blocks if block)

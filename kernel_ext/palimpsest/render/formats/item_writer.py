"""Walk messages in the order of a reader, fold the work of each turn, and write the rows in the form of one format.

Border: pure. A format gives a function for each kind of row, and one that puts the rows of a message together.
"""

import itertools
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
    is_prompt,
    outline_message,
    outline_message_error,
)
from palimpsest.render.content.turn_figures import figures_item
from palimpsest.render.content.work_rows import Row, TurnEnd, WorkRow, fold_work, without_row
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.values import Density

NumberedMessage = tuple[Message, Caps, int]
"""A message, the remaining caps of its turn, and the number of its first step."""


def numbered_messages(
    messages: Iterable[Message], caps: Caps, step: int = 1
) -> Iterator[NumberedMessage]:
    """Yield messages with their remaining caps and the number of their first step."""
    for message in messages:
        yield message, caps, step
        caps = caps.caps_after(message.parts)
        step += sum(part.type == "step-finish" for part in message.parts)


def in_turns(messages: Iterable[Message], caps: Caps) -> Iterator[Iterator[NumberedMessage]]:
    """Yield each turn's messages; caps and step numbers start again with each turn."""
    turn_count = 0

    def turn_number(message: Message) -> int:
        nonlocal turn_count
        turn_count += begins_turn(message)
        return turn_count

    for _, turn_messages in itertools.groupby(messages, turn_number):
        yield numbered_messages(turn_messages, caps)


def begins_turn(message: Message) -> bool:
    """Return whether a turn begins with a message: a prompt that is not of the engine alone."""
    return is_prompt(message) and any(
        not isinstance(part, TextPart) or (not part.synthetic and bool(part.text.strip()))
        for part in message.parts
    )


@dataclass(frozen=True, slots=True)
class MessageRows:
    """The shown rows of a message."""

    message: Message
    """The message with only those parts from which its steps and its kind are known."""
    rows: list[Row]


def turn_rows(
    turn: Iterable[NumberedMessage],
    *,
    scrub: Scrub = str,
    notes: OutlineNotes | None = None,
    density: Density = "quiet",
    is_running: bool = False,
    is_whole: bool = False,
) -> list[MessageRows]:
    """Return the rows of a turn or of a piece of it, with the error of a message that ended in one.

    A row of folded work belongs to the message of its first item. The figures of the turn follow a whole one (``is_whole``), unless
    all steps are shown, since steps show their own. Messages are returned without their contents, since a turn may be
    long.
    """
    shown_messages: list[MessageRows] = []
    items: list[Item] = []
    owners: list[MessageRows] = []
    for message, caps, step in turn:
        message_rows = MessageRows(_without_content(message), [])
        shown_messages.append(message_rows)
        items += outline_message(message, caps=caps, scrub=scrub, notes=notes, first_step=step)
        error = outline_message_error(message, scrub)
        items += [] if error is None else [error]
        owners += [message_rows] * (len(items) - len(owners))
    if density == "all steps":
        for message_rows, item in zip(owners, items, strict=True):
            message_rows.rows.append(item)
        return shown_messages
    rows = fold_work(items, is_running=is_running)
    for index, row in rows:
        owners[index].rows.append(row)
    if is_whole and shown_messages:
        answers = [entry for entry in shown_messages if entry.rows and not is_prompt(entry.message)]
        end_rows = turn_end([entry.message for entry in shown_messages], without_row(items, rows))
        (answers or shown_messages)[-1].rows.extend(end_rows)
    return shown_messages


def turn_end(messages: Sequence[Message], hidden_items: Sequence[Item]) -> Sequence[Row]:
    """Return the line below a turn with its figures, or the items without a row where no step has ended."""
    figures = figures_item(messages)
    return hidden_items if figures is None else [TurnEnd(figures, tuple(hidden_items))]


def _without_content(message: Message) -> Message:
    parts = tuple(part for part in message.parts if part.type in ("step-finish", "compaction"))
    return message.model_copy(update={"parts": parts})


@dataclass(frozen=True, slots=True)
class ItemWriter:
    """Writes messages in one format."""

    render_text: Callable[[TextItem], str]
    render_reasoning: Callable[[ReasoningItem], str]
    render_call: Callable[[OutlineCall], str]
    render_step: Callable[[OutlineStep], str]
    render_reduction: Callable[[str], str]
    render_notice: Callable[[NoticeItem], str]
    render_work: Callable[[WorkRow], str]
    frame_message: Callable[[Message, str], str]
    """Returns a message, given its items."""
    render_turn_end: Callable[[TurnEnd], str] | None = None
    """None writes the figures of the turn as a step."""
    separator: str = "\n\n"
    """The separator between two items."""
    make_visible: Callable[[str], str] = str
    """Replaces characters that the format must not hold, before texts are shortened and again in each row."""
    default_caps: Caps | None = None

    def render_row(self, item: Row) -> str:
        """Return one row."""
        match item:
            case TextItem():
                return self.render_text(item)
            case ReasoningItem():
                return self.render_reasoning(item)
            case OutlineCall():
                return self.render_call(item)
            case OutlineStep():
                return self.render_step(item)
            case ReductionItem():
                return self.render_reduction(item.sentence)
            case NoticeItem():
                return self.render_notice(item)
            case WorkRow():
                return self.render_work(item)
            case TurnEnd() if self.render_turn_end is None:
                return self.render_step(item.step_figures)
            case TurnEnd():
                return self.render_turn_end(item)

    def message(
        self,
        message: Message,
        *,
        caps: Caps | None = None,
        scrub: Scrub = str,
        notes: OutlineNotes | None = None,
        first_step: int = 1,
    ) -> str:
        """Return one message with all its steps, and with the error at its end."""
        turn = [(message, caps or self.default_caps or Caps(), first_step)]
        return self.turn(turn, scrub=scrub, notes=notes, density="all steps")

    def turn(
        self,
        turn: Iterable[NumberedMessage],
        *,
        scrub: Scrub = str,
        notes: OutlineNotes | None = None,
        density: Density = "quiet",
        is_running: bool = False,
        is_whole: bool = False,
    ) -> str:
        """Return the messages of a turn, or of a piece of it; a whole one (``is_whole``) ends in its figures."""
        entries = turn_rows(
            turn,
            scrub=lambda text: self.make_visible(scrub(text)),
            notes=notes,
            density=density,
            is_running=is_running,
            is_whole=is_whole,
        )
        return joined_blocks(
            self.frame_message(entry.message, self.rows(entry.rows)) for entry in entries
        )

    def rows(self, rows: Iterable[Row]) -> str:
        """Return rows, one below the other."""
        texts = (self.make_visible(self.render_row(row)) for row in rows)
        return joined_blocks(texts, self.separator)


def joined_blocks(blocks: Iterable[str], separator: str = "\n\n") -> str:
    """Return the blocks that are not empty in one text."""
    return separator.join(block for block in blocks if block)

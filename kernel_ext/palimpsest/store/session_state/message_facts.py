"""Collect what an index holds of messages beside the places of their lines: unfinished work, kinds of parts, spending.

Events are noted one by one, and none of them is kept, so that the log of an import may be of any size.
"""

from collections import OrderedDict
from collections.abc import Iterable

from palimpsest.store.session_state.interrupted_work import is_settled_info, is_settled_part
from palimpsest.store.session_state.message_index import (
    INDEXED_PART_TYPES,
    MIN_INDEXED_MESSAGES,
    MessageIndex,
    line_index,
)
from palimpsest.transcript.messages import AssistantMessage, Message, MessageInfo
from palimpsest.transcript.parts import Part
from palimpsest.transcript.session_record.events import (
    MessageRemoved,
    MessageUpdated,
    PartRemoved,
    PartUpdated,
    Record,
)
from palimpsest.transcript.session_record.sessions import Spent, recorded_spending

MAX_ANSWERS = 1_000
"""Number of newest answers whose usage may still be reported; that of older ones is added up."""


class MessageFacts:
    """The facts of the messages that were noted so far."""

    def __init__(self) -> None:
        self._is_counted: dict[int, bool] = {}
        """By the hash of each message's id, which takes less memory than the id: whether its spending is added up."""
        self.first_seq = 0
        """Number of the first record of a message; 0 without any."""
        self._running_ids: set[str] = set()
        """Answers that have not ended."""
        self._open_part_ids: dict[str, set[str]] = {}
        """The parts with unfinished work of each message that has one."""
        self._indexed_part_types: dict[str, dict[str, str]] = {}
        """The parts of indexed types of each message that has one."""
        self._spent_by_answer: OrderedDict[str, Spent] = OrderedDict()
        """What the newest answers spent, which is not added up yet."""
        self._spending: Spent | None = Spent()
        """The spending of the other answers; None once one of them was reported anew."""

    @classmethod
    def in_records(cls, records: Iterable[Record]) -> "MessageFacts":
        """Return the facts of a log."""
        facts = cls()
        for record in records:
            facts.note(record)
        return facts

    @classmethod
    def of_messages(cls, messages: Iterable[Message]) -> "MessageFacts":
        """Return the facts of messages that were read."""
        facts = cls()
        for message in messages:
            facts._note_info(message.info)
            for part in message.parts:
                facts._note_part(message.id, part)
        return facts

    @property
    def message_count(self) -> int:
        """Number of messages."""
        return len(self._is_counted)

    def note(self, record: Record) -> None:
        """Note what a record says of a message."""
        match record.event:
            case MessageUpdated(info=info):
                self._note_info(info)
            case PartUpdated(part=part):
                self._note_part(part.message_id, part)
            case PartRemoved(message_id=message_id, part_id=part_id):
                self._forget_part(message_id, part_id)
            case MessageRemoved(message_id=message_id):
                if self._is_counted.pop(hash(message_id), False):
                    self._spending = None
                self._spent_by_answer.pop(message_id, None)
                self._running_ids.discard(message_id)
                self._open_part_ids.pop(message_id, None)
                self._indexed_part_types.pop(message_id, None)
            case _:
                return
        self.first_seq = self.first_seq or record.seq

    def index_with_facts(self, index: MessageIndex) -> MessageIndex | None:
        """Return the index of lines with these facts; None where it has other messages."""
        if not all(hash(message_id) in self._is_counted for message_id in index.ids):
            return None
        unsettled_ids = self._running_ids | self._open_part_ids.keys()
        types_by_message = {
            message_id: set(parts.values())
            for message_id, parts in self._indexed_part_types.items()
        }
        has_all_messages = len(index.ids) == self.message_count
        return index.model_copy(
            update={
                "unsettled": tuple(
                    message_id for message_id in index.ids if message_id in unsettled_ids
                ),
                "holders": {
                    kind: tuple(
                        message_id
                        for message_id in index.ids
                        if kind in types_by_message.get(message_id, ())
                    )
                    for kind in INDEXED_PART_TYPES
                },
                "spent": self._all_spent() if has_all_messages else None,
            }
        )

    def _all_spent(self) -> Spent | None:
        """Return the spending of all answers; None where it is not known."""
        spent = self._spending
        for answer in self._spent_by_answer.values():
            spent = None if spent is None else spent.plus(answer)
        return spent

    def completed_index(self, lines: Iterable[bytes], window_seq: int) -> MessageIndex | None:
        """Return the index of a window's lines with these facts; None where it would help little."""
        index = line_index(lines, window_seq)
        return None if index is None else self.index_with_facts(index)

    def _note_info(self, info: MessageInfo) -> None:
        if is_settled_info(info):
            self._running_ids.discard(info.id)
        else:
            self._running_ids.add(info.id)
        if self._is_counted.setdefault(hash(info.id), False):
            self._spending = None
        elif isinstance(info, AssistantMessage):
            self._spent_by_answer[info.id] = recorded_spending([info])
        if len(self._spent_by_answer) > MAX_ANSWERS:
            message_id, oldest_spending = self._spent_by_answer.popitem(last=False)
            self._is_counted[hash(message_id)] = True
            if self._spending is not None:
                self._spending = self._spending.plus(oldest_spending)

    def _note_part(self, message_id: str, part: Part) -> None:
        self._is_counted.setdefault(hash(message_id), False)
        self._forget_part(message_id, part.id)
        if not is_settled_part(part):
            self._open_part_ids.setdefault(message_id, set()).add(part.id)
        if part.type in INDEXED_PART_TYPES:
            self._indexed_part_types.setdefault(message_id, {})[part.id] = part.type

    def _forget_part(self, message_id: str, part_id: str) -> None:
        if message_id in self._open_part_ids:
            self._open_part_ids[message_id].discard(part_id)
            if not self._open_part_ids[message_id]:
                del self._open_part_ids[message_id]
        if message_id in self._indexed_part_types:
            self._indexed_part_types[message_id].pop(part_id, None)


def message_index(
    lines: Iterable[bytes],
    window_seq: int,
    messages: Iterable[Message],
    *,
    min_count: int = MIN_INDEXED_MESSAGES,
) -> MessageIndex | None:
    """Return the index of a window's lines; None where it would help little, or messages are missing.

    ``messages`` are those of the session; those in the lines are read.
    """
    index = line_index(lines, window_seq, min_count=min_count)
    if index is None:
        return None
    indexed_ids = set(index.ids)
    facts = MessageFacts.of_messages(message for message in messages if message.id in indexed_ids)
    return facts.index_with_facts(index)

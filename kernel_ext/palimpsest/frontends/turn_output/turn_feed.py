"""Collect the messages, questions, answers and decisions of one turn for its cell.

Border: reads a live session's records and snapshots; shows nothing. Records arrive on the
writer thread, and the main thread reads; shared values are replaced, never changed in place.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from palimpsest.render.content.outline import OutlineNotes
from palimpsest.session.engine import Snapshot
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.messages import Message, Origin, UserMessage
from palimpsest.transcript.parts import CompactionPart, Part, StepFinishPart, TextPart
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    PartUpdated,
    PermissionAsked,
    PermissionReplied,
    PromptDelivered,
    QuestionAsked,
    QuestionRejected,
    QuestionReplied,
    Record,
    SessionStatus,
)

MAX_CATCH_UP_SECONDS = 10.0
"""Maximum time that the end of a turn waits for its last records; on a disk that responds they are
there within a tick of the journal, 40 ms."""

_NOTABLE_EVENTS = (
    *(PermissionAsked, PermissionReplied, SessionStatus),
    *(QuestionAsked, QuestionReplied, QuestionRejected),
)


class TurnFeed:
    """Observes the turn of one prompt: its messages, questions, answers, decisions and ended steps."""

    def __init__(self, prompt_id: str, origin: Origin) -> None:
        self.prompt_id = prompt_id
        self._origin = origin
        self._older_message_ids: frozenset[str] = frozenset()
        self.session: KernelSession | None = None
        self.turn_id: str | None = None
        self.first_seq = 0
        self.change_count = 0
        """Number of records of this session so far; an output is refreshed when it has grown."""
        self.ended_step_count = 0
        """Number of steps that have ended."""
        self.notable_count = 0
        """Number of questions, answers and status changes; outputs show these at once."""
        self.problem_count = 0
        """Number of times that the disk stopped responding or resumed."""
        self.notes = OutlineNotes()
        self.open_question_ids: frozenset[str] = frozenset()
        """Ids of the open questions, by the records received."""
        self.on_change: Callable[[], None] = lambda: None
        """Called on the writer thread when records arrived."""
        self._received_seq = 0
        self._awaited_record: tuple[int, Callable[[], None]] | None = None
        """The number of the record for which the end of the turn waits, and the callback that wakes it."""
        self._unsubscribe: Callable[[], object] | None = None

    def subscribe_to(self, session: KernelSession) -> None:
        """Subscribe to a session's records."""
        self.session = session
        snapshot = session.snapshot()
        self.first_seq = snapshot.seq + 1
        self._received_seq = snapshot.seq
        self._older_message_ids = frozenset(message.id for message in snapshot.messages)
        question_ids = (question.question_id for question in snapshot.questions)
        self.open_question_ids = frozenset({*(ask.id for ask in snapshot.asks), *question_ids})
        unsubscribe = session.subscribe(self._on_records)
        stop_listening = session.on_problem(self._count_problem)
        self._unsubscribe = lambda: (unsubscribe(), stop_listening())

    async def wait_for_records(self, seq: int) -> None:
        """Wait until the records up to a number were received, at most ``MAX_CATCH_UP_SECONDS``."""
        loop, arrival = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(arrival.set)

        self._awaited_record = (seq, wake)
        with suppress(TimeoutError):
            if self._received_seq < seq:
                await asyncio.wait_for(arrival.wait(), MAX_CATCH_UP_SECONDS)
        self._awaited_record = None

    def has_received(self, snapshot: Snapshot) -> bool:
        """Return whether all records of a snapshot were received; they arrive up to a tick after it."""
        return self._received_seq >= snapshot.seq

    def unsubscribe(self) -> None:
        """Unsubscribe from the session."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    def snapshot(self) -> Snapshot | None:
        """Return the session's newest snapshot, or None while the session is unknown."""
        if self.session is None:
            return None
        snapshot = self.session.snapshot()
        if self.turn_id is None:
            self.turn_id = self._find_turn_id(snapshot)
        return snapshot

    def messages(self, snapshot: Snapshot, answer: Answer | None = None) -> Sequence[Message]:
        """Return the turn's messages without the prompt itself: answers, and prompts that joined."""
        if self.turn_id is None:
            return answer.messages if answer is not None else ()
        turn_messages: list[Message] = []
        for message in reversed(snapshot.messages):
            if message.id == self.turn_id:
                break
            turn_messages.append(message)
        else:
            return answer.messages if answer is not None else ()
        turn_messages.reverse()
        if answer is None:
            return turn_messages
        last_id = answer.messages[-1].id if answer.messages else None
        last_indexes = [i for i, message in enumerate(turn_messages) if message.id == last_id]
        return turn_messages[: last_indexes[-1] + 1] if last_indexes else answer.messages

    def _find_turn_id(self, snapshot: Snapshot) -> str | None:
        """Return the id of the prompt's message before its record arrives.

        Records arrive a tick later, when code that blocks may already hold the main thread.
        """
        for message in snapshot.messages:
            info = message.info
            is_new = isinstance(info, UserMessage) and message.id not in self._older_message_ids
            if is_new and getattr(info, "origin", None) == self._origin:
                return message.id
        return None

    def _on_records(self, records: Sequence[Record]) -> None:
        """Process a batch of records; on the writer thread."""
        for record in records:
            self._process(record)
        self.change_count += len(records)
        if records:
            self._received_seq = records[-1].seq
            if (awaited := self._awaited_record) is not None and self._received_seq >= awaited[0]:
                awaited[1]()
            self.on_change()

    def _count_problem(self) -> None:
        """Count a change in whether the disk responds, so that it is shown at once."""
        self.problem_count += 1
        self.notable_count += 1
        self.on_change()

    def _process(self, record: Record) -> None:
        event, notes = record.event, self.notes
        match event:
            case PromptDelivered() if event.prompt_id == self.prompt_id:
                self.turn_id = event.message_id
                self.first_seq = record.seq
            case PermissionAsked():
                self.notes = replace(notes, asks=(*notes.asks, event.ask))
                self.open_question_ids |= {event.ask.id}
            case PermissionReplied():
                self.notes = replace(notes, replies=(*notes.replies, (event.ask_id, event.reply)))
                self.open_question_ids -= {event.ask_id}
            case QuestionAsked():
                self.open_question_ids |= {event.question_id}
            case QuestionReplied() | QuestionRejected():
                self.open_question_ids -= {event.question_id}
            case DecisionMade():
                self.notes = replace(notes, decisions=(*notes.decisions, event.decision))
            case PartUpdated(part=StepFinishPart()):
                self.ended_step_count += 1
            case _:
                pass
        # Last, since another thread draws the notes once it is counted.
        self.notable_count += isinstance(event, _NOTABLE_EVENTS)


def shown_messages(messages: Sequence[Message]) -> list[Message]:
    """Return the messages without those that the engine wrote as the user."""
    return [
        message
        for message in messages
        if not isinstance(message.info, UserMessage)
        or any(_is_shown(part) for part in message.parts)
    ]


def _is_shown(part: Part) -> bool:
    """Return whether a part of a user message is shown: the user's own text, or a compaction mark."""
    return isinstance(part, CompactionPart) or (isinstance(part, TextPart) and not part.synthetic)

"""Follow one turn for its cell: find its messages, and collect its questions, answers and decisions.

Border: reads a live session's records and snapshots; shows nothing. Records arrive on the
writer thread, the main thread reads; shared values are replaced, never changed in place.
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

CATCH_UP_SECONDS = 10.0
"""How long the end of a turn waits at most for its last records; on a disk that is not stuck they are
there within a tick of the journal, 40 ms."""


class TurnFeed:
    """Follows the turn of one prompt.

    Responsibilities: find the prompt's own user message; return the turn's messages; collect
    questions, answers and decisions; count ended steps.
    """

    def __init__(self, prompt_id: str, origin: Origin) -> None:
        self.prompt_id = prompt_id
        self._origin = origin
        self._older: frozenset[str] = frozenset()
        self.session: KernelSession | None = None
        self.turn_id: str | None = None
        self.first_seq = 0
        self.changes = 0
        """Records of this session so far; a view compares it with the number it saw last."""
        self.steps = 0
        """Steps that have ended so far."""
        self.notable = 0
        """Questions, answers and status changes so far, each of which is shown at once."""
        self.problems = 0
        """How often the disk stopped responding, or resumed."""
        self.notes = OutlineNotes()
        self.asking: frozenset[str] = frozenset()
        """Ids of the open questions, as of the records received."""
        self.wake: Callable[[], None] = lambda: None
        """Called when there is something new, on the writer thread."""
        self._told_seq = 0
        self._awaited: tuple[int, Callable[[], None]] | None = None
        """The number of the record that the end of the turn waits for, and the callback that wakes it."""
        self._unsubscribe: Callable[[], object] | None = None

    def attach(self, session: KernelSession) -> None:
        """Follow a session from now on."""
        self.session = session
        snapshot = session.snapshot()
        self.first_seq = snapshot.seq + 1
        self._told_seq = snapshot.seq
        self._older = frozenset(message.id for message in snapshot.messages)
        self.asking = frozenset(ask.id for ask in snapshot.asks) | frozenset(
            asked.question_id for asked in snapshot.questions
        )
        unsubscribe, forget = session.subscribe(self._told), session.on_problem(self._problem)
        self._unsubscribe = lambda: (unsubscribe(), forget())

    async def caught_up(self, seq: int) -> None:
        """Wait until the records up to a number were received, at most ``CATCH_UP_SECONDS``."""
        loop, came = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(came.set)

        self._awaited = (seq, wake)
        with suppress(TimeoutError):
            if self._told_seq < seq:
                await asyncio.wait_for(came.wait(), CATCH_UP_SECONDS)
        self._awaited = None

    def has_told(self, snapshot: Snapshot) -> bool:
        """Return whether all records of a snapshot were received: they come up to a tick after it."""
        return self._told_seq >= snapshot.seq

    def detach(self) -> None:
        """Stop following."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    def snapshot(self) -> Snapshot | None:
        """Return the session's newest snapshot, or None while the session is not known yet."""
        if self.session is None:
            return None
        snapshot = self.session.snapshot()
        if self.turn_id is None:
            self.turn_id = self._find_turn(snapshot)
        return snapshot

    def messages(self, snapshot: Snapshot, answer: Answer | None = None) -> Sequence[Message]:
        """Return the turn's messages without the prompt itself: answers, and prompts that joined."""
        if self.turn_id is None:
            return answer.messages if answer is not None else ()
        found: list[Message] = []
        for message in reversed(snapshot.messages):
            if message.id == self.turn_id:
                break
            found.append(message)
        else:
            return answer.messages if answer is not None else ()
        found.reverse()
        if answer is None:
            return found
        last = answer.messages[-1].id if answer.messages else None
        ends = [i for i, message in enumerate(found) if message.id == last]
        return found[: ends[-1] + 1] if ends else answer.messages

    def _find_turn(self, snapshot: Snapshot) -> str | None:
        """Find the prompt's message before its record arrives.

        Records come a tick later, and by then code that blocks may hold the main thread.
        """
        for message in snapshot.messages:
            info = message.info
            new = isinstance(info, UserMessage) and message.id not in self._older
            if new and getattr(info, "origin", None) == self._origin:
                return message.id
        return None

    def _told(self, records: Sequence[Record]) -> None:
        """Process a batch of records; on the writer thread."""
        for record in records:
            self._note(record)
        self.changes += len(records)
        if records:
            self._told_seq = records[-1].seq
            if (awaited := self._awaited) is not None and self._told_seq >= awaited[0]:
                awaited[1]()
            self.wake()

    def _problem(self) -> None:
        """Have it shown at once that the disk does not respond, or does again."""
        self.problems += 1
        self.notable += 1
        self.wake()

    def _note(self, record: Record) -> None:
        event = record.event
        notes = self.notes
        match event:
            case PromptDelivered() if event.prompt_id == self.prompt_id:
                self.turn_id = event.message_id
                self.first_seq = record.seq
            case PermissionAsked():
                self.notes = replace(notes, asks=(*notes.asks, event.ask))
                self.asking |= {event.ask.id}
                self.notable += 1
            case PermissionReplied():
                replied = (event.ask_id, event.reply)
                self.notes = replace(notes, replies=(*notes.replies, replied))
                self.asking -= {event.ask_id}
                self.notable += 1
            case QuestionAsked():
                self.asking |= {event.question_id}
                self.notable += 1
            case QuestionReplied() | QuestionRejected():
                self.asking -= {event.question_id}
                self.notable += 1
            case DecisionMade():
                self.notes = replace(notes, decisions=(*notes.decisions, event.decision))
            case SessionStatus():
                self.notable += 1
            case PartUpdated(part=StepFinishPart()):
                self.steps += 1
            case _:
                pass


def shown_messages(messages: Sequence[Message]) -> list[Message]:
    """Return the messages without those that the engine wrote as the user."""
    return [
        message
        for message in messages
        if not isinstance(message.info, UserMessage)
        or any(_is_shown(part) for part in message.parts)
    ]


def _is_shown(part: Part) -> bool:
    """Tell whether a part of a user message is shown: text that a person wrote, or a compaction mark."""
    return isinstance(part, CompactionPart) or (isinstance(part, TextPart) and not part.synthetic)

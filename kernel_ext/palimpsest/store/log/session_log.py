"""A session's journal and state as the loop, the questions and the runner see them: what can be written, and what follows."""

import asyncio
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from palimpsest.store.log.journal import Journal
from palimpsest.store.session_state.state import State
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.session_record.events import Event

KEPT_SECONDS = 30.0
"""How long ``kept`` waits for a disk that does not respond."""
LOOK_SECONDS = 0.2
"""How often a wait for a stuck disk checks whether the turn was stopped."""

T = TypeVar("T")


class _Guarded(Generic[T]):
    """A value of a state, read under the journal's lock."""

    def __init__(self, read: Callable[[State], T]) -> None:
        self._read = read

    def __get__(self, state: "GuardedState", _owner: type) -> T:
        return state.read(self._read)


class GuardedState:
    """The folded state of a session; ``State`` says what each value is."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    session = _Guarded(lambda state: state.session)
    decisions = _Guarded(lambda state: state.decisions)
    request = _Guarded(lambda state: state.request)
    items = _Guarded(lambda state: state.items)
    inbox = _Guarded(lambda state: dict(state.inbox))
    todos = _Guarded(lambda state: state.todos)
    diff = _Guarded(lambda state: state.diff)
    seq = _Guarded(lambda state: state.seq)

    def read(self, read: Callable[[State], T]) -> T:
        """Return what is read of the state as it is; words of a part that are not journaled yet wait on."""
        with self.journal.lock:
            return read(self.journal.state)

    def messages(self) -> Messages:
        """Return the messages in order."""
        return self.read(lambda state: state.messages())

    def newest_message(self) -> Message | None:
        """Return the newest message; no other is read."""
        return self.read(lambda state: state.newest_message())

    def holding(self, kind: str) -> Messages:
        """Return the messages that hold a part of a type that is looked for, in order; no other is read."""
        return self.read(lambda state: state.holding(kind))

    def message(self, message_id: str) -> Message | None:
        """Return one message."""
        return self.read(lambda state: state.message(message_id))


class SessionLog:
    """Writes events and deltas into the journal for the loop, the questions and the runner."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.state = GuardedState(journal)

    def append(self, *events: Event, sync: bool = False) -> int:
        """Append events to the journal."""
        return self._journal.append(*events, sync=sync)

    async def kept(self, ended: Callable[[], bool] = lambda: False) -> str:
        """Wait until everything appended is written; returns one sentence if that takes too long, else "".

        Events that the disk refuses stay in memory, and the error is reported at once; they are not waited for.
        """
        stall = self._journal.stall
        written = asyncio.ensure_future(self._journal.flush())
        while not written.done():
            await asyncio.wait({written}, timeout=LOOK_SECONDS)
            words = stall.words
            if ended() or (words and time.monotonic() - stall.since > KEPT_SECONDS):
                written.cancel()
                return words
        return ""

    def delta(self, message_id: str, part_id: str, field: str, text: str) -> None:
        """Append text to a string field of a part."""
        self._journal.delta(message_id, part_id, field, text)

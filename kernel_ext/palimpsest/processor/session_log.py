"""Give the layers above the store one session to read and write.

``SessionLog`` writes its events; ``GuardedState`` is its state, cached until the next record.

The loop, the stream processor, the questions and the runner share it; each writes only its own events.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from palimpsest.context.visible_messages import View
from palimpsest.store.interface import Store
from palimpsest.store.log.journal import Journal
from palimpsest.store.session_state.state import State
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    MessageInfo,
    MessagePath,
    Messages,
    MessageTime,
)
from palimpsest.transcript.redaction.secret_patterns import scrub
from palimpsest.transcript.session_record.events import PartUpdated, SessionUpdated
from palimpsest.transcript.user_notices import user_notice
from palimpsest.transcript.values import ModelRef

MAX_STALL_SECONDS = 30.0
"""How long ``wait_until_written`` waits for a disk that does not respond."""
CHECK_INTERVAL_SECONDS = 0.2
"""How often a wait for a stuck disk checks whether the turn was stopped."""

T = TypeVar("T")


class _CachedValue(Generic[T]):
    """A value of a state, read under the journal's lock and cached until the next record."""

    def __init__(self, compute: Callable[[State], T]) -> None:
        self._compute = compute

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, state: "GuardedState", _owner: type) -> T:
        with state.journal.lock:
            value = state.__dict__[self._name] = self._compute(state.journal.state)
        return value


class GuardedState:
    """The state of a session after its newest record; each value is cached until the next one. ``State`` documents them."""

    __slots__ = ("__dict__", "_cache", "journal")

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._cache: dict[tuple[object, ...], Any] = {}
        journal.cached_reads += (self.__dict__, self._cache)

    session = _CachedValue(lambda state: state.session)
    decisions = _CachedValue(lambda state: state.decisions)
    request = _CachedValue(lambda state: state.request)
    items = _CachedValue(lambda state: state.request_items)
    inbox = _CachedValue(lambda state: dict(state.inbox))
    todos = _CachedValue(lambda state: state.todos)
    diff = _CachedValue(lambda state: state.diff)
    seq = _CachedValue(lambda state: state.seq)

    def _read_state(self, method: Callable[..., T], *arguments: str) -> T:
        """Return the cached result of a method of the state; deltas that are not journaled yet are not included."""
        key = (method, *arguments)
        with self.journal.lock:
            if key not in self._cache:
                self._cache[key] = method(self.journal.state, *arguments)
            value: T = self._cache[key]
            return value

    def messages(self) -> Messages:
        """Return the messages in order."""
        return self._read_state(State.messages)

    def newest_message(self) -> Message | None:
        """Return the newest message, without reading others."""
        return self._read_state(State.newest_message)

    def messages_with_part(self, part_type: str) -> Messages:
        """Return the messages with a part of an indexed type, in order, without reading others."""
        return self._read_state(State.messages_with_part, part_type)

    def message(self, message_id: str) -> Message | None:
        """Return one message."""
        return self._read_state(State.message, message_id)


class SessionLog:
    """One session as the loop, the questions and the runner read and write it: events, state, blobs and new ids."""

    def __init__(
        self,
        journal: Journal,
        *,
        blobs: Store,
        ids: Ids,
        clock: Callable[[], int],
        path: MessagePath,
        clean: Callable[[str], str] = scrub,
    ) -> None:
        self.journal = journal
        self.append = journal.append
        self.state = GuardedState(journal)
        self.blobs = blobs
        self.ids = ids
        self.clock = clock
        """Milliseconds since 1970."""
        self.clean = clean
        """Redacts secrets in text before it is sent or stored; the journal does the same."""
        self._path = path

    @property
    def session_id(self) -> str:
        """The id of the session whose log is written; after another kernel took it over, that of the fork made here."""
        return self.journal.session_id

    def change_session(self, *, sync: bool = False, **fields: Any) -> None:
        """Change fields of the session's record, such as its title; does nothing before it has a record."""
        session = self.state.session
        if session is not None:
            self.append(SessionUpdated(session=session.model_copy(update=fields)), sync=sync)

    def view(self, messages: Messages | None = None) -> View:
        """Return the session at this moment, or only the given messages, as a view for deciders."""
        shown_messages = self.state.messages() if messages is None else messages
        return View.of(shown_messages, self.state.decisions, self.blobs.get_blob)

    def new_part(self, message: MessageInfo) -> dict[str, str]:
        """Return the ids that a new part of a message has, of any type."""
        return self.ids.part(message.session_id, message.id)

    def write_notice(self, message: MessageInfo, subject: str, sentence: str) -> None:
        """Write a sentence for the user about a subject into an answer; it is not sent to a model."""
        part_id = self.ids.new("prt")
        notice = user_notice(part_id, message.session_id, message.id, subject, sentence)
        self.append(PartUpdated(part=notice))

    def new_answer(
        self, parent_id: str, agent: str, model: ModelRef, *, summary: bool = False
    ) -> AssistantMessage:
        """Return the info of an answer to a user message, or of a summary, that begins now."""
        return AssistantMessage(
            id=self.ids.new("msg"),
            session_id=self.session_id,
            parent_id=parent_id,
            time=MessageTime(created=self.clock()),
            agent=agent,
            model=model,
            path=self._path,
            summary=summary,
        )

    async def wait_until_written(self, is_stopped: Callable[[], bool] = lambda: False) -> str:
        """Wait until everything appended is written; returns one sentence if that takes too long, else "".

        Events that the disk refuses stay in memory, and the error is reported at once; they are not waited for.
        """
        stall = self.journal.stall
        flush_task = asyncio.ensure_future(self.journal.flush())
        while not flush_task.done():
            await asyncio.wait({flush_task}, timeout=CHECK_INTERVAL_SECONDS)
            stall_sentence = stall.sentence
            is_too_long = time.monotonic() - stall.since_seconds > MAX_STALL_SECONDS
            if is_stopped() or (stall_sentence and is_too_long):
                flush_task.cancel()
                return stall_sentence
        return ""

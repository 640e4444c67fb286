"""One session as the layers above the store read and write it: its state, read once between two records, and its log.

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

KEPT_SECONDS = 30.0
"""How long ``kept`` waits for a disk that does not respond."""
LOOK_SECONDS = 0.2
"""How often a wait for a stuck disk checks whether the turn was stopped."""

T = TypeVar("T")


class _Guarded(Generic[T]):
    """A value of a state, read under the journal's lock and kept until the next record."""

    def __init__(self, read: Callable[[State], T]) -> None:
        self._read = read

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, state: "GuardedState", _owner: type) -> T:
        with state.journal.lock:
            found = state.__dict__[self._name] = self._read(state.journal.state)
        return found


class GuardedState:
    """The folded state of a session; ``State`` says what each value is. Between two records each is read once."""

    __slots__ = ("__dict__", "_known", "journal")

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._known: dict[tuple[object, ...], Any] = {}
        journal.kept_reads += (self.__dict__, self._known)

    session = _Guarded(lambda state: state.session)
    decisions = _Guarded(lambda state: state.decisions)
    request = _Guarded(lambda state: state.request)
    items = _Guarded(lambda state: state.items)
    inbox = _Guarded(lambda state: dict(state.inbox))
    todos = _Guarded(lambda state: state.todos)
    diff = _Guarded(lambda state: state.diff)
    seq = _Guarded(lambda state: state.seq)

    def _of(self, read: Callable[..., T], *names: str) -> T:
        """Return what is read of the state as it is; words of a part that are not journaled yet wait on."""
        key = (read, *names)
        with self.journal.lock:
            if key not in self._known:
                self._known[key] = read(self.journal.state, *names)
            found: T = self._known[key]
            return found

    def messages(self) -> Messages:
        """Return the messages in order."""
        return self._of(State.messages)

    def newest_message(self) -> Message | None:
        """Return the newest message; no other is read."""
        return self._of(State.newest_message)

    def holding(self, kind: str) -> Messages:
        """Return the messages that hold a part of a type that is looked for, in order; no other is read."""
        return self._of(State.holding, kind)

    def message(self, message_id: str) -> Message | None:
        """Return one message."""
        return self._of(State.message, message_id)


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
        """The id of the session whose log is written; the fork's after another kernel took over."""
        return self.journal.session_id

    def change(self, *, sync: bool = False, **fields: Any) -> None:
        """Change fields of the session's own record, such as its title, where there is one."""
        session = self.state.session
        if session is not None:
            changed = SessionUpdated(session=session.model_copy(update=fields))
            self.append(changed, sync=sync)

    def view(self, messages: Messages | None = None) -> View:
        """Return the session at this moment, or only the given messages, as a view for deciders."""
        found = self.state.messages() if messages is None else messages
        return View.of(found, self.state.decisions, self.blobs.get_blob)

    def new_part(self, message: MessageInfo) -> dict[str, str]:
        """Return the fields that a new part of a message has, whatever its type."""
        return self.ids.part(message.session_id, message.id)

    def write_notice(self, message: MessageInfo, about: str, words: str) -> None:
        """Write a sentence for the user into an answer, which no model is sent."""
        name = self.ids.new("prt")
        self.append(
            PartUpdated(part=user_notice(name, message.session_id, message.id, about, words))
        )

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

    async def kept(self, ended: Callable[[], bool] = lambda: False) -> str:
        """Wait until everything appended is written; returns one sentence if that takes too long, else "".

        Events that the disk refuses stay in memory, and the error is reported at once; they are not waited for.
        """
        stall = self.journal.stall
        written = asyncio.ensure_future(self.journal.flush())
        while not written.done():
            await asyncio.wait({written}, timeout=LOOK_SECONDS)
            words = stall.words
            if ended() or (words and time.monotonic() - stall.since > KEPT_SECONDS):
                written.cancel()
                return words
        return ""

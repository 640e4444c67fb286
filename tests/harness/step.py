"""The log of a session in memory, for tests of the processor and the loop."""

import itertools
from collections.abc import Callable

from tests.builders import MODEL, SESSION

from palimpsest.processor.session_log import SessionLog
from palimpsest.store.interface import Owner
from palimpsest.store.log.journal import Journal
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.messages import AssistantMessage, MessagePath, MessageTime
from palimpsest.transcript.session_record.events import MessageUpdated


class Clock:
    """A clock that is advanced only by the test."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


class StepHarness:
    """Journal, log and assistant message of one step."""

    def __init__(self, truncate: Callable[..., Decision | None] = lambda *_: None) -> None:
        self.clock = Clock()
        self.store = MemoryStore()
        counter = itertools.count()
        self.ids = Ids(self.clock, lambda length: bytes([next(counter) % 62] * length))
        writer = self.store.acquire(SESSION, Owner("host", 1, "kernel"), create=True)
        self.journal = Journal(writer, State(), clock=self.clock)
        self.message = AssistantMessage(
            id="msg_answer",
            session_id=SESSION,
            parent_id="msg_question",
            time=MessageTime(created=self.clock()),
            agent="build",
            model=MODEL,
            path=MessagePath(cwd="/w", root="/w"),
        )
        self.journal.append(MessageUpdated(info=self.message))
        self.log = SessionLog(
            self.journal, blobs=self.store, ids=self.ids, clock=self.clock, path=self.message.path
        )
        self.truncate = truncate

    @property
    def answer(self):  # noqa: ANN201
        message = self.journal.read_state(lambda state: state.message("msg_answer"))
        assert message is not None
        return message

"""Give the engine access to the journal and its locked state, and to the secrets that are kept out of the log.

Every read of the folded state takes the journal's lock: the writer thread folds streamed text into the
same state, so a read without the lock could see half a change. The secret values are those of this kernel's
environment, also one that a cell has just set.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from palimpsest.store.log.journal import Journal
from palimpsest.tools.tool import Abort
from palimpsest.transcript.context_values.decisions import ContextItem, Decision, StepRequest
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.redaction.secret_removal import secret_values
from palimpsest.transcript.session_record.events import Event, PromptAdmitted
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.values import Todo

KEPT_SECONDS = 30.0
"""How long ``kept`` waits for a disk that does not respond."""
LOOK_SECONDS = 0.2
"""How often a wait for a stuck disk checks whether the turn was stopped."""

FRESH_SECONDS = 1.0
"""How long values are reused: reading them takes 0.1 ms, and a streaming answer asks 25 times a second."""


class GuardedState:
    """The folded state of a session, read under the journal's lock."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    @property
    def session(self) -> SessionInfo | None:
        """The session's own record."""
        with self._journal.lock:
            return self._journal.state.session

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """All decisions so far."""
        with self._journal.lock:
            return self._journal.state.decisions

    @property
    def request(self) -> StepRequest | None:
        """The newest model request."""
        with self._journal.lock:
            return self._journal.state.request

    @property
    def items(self) -> tuple[ContextItem, ...]:
        """All items of the newest request."""
        with self._journal.lock:
            return self._journal.state.items

    @property
    def inbox(self) -> dict[str, PromptAdmitted]:
        """Prompts in the inbox, oldest first."""
        with self._journal.lock:
            return dict(self._journal.state.inbox)

    @property
    def todos(self) -> tuple[Todo, ...]:
        """The todo list."""
        with self._journal.lock:
            return self._journal.state.todos

    @property
    def diff(self) -> tuple[dict[str, Any], ...]:
        """The files that the session changed."""
        with self._journal.lock:
            return self._journal.state.diff

    @property
    def seq(self) -> int:
        """The highest sequence number."""
        with self._journal.lock:
            return self._journal.state.seq

    def messages(self) -> Messages:
        """Return the messages in order."""
        with self._journal.lock:
            return self._journal.state.messages()

    def message(self, message_id: str) -> Message | None:
        """Return one message."""
        with self._journal.lock:
            return self._journal.state.message(message_id)


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


class Run:
    """One run of the loop: the prompts delivered in it, and its abort signal."""

    def __init__(self) -> None:
        self.abort = Abort()
        self.delivered: dict[str, str] = {}
        """Prompt id to the id of the user message it became."""
        self.yes = False
        self.first_seq = 0
        self.withdrawn: list[str] = []
        """Texts of prompts that waited in the inbox when the run was stopped, and were withdrawn."""


class KernelSecrets:
    """Returns the secret values of an environment, reading it again when they are older than a second."""

    def __init__(
        self, environment: Mapping[str, str], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._environment = environment
        self._now = now
        self._read_at: float | None = None
        self._values: tuple[str, ...] = ()

    def __call__(self) -> tuple[str, ...]:
        """Return the values, longest first."""
        now = self._now()
        if self._read_at is None or now - self._read_at > FRESH_SECONDS:
            self._read_at = now
            # A cell may change the environment while it is read; then the next read gets it.
            with suppress(RuntimeError, KeyError):
                self._values = secret_values(dict(self._environment))
        return self._values

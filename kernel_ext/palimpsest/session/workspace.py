"""The sessions of one project, as one kernel sees them.

A session belongs to a notebook. Front ends name it by its path relative to the kernel's start
directory; kept is its path relative to the project. A kernel without a notebook (a console) has
one session of its own. Opening a session runs nothing:
what a dead kernel left running is closed as interrupted, and what waited in its inbox is
withdrawn, to be read in the transcript.
"""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from palimpsest import __version__
from palimpsest.session.api import LiveSession as LiveSessionProtocol
from palimpsest.session.followed import FollowedSession
from palimpsest.session.live import LiveSession
from palimpsest.session.notebooks import in_project
from palimpsest.session.services import Services
from palimpsest.session.titles import default_title
from palimpsest.store.journal import Journal
from palimpsest.store.jsonl import JsonlStore
from palimpsest.store.layout import Layout
from palimpsest.store.recovery import close_interrupted
from palimpsest.store.state import State
from palimpsest.store.store import Owner, SessionSummary, Store
from palimpsest.store.sweep import Sweep, Unneeded, survey
from palimpsest.store.sweep import delete as delete_blobs
from palimpsest.transcript.errors import NotFound, SessionHeld, UserError
from palimpsest.transcript.events import PromptDelivered, SessionCreated, SessionUpdated
from palimpsest.transcript.sessions import Session, SessionTime

Opened = TypeVar("Opened", bound=LiveSession | FollowedSession)


class Workspace:
    """Opens, creates, lists and closes sessions."""

    def __init__(
        self, services: Services, owner: Owner, *, project_id: str, warning: str | None = None
    ) -> None:
        self.project: Path = services.root
        self.warning = warning
        self._services = services
        self._store: Store = services.store
        self._owner = owner
        self._project_id = project_id
        self._open: dict[str, LiveSession | FollowedSession] = {}
        self._current: dict[str | None, str] = {}
        self._lock = asyncio.Lock()

    async def current(self, notebook: str | None) -> LiveSessionProtocol:
        """Return the notebook's session: the one used here last, its newest one, or a new one."""
        async with self._lock:
            name = self._name(notebook)
            return await self._found(name) or await self._created(name)

    async def known(self, notebook: str | None) -> LiveSessionProtocol | None:
        """Return the notebook's session if it has one; none is begun."""
        async with self._lock:
            return await self._found(self._name(notebook))

    async def new(self, notebook: str | None) -> LiveSessionProtocol:
        """Begin a new session for the notebook and make it current."""
        async with self._lock:
            return await self._created(self._name(notebook))

    async def open(self, session_id: str, notebook: str | None = None) -> LiveSessionProtocol:
        """Open a session by id or unambiguous beginning of one and make it current."""
        async with self._lock:
            return await self._opened(self._full_id(session_id), self._name(notebook))

    async def rename(self, before: str, after: str) -> None:
        """Let the sessions of a notebook go with it to its new name."""
        before, after = self._name(before) or before, self._name(after) or after
        async with self._lock:
            known = self._current.pop(before, None)
            if known is not None:
                self._current[after] = known
            for summary in self._store.list():
                if summary.notebook == before:
                    await self._renamed(summary.id, after)

    async def fork(self, session_id: str, message_id: str | None = None) -> LiveSessionProtocol:
        """Begin a new session with everything of another one before a message, or all of it."""
        async with self._lock:
            parent_id = self._full_id(session_id)
            state = await asyncio.to_thread(self._store.open_live, parent_id)
            parent = state.session
            if parent is None:
                raise NotFound(f"Session {session_id!r} has no readable beginning.")
            now = self._services.clock()
            session = parent.model_copy(
                update={
                    "id": self._services.ids.new("ses", descending=True),
                    "title": f"{parent.title} (fork)",
                    "time": SessionTime(created=now, updated=now),
                    "parent_id": None,
                }
            )
            seq = self._seq_before(parent_id, message_id) if message_id is not None else None
            await asyncio.to_thread(self._store.fork, parent_id, session, seq=seq)
            return await self._opened(session.id, parent.notebook)

    def sessions(self) -> Sequence[SessionSummary]:
        """List the sessions of the project, newest first."""
        return self._store.list()

    async def sweep(
        self, days: float, *, delete: bool = False
    ) -> tuple[Sweep, tuple[Unneeded, ...]]:
        """Look for long texts that no session has needed for so many days, and delete them if asked to."""
        store = self._store
        if not isinstance(store, JsonlStore):
            raise UserError(
                "This kernel keeps its sessions in memory only, so there is no storage to look after."
            )
        return await asyncio.to_thread(_swept, store.layout, days, delete=delete)

    async def close(self) -> None:
        """Close every open session."""
        async with self._lock:
            opened, self._open = list(self._open.values()), {}
            self._current.clear()
            await asyncio.gather(*(session.close() for session in opened))

    def _name(self, notebook: str | None) -> str | None:
        return in_project(notebook, self._services.cwd, self._services.root)

    # With the lock held

    async def _found(self, notebook: str | None) -> LiveSession | FollowedSession | None:
        known = self._current.get(notebook)
        if known is not None and known in self._open:
            return await self._opened(known, notebook)
        if notebook is not None:
            for summary in self._store.list():
                if summary.notebook == notebook and summary.parent_id is None:
                    return await self._opened(summary.id, notebook)
        return None

    async def _created(self, notebook: str | None) -> LiveSession:
        services = self._services
        now = services.clock()
        session = Session(
            id=services.ids.new("ses", descending=True),
            project_id=self._project_id,
            directory=str(services.cwd),
            notebook=notebook,
            title=default_title(now),
            version=__version__,
            time=SessionTime(created=now, updated=now),
        )
        writer = await asyncio.to_thread(self._store.acquire, session.id, self._owner, create=True)
        journal = Journal(writer, State(), clock=services.clock)
        journal.append(SessionCreated(session=session), sync=True)
        await journal.flush()  # another kernel that looks for the notebook's session finds it
        return self._use(LiveSession(services, journal, asyncio.get_running_loop()), notebook)

    async def _renamed(self, session_id: str, notebook: str) -> None:
        """Write a notebook's new name into a session, unless another kernel writes that session."""
        known = self._open.get(session_id)
        if known is not None:
            if isinstance(known, LiveSession):
                known.change(notebook=notebook)
                await known.journal.flush()  # what lists the sessions reads the log
            return
        try:
            writer = await asyncio.to_thread(self._store.acquire, session_id, self._owner)
        except SessionHeld:
            return
        state = await asyncio.to_thread(self._store.open_live, session_id)
        journal = Journal(writer, state, clock=self._services.clock)
        if state.session is not None:
            updated = state.session.model_copy(update={"notebook": notebook})
            journal.append(SessionUpdated(session=updated))
        await asyncio.to_thread(journal.close)

    async def _opened(self, session_id: str, notebook: str | None) -> LiveSession | FollowedSession:
        known = self._open.get(session_id)
        if known is not None and known.id != session_id:
            # Another kernel took it over; what this one wrote since goes on as a fork.
            self._open.pop(session_id)
            return self._use(known, notebook)
        if known is not None and not known.read_only:
            return self._use(known, notebook)
        loop = asyncio.get_running_loop()
        try:
            writer = await asyncio.to_thread(self._store.acquire, session_id, self._owner)
        except SessionHeld as held:
            if known is not None:
                return self._use(known, notebook)
            if not isinstance(self._store, JsonlStore):
                raise
            state = await asyncio.to_thread(self._store.open_live, session_id)
            followed = FollowedSession(self._store, session_id, state, str(held))
            return self._use(followed, notebook)
        if known is not None:
            await known.close()
        state = await asyncio.to_thread(self._store.open_live, session_id)
        journal = Journal(writer, state, clock=self._services.clock)
        left = close_interrupted(state, self._services.clock())
        left += [PromptDelivered(prompt_id=prompt_id) for prompt_id in state.inbox]
        if left:
            journal.append(*left, sync=True)
        return self._use(LiveSession(self._services, journal, loop), notebook)

    def _use(self, session: Opened, notebook: str | None) -> Opened:
        self._open[session.id] = session
        self._current[notebook] = session.id
        return session

    def _full_id(self, session_id: str) -> str:
        found = [s.id for s in self._store.list() if s.id.startswith(session_id)]
        if session_id in found:
            return session_id
        if len(found) == 1:
            return found[0]
        if not found:
            raise NotFound(f"There is no session {session_id!r} here. %agent sessions lists them.")
        raise NotFound(
            f"{session_id!r} is the beginning of {len(found)} sessions. Give more of it."
        )

    def _seq_before(self, session_id: str, message_id: str) -> int:
        """Return the seq of the record just before a message first appeared."""
        before = 0
        for record in self._store.read(session_id):
            if getattr(getattr(record.event, "info", None), "id", None) == message_id:
                return before
            before = record.seq
        raise NotFound(f"There is no message {message_id!r} in session {session_id!r}.")


def _swept(layout: Layout, days: float, *, delete: bool) -> tuple[Sweep, tuple[Unneeded, ...]]:
    found = survey(layout, time.time(), days)
    return found, delete_blobs(layout, found.due) if delete else ()

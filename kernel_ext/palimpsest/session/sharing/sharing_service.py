"""Share, export and import the sessions of a project.

Border: for one kernel's workspace; every operation may be slow and runs off the engine's loop.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.processor.session_log import SessionLog
from palimpsest.render.formats.notebook import Prompts
from palimpsest.session.interfaces.services import Services
from palimpsest.session.interfaces.sharing_operations import Exported, Form
from palimpsest.session.sharing.exports import export_session
from palimpsest.session.sharing.import_place import ImportPlace
from palimpsest.session.sharing.share_page import (
    DISABLED_SENTENCE,
    make_page,
    remove_page,
    share_folder,
)
from palimpsest.store.log.journal import Journal
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.session_record.events import Record, SessionStatus, SessionUpdated
from palimpsest.transcript.session_record.sessions import SessionInfo

SHARING_OPTED_OUT: dict[str, Any] = {"taken_back": True}
"""The share record of a session that the user unshared, so that it is not shared automatically again."""

LOG = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class SharingService:
    """Shares, exports and imports sessions."""

    _services: Services
    _flushed_id: Callable[[str], Awaitable[str]]
    """Writes the pending records of a session and returns its whole id."""
    _set_share_record: Callable[[str, dict[str, Any] | None], Awaitable[None]]
    """Sets a session's share record."""

    async def share(self, session_id: str) -> Path:
        """Write the page of a session, or write it again; returns its path.

        Raises UserError where sharing is disabled, or sessions are in memory only.
        """
        services = self._services
        if services.sessions.share == "disabled":
            raise UserError(DISABLED_SENTENCE)
        folder = share_folder(services.store)
        full_id = await self._flushed_id(session_id)
        session = await asyncio.to_thread(self._read_session, full_id)
        record = await asyncio.to_thread(
            make_page, services.store, session, services.environment, services.sessions.density
        )
        if record != session.share:
            try:
                await self._set_share_record(full_id, record)
            except UserError:
                remove_page(services.store, session.model_copy(update={"share": record}))
                raise
        return folder / f"{record['secret']}.html"

    async def unshare(self, session_id: str) -> bool:
        """Delete a session's page; returns False when there was none."""
        services = self._services
        full_id = await self._flushed_id(session_id)
        session = await asyncio.to_thread(self._read_session, full_id)
        # Delete the page before its record, and again afterwards, since another kernel may write it meanwhile.
        was_removed = await asyncio.to_thread(remove_page, services.store, session)
        record = SHARING_OPTED_OUT if services.sessions.share == "auto" else None
        if session.share != record:
            await self._set_share_record(full_id, record)
        return await asyncio.to_thread(self._remove_all, session) or was_removed

    def _remove_all(self, session: SessionInfo) -> bool:
        """Delete every page that the session's log names; returns False when there was none."""
        store = self._services.store
        records = store.read(session.id, only=("session.updated",))
        events = [record.event for record in records]
        session_infos = [event.session for event in events if isinstance(event, SessionUpdated)]
        shared_infos = [
            info for info in session_infos if info.id == session.id and info.share is not None
        ]
        return sum(remove_page(store, info) for info in shared_infos) > 0

    async def export(
        self,
        session_id: str,
        form: Form | None = None,
        path: str | Path | None = None,
        *,
        prompts: Prompts = "markdown",
        stays_inside: bool = False,
    ) -> Exported:
        """Write a session to a new file in another format.

        ``stays_inside`` confines it to the project, for requests that do not come from the user at this computer.
        """
        services = self._services
        full_id = await self._flushed_id(session_id)
        return await asyncio.to_thread(
            export_session,
            services.store,
            full_id,
            form,
            path,
            cwd=services.cwd,
            environment=services.environment,
            outer_folder=services.root if stays_inside else None,
            prompts=prompts,
            density=services.sessions.density,
        )

    @property
    def imports(self) -> ImportPlace:
        """The project as the target of an import."""
        services = self._services
        reader = services.sessions.import_sessions
        return ImportPlace(services.store, services.root, services.cwd, services.clock, reader)

    def _read_session(self, session_id: str) -> SessionInfo:
        session = self._services.store.open_live(session_id).session
        if session is None:
            raise NotFound(f"Session {session_id!r} has no readable beginning.")
        return session


@dataclass(eq=False, repr=False)
class AutoShare:
    """Writes a session's page again whenever a turn ends; a failure affects nothing else.

    Only where the configuration says ``auto``, and never for child sessions.
    """

    _services: Services
    _journal: Journal
    _log: SessionLog
    _loop: asyncio.AbstractEventLoop
    _is_outdated: bool = False
    _task: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        if self._services.sessions.share == "auto":
            self._journal.subscribe(self._on_records)

    async def wait_until_shared(self) -> None:
        """Wait until the page contains the newest turn."""
        if self._services.sessions.share == "auto":
            # ``_on_records`` has seen the end of the turn when this returns.
            await self._journal.flush()
        if self._task is not None:
            await self._task

    def refresh(self) -> None:
        """Write the page again where pages are automatic, as after a turn summary."""
        if self._services.sessions.share == "auto":
            self._start_writing()

    def _on_records(self, records: Sequence[Record]) -> None:
        """Write the page again after the end of a turn; called on the writer thread."""
        has_ended = any(
            isinstance(record.event, SessionStatus) and record.event.status.type == "idle"
            for record in records
        )
        if has_ended and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._start_writing)

    def _start_writing(self) -> None:
        self._is_outdated = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write_until_current())

    async def _write_until_current(self) -> None:
        while self._is_outdated:
            self._is_outdated = False
            try:
                await self._write_page()
            except Exception:
                LOG.warning("The shared page of this session could not be made.", exc_info=True)

    async def _write_page(self) -> None:
        session = self._log.state.session
        if session is None or session.parent_id is not None or session.share == SHARING_OPTED_OUT:
            return
        services = self._services
        await self._journal.flush()  # the page is made from the log
        record = await asyncio.to_thread(
            make_page, services.store, session, services.environment, services.sessions.density
        )
        current_session = self._log.state.session
        if current_session is not None and current_session.share == SHARING_OPTED_OUT:
            remove_page(services.store, session.model_copy(update={"share": record}))
        elif current_session is not None and current_session.share != record:
            changed_session = current_session.model_copy(update={"share": record})
            self._log.append(SessionUpdated(session=changed_session))

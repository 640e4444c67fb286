"""Handle the page commands that share, export and import sessions.

Border: does the work of these commands on the engine and publishes the results;
``frontends/page_channel/channel.py`` receives the commands. A page names files inside the project only.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.page_channel.channel_context import ChannelContext
from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.frontends.protocol.outcome import OutcomeNotice
from palimpsest.frontends.protocol.sharing import (
    Export,
    ExportedFile,
    Import,
    ImportProgressNotice,
    Share,
    StopImport,
    Unshare,
)

PROGRESS_SECONDS = 0.2
"""Between two notices of an import: often enough for a bar that moves."""
MOST_SENT = 1_500_000
"""Largest shared page in bytes that is sent to the browser; a server passes so much in one message."""


class SharingChannel:
    """Handles the commands that share, export and import."""

    def __init__(self, services: FrontendServices, channel: ChannelContext) -> None:
        self._services = services
        self._channel = channel
        self.work: dict[type[CommandBase], Callable[[Any], Coroutine[Any, Any, None]]] = {
            Share: self._share,
            Unshare: self._unshare,
            Export: self._export,
            Import: self._import,
            StopImport: self._stop_import,
        }
        self._imports: dict[str, threading.Event] = {}
        """The imports that run, by the ids of their commands; a set event stops one."""

    async def _share(self, command: Share) -> None:
        path = await self._services.workspace.sharing.share(await self._named(command.session))
        content = await asyncio.to_thread(path.read_text, encoding="utf-8")
        self._told(command.id, path, len(content.encode()), content)

    async def _unshare(self, command: Unshare) -> None:
        sharing = self._services.workspace.sharing
        removed = await sharing.unshare(await self._named(command.session))
        self._channel.publish(OutcomeNotice(id=command.id, late=not removed))

    async def _export(self, command: Export) -> None:
        sharing = self._services.workspace.sharing
        named = await self._named(command.session)
        made = await sharing.export(named, command.form, command.path, inside=True)
        self._told(command.id, made.path, made.bytes)

    async def _import(self, command: Import) -> None:
        stopped = self._imports[command.id] = threading.Event()
        try:
            report = await self._services.workspace.sharing.import_sessions(
                command.path,
                inside=True,
                progress=self._progress(command.id),
                stopped=stopped.is_set,
            )
        finally:
            del self._imports[command.id]
        self._channel.publish(
            OutcomeNotice(id=command.id, imported=report.sessions, unreadable=report.problems)
        )

    def _progress(self, identifier: str) -> Callable[[int, int], None]:
        """Return what tells the pages how far an import is, a few times a second; called on its thread."""
        self._channel.publish(ImportProgressNotice(id=identifier, bytes=0, total=0))
        told = time.monotonic()

        def progress(done: int, total: int) -> None:
            nonlocal told
            now = time.monotonic()
            if now - told >= PROGRESS_SECONDS:
                told = now
                self._channel.publish(ImportProgressNotice(id=identifier, bytes=done, total=total))

        return progress

    async def _stop_import(self, command: StopImport) -> None:
        stopped = self._imports.get(command.import_id)
        if stopped is not None:
            stopped.set()
        self._channel.publish(OutcomeNotice(id=command.id, late=stopped is None))

    async def _named(self, identifier: str | None) -> str:
        """Return the id of the session that is meant, without opening one that is named."""
        return identifier or (await self._channel.session(None)).id

    def _told(self, identifier: str, path: Path, size: int, content: str | None = None) -> None:
        root = self._services.workspace.project
        inside = root in path.parents
        shown = path.relative_to(root).as_posix() if inside else str(path)
        file = ExportedFile(
            path=str(path), shown=shown, bytes=size, content=content if size <= MOST_SENT else None
        )
        self._channel.publish(OutcomeNotice(id=identifier, file=file))

"""Handle the page commands that match ``%agent config``, ``storage`` and ``context``.

Border: does the work on the engine and publishes the results; ``frontends/page_channel/channel.py``
receives the commands.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.page_channel.channel_context import ChannelContext
from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.frontends.protocol.context import ShowContext
from palimpsest.frontends.protocol.outcome import OutcomeNotice
from palimpsest.frontends.protocol.project import (
    ListSettings,
    SettingRow,
    ShowStorage,
    StorageReport,
    StorageRow,
)
from palimpsest.frontends.subcommands.context import ContextCommands
from palimpsest.session.config.settings import RetentionSettings
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.open_sessions.storage_cleanup import prune_storage, weigh_storage
from palimpsest.session.prompts.hidden_variables import left_out
from palimpsest.session.records.retention import SessionTree, session_trees
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.visible_text import visible

MEASURED = ("total", "logs", "blobs", "snapshots", "share", "other")
NO_SESSION = "This notebook has no session yet. Ask the agent, then look again."


class ProjectChannel:
    """Handles the commands about settings, storage and the context window."""

    def __init__(self, services: FrontendServices, channel: ChannelContext) -> None:
        self._services = services
        self._channel = channel
        self.work: dict[type[CommandBase], Callable[[Any], Coroutine[Any, Any, None]]] = {
            ListSettings: self._settings,
            ShowStorage: self._storage,
            ShowContext: self._context,
        }

    async def _settings(self, command: ListSettings) -> None:
        config = getattr(self._services, "config", None)
        rows = config.rows() if config is not None else ()
        remarks = config.remarks() if config is not None else ()
        self._channel.publish(
            OutcomeNotice(
                id=command.id,
                settings=tuple(
                    SettingRow(key=key, value=value, origin=origin) for key, value, origin in rows
                ),
                remarks=tuple(f"{title}: {one}" for title, told in remarks for one in told),
            )
        )

    async def _storage(self, command: ShowStorage) -> None:
        config = getattr(self._services, "config", None)
        kept = config.value.retention if config is not None else RetentionSettings()
        workspace = self._services.workspace
        pruned = await prune_storage(
            workspace,
            kept,
            days=command.days,
            max_size=command.max_size,
            delete=command.delete,
            locked_settings=getattr(self._services, "locked_settings", None),
        )
        for family in pruned.sessions_gone or ():
            for one in family.ids:
                self._channel.forget(one)
        found = await weigh_storage(workspace, kept)
        report = StorageReport(
            **{name: getattr(found.sizes, name) for name in MEASURED},
            sessions=_rows(session_trees(found.sessions, found.sizes)),
            due=_rows(pruned.plan.due),
            spared=_rows(pruned.plan.spared),
            unneeded=sum(one.bytes for one in pruned.unneeded.due),
            gone=_rows(pruned.sessions_gone) if pruned.sessions_gone is not None else None,
        )
        self._channel.publish(OutcomeNotice(id=command.id, storage=report))

    async def _context(self, command: ShowContext) -> None:
        session = await self._looked_at(command.session)
        clean = scrubber(os.environ)
        ledger = await asyncio.to_thread(
            lambda: ContextCommands(self._services).window(session, clean, left_out(self._services))
        )
        drawn = {
            "text/html": ledger.html,
            "text/markdown": ledger.markdown,
            "text/plain": visible(ledger.text),
        }
        self._channel.publish(OutcomeNotice(id=command.id, bundle=drawn))

    async def _looked_at(self, identifier: str | None) -> KernelSession:
        """Return a session to report on; raises NotFound rather than begin one."""
        if identifier is not None:
            return await self._channel.session(identifier)
        known = await self._services.workspace.known(self._channel.notebook())
        if known is None:
            raise NotFound(NO_SESSION)
        return known


def _rows(found: Sequence[SessionTree]) -> tuple[StorageRow, ...]:
    return tuple(
        StorageRow(
            id=one.summary.id,
            title=one.summary.title,
            bytes=one.bytes,
            updated=one.updated,
            with_children=len(one.ids),
            why=one.stays or None,
        )
        for one in found
    )

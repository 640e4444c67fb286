"""Handle the page commands about stored sessions: list, search, rename, archive, delete, fork, compare branches.

Border: does the work of these commands on the engine and publishes the results;
``frontends/page_channel/channel.py`` receives the commands.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.page_channel.channel_context import ChannelContext
from palimpsest.frontends.page_channel.notices import head_of
from palimpsest.frontends.protocol.branches import ListBranches
from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.frontends.protocol.outcome import OutcomeNotice
from palimpsest.frontends.protocol.sessions import (
    Archive,
    Delete,
    Fork,
    ListChildren,
    ListSessions,
    Retitle,
)
from palimpsest.session.records.session_search import Query
from palimpsest.store.interface import SessionSummary
from palimpsest.transcript.session_record.events import Record

if TYPE_CHECKING:
    from palimpsest.review.recordings.branch_comparison import BranchComparison


class SessionsChannel:
    """Handles the commands about stored sessions."""

    def __init__(self, services: FrontendServices, channel: ChannelContext) -> None:
        self._services = services
        self._channel = channel
        self.work: dict[type[CommandBase], Callable[[Any], Coroutine[Any, Any, None]]] = {
            ListSessions: self._list,
            ListChildren: self._children,
            Retitle: self._retitle,
            Archive: self._archive,
            Delete: self._delete,
            Fork: self._fork,
            ListBranches: self._branches,
        }

    async def _list(self, command: ListSessions) -> None:
        query = Query(
            command.words,
            archived=command.archived,
            limit=command.limit or MOST_ROWS,
            cursor=command.cursor,
        )
        found = await self._services.workspace.page(query)
        self._channel.publish(
            OutcomeNotice(
                id=command.id,
                sessions=tuple(found.sessions),
                total=found.total,
                cursor=found.cursor,
            )
        )

    async def _children(self, command: ListChildren) -> None:
        found = await self._services.workspace.children(command.session)
        rows = tuple(found)
        self._channel.publish(OutcomeNotice(id=command.id, sessions=rows, total=len(rows)))

    async def _retitle(self, command: Retitle) -> None:
        await self._services.workspace.retitle(command.session, command.title)
        self._channel.publish(OutcomeNotice(id=command.id))

    async def _archive(self, command: Archive) -> None:
        workspace = self._services.workspace
        await workspace.archive(command.session, archived=command.archived)
        self._channel.publish(OutcomeNotice(id=command.id))

    async def _delete(self, command: Delete) -> None:
        for one in await self._services.workspace.delete(command.session):
            self._channel.forget(one)
        self._channel.publish(OutcomeNotice(id=command.id))

    async def _fork(self, command: Fork) -> None:
        session = await self._services.workspace.fork(
            command.session, command.message, notebook=self._channel.notebook()
        )
        self._channel.adopt(session)
        self._channel.publish(OutcomeNotice(id=command.id, session=head_of(session)))

    async def _branches(self, command: ListBranches) -> None:
        workspace, submit = self._services.workspace, self._services.engine.submit
        found = await asyncio.to_thread(
            _compared,
            workspace.sessions(),
            lambda one: submit(workspace.records(one)).result(),
            command.session,
        )
        self._channel.publish(OutcomeNotice(id=command.id, branches=found))


MOST_ROWS = 100
"""Sessions in one answer; a page asks for more when a person scrolls down."""


def _compared(
    sessions: Sequence[SessionSummary], read: Callable[[str], Iterable[Record]], session: str
) -> "BranchComparison":
    """Compare branches on a thread, which imports the comparison with the first of them."""
    from palimpsest.review.recordings.branch_comparison import compare_branches

    return compare_branches(sessions, read, session)

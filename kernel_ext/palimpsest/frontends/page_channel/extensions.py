"""Handle the page command that lists hooks and MCP servers and may reconnect the servers.

Border: does the work on the engine and publishes the result; ``frontends/page_channel/channel.py``
receives the command.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.page_channel.channel_context import ChannelContext
from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.frontends.protocol.outcome import OutcomeNotice
from palimpsest.frontends.protocol.project import ListExtensions


class ExtensionsChannel:
    """Handles the command that lists hooks and servers."""

    def __init__(self, services: FrontendServices, channel: ChannelContext) -> None:
        self._services = services
        self._channel = channel
        self.work: dict[type[CommandBase], Callable[[Any], Coroutine[Any, Any, None]]] = {
            ListExtensions: self._list
        }

    async def _list(self, command: ListExtensions) -> None:
        book = getattr(self._services, "hooks", None)
        servers = getattr(self._services, "servers", None)
        if book is not None:
            await book.load()
        if servers and command.connect:
            await servers.restart()
        self._channel.publish(
            OutcomeNotice(
                id=command.id,
                remarks=tuple(book.problems) if book is not None else (),
                hooks=book.status() if book is not None else (),
                servers=servers.status() if servers else (),
            )
        )

"""Handle the page commands of a prompt that is being typed: what it may name, and what would go along.

Border: does the work on the engine and publishes the result; ``frontends/page_channel/channel.py`` receives the
commands. No cell is waited for, and nothing is written.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from palimpsest.frontends.page_channel.channel_context import ChannelContext
from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.frontends.protocol.mentions import ListMentions, PreviewMentions
from palimpsest.frontends.protocol.outcome import OutcomeNotice


class MentionsChannel:
    """Handles the commands of a prompt that is being typed."""

    def __init__(self, channel: ChannelContext) -> None:
        self._channel = channel
        self.work: dict[type[CommandBase], Callable[[Any], Coroutine[Any, Any, None]]] = {
            ListMentions: self._list,
            PreviewMentions: self._preview,
        }

    async def _list(self, command: ListMentions) -> None:
        session = await self._channel.session(command.session)
        found = await session.mentions.offered(command.query, command.agent)
        self._channel.publish(OutcomeNotice(id=command.id, mentions=found))

    async def _preview(self, command: PreviewMentions) -> None:
        session = await self._channel.session(command.session)
        found = await session.mentions.previews(command.text, command.agent)
        self._channel.publish(OutcomeNotice(id=command.id, previews=found))

"""Handle the page command that asks an inspector's question about a session or a recorded file.

Border: finds the session that is meant and publishes the answer; ``frontends/inspector`` answers in worker
threads, and ``frontends/page_channel/channel.py`` receives the command. Nothing is opened for writing.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.page_channel.channel_context import ChannelContext
from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.frontends.protocol.inspector import Inspect
from palimpsest.frontends.protocol.outcome import OutcomeNotice
from palimpsest.transcript.errors import NotFound

NOTHING_TO_INSPECT = "This notebook has no session yet. Ask the agent, then inspect it."


class InspectorChannel:
    """Handles the questions of inspectors."""

    def __init__(self, services: FrontendServices, channel: ChannelContext) -> None:
        self._services = services
        self._channel = channel
        self.work: dict[type[CommandBase], Callable[[Any], Coroutine[Any, Any, None]]] = {
            Inspect: self._inspect,
        }

    async def _inspect(self, command: Inspect) -> None:
        inspections = self._services.inspections
        if command.path is not None:
            answer = await inspections.answer_recording(
                command.path, command.session or "", command.query, command.client
            )
        else:
            session = command.session or await self._of_notebook()
            answer = await inspections.answer_session(session, command.query, command.client)
        self._channel.publish(OutcomeNotice(id=command.id, inspection=answer))

    async def _of_notebook(self) -> str:
        known = await self._services.workspace.known(self._channel.notebook())
        if known is None:
            raise NotFound(NOTHING_TO_INSPECT)
        return known.id

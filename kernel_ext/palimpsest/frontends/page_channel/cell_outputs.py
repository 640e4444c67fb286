"""Build the outputs that a page writes into the notebook: a closed segment, or a turn's outputs.

Border: runs these commands in a worker thread and publishes their results;
``frontends/page_channel/channel.py`` receives the commands, and the page writes.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any

from palimpsest.frontends.page_channel.channel_context import ChannelContext
from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.frontends.protocol.outcome import OutcomeNotice
from palimpsest.frontends.protocol.segments import CloseSegment, RecreateOutputs
from palimpsest.frontends.turn_output.closed_segment import closed_bundle
from palimpsest.frontends.turn_output.restored_outputs import Output, turn_outputs
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.transcript.redaction.secret_removal import scrubber


class SegmentsChannel:
    """Handles the commands that build the outputs saved in a cell."""

    def __init__(self, channel: ChannelContext) -> None:
        self._channel = channel
        self.work: dict[type[CommandBase], Callable[[Any], Coroutine[Any, Any, None]]] = {
            CloseSegment: self._close,
            RecreateOutputs: self._put_back,
        }

    async def _close(self, command: CloseSegment) -> None:
        session = await self._channel.session(command.session)
        hide = scrubber(os.environ)

        def close() -> dict[str, Any]:
            notes = OutlineNotes.of(session.records_after(max(command.first_seq - 1, 0)))
            return closed_bundle(command, session.snapshot(), notes, hide)

        made = await asyncio.to_thread(close)
        self._channel.publish(OutcomeNotice(id=command.id, bundle=made))

    async def _put_back(self, command: RecreateOutputs) -> None:
        session = await self._channel.session(command.session)
        hide = scrubber(os.environ)

        def make() -> tuple[Output, ...]:
            return turn_outputs(
                session.id,
                command.turn,
                session.snapshot(),
                session.records_after(0),
                scrub=hide,
                picture=session.picture,
            )

        made = await asyncio.to_thread(make)
        self._channel.publish(OutcomeNotice(id=command.id, outputs=made))

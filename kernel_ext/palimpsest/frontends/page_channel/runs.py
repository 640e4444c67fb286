"""Handle the page commands that await a turn, compact a session or choose its context policy.

Border: does the work of these commands on the engine; ``frontends/page_channel/channel.py`` receives
the commands, finds the session and awaits turns that belong to no cell.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.frontends.protocol.context import Compact, UsePolicy
from palimpsest.frontends.protocol.outcome import OutcomeNotice
from palimpsest.frontends.protocol.prompts import Join
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.messages import Origin

Find = Callable[[str | None], Awaitable[KernelSession]]
Turn = Callable[[CommandBase, KernelSession, Coroutine[Any, Any, Answer]], Awaitable[None]]


class RunsChannel:
    """Handles the commands about turns that are not prompts."""

    def __init__(
        self,
        find: Find,
        turn: Turn,
        publish: Callable[[OutcomeNotice], None],
        notebook: Callable[[], str | None],
    ) -> None:
        self._find = find
        self._turn = turn
        self._publish = publish
        self._notebook = notebook
        self.work: dict[type[CommandBase], Callable[[Any], Coroutine[Any, Any, None]]] = {
            Compact: self._compact,
            Join: self._join,
            UsePolicy: self._use_policy,
        }

    async def _compact(self, command: Compact) -> None:
        session = await self._find(command.session)
        origin = Origin(kind="panel", notebook=self._notebook())
        summary = session.compact(command.focus, origin, model=command.model, auto=command.auto)
        await self._turn(command, session, summary)

    async def _join(self, command: Join) -> None:
        session = await self._find(command.session)
        await self._turn(command, session, session.loop())

    async def _use_policy(self, command: UsePolicy) -> None:
        session = await self._find(command.session)
        changed = session.step_mode.session_of(command.hold) if command.hold else session
        await changed.use_policy(*command.words)
        self._publish(OutcomeNotice(id=command.id))

"""The front end of one kernel: prompts of cells, subcommands and the channel to the page.

Border: the part of the front end that needs the application. It is built in the background after
``%load_ext`` (its imports take a second), and the magics get it when they are first used.
"""

import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from IPython.core.error import UsageError

from palimpsest.frontends.cell_turn.agent_answer import AgentAnswer
from palimpsest.frontends.cell_turn.background_prompts import (
    Background,
    await_background_prompt,
    send_background_prompt,
)
from palimpsest.frontends.cell_turn.services import CellPlace, FrontendServices
from palimpsest.frontends.cell_turn.turn import CellTurn
from palimpsest.frontends.kernel.main_thread import MainThread
from palimpsest.frontends.kernel.variables import list_variables
from palimpsest.frontends.magic.line_parser import MagicLine
from palimpsest.frontends.page_channel.channel import Channel
from palimpsest.frontends.subcommands.dispatch import Subcommands
from palimpsest.frontends.subcommands.parts import part_rows
from palimpsest.frontends.subcommands.permissions import waiting_words
from palimpsest.session.prompts.notebook_mentions import missing_error
from palimpsest.session.records.part_lookup import LAST, SUMMARY
from palimpsest.tools.tool import NotebookReader, ShownVariables

NESTED = (
    "The agent's own Python cannot ask the agent: its turn waits for this code to end. Return what is needed "
    "and let it go on."
)


MOST_CELLS = 12
MOST_NAMES = 200
"""Cells and variables that a completion offers."""


class Frontend:
    """One kernel's front end.

    Responsibilities: run prompts of cells and subcommands; refuse an agent inside the agent.
    """

    def __init__(
        self,
        services: FrontendServices,
        main_thread: MainThread,
        *,
        shell: Any,
        cells_running: Callable[[], int] = lambda: 0,
    ) -> None:
        self.services = services
        self.main_thread = main_thread
        self.shell = shell
        self.channel = Channel(services, main_thread, shell)
        main_thread.cells_running = cells_running
        services.engine.serve_main_thread = main_thread.serve_until
        self._commands = Subcommands(services, self.channel)
        self._warned = False

    def ask(self, request: MagicLine, place: CellPlace) -> AgentAnswer | Background | None:
        """Run a line of the magic, blocking; a prompt for the background returns its handle."""
        if _apart(request) or request.command == "wait":
            self._refuse_nested()
            self._warn()
            given = self.services, self.main_thread, self.channel
            return (
                send_background_prompt(*given, request, place)
                if _apart(request)
                else await_background_prompt(*given, place)
            )
        if request.command in {"compact", "retry"}:
            self._turn(request, place).run()
            return None
        if request.command is not None:
            self._command(request, place)
            return None
        return self._turn(request, place).run()

    def ask_awaiting(
        self, request: MagicLine, place: CellPlace
    ) -> "Coroutine[Any, Any, AgentAnswer | Background | None]":
        """Run a prompt, awaited by its cell."""
        if _apart(request):
            return _there(self.ask(request, place))
        return self._turn(request, place).run_awaiting()

    def _refuse_nested(self) -> None:
        if self.main_thread.current is not None:
            raise UsageError(NESTED)

    def _refuse_without_error(self, request: MagicLine) -> None:
        """Raise UsageError for a prompt about an error where no cell failed, before anything is sent."""
        runs: NotebookReader | None = getattr(self.services, "notebook_runs", None)
        problem = missing_error(request.prompt, runs.runs().runs if runs is not None else ())
        if problem is not None:
            raise UsageError(problem)

    def _turn(self, request: MagicLine, place: CellPlace) -> CellTurn:
        self._refuse_nested()
        self._refuse_without_error(request)
        self._warn()
        return CellTurn(self.services, self.main_thread, request, place, self.channel)

    def _warn(self) -> None:
        """Print once what is wrong with the folder of the sessions and with the settings."""
        if self._warned:
            return
        self._warned = True
        config = getattr(self.services, "config", None)
        problems = getattr(config, "problems", ())
        waits = waiting_words(getattr(config, "held", ()))
        workspace = self.services.workspace
        for sentence in (workspace.warning, workspace.notice, *problems, waits):
            if sentence:
                sys.stderr.write(f"{sentence}\n")

    def _command(self, request: MagicLine, place: CellPlace) -> None:
        text = self._commands.run(request, place)
        self.main_thread.shell.display_pub.publish(text.bundle)

    def known(self, field: str) -> Sequence[str]:
        """Return values of an option for completion, without any request."""
        known = getattr(self.services, "known", None)
        if field == "session":
            return [one.id for one in self.services.workspace.sessions()]
        if field == "part":
            session = self.channel.current
            if session is None:
                return ()
            found = part_rows(session.snapshot().messages, session.decisions())
            return [LAST, SUMMARY, *(name for name, _, _ in found)]
        values: list[str] = list(known(field)) if callable(known) else []
        return [*values, *self._mentions()] if field == "mention" else values

    def _mentions(self) -> list[str]:
        """Return what a prompt can name of the notebook behind an at sign, the newest cells first."""
        runs: NotebookReader | None = getattr(self.services, "notebook_runs", None)
        recorded = [
            one
            for one in reversed(runs.runs().runs if runs is not None else ())
            if one.number is not None and not one.by_agent and not one.hidden
        ][:MOST_CELLS]
        names = [one.name for one in list_variables(self.shell, ShownVariables("names"))]
        errors = ["error"] if any(one.status == "error" for one in recorded) else []
        cells = [f"{kind} {one.number}" for kind in ("cell", "out") for one in recorded]
        return [*errors, *names[:MOST_NAMES], *cells]

    def close(self) -> None:
        """Close the channel, the socket for interrupts and the application."""
        self.channel.close()
        self.main_thread.interrupts.close()
        close = getattr(self.services, "close", None)
        if callable(close):
            close()


def _apart(request: MagicLine) -> bool:
    """Tell whether no cell waits for the answer."""
    return request.options.bg or request.options.steer


async def _there(value: AgentAnswer | Background | None) -> AgentAnswer | Background | None:
    return value

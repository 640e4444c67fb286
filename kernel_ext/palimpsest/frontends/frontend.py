"""The front end of one kernel: prompts of cells, subcommands and the channel to the page.

Border: the part of the front end that needs the application. It is built in the background after
``%load_ext`` (its imports take a second), and the magics get it when they are first used.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from palimpsest.frontends import terminal
from palimpsest.frontends.cell_turn.agent_answer import AgentAnswer
from palimpsest.frontends.cell_turn.background_prompts import (
    Background,
    answered_before,
    await_background_prompt,
    send_background_prompt,
)
from palimpsest.frontends.cell_turn.cell_batches import CellBatches
from palimpsest.frontends.cell_turn.magic_line import MagicLine, MagicOptions
from palimpsest.frontends.cell_turn.recorded_prompts import RecordedPrompts, Sending
from palimpsest.frontends.cell_turn.replayed_turn import ReplayedTurn
from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.cell_turn.turn import CellTurn
from palimpsest.frontends.kernel.main_thread import MainThread, blocking
from palimpsest.frontends.kernel.variables import list_variables
from palimpsest.frontends.operation_text.command_output import shown
from palimpsest.frontends.operation_text.control_text import waiting_text
from palimpsest.frontends.operations.argument_completion import known_values
from palimpsest.frontends.operations.operation import Desk, Operation
from palimpsest.frontends.operations.turns import Compact, Join, Retry
from palimpsest.frontends.page_channel.channel import Channel
from palimpsest.frontends.usage_errors import usage_error
from palimpsest.session.prompts.notebook_mentions import missing_error
from palimpsest.session.replay.recorded_turns import compaction_prompt
from palimpsest.tools.tool import ShownVariables
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Origin

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
        batches: CellBatches | None = None,
    ) -> None:
        self.services = services
        self.main_thread = main_thread
        self.shell = shell
        self.channel = Channel(services, main_thread, shell)
        self.batches = batches or CellBatches()
        self.channel.announced = self.batches.announce
        self._parts = self.channel.parts
        self._recorded = RecordedPrompts(self._parts, self.batches)
        main_thread.cells_running = cells_running
        services.engine.serve_main_thread = main_thread.serve_until
        self._warned = False

    def ask(self, request: MagicLine | Operation, place: Origin) -> AgentAnswer | Background | None:
        """Run a line of the magic, blocking; a prompt for the background returns its handle."""
        match request:
            case Join():
                self._begin(MagicLine(request=request))
                return await_background_prompt(self._parts, place)
            case Retry():
                line = MagicLine(request=request)
                self._begin(line)
                self._recorded.refuse_sending(place)
                blocking(CellTurn(self._parts, line, place).run(awaits=False))
                return None
            case Compact():
                text = compaction_prompt(request.focus)
                request = MagicLine(MagicOptions(model=request.model), text, request)
            case Operation():
                self._operate(request, place)
                return None
            case _:
                pass
        found = self._look(request, place)
        if not _apart(request):
            answer = blocking(self._answered(request, found, place, awaits=False))
            return answer if request.request is None else None
        if isinstance(found, ReplayedTurn):
            return answered_before(self._parts, blocking(found.run(awaits=False)), place)
        handle = send_background_prompt(self._parts, request, place)
        self._recorded.sent(handle.session)
        return handle

    def ask_awaiting(
        self, request: MagicLine, place: Origin
    ) -> "Coroutine[Any, Any, AgentAnswer | Background | None]":
        """Run a prompt, awaited by its cell."""
        if _apart(request):
            return _there(self.ask(request, place))
        return self._answered(request, self._look(request, place), place, awaits=True)

    async def _answered(
        self, request: MagicLine, found: ReplayedTurn | Sending, place: Origin, *, awaits: bool
    ) -> AgentAnswer:
        """Show the recorded answer, or the one of the model, and return it."""
        if isinstance(found, ReplayedTurn):
            return await found.run(awaits=awaits)
        turn = CellTurn(self._parts, request, place)
        try:
            answer = await turn.run(awaits=awaits)
        finally:
            if turn.session_id:
                self._recorded.sent(turn.session_id)
        self._recorded.offer_revert(found)
        return answer

    def _look(self, request: MagicLine, place: Origin) -> ReplayedTurn | Sending:
        """Return the prompt's recorded answer, or that it is sent; raises UsageError where it may not be."""
        self._begin(request)
        return self._recorded.look(request, place)

    def _begin(self, request: MagicLine) -> None:
        if self.main_thread.current is not None:
            raise usage_error(NESTED)
        self._refuse_without_error(request)
        self._warn()

    def _refuse_without_error(self, request: MagicLine) -> None:
        """Raise UsageError for a prompt about an error where no cell failed, before anything is sent."""
        runs = self.services.notebook_runs
        problem = missing_error(request.prompt, runs.runs().runs if runs is not None else ())
        if problem is not None:
            raise usage_error(problem)

    def _warn(self) -> None:
        """Print once what is wrong with the folder of the sessions and with the settings."""
        if self._warned:
            return
        self._warned = True
        config, workspace = self.services.config, self.services.workspace
        waits = waiting_text(config.held)
        for sentence in (workspace.warning, workspace.notice, *config.problems, waits):
            if sentence:
                terminal.write_error(sentence)

    def _operate(self, operation: Operation, place: Origin) -> None:
        """Run an operation and show its answer; raises UsageError with one sentence."""
        find = partial(self.services.workspace.meant, notebook=place.notebook)
        desk = Desk(
            self.services,
            find,
            place.notebook,
            in_cell=True,
            adopt=self.channel.adopt,
            forget=self.channel.forget,
        )
        running = self.services.engine.submit(operation.run(desk))
        try:
            answer = running.result()
        except UserError as error:
            raise usage_error(error) from None
        except KeyboardInterrupt:
            if operation.ends_with_cell:
                running.cancel()
            raise
        text = shown(operation.output(answer))
        self.main_thread.shell.display_pub.publish(terminal.fitting_output(text.bundle))

    def prepare(self) -> None:
        """Begin to import what the session's model needs, since a person is about to ask; returns at once."""
        self.channel.prepare()

    def known(self, field: str) -> Sequence[str]:
        """Return values of an option for completion, without any request."""
        values = known_values(self.services, self.channel.current, field)
        return [*values, *self._mentions()] if field == "mention" else values

    def _mentions(self) -> list[str]:
        """Return what a prompt can name of the notebook behind an at sign, the newest cells first."""
        runs = self.services.notebook_runs
        recorded = [
            one
            for one in reversed(runs.runs().runs if runs is not None else ())
            if one.number is not None and not one.by_agent and not one.hidden
        ][:MOST_CELLS]
        hidden = self.services.hidden_names
        listed = list_variables(self.shell, ShownVariables("names"))
        names = [one.name for one in listed if one.name not in hidden]
        errors = ["error"] if any(one.status == "error" for one in recorded) else []
        cells = [f"{kind} {one.number}" for kind in ("cell", "out") for one in recorded]
        return [*errors, *names[:MOST_NAMES], *cells]

    def close(self) -> None:
        """Close the channel, the socket for interrupts and the application."""
        self.channel.close()
        self.main_thread.interrupts.close()
        self.services.close()


def _apart(request: MagicLine) -> bool:
    """Tell whether no cell waits for the answer."""
    return request.options.bg or request.options.steer


async def _there(value: AgentAnswer | Background | None) -> AgentAnswer | Background | None:
    return value

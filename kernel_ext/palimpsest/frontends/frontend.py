"""The front end of one kernel: prompts of cells, subcommands and the channel to the page.

Border: the part of the front end that needs the application. It is created in the background after
``%load_ext`` (its imports take a second), and the magics get it when they are first used.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from palimpsest.frontends import terminal
from palimpsest.frontends.cell_turn.agent_answer import AgentAnswer
from palimpsest.frontends.cell_turn.background_prompts import (
    Background,
    answered_prompt,
    await_background_prompt,
    send_background_prompt,
)
from palimpsest.frontends.cell_turn.cell_batches import CellBatches
from palimpsest.frontends.cell_turn.magic_line import MagicLine, MagicOptions
from palimpsest.frontends.cell_turn.recorded_prompts import PromptToSend, RecordedPrompts
from palimpsest.frontends.cell_turn.replayed_turn import ReplayedTurn
from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.cell_turn.turn import CellTurn
from palimpsest.frontends.kernel.main_thread import MainThread, blocking
from palimpsest.frontends.magic.agent_magics import completed_result
from palimpsest.frontends.operation_base.argument_completion import known_values
from palimpsest.frontends.operation_base.operation import Operation, OperationContext
from palimpsest.frontends.operation_text.command_output import joined_output
from palimpsest.frontends.operation_text.control_text import waiting_text
from palimpsest.frontends.operations.turns import Compact, Join, Retry
from palimpsest.frontends.page_channel.channel import Channel
from palimpsest.frontends.usage_errors import usage_error
from palimpsest.frontends.variables.variables import list_variables
from palimpsest.session.prompts.notebook_mentions import missing_error
from palimpsest.session.replay.recorded_turns import compaction_prompt
from palimpsest.tools.tool import ShownVariables
from palimpsest.transcript.context_values.cell_runs import CellRun
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Origin

NESTED_PROMPT_REFUSAL = (
    "The agent's own Python cannot ask the agent: its turn waits for this code to end. Return what is needed "
    "and let it go on."
)
MAX_COMPLETED_CELLS = 12
MAX_COMPLETED_NAMES = 200
"""Maximum variables in one completion; ``MAX_COMPLETED_CELLS`` limits the cells."""


class Frontend:
    """One kernel's front end: runs prompts of cells and subcommands, rejects prompts from the agent's own code."""

    def __init__(
        self,
        services: FrontendServices,
        main_thread: MainThread,
        *,
        shell: Any,
        running_cell_count: Callable[[], int] = lambda: 0,
        batches: CellBatches | None = None,
    ) -> None:
        self.services = services
        self.main_thread = main_thread
        self.shell = shell
        self.channel = Channel(services, main_thread, shell)
        self.batches = batches or CellBatches()
        self.channel.on_run_announced = self.batches.announce_cells
        self._kernel_parts = self.channel.kernel_parts
        self._recorded_prompts = RecordedPrompts(self._kernel_parts, self.batches)
        main_thread.running_cell_count = running_cell_count
        services.engine.serve_main_thread = main_thread.serve_until
        self._has_warned = False

    def ask(
        self, request: MagicLine | Operation, origin: Origin
    ) -> AgentAnswer | Background | None:
        """Run a line of the magic, blocking; a prompt for the background returns its handle."""
        match request:
            case Join():
                self._check_prompt(MagicLine(turn_request=request))
                return await_background_prompt(self._kernel_parts, origin)
            case Retry():
                magic_line = MagicLine(turn_request=request)
                self._check_prompt(magic_line)
                self._recorded_prompts.refuse_sending(origin)
                blocking(CellTurn(self._kernel_parts, magic_line, origin).run(awaits=False))
                return None
            case Compact():
                text = compaction_prompt(request.focus)
                request = MagicLine(MagicOptions(model=request.model), text, request)
            case Operation():
                self._run_operation(request, origin)
                return None
            case _:
                pass
        answer_source = self._answer_source(request, origin)
        if not _runs_in_background(request):
            answer = blocking(self._show_answer(request, answer_source, origin, awaits=False))
            return answer if request.turn_request is None else None
        if isinstance(answer_source, ReplayedTurn):
            recorded_answer = blocking(answer_source.run(awaits=False))
            return answered_prompt(self._kernel_parts, recorded_answer, origin)
        handle = send_background_prompt(self._kernel_parts, request, origin)
        self._recorded_prompts.record_sent_turn(handle.session)
        return handle

    def ask_awaiting(
        self, magic_line: MagicLine, origin: Origin
    ) -> "Coroutine[Any, Any, AgentAnswer | Background | None]":
        """Run a prompt, awaited by its cell."""
        if _runs_in_background(magic_line):
            return completed_result(self.ask(magic_line, origin))
        return self._show_answer(
            magic_line, self._answer_source(magic_line, origin), origin, awaits=True
        )

    async def _show_answer(
        self,
        magic_line: MagicLine,
        answer_source: ReplayedTurn | PromptToSend,
        origin: Origin,
        *,
        awaits: bool,
    ) -> AgentAnswer:
        """Show the recorded answer or, without a record, the model's, and return it."""
        if isinstance(answer_source, ReplayedTurn):
            return await answer_source.run(awaits=awaits)
        turn = CellTurn(self._kernel_parts, magic_line, origin)
        try:
            answer = await turn.run(awaits=awaits)
        finally:
            if turn.session_id:
                self._recorded_prompts.record_sent_turn(turn.session_id)
        self._recorded_prompts.offer_revert(answer_source)
        return answer

    def _answer_source(self, magic_line: MagicLine, origin: Origin) -> ReplayedTurn | PromptToSend:
        """Return the prompt's recorded answer, or the ``PromptToSend``; raises UsageError if it must not be sent."""
        self._check_prompt(magic_line)
        return self._recorded_prompts.find_or_send(magic_line, origin)

    def _check_prompt(self, magic_line: MagicLine) -> None:
        if self.main_thread.current_job is not None:
            raise usage_error(NESTED_PROMPT_REFUSAL)
        # A prompt about an error where no cell failed is refused before anything is sent.
        problem = missing_error(magic_line.prompt, self._recorded_runs())
        if problem is not None:
            raise usage_error(problem)
        self._print_warnings()

    def _recorded_runs(self) -> Sequence[CellRun]:
        reader = self.services.notebook_runs
        return reader.recorded_runs().runs if reader is not None else ()

    def _print_warnings(self) -> None:
        """Print problems of the sessions' folder and of the settings, once."""
        if self._has_warned:
            return
        self._has_warned = True
        config, workspace = self.services.config, self.services.workspace
        trust_sentence = waiting_text(config.untrusted_settings)
        for sentence in (workspace.warning, workspace.notice, *config.problems, trust_sentence):
            if sentence:
                terminal.write_error(sentence)

    def _run_operation(self, operation: Operation, origin: Origin) -> None:
        """Run an operation and show its answer; raises UsageError with one sentence."""
        find = partial(self.services.workspace.open_or_current, notebook=origin.notebook)
        context = OperationContext(
            self.services,
            find,
            origin.notebook,
            origin.cell_id,
            in_cell=True,
            adopt=self.channel.adopt,
            forget=self.channel.forget,
        )
        future = self.services.engine.submit(operation.run(context))
        try:
            answer = future.result()
        except UserError as error:
            raise usage_error(error) from None
        except KeyboardInterrupt:
            if operation.ends_with_cell:
                future.cancel()
            raise
        output = joined_output(operation.output(answer))
        self.main_thread.shell.display_pub.publish(terminal.fitting_output(output.bundle))

    def prepare(self) -> None:
        """Start importing the modules that the session's model needs; returns at once."""
        self.channel.prepare()

    def completion_values(self, kind: str) -> Sequence[str]:
        """Return values that complete an option, without a request to a server."""
        values = known_values(self.services, self.channel.current_session, kind)
        return [*values, *self._known_mentions()] if kind == "mention" else values

    def _known_mentions(self) -> list[str]:
        """Return the notebook's items that a prompt can mention with ``@``, the newest cells first."""
        cell_runs = [
            run
            for run in reversed(self._recorded_runs())
            if run.number is not None and not run.by_agent and not run.hidden
        ][:MAX_COMPLETED_CELLS]
        hidden_names = self.services.hidden_names
        variables = list_variables(self.shell, ShownVariables("names"))
        names = [variable.name for variable in variables if variable.name not in hidden_names]
        error_mentions = ["error"] if any(run.status == "error" for run in cell_runs) else []
        cell_mentions = [f"{kind} {run.number}" for kind in ("cell", "out") for run in cell_runs]
        return [*error_mentions, *names[:MAX_COMPLETED_NAMES], *cell_mentions]

    def close(self) -> None:
        """Close the channel, the socket for interrupts and the application."""
        self.channel.close()
        self.main_thread.interrupts.close()
        self.services.close()


def _runs_in_background(magic_line: MagicLine) -> bool:
    """Return whether no cell waits for the answer."""
    return magic_line.options.bg or magic_line.options.steer

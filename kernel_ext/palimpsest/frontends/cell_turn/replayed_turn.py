"""Show the recorded answer to a cell's prompt, and run its Python again.

The answer's changes to files, shell commands and cells are shown but not repeated. Its Python runs again, so that later cells
find its variables, where the user approved it; outputs are shown below their calls as in the first run.

Border: publishes into the cell and runs jobs on the main thread; sends nothing and writes nothing to the session.
"""

import contextvars
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.frontends.cell_turn.agent_answer import AgentAnswer
from palimpsest.frontends.cell_turn.kernel_parts import KernelParts
from palimpsest.frontends.cell_turn.turn import TurnStopped
from palimpsest.frontends.kernel.code_execution import flush_figures
from palimpsest.frontends.kernel.main_thread import CellWait
from palimpsest.frontends.kernel.python_runner import KernelPythonRunner
from palimpsest.frontends.turn_output.restored_outputs import OutputPlace, turn_pieces
from palimpsest.frontends.usage_errors import usage_error
from palimpsest.session.interfaces.recorded_answers import RecordedCall, RecordedTurn
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.replay.recorded_turns import answer_of
from palimpsest.tools.execution.python import first_line, outcome_text
from palimpsest.tools.tool import Abort, PythonOutcome
from palimpsest.transcript.parts import ToolCompleted
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.session_record.events import Record
from palimpsest.transcript.visible_text import visible_text

REPLAY_HEADER = "Recorded answer of {when}; nothing was sent."
REPLAY_HINT = "asks the model anew."
OTHER_OUTPUT = (
    "Run again, the Python that begins with {line!r} printed something else than recorded."
)
OTHER_INPUTS = "The Python that begins with {line!r} ran with other inputs than recorded: {names}."
FAILS_NOW = (
    "The Python of the recorded answer that begins with {line!r} ran when it was recorded, and fails now: {why} "
    "--again asks the model anew."
)


@dataclass(eq=False)
class ReplayedTurn:
    """Shows one recorded answer in its cell."""

    _kernel_parts: KernelParts
    _turn: RecordedTurn
    _session: KernelSession
    _calls_to_run: Sequence[RecordedCall]
    """The calls that run again."""
    _records: Sequence[Record]
    _sentences: list[str]
    """Sentences about the calls that do not run again."""
    _is_quiet: bool

    def __post_init__(self) -> None:
        self._scrub = scrubber(os.environ)
        self._publish = self._kernel_parts.shell.display_pub.publish
        self._abort = Abort()
        self._host = _CellHost(self._kernel_parts.show_sentence, shows_outputs=not self._is_quiet)
        self._failure = ""

    async def run(self, *, awaits: bool) -> AgentAnswer:
        """Show the answer and run its Python again, blocking or awaiting."""
        flush_figures(self._kernel_parts.shell)
        with CellWait(
            self._kernel_parts.main_thread,
            self._turn.session_id,
            self._host,
            lambda: self._abort.set("Stopped."),
            lambda: None,
        ) as wait:
            for call in self._show_to_next_call():
                future = self._kernel_parts.services.engine.submit(self._run_call(call))
                await wait.run(future, awaits=awaits)
                self._compare_outcome(call, future.result())
        return self._finish_answer()

    def _show_to_next_call(self) -> Iterator[RecordedCall]:
        """Show the answer piece by piece, and yield each call where it must be run."""
        date_text = time.strftime("%d %B %Y, %H:%M", time.localtime(self._turn.asked_ms / 1000))
        header, hint = REPLAY_HEADER.format(when=date_text.lstrip("0")), REPLAY_HINT
        data = {
            "text/markdown": f"*{header}* `--again` {hint}",
            "text/plain": visible_text(f"{header} --again {hint}"),
        }
        self._publish(data, {})
        remaining_calls = list(self._calls_to_run)
        if self._is_quiet:
            yield from remaining_calls
            self._kernel_parts.show_text(answer_of(self._turn).text)
            return
        for piece in self._output_pieces():
            if not isinstance(piece, OutputPlace):
                self._publish(piece, {})
                continue
            calls_of_piece = [call for call in remaining_calls if call.shown_in == piece.call_id]
            remaining_calls = [call for call in remaining_calls if call.shown_in != piece.call_id]
            self._host.shown_count = 0
            yield from calls_of_piece
            if not self._host.shown_count:
                for figure in piece.figures:
                    self._publish(figure, {})
        self._host.shows_outputs = False  # the remaining calls belong to no shown piece: a cell shows a limited number of outputs
        yield from remaining_calls

    def _output_pieces(self) -> Iterator[dict[str, Any] | OutputPlace]:
        turn, session = self._turn, self._session
        snapshot = replace(session.snapshot(), messages=(turn.user_message, *turn.messages))
        return turn_pieces(
            turn.session_id,
            turn.id,
            snapshot,
            self._records,
            scrub=self._scrub,
            read_image=session.picture,
            density=session.density,
            call_ids_with_place={call.shown_in for call in self._calls_to_run},
        )

    async def _run_call(self, call: RecordedCall) -> PythonOutcome | None:
        """Run one call; None where the code was stopped, or an earlier call failed this time."""
        if self._abort.is_set() or self._failure:
            return None
        runner = KernelPythonRunner(self._kernel_parts.main_thread, self._turn.session_id)
        outcome = await runner.run(
            call.code, call_id=call.part.call_id, abort=self._abort, on_output=lambda _text: None
        )
        return None if outcome.was_interrupted else outcome

    def _compare_outcome(self, call: RecordedCall, outcome: PythonOutcome | None) -> None:
        """Note differences from the recorded outcome of the call."""
        if self._abort.is_set():
            raise TurnStopped
        state = call.part.state
        if outcome is None or not isinstance(state, ToolCompleted):
            return
        code_line, metadata = first_line(call.code), state.metadata or {}
        if outcome.error is not None and not metadata.get("failed"):
            error_line = outcome.error.strip().rpartition("\n")[2]
            self._failure = FAILS_NOW.format(line=code_line, why=error_line)
            return
        recorded_inputs = metadata.get("inputs")
        if isinstance(recorded_inputs, dict):
            new_inputs = recorded_inputs | dict(outcome.input_checksums)
            changed_names = [
                name
                for name, recorded_input in recorded_inputs.items()
                if new_inputs[name] != recorded_input
            ]
            if changed_names:
                self._sentences.append(
                    OTHER_INPUTS.format(line=code_line, names=", ".join(changed_names))
                )
        is_whole = state.blob is None and not metadata.get("truncated")
        now_text = self._scrub(outcome_text(outcome))
        if is_whole and _without_addresses(now_text) != _without_addresses(state.output):
            self._sentences.append(OTHER_OUTPUT.format(line=code_line))

    def _finish_answer(self) -> AgentAnswer:
        """Show the noted differences and return the answer; raises UserError where a call failed this time."""
        for sentence in self._sentences:
            self._kernel_parts.show_sentence(sentence)
        if self._failure:
            raise usage_error(self._scrub(self._failure))
        return self._kernel_parts.cell_answer(answer_of(self._turn), is_recorded=True)


class _CellHost:
    """Shows the outputs of running code in the cell, below the call's card."""

    def __init__(self, show_sentence: Callable[[str], None], *, shows_outputs: bool) -> None:
        self.shows_outputs = shows_outputs
        self.shown_count = 0
        self._show_sentence = show_sentence
        # Outputs belong to the context of the cell, and a warning about code that does not stop comes from another thread.
        self._context = contextvars.copy_context()

    def show_call(self, call_id: str) -> None:
        """Do nothing: the call's card is shown already."""

    def prepare_native_output(self, call_id: str) -> bool:  # noqa: ARG002  # part of the interface
        """Return whether outputs are shown in the cell, and count them."""
        self.shown_count += self.shows_outputs
        return self.shows_outputs

    def warn_stuck(self, sentence: str) -> None:
        """Show a warning about code that does not stop."""
        self._context.run(self._show_sentence, sentence)


def _without_addresses(text: str) -> str:
    """Return an output without addresses in memory, which differ in each process."""
    return re.sub(r"0x[0-9a-fA-F]{4,}", "0x", text).strip()

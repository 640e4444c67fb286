"""Run one prompt from a cell: send it to the engine, show the turn and return the answer.

Border: glue between the magic and the session layer; it holds no rule of its own. The main
thread waits here; the engine does the work.
"""

import asyncio
import logging
import os
import time
import uuid
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any

from palimpsest.frontends import terminal
from palimpsest.frontends.cell_turn import cell_failure
from palimpsest.frontends.cell_turn.agent_answer import AgentAnswer
from palimpsest.frontends.cell_turn.cell_questions import Questions
from palimpsest.frontends.cell_turn.kernel_parts import KernelParts
from palimpsest.frontends.cell_turn.magic_line import MagicLine
from palimpsest.frontends.kernel.code_execution import flush_figures
from palimpsest.frontends.kernel.main_thread import CellWait
from palimpsest.frontends.turn_output.cell_output import CellOutput
from palimpsest.frontends.turn_output.terminal_output import TerminalOutput
from palimpsest.frontends.turn_output.turn_feed import TurnFeed
from palimpsest.frontends.usage_errors import usage_error
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.open_sessions.unattended_refusal import refuse_unattended
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Origin
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.visible_text import visible_text

MIN_ABANDON_SECONDS = 2.0
"""Time after the first press of the stop button from which a further press abandons the turn."""

CANNOT_BE_SHOWN = (
    "The answer goes on and is kept, but it cannot be shown here. %agent status names the session."
)


class TurnStopped(KeyboardInterrupt):
    """Raised when the user stopped the turn; it also ends loops and Run All, without a traceback.

    ``is_shown`` is true when the output above already ends with the word "Stopped".
    """

    def __init__(self, *, is_shown: bool = False) -> None:
        super().__init__()
        self.is_shown = is_shown

    def _render_traceback_(self) -> list[str]:
        hint = "What was done up to here is kept; ask again to go on."
        return [hint if self.is_shown else f"Stopped. {hint}"]


class CellTurn:
    """Runs one prompt, or one compaction, for a cell.

    Responsibilities: find the session; send the prompt; update the cell's output and ask questions
    while it waits; turn the result into a value or one clear error message.
    """

    def __init__(self, kernel_parts: KernelParts, magic_line: MagicLine, origin: Origin) -> None:
        self._kernel_parts = kernel_parts
        self._magic_line = magic_line
        self._options = magic_line.options
        self._origin = origin
        self._turn_feed = TurnFeed(f"pmt_{uuid.uuid4().hex}", origin)
        self._scrub = scrubber(os.environ)
        self._publish = kernel_parts.shell.display_pub.publish
        self._output = self._new_output()
        self._questions = Questions(
            kernel_parts,
            self._show_warning,
            lambda call_id: self._show_safely(lambda: self._output.prepare_question(call_id)),
        )
        self._future: Future[Answer] | None = None
        self._stopped_at: float | None = None
        self._is_abandoned = False
        self._is_muted = False
        """Whether showing the turn has failed, after which nothing more is shown."""

    async def run(self, *, awaits: bool) -> AgentAnswer:
        """Block, or await, until the answer is there."""
        flush_figures(self._kernel_parts.shell)
        main_thread, engine = self._kernel_parts.main_thread, self._kernel_parts.services.engine
        with CellWait(main_thread, "", self._output, self._stop, self._tick) as wait:
            future = self._future = engine.submit(self._send_prompt(wait))
            try:
                await wait.run(future, awaits=awaits)
            except BaseException:
                self._stop()
                raise
            return self._turn_result(future)

    @property
    def session_id(self) -> str:
        """The id of the prompt's session; empty before it is known."""
        return self._turn_feed.session.id if self._turn_feed.session is not None else ""

    async def _send_prompt(self, wait: CellWait) -> Answer:
        """Open the session and send the prompt; on the engine thread."""
        session = await self._kernel_parts.open_session(self._options, self._origin.notebook)
        wait.session_id = session.id
        self._turn_feed.on_change = wait.wake_cell
        self._turn_feed.subscribe_to(session)
        try:
            with self._questions.closing_answered_prompts(session):
                answer = await self._await_answer(session)
                await self._turn_feed.wait_for_records(answer.seq[1])
                return answer
        finally:
            self._turn_feed.unsubscribe()

    async def _await_answer(self, session: KernelSession) -> Answer:
        if self._magic_line.turn_request is not None:
            return await self._magic_line.turn_request.turn(session, self._origin)
        prompt_id = self._turn_feed.prompt_id
        options = PromptOptions.of_choices(
            self._options, yes=self._options.yes, origin=self._origin, prompt_id=prompt_id
        )
        return await session.prompt(self._magic_line.prompt, options)

    def _tick(self) -> None:
        if self._is_abandoned:
            raise TurnStopped
        self._warn_of_withheld_rights()
        self._show_safely(self._output.refresh)
        session = self._turn_feed.session
        if session is not None and (self._turn_feed.open_question_ids or session.held):
            self._questions.check(session)

    def _warn_of_withheld_rights(self) -> None:
        """Print, once in a kernel, the rights that the session's journal claims but that were not granted."""
        session = self._turn_feed.session
        sentence = session.take_opening_notice() if session is not None else ""
        if sentence:
            self._show_warning(sentence)

    def _warn_of_unwritten_log(self) -> None:
        """Warn that the turn is in memory only; a terminal output has printed it already."""
        session = self._turn_feed.session
        problem = session.snapshot(messages=False).problem if session is not None else ""
        if problem and not isinstance(self._output, TerminalOutput):
            self._show_warning(problem)

    def _show_warning(self, sentence: str) -> None:
        terminal.write_error(self._scrub(sentence))

    def _show_safely(self, show: Callable[[], None]) -> None:
        """Call a function that shows output; its error is logged and does not end the turn."""
        if self._is_muted:
            return
        try:
            show()
        except Exception:
            self._is_muted = True
            logging.getLogger(__name__).exception("The output of a turn could not be shown.")
            self._publish({"text/plain": visible_text(CANNOT_BE_SHOWN)})

    def _stop(self) -> None:
        """Stop the turn; on the engine thread, at every signal."""
        now = time.monotonic()
        self._stopped_at = self._stopped_at or now
        self._is_abandoned = now - self._stopped_at > MIN_ABANDON_SECONDS
        session = self._turn_feed.session
        if session is not None:
            session.cancel("Stopped.")
        elif self._future is not None:
            self._future.cancel()

    def _is_watched(self) -> bool:
        session = self._turn_feed.session
        return session is not None and self._kernel_parts.pages.is_watched(session.id)

    def _turn_result(self, future: "Future[Answer]") -> AgentAnswer:
        self._warn_of_withheld_rights()
        if future.cancelled():
            raise TurnStopped
        try:
            answer = future.result()
        except UserError as error:
            raise usage_error(self._scrub(str(error))) from None
        self._show_safely(lambda: self._output.finish(answer))
        self._warn_of_unwritten_log()
        if answer.error is not None and answer.error.type == "aborted":
            raise TurnStopped(is_shown=not self._is_muted and not self._options.quiet)
        cell_answer = self._kernel_parts.cell_answer(answer)
        cell_failure.raise_if_failed(cell_answer, self._kernel_parts)
        return cell_answer

    def _new_output(self) -> "CellOutput | TerminalOutput":
        if not cell_failure.can_update_outputs(self._kernel_parts.shell):
            return TerminalOutput(
                self._turn_feed,
                scrub=self._scrub,
                is_quiet=self._options.quiet,
                density=self._kernel_parts.services.config.value.density,
            )
        return CellOutput(
            self._turn_feed,
            self._publish,
            scrub=self._scrub,
            is_watched=self._is_watched,
            is_quiet=self._options.quiet,
        )


async def without_cell(
    kernel_parts: KernelParts,
    session: KernelSession,
    turn: Coroutine[Any, Any, Answer],
    away_seconds: float,
) -> Answer:
    """Await a turn for which no cell waits; the stop button of an idle kernel stops it.

    A question that no user could answer for ``away_seconds`` is rejected, with a record.
    """

    def is_attended() -> bool:
        return kernel_parts.main_thread.has_waiting_cell or kernel_parts.pages.may_answer(
            session.id
        )

    refusal = asyncio.ensure_future(refuse_unattended(session, is_attended, away_seconds))
    stop_catching = kernel_parts.main_thread.catch_idle(lambda: session.cancel("Stopped."))
    try:
        return await turn
    finally:
        stop_catching()
        refusal.cancel()

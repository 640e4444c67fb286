"""Run one prompt from a cell: send it to the engine, follow it, show it and return the answer.

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
from palimpsest.transcript.visible_text import visible

PATIENCE_SECONDS = 2.0
"""A press of the stop button later than this after the first one leaves a turn that does not end."""


class TurnStopped(KeyboardInterrupt):
    """The person stopped the turn: loops and Run All end too, without a traceback.

    ``told`` is true when the output above already ends with the word "Stopped".
    """

    def __init__(self, *, told: bool = False) -> None:
        super().__init__()
        self.told = told

    def _render_traceback_(self) -> list[str]:
        kept = "What was done up to here is kept; ask again to go on."
        return [kept if self.told else f"Stopped. {kept}"]


class CellTurn:
    """Runs one prompt, or one compaction, for a cell.

    Responsibilities: find the session; send the prompt; update the cell's output and ask questions
    while it waits; turn the result into a value or one clear error message.
    """

    def __init__(self, parts: KernelParts, request: MagicLine, place: Origin) -> None:
        self._parts = parts
        self._request = request
        self._options = request.options
        self._place = place
        self._feed = TurnFeed(f"pmt_{uuid.uuid4().hex}", place)
        self._scrub = scrubber(os.environ)
        self._publish = parts.shell.display_pub.publish
        self._story = self._new_story()
        self._questions = Questions(
            parts, self._warn, lambda call_id: self._tell(lambda: self._story.asked(call_id))
        )
        self._future: Future[Answer] | None = None
        self._stopped_at: float | None = None
        self._leave = False
        self._mute = False
        """Whether showing the turn has failed, after which nothing more is shown."""

    async def run(self, *, awaits: bool) -> AgentAnswer:
        """Block or await until the answer is there."""
        flush_figures(self._parts.shell)
        with CellWait(self._parts.main_thread, "", self._story, self._stop, self._tick) as wait:
            future = self._future = self._parts.services.engine.submit(self._ask(wait))
            try:
                await wait.run(future, awaits=awaits)
            except BaseException:
                self._stop()
                raise
            return self._result(future)

    @property
    def session_id(self) -> str:
        """The id of the session that the prompt went to; empty before it is known."""
        return self._feed.session.id if self._feed.session is not None else ""

    async def _ask(self, wait: CellWait) -> Answer:
        """Find the session and prompt it; on the engine thread."""
        session = await self._parts.session(self._options, self._place.notebook)
        wait.session_id = session.id
        self._feed.wake = wait.wake
        self._feed.attach(session)
        try:
            with self._questions.followed(session):
                answer = await self._answer(session)
                await self._feed.caught_up(answer.seq[1])
                return answer
        finally:
            self._feed.detach()

    async def _answer(self, session: KernelSession) -> Answer:
        if self._request.request is not None:
            return await self._request.request.turn(session, self._place)
        chosen = self._options
        options = PromptOptions.of(
            chosen, yes=chosen.yes, origin=self._place, prompt_id=self._feed.prompt_id
        )
        return await session.prompt(self._request.prompt, options)

    def _tick(self) -> None:
        if self._leave:
            raise TurnStopped
        self._say_withheld()
        self._tell(self._story.refresh)
        session = self._feed.session
        if session is not None and (self._feed.asking or session.held):
            self._questions.check(session)

    def _say_withheld(self) -> None:
        """Print, once in a kernel, which rights the session's journal claims that were not granted."""
        session = self._feed.session
        words = session.take_withheld() if session is not None else ""
        if words:
            self._warn(words)

    def _say_unwritten(self) -> None:
        """Print that what the turn did is in memory only; a terminal's story has told it."""
        session = self._feed.session
        problem = session.snapshot(messages=False).problem if session is not None else ""
        if problem and not isinstance(self._story, TerminalOutput):
            self._warn(problem)

    def _warn(self, words: str) -> None:
        terminal.write_error(self._scrub(words))

    def _tell(self, show: Callable[[], None]) -> None:
        """Show something; an error while showing it must not end a turn that works."""
        if self._mute:
            return
        try:
            show()
        except Exception:
            self._mute = True
            logging.getLogger(__name__).exception("The story of a turn could not be shown.")
            words = "The answer goes on and is kept, but it cannot be shown here. "
            self._publish({"text/plain": visible(words + "%agent status names the session.")})

    def _stop(self) -> None:
        """Stop the turn; on the engine thread, at every signal."""
        now = time.monotonic()
        self._stopped_at = self._stopped_at or now
        self._leave = now - self._stopped_at > PATIENCE_SECONDS
        session = self._feed.session
        if session is not None:
            session.cancel("Stopped.")
        elif self._future is not None:
            self._future.cancel()

    def _watched(self) -> bool:
        session = self._feed.session
        return session is not None and self._parts.pages.fresh(session.id)

    def _result(self, future: "Future[Answer]") -> AgentAnswer:
        self._say_withheld()
        if future.cancelled():
            raise TurnStopped
        try:
            answer = future.result()
        except UserError as error:
            raise usage_error(self._scrub(str(error))) from None
        self._tell(lambda: self._story.finish(answer))
        self._say_unwritten()
        if answer.error is not None and answer.error.type == "aborted":
            raise TurnStopped(told=not self._mute and not self._options.quiet)
        made = self._parts.answered(answer)
        cell_failure.raise_if_failed(made, self._parts)
        return made

    def _new_story(self) -> "CellOutput | TerminalOutput":
        if not cell_failure.shows_updates(self._parts.shell):
            return TerminalOutput(
                self._feed,
                scrub=self._scrub,
                quiet=self._options.quiet,
                density=self._parts.services.config.value.density,
            )
        return CellOutput(
            self._feed,
            self._publish,
            scrub=self._scrub,
            watched=self._watched,
            quiet=self._options.quiet,
        )


async def without_cell(
    parts: KernelParts,
    session: KernelSession,
    turn: Coroutine[Any, Any, Answer],
    patience_seconds: float,
) -> Answer:
    """Await a turn that no cell waits for; the stop button of an idle kernel reaches it.

    A question that nobody could answer for ``patience_seconds`` is rejected, with a record.
    """
    refusing = asyncio.ensure_future(
        refuse_unattended(
            session,
            lambda: parts.main_thread.waiting or parts.pages.present(session.id),
            patience_seconds,
        )
    )
    end = parts.main_thread.catch_idle(lambda: session.cancel("Stopped."))
    try:
        return await turn
    finally:
        end()
        refusing.cancel()

"""Run one prompt from a cell: send it to the engine, follow it, show it and return the answer.

Border: glue between the magic and the session layer; it holds no rule of its own. The main
thread waits here; the engine does the work.
"""

import asyncio
import logging
import os
import time
import uuid
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import Any

from palimpsest.frontends import terminal
from palimpsest.frontends.cell_turn import cell_failure
from palimpsest.frontends.cell_turn.agent_answer import AgentAnswer
from palimpsest.frontends.cell_turn.cell_questions import Questions
from palimpsest.frontends.cell_turn.magic_line import MagicLine
from palimpsest.frontends.cell_turn.services import CellPlace, FrontendServices, Pages
from palimpsest.frontends.kernel.code_execution import flush_figures
from palimpsest.frontends.kernel.main_thread import CellWait, MainThread
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
from palimpsest.transcript.session_record.events import (
    PermissionReplied,
    QuestionRejected,
    QuestionReplied,
    Record,
)
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

    def __init__(
        self,
        services: FrontendServices,
        main_thread: MainThread,
        request: MagicLine,
        place: CellPlace,
        pages: Pages,
    ) -> None:
        self._services = services
        self._main_thread = main_thread
        self._request = request
        self._options = request.options
        self._place = place
        self._pages = pages
        self._origin = Origin(
            kind="cell",
            cell_id=place.cell_id,
            execution_count=place.execution_count,
            notebook=place.notebook,
        )
        self._feed = TurnFeed(f"pmt_{uuid.uuid4().hex}", self._origin)
        self._scrub = scrubber(os.environ)
        self._publish = main_thread.shell.display_pub.publish
        self._story = self._new_story()
        self._questions = Questions(
            main_thread.interrupts,
            self._attended,
            self._scrub,
            before=self._make_room,
            run=lambda work: services.engine.submit(work).result(),
            tell=self._warn,
        )
        self._future: Future[Answer] | None = None
        self._stopped_at: float | None = None
        self._leave = False
        self._mute = False
        """Whether showing the turn has failed, after which nothing more is shown."""

    def run(self) -> AgentAnswer:
        """Block until the answer is there."""
        flush_figures(self._main_thread.shell)
        with self._waiting() as wait:
            future = self._send(wait)
            try:
                wait.run(future)
            except BaseException:
                self._stop()
                raise
            return self._result(future)

    async def run_awaiting(self) -> AgentAnswer:
        """Await the answer."""
        flush_figures(self._main_thread.shell)
        with self._waiting() as wait:
            future = self._send(wait)
            try:
                await wait.run_awaiting(future)
            except BaseException:
                self._stop()
                raise
            return self._result(future)

    @property
    def session_id(self) -> str:
        """The id of the session that the prompt went to; empty before it is known."""
        return self._feed.session.id if self._feed.session is not None else ""

    def _waiting(self) -> CellWait:
        return CellWait(self._main_thread, "", self._story, self._stop, self._tick)

    def _send(self, wait: CellWait) -> "Future[Answer]":
        self._future = self._services.engine.submit(self._ask(wait))
        return self._future

    async def _ask(self, wait: CellWait) -> Answer:
        """Find the session and prompt it; on the engine thread."""
        session = await self._session()
        wait.session_id = session.id
        self._feed.wake = wait.wake
        self._pages.adopt(session)
        self._feed.attach(session)
        unsubscribe = session.subscribe(self._replied)
        forget = session.on_problem(lambda: self._questions.held_changed(session))
        try:
            answer = await self._answer(session)
            await self._feed.caught_up(answer.seq[1])
            return answer
        finally:
            unsubscribe()
            forget()
            self._feed.detach()

    async def _answer(self, session: KernelSession) -> Answer:
        if self._request.request is not None:
            return await self._request.request.turn(session, self._origin)
        chosen = self._options
        options = PromptOptions.of(
            chosen, yes=chosen.yes, origin=self._origin, prompt_id=self._feed.prompt_id
        )
        return await session.prompt(self._request.prompt, options)

    async def _session(self) -> KernelSession:
        workspace, notebook = self._services.workspace, self._place.notebook
        if self._options.session is not None:
            return await workspace.open(self._options.session, notebook)
        if self._options.new:
            return await workspace.new(
                notebook, title=self._options.title, permission=self._options.permission
            )
        return await workspace.current(notebook)

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

    def _make_room(self, call_id: str | None) -> None:
        """Show the output that follows a question asked in the cell below that question."""
        if call_id is not None:
            self._tell(lambda: self._story.asked(call_id))

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

    def _replied(self, records: Sequence[Record]) -> None:
        for record in records:
            if isinstance(record.event, PermissionReplied):
                self._questions.answered(record.event.ask_id)
            elif isinstance(record.event, QuestionReplied | QuestionRejected):
                self._questions.answered(record.event.question_id)

    def _watched(self) -> bool:
        session = self._feed.session
        return session is not None and self._pages.fresh(session.id)

    def _attended(self) -> bool:
        """Tell whether a page can answer questions."""
        session = self._feed.session
        if session is None:
            return self._pages.expected()
        return self._pages.present(session.id)

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
        made = AgentAnswer(answer, self._main_thread.shell, self._pages)
        cell_failure.raise_if_failed(made, self._services, self._main_thread.shell, self._scrub)
        return made

    def _new_story(self) -> "CellOutput | TerminalOutput":
        if not cell_failure.shows_updates(self._main_thread.shell):
            return TerminalOutput(self._feed, scrub=self._scrub, quiet=self._options.quiet)
        return CellOutput(
            self._feed,
            self._publish,
            scrub=self._scrub,
            watched=self._watched,
            quiet=self._options.quiet,
        )


async def without_cell(
    main_thread: MainThread,
    pages: Pages,
    session: KernelSession,
    turn: Coroutine[Any, Any, Answer],
    patience_seconds: float,
) -> Answer:
    """Await a turn that no cell waits for; the stop button of an idle kernel reaches it.

    A question that nobody could answer for ``patience_seconds`` is rejected, with a record.
    """
    refusing = asyncio.ensure_future(
        refuse_unattended(
            session, lambda: main_thread.waiting or pages.present(session.id), patience_seconds
        )
    )
    end = main_thread.catch_idle(lambda: session.cancel("Stopped."))
    try:
        return await turn
    finally:
        end()
        refusing.cancel()

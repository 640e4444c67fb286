"""Prompts that no cell waits for: ``%agent --bg`` sends one, ``%agent wait`` fetches its answer.

Border: the cell ends at once, and the notebook's cells may run meanwhile. The agent's Python runs as
for a prompt from the panel: when the kernel is idle, or in the cell that waits. What it prints is in
the session, not in a cell.
"""

import asyncio
import os
import uuid
from collections.abc import Sequence
from concurrent.futures import Future

from palimpsest.frontends.cell_turn import cell_failure
from palimpsest.frontends.cell_turn.agent_answer import AgentAnswer
from palimpsest.frontends.cell_turn.cell_questions import Questions
from palimpsest.frontends.cell_turn.magic_line import MagicLine, MagicOptions
from palimpsest.frontends.cell_turn.services import CellPlace, FrontendServices, Pages
from palimpsest.frontends.cell_turn.turn import TurnStopped, without_cell
from palimpsest.frontends.kernel.main_thread import CellWait, MainThread
from palimpsest.frontends.usage_errors import usage_error
from palimpsest.render.safety.escaping import inline
from palimpsest.render.safety.safe_markdown import safe_markdown
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions
from palimpsest.session.open_sessions.kernel_session import KernelSession
from palimpsest.session.open_sessions.unattended_refusal import AWAY_SECONDS
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Origin
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.session_record.events import (
    PermissionReplied,
    PromptAdmitted,
    QuestionRejected,
    QuestionReplied,
    Record,
)
from palimpsest.transcript.visible_text import visible

SENT = (
    "The agent works on this in the background. It goes on in the panel; %agent status says how far it is, "
    "%agent wait shows the answer here, %agent stop ends it."
)
STILL = "Not waiting any more. The agent goes on; %agent wait waits again, %agent stop ends it."

CLOSED = "The agent was closed before it answered; the session keeps what it had said."


class Background:
    """The handle of a prompt that runs in the background; ``handle = %agent --bg ...`` returns it."""

    def __init__(
        self, session: KernelSession, future: "Future[Answer]", waiting: "BackgroundWait"
    ) -> None:
        self._session = session
        self._future = future
        self._waiting = waiting

    @property
    def session(self) -> str:
        """The session's id."""
        return self._session.id

    @property
    def done(self) -> bool:
        """Whether the answer is there."""
        return self._future.done()

    @property
    def answer(self) -> AgentAnswer | None:
        """The answer; None until it is there, and when the turn gave none."""
        if not self.done or self._future.cancelled() or self._future.exception() is not None:
            return None
        return self._waiting.made(self._future.result())

    def wait(self) -> AgentAnswer:
        """Wait here for the answer; the agent's Python runs meanwhile. The stop button ends the waiting."""
        return self._waiting.checked(self._waiting.wait(self._session, self._future))

    def stop(self) -> bool:
        """Stop the turn; false when nothing ran."""
        return self._session.cancel("Stopped.")

    def __repr__(self) -> str:
        return f"<agent {'has answered' if self.done else 'works'}, session {self.session}>"

    def _ipython_display_(self) -> None:
        """Display nothing: the cell that sent the prompt has already shown that it runs."""


class BackgroundWait:
    """Lets a cell wait for the answer to a prompt that runs in the background.

    Responsibilities: run the agent's Python meanwhile; ask its questions in the cell when no page can.
    """

    def __init__(self, services: FrontendServices, main_thread: MainThread, pages: Pages) -> None:
        self._services = services
        self._main_thread = main_thread
        self._pages = pages

    def made(self, answer: Answer) -> AgentAnswer:
        """Return an answer in the form that cells receive."""
        return AgentAnswer(answer, self._main_thread.shell, self._pages)

    def checked(self, made: AgentAnswer) -> AgentAnswer:
        """Return an answer; raises AgentTurnFailed where the cell that sent the prompt would have."""
        cell_failure.raise_if_failed(
            made, self._services, self._main_thread.shell, scrubber(os.environ)
        )
        return made

    def wait(self, session: KernelSession, future: "Future[Answer]") -> AgentAnswer:
        """Block until the answer is there."""
        if future.done():  # also when the extension was unloaded since
            return self._result(future)
        left = False
        questions = Questions(
            self._main_thread.interrupts,
            lambda: self._pages.present(session.id),
            scrubber(os.environ),
            run=lambda work: self._services.engine.submit(work).result(),
            tell=lambda words: _show(self._main_thread, words),
        )

        def stop() -> None:
            nonlocal left
            left = True

        def tick() -> None:
            if left:
                raise NoLongerWaiting
            picture = session.snapshot()
            if picture.asks or picture.questions or session.held:
                questions.check(session)

        def replied(records: Sequence[Record]) -> None:
            for record in records:
                if isinstance(record.event, PermissionReplied):
                    questions.answered(record.event.ask_id)
                elif isinstance(record.event, QuestionReplied | QuestionRejected):
                    questions.answered(record.event.question_id)

        unsubscribe = session.subscribe(replied)
        forget = session.on_problem(lambda: questions.held_changed(session))
        try:
            # No session of its own: all output of the agent's Python is captured, as it is while idle.
            with CellWait(self._main_thread, "", _Nobody(), stop, tick) as waits:
                waits.run(future)
        finally:
            unsubscribe()
            forget()
        return self._result(future)

    def _result(self, future: "Future[Answer]") -> AgentAnswer:
        if future.cancelled():
            raise usage_error(CLOSED)
        try:
            answer = future.result()
        except UserError as error:
            raise usage_error(scrubber(os.environ)(str(error))) from None
        if answer.error is not None and answer.error.type == "aborted":
            raise TurnStopped
        return self.made(answer)


class NoLongerWaiting(TurnStopped):
    """The person stopped the waiting, not the turn."""

    def _render_traceback_(self) -> list[str]:
        return [STILL]


class _Nobody:
    """A job host that shows nothing."""

    def before(self, call_id: str) -> None:
        """Show nothing."""

    def native(self, call_id: str) -> bool:  # noqa: ARG002
        """Refuse native outputs, so that they are captured."""
        return False

    def stuck(self, words: str) -> None:
        """Show nothing."""


def send_background_prompt(
    services: FrontendServices,
    main_thread: MainThread,
    pages: Pages,
    request: MagicLine,
    place: CellPlace,
) -> Background:
    """Send a prompt and return at once; raises UsageError for one that is refused."""
    typed = cell_failure.may_type(main_thread.shell)
    begun = services.engine.submit(
        _begin(services, main_thread, pages, request, place, typed=typed)
    )
    try:
        session, future = begun.result()
    except UserError as error:
        raise usage_error(scrubber(os.environ)(str(error))) from None
    _show(main_thread, SENT)
    return Background(session, future, BackgroundWait(services, main_thread, pages))


def answered_before(
    services: FrontendServices,
    main_thread: MainThread,
    pages: Pages,
    answer: AgentAnswer,
    place: CellPlace,
) -> Background:
    """Return the handle of a prompt whose recorded answer was shown."""
    opening = services.workspace.open(answer.session, place.notebook)
    session = services.engine.submit(opening).result()
    future: Future[Answer] = Future()
    future.set_result(answer.as_value())
    return Background(session, future, BackgroundWait(services, main_thread, pages))


def await_background_prompt(
    services: FrontendServices, main_thread: MainThread, pages: Pages, place: CellPlace
) -> AgentAnswer:
    """Wait for the running turn of the notebook's session, and show its answer; ``%agent wait``."""
    try:
        session = services.engine.submit(services.workspace.current(place.notebook)).result()
        waiting = BackgroundWait(services, main_thread, pages)
        made = waiting.wait(session, services.engine.submit(session.loop()))
    except TurnStopped:
        raise
    except KeyboardInterrupt:  # before the waiting had begun
        raise NoLongerWaiting from None
    clean = scrubber(os.environ)
    words = made.error.message if made.error is not None and not made.text else made.text
    data = {"text/markdown": safe_markdown(clean(words)), "text/plain": visible(clean(words))}
    main_thread.shell.display_pub.publish(data)
    return waiting.checked(made)


async def _begin(
    services: FrontendServices,
    main_thread: MainThread,
    pages: Pages,
    request: MagicLine,
    place: CellPlace,
    *,
    typed: bool,
) -> "tuple[KernelSession, Future[Answer]]":
    """Find the session and send the prompt; returns when it is admitted. On the engine."""
    workspace, options = services.workspace, request.options
    if options.session is not None:
        session = await workspace.open(options.session, place.notebook)
    elif options.new:
        session = await workspace.new(
            place.notebook, title=options.title, permission=options.permission
        )
    else:
        session = await workspace.current(place.notebook)
    pages.adopt(session)
    chosen = _chosen(options, place)
    loop, admitted = asyncio.get_running_loop(), asyncio.Event()

    def told(records: Sequence[Record]) -> None:
        events = (record.event for record in records)
        if any(isinstance(e, PromptAdmitted) and e.prompt_id == chosen.prompt_id for e in events):
            loop.call_soon_threadsafe(admitted.set)

    unsubscribe = session.subscribe(told)
    patience = AWAY_SECONDS if typed else 0.0
    turn = session.prompt(request.prompt, chosen)
    answering = without_cell(main_thread, pages, session, turn, patience)
    future: Future[Answer] = Future()
    task = loop.create_task(answering)
    task.add_done_callback(lambda done: _hand_over(done, future))
    hearing = loop.create_task(admitted.wait())
    try:
        await asyncio.wait({task, hearing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        unsubscribe()
        hearing.cancel()
    if task.done() and task.exception() is not None:
        await task
    return session, future


def _hand_over(done: "asyncio.Task[Answer]", future: "Future[Answer]") -> None:
    if done.cancelled():
        future.cancel()
        return
    problem = done.exception()
    if problem is not None:
        future.set_exception(problem)
    else:
        future.set_result(done.result())


def _chosen(options: MagicOptions, place: CellPlace) -> PromptOptions:
    origin = Origin(
        kind="cell",
        cell_id=place.cell_id,
        execution_count=place.execution_count,
        notebook=place.notebook,
    )
    return PromptOptions.of(
        options,
        yes=options.yes,
        delivery="steer" if options.steer else "queue",
        origin=origin,
        prompt_id=f"pmt_{uuid.uuid4().hex}",
    )


def _show(main_thread: MainThread, words: str) -> None:
    main_thread.shell.display_pub.publish(
        {"text/markdown": inline(words), "text/plain": visible(words)}
    )

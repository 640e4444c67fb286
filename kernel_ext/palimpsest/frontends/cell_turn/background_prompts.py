"""Prompts for which no cell waits: ``%agent --bg`` sends one, ``%agent wait`` shows its answer.

Border: the cell ends at once, and other cells may run meanwhile. The agent's Python runs as for a prompt from the
panel: when the kernel is idle, or in the cell that waits. Its output is in the session, not in a cell.
"""

import asyncio
import os
import uuid
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial

from palimpsest.frontends.cell_turn import cell_failure
from palimpsest.frontends.cell_turn.agent_answer import AgentAnswer
from palimpsest.frontends.cell_turn.cell_questions import Questions
from palimpsest.frontends.cell_turn.kernel_parts import KernelParts
from palimpsest.frontends.cell_turn.magic_line import MagicLine
from palimpsest.frontends.cell_turn.turn import TurnStopped, without_cell
from palimpsest.frontends.kernel.main_thread import CellWait, blocking
from palimpsest.frontends.usage_errors import usage_error
from palimpsest.render.safety.escaping import escape_inline
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.open_sessions.unattended_refusal import MAX_AWAY_SECONDS
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Origin
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.session_record.events import PromptAdmitted, Record
from palimpsest.transcript.visible_text import visible_text

SENT_TO_BACKGROUND = (
    "The agent works on this in the background. It goes on in the panel; %agent status says how far it is, "
    "%agent wait shows the answer here, %agent stop ends it."
)
STILL_RUNNING = (
    "Not waiting any more. The agent goes on; %agent wait waits again, %agent stop ends it."
)

AGENT_CLOSED = "The agent was closed before it answered; the session keeps what it had said."


class Background:
    """The handle of a prompt that runs in the background; ``handle = %agent --bg ...`` returns it.

    A cell that waits runs the agent's Python meanwhile, and asks its questions when no page can.
    """

    def __init__(
        self, kernel_parts: KernelParts, session: KernelSession, future: "Future[Answer]"
    ) -> None:
        self._kernel_parts = kernel_parts
        self._session = session
        self._future = future

    @property
    def session(self) -> str:
        """The session's id."""
        return self._session.id

    @property
    def done(self) -> bool:
        """Whether the turn has ended."""
        return self._future.done()

    @property
    def answer(self) -> AgentAnswer | None:
        """The answer; None while the turn runs, and where it failed."""
        if not self.done or self._future.cancelled() or self._future.exception() is not None:
            return None
        return self._kernel_parts.cell_answer(self._future.result())

    def wait(self) -> AgentAnswer:
        """Wait for the answer while the agent's Python runs in this cell. The stop button ends the waiting."""
        answer = self.result()
        cell_failure.raise_if_failed(answer, self._kernel_parts)
        return answer

    def stop(self) -> bool:
        """Stop the turn; false when nothing ran."""
        return self._session.cancel("Stopped.")

    def __repr__(self) -> str:
        return f"<agent {'has answered' if self.done else 'works'}, session {self.session}>"

    def _ipython_display_(self) -> None:
        """Display nothing: the cell that sent the prompt has already shown that it runs."""

    def result(self) -> AgentAnswer:
        """Wait as ``wait`` does; also returns the answer of a failed turn instead of raising."""
        if not self.done:  # unloading the extension cancels the future, too
            self._wait_in_cell()
        if self._future.cancelled():
            raise usage_error(AGENT_CLOSED)
        try:
            answer = self._future.result()
        except UserError as error:
            raise usage_error(scrubber(os.environ)(str(error))) from None
        if answer.error is not None and answer.error.type == "aborted":
            raise TurnStopped
        return self._kernel_parts.cell_answer(answer)

    def _wait_in_cell(self) -> None:
        is_stopped = False
        session = self._session
        questions = Questions(self._kernel_parts, partial(_show_sentence, self._kernel_parts))

        def stop() -> None:
            nonlocal is_stopped
            is_stopped = True

        def check_questions() -> None:
            if is_stopped:
                raise NoLongerWaiting
            snapshot = session.snapshot()
            if snapshot.asks or snapshot.questions or session.held:
                questions.check(session)

        # No session id: all output of the agent's Python is captured, as while the kernel is idle.
        with (
            questions.closing_answered_prompts(session),
            CellWait(self._kernel_parts.main_thread, "", None, stop, check_questions) as cell_wait,
        ):
            blocking(cell_wait.run(self._future, awaits=False))


class NoLongerWaiting(TurnStopped):
    """Raised when the user stopped the waiting, but not the turn."""

    def _render_traceback_(self) -> list[str]:
        return [STILL_RUNNING]


def send_background_prompt(
    kernel_parts: KernelParts, magic_line: MagicLine, origin: Origin
) -> Background:
    """Send a prompt and return at once; raises UsageError for one that is refused."""
    is_interactive = cell_failure.can_type(kernel_parts.shell)
    try:
        handle = kernel_parts.run(
            _send_prompt(kernel_parts, magic_line, origin, is_interactive=is_interactive)
        )
    except UserError as error:
        raise usage_error(scrubber(os.environ)(str(error))) from None
    _show_sentence(kernel_parts, SENT_TO_BACKGROUND)
    return handle


def answered_prompt(kernel_parts: KernelParts, answer: AgentAnswer, origin: Origin) -> Background:
    """Return the handle of a prompt whose recorded answer was already shown."""
    session = kernel_parts.run(
        kernel_parts.services.workspace.open(answer.session, origin.notebook)
    )
    future: Future[Answer] = Future()
    future.set_result(answer)
    return Background(kernel_parts, session, future)


def await_background_prompt(kernel_parts: KernelParts, origin: Origin) -> AgentAnswer:
    """Wait for the running turn of the notebook's session, and show its answer; ``%agent wait``."""
    try:
        session = kernel_parts.run(kernel_parts.services.workspace.current(origin.notebook))
        answer = Background(
            kernel_parts, session, kernel_parts.services.engine.submit(session.loop())
        ).result()
    except TurnStopped:
        raise
    except KeyboardInterrupt:  # before the waiting had begun
        raise NoLongerWaiting from None
    kernel_parts.show_text(
        answer.error.message if answer.error is not None and not answer.text else answer.text
    )
    cell_failure.raise_if_failed(answer, kernel_parts)
    return answer


async def _send_prompt(
    kernel_parts: KernelParts, magic_line: MagicLine, origin: Origin, *, is_interactive: bool
) -> Background:
    """Open the session and send the prompt; returns when it is admitted. On the engine."""
    options = magic_line.options
    session = await kernel_parts.open_session(options, origin.notebook)
    prompt_options = PromptOptions.of_choices(
        options,
        yes=options.yes,
        delivery="steer" if options.steer else "queue",
        origin=origin,
        prompt_id=f"pmt_{uuid.uuid4().hex}",
    )
    loop, admitted_event = asyncio.get_running_loop(), asyncio.Event()

    def on_records(records: Sequence[Record]) -> None:
        events = (record.event for record in records)
        admitted_ids = {event.prompt_id for event in events if isinstance(event, PromptAdmitted)}
        if prompt_options.prompt_id in admitted_ids:
            loop.call_soon_threadsafe(admitted_event.set)

    unsubscribe = session.subscribe(on_records)
    away_seconds = MAX_AWAY_SECONDS if is_interactive else 0.0
    turn = session.prompt(magic_line.prompt, prompt_options)
    future: Future[Answer] = Future()
    task = loop.create_task(without_cell(kernel_parts, session, turn, away_seconds))
    task.add_done_callback(lambda task: _copy_result(task, future))
    admission = loop.create_task(admitted_event.wait())
    try:
        await asyncio.wait({task, admission}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        unsubscribe()
        admission.cancel()
    if task.done() and task.exception() is not None:
        await task
    return Background(kernel_parts, session, future)


def _copy_result(task: "asyncio.Task[Answer]", future: "Future[Answer]") -> None:
    if task.cancelled():
        future.cancel()
        return
    error = task.exception()
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(task.result())


def _show_sentence(kernel_parts: KernelParts, sentence: str) -> None:
    data = {"text/markdown": escape_inline(sentence), "text/plain": visible_text(sentence)}
    kernel_parts.shell.display_pub.publish(data)

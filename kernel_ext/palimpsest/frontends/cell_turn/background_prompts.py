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
from functools import partial

from palimpsest.frontends.cell_turn import cell_failure
from palimpsest.frontends.cell_turn.agent_answer import AgentAnswer
from palimpsest.frontends.cell_turn.cell_questions import Questions
from palimpsest.frontends.cell_turn.kernel_parts import KernelParts
from palimpsest.frontends.cell_turn.magic_line import MagicLine
from palimpsest.frontends.cell_turn.turn import TurnStopped, without_cell
from palimpsest.frontends.kernel.main_thread import CellWait, blocking
from palimpsest.frontends.usage_errors import usage_error
from palimpsest.render.safety.escaping import inline
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.open_sessions.unattended_refusal import AWAY_SECONDS
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Origin
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.session_record.events import PromptAdmitted, Record
from palimpsest.transcript.visible_text import visible

SENT = (
    "The agent works on this in the background. It goes on in the panel; %agent status says how far it is, "
    "%agent wait shows the answer here, %agent stop ends it."
)
STILL = "Not waiting any more. The agent goes on; %agent wait waits again, %agent stop ends it."

CLOSED = "The agent was closed before it answered; the session keeps what it had said."


class Background:
    """The handle of a prompt that runs in the background; ``handle = %agent --bg ...`` returns it.

    A cell that waits runs the agent's Python meanwhile, and asks its questions when no page can.
    """

    def __init__(
        self, parts: KernelParts, session: KernelSession, future: "Future[Answer]"
    ) -> None:
        self._parts = parts
        self._session = session
        self._future = future

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
        return self._parts.answered(self._future.result())

    def wait(self) -> AgentAnswer:
        """Wait here for the answer; the agent's Python runs meanwhile. The stop button ends the waiting."""
        made = self.waited()
        cell_failure.raise_if_failed(made, self._parts)
        return made

    def stop(self) -> bool:
        """Stop the turn; false when nothing ran."""
        return self._session.cancel("Stopped.")

    def __repr__(self) -> str:
        return f"<agent {'has answered' if self.done else 'works'}, session {self.session}>"

    def _ipython_display_(self) -> None:
        """Display nothing: the cell that sent the prompt has already shown that it runs."""

    def waited(self) -> AgentAnswer:
        """Wait as ``wait`` does, and return the answer of a failed turn, too."""
        if not self.done:  # it is also when the extension was unloaded since
            self._wait_in_cell()
        if self._future.cancelled():
            raise usage_error(CLOSED)
        try:
            answer = self._future.result()
        except UserError as error:
            raise usage_error(scrubber(os.environ)(str(error))) from None
        if answer.error is not None and answer.error.type == "aborted":
            raise TurnStopped
        return self._parts.answered(answer)

    def _wait_in_cell(self) -> None:
        """Block until the answer is there."""
        left = False
        session, questions = self._session, Questions(self._parts, partial(_show, self._parts))

        def stop() -> None:
            nonlocal left
            left = True

        def tick() -> None:
            if left:
                raise NoLongerWaiting
            picture = session.snapshot()
            if picture.asks or picture.questions or session.held:
                questions.check(session)

        # No session of its own: all output of the agent's Python is captured, as it is while idle.
        with (
            questions.followed(session),
            CellWait(self._parts.main_thread, "", None, stop, tick) as waits,
        ):
            blocking(waits.run(self._future, awaits=False))


class NoLongerWaiting(TurnStopped):
    """The person stopped the waiting, not the turn."""

    def _render_traceback_(self) -> list[str]:
        return [STILL]


def send_background_prompt(parts: KernelParts, request: MagicLine, place: Origin) -> Background:
    """Send a prompt and return at once; raises UsageError for one that is refused."""
    typed = cell_failure.may_type(parts.shell)
    try:
        handle = parts.run(_begin(parts, request, place, typed=typed))
    except UserError as error:
        raise usage_error(scrubber(os.environ)(str(error))) from None
    _show(parts, SENT)
    return handle


def answered_before(parts: KernelParts, answer: AgentAnswer, place: Origin) -> Background:
    """Return the handle of a prompt whose recorded answer was shown."""
    session = parts.run(parts.services.workspace.open(answer.session, place.notebook))
    future: Future[Answer] = Future()
    future.set_result(answer)
    return Background(parts, session, future)


def await_background_prompt(parts: KernelParts, place: Origin) -> AgentAnswer:
    """Wait for the running turn of the notebook's session, and show its answer; ``%agent wait``."""
    try:
        session = parts.run(parts.services.workspace.current(place.notebook))
        made = Background(parts, session, parts.services.engine.submit(session.loop())).waited()
    except TurnStopped:
        raise
    except KeyboardInterrupt:  # before the waiting had begun
        raise NoLongerWaiting from None
    parts.show(made.error.message if made.error is not None and not made.text else made.text)
    cell_failure.raise_if_failed(made, parts)
    return made


async def _begin(
    parts: KernelParts, request: MagicLine, place: Origin, *, typed: bool
) -> Background:
    """Find the session and send the prompt; returns when it is admitted. On the engine."""
    options = request.options
    session = await parts.session(options, place.notebook)
    chosen = PromptOptions.of(
        options,
        yes=options.yes,
        delivery="steer" if options.steer else "queue",
        origin=place,
        prompt_id=f"pmt_{uuid.uuid4().hex}",
    )
    loop, admitted = asyncio.get_running_loop(), asyncio.Event()

    def told(records: Sequence[Record]) -> None:
        events = (record.event for record in records)
        if any(isinstance(e, PromptAdmitted) and e.prompt_id == chosen.prompt_id for e in events):
            loop.call_soon_threadsafe(admitted.set)

    unsubscribe = session.subscribe(told)
    patience = AWAY_SECONDS if typed else 0.0
    turn = session.prompt(request.prompt, chosen)
    future: Future[Answer] = Future()
    task = loop.create_task(without_cell(parts, session, turn, patience))
    task.add_done_callback(lambda done: _hand_over(done, future))
    hearing = loop.create_task(admitted.wait())
    try:
        await asyncio.wait({task, hearing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        unsubscribe()
        hearing.cancel()
    if task.done() and task.exception() is not None:
        await task
    return Background(parts, session, future)


def _hand_over(done: "asyncio.Task[Answer]", future: "Future[Answer]") -> None:
    if done.cancelled():
        future.cancel()
        return
    problem = done.exception()
    if problem is not None:
        future.set_exception(problem)
    else:
        future.set_result(done.result())


def _show(parts: KernelParts, words: str) -> None:
    parts.shell.display_pub.publish({"text/markdown": inline(words), "text/plain": visible(words)})

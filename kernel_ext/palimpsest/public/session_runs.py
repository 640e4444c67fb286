"""The methods of ``Session`` about turns: begin, join, steer, retry, compact, stop, subscribe.

Every method can be called from any thread. A method that takes long returns a future; ``aio`` has the
same as coroutines, for scripts that have an event loop of their own.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

from palimpsest.app.wiring import App
from palimpsest.loop.run_inputs.compaction_state import CLOSED_BEFORE_WAIT
from palimpsest.public.record_listener import RecordListener
from palimpsest.public.session_calls import SessionCalls
from palimpsest.session.engine import EngineFuture
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.session.open_sessions.unattended_refusal import (
    MAX_PROGRAM_SECONDS,
    has_terminal,
    refuse_unattended,
)
from palimpsest.session.prompts.prompt_checks import PromptWords, answers_of, options_of, reply_of
from palimpsest.transcript.errors import UserError, WaitAborted
from palimpsest.transcript.session_record.events import Record
from palimpsest.transcript.values import Reply

if TYPE_CHECKING:
    from palimpsest.frontends.operation_base.operation import TurnOperation
    from palimpsest.session.open_sessions.followed_session import KernelSession

T = TypeVar("T")

MAX_STOP_SECONDS = 2.0
"""Maximum time that a cancelled wait waits for its turn to end; a tool that does not stop must not block it."""
NOT_IN_A_CELL = (
    "In a notebook, ask with %agent or %%agent: the agent's Python needs the thread that this call "
    "would block. start() sends a prompt without waiting."
)


class SessionRuns(SessionCalls):
    """Sends prompts and controls the turns of one session."""

    def __init__(self, app: App, kernel_session: "KernelSession") -> None:
        super().__init__(app, kernel_session)
        self._listeners: tuple[RecordListener, ...] = ()

    def start(self, text: str, **options: Unpack[PromptWords]) -> EngineFuture[Answer]:
        """Send a prompt; its answer arrives in a future.

        While a turn runs it waits behind it; ``delivery="steer"`` sends it into the turn, before
        its next request. The same ``prompt_id`` twice is one prompt. Cancelling the future withdraws the
        prompt, or stops the turn that it began.

        >>> future = session.start("Hello.", prompt_id="greeting")
        >>> future.result() == session.start("Hello.", prompt_id="greeting").result()
        True
        """
        future = self._begin_work(self._kernel_session.prompt(text, options_of(options)))
        if not self._app.engine.is_current():
            # Status and waiting include it as soon as this returns.
            self._begin_work(asyncio.sleep(0)).result()
        return future

    def loop(self) -> EngineFuture[Answer]:
        """Join the running turn; its final answer arrives in a future, the same for all that join.

        If none runs, one is begun for what was left: a message that has no answer yet because
        its kernel ended, and prompts that wait.

        >>> turn = session.start("Which files are there?", yes=True)
        >>> joined = session.loop()
        >>> joined.result().text == turn.result().text
        True
        """
        return self._begin_turn("loop")

    def retry(
        self,
        target: str = "",
        *,
        model: str | None = None,
        mode: str | None = None,
        overwrite: Sequence[str] = (),
    ) -> EngineFuture[Answer]:
        """Send the newest turn's failed request again; the answer arrives in a future.

        With a turn (``target``, an id in it or ``"last"``), a model or a mode, the turn and what follows it is reverted
        with its files, as ``revert`` does, and its prompt is sent again. The mode is the session's from then on.

        >>> session.retry().result()
        Traceback (most recent call last):
        palimpsest.transcript.errors.UserError: There is nothing to try again: the newest turn did not fail.
        """
        files = tuple(overwrite)
        return self._begin_turn("retry", target=target, model=model, mode=mode, overwrite=files)

    def compact(
        self, focus: str | None = None, *, model: str | None = None, auto: bool = False
    ) -> EngineFuture[Answer]:
        """Replace older messages by a summary, which arrives in a future; joins a compaction that runs.

        ``focus`` is what the summary keeps above all, ``model`` writes this one summary, and with ``auto``
        the agent goes on by itself after it. In a cell, write ``%agent compact``.

        >>> session.compact("the file names").result().steps
        1
        """
        return self._begin_turn("compact", focus=focus, model=model, auto=auto)

    def wait_compaction(self) -> EngineFuture[bool]:
        """Wait, in a future, until no compaction runs and the request that it interrupted was sent again.

        The result is false when that takes longer than the context policy waits. The future raises
        ``WaitAborted`` when the session is closed, before or meanwhile.

        >>> session.wait_compaction().result()
        True
        """
        try:
            return self._begin_work(self._kernel_session.wait_compaction())
        except UserError:  # the engine has ended, and the session with it
            ended_future = EngineFuture[bool](self._app.engine)
            ended_future.work_ended.set_result(None)
            ended_future.set_exception(WaitAborted(CLOSED_BEFORE_WAIT))
            return ended_future

    def cancel(self) -> bool:
        """Stop the turn that runs and withdraw the prompts that wait; false when nothing ran.

        >>> session.cancel()
        False
        """
        return self._run_now_or_in_order("cancel")

    def withdraw(self, prompt_id: str) -> bool:
        """Withdraw a waiting prompt; false when it was delivered already.

        >>> session.withdraw("greeting")
        False
        """
        return self._run_now_or_in_order("withdraw", prompt_id=prompt_id)

    def reply(self, ask_id: str, reply: Reply | str, feedback: str | None = None) -> bool:
        """Answer a permission question with once, always or reject; the first answer wins.

        ``feedback`` tells the model after a reject what to do instead. A ``Reply`` can also set how far
        an always reaches, ``Reply(answer="always", scope="project")``, and answer single changes of cells by ``cells``.

        >>> session.reply("ask_1", "reject", "Use the other file.")
        False
        """
        checked_reply = reply_of(reply, feedback)
        if checked_reply.by != "person":  # no page says who else has answered
            return self._kernel_session.reply(ask_id, checked_reply)
        options = {
            "feedback": checked_reply.feedback,
            "scope": checked_reply.scope,
            "cells": checked_reply.cells,
        }
        return not self._run_at_once(
            "reply", ask_id=ask_id, answer=checked_reply.answer, **options
        ).late

    def answer(self, question_id: str, *answers: str | Sequence[str] | None) -> bool:
        """Answer the model's questions: for each one a label, free text, or a list of labels.

        None leaves that question open; without any answer the agent goes on with its best
        judgement. The first answer wins, wherever it is given; false when it was answered already.

        >>> session.answer("que_1", "yes", ["mass", "year"])
        False
        """
        checked_answers = answers_of(answers)
        return not self._run_at_once(
            "answer", question_id=question_id, answers=checked_answers
        ).late

    def subscribe(self, callback: Callable[[Sequence[Record]], None]) -> Callable[[], None]:
        """Call back with every record after it was written, on a thread of its own; returns an unsubscriber.

        The callback may call the session and wait for it. The unsubscriber returns when all records
        written before it have been delivered.

        >>> seen = []
        >>> end = session.subscribe(seen.extend)
        >>> _ = session.prompt("Hello.")
        >>> _ = session.requests()  # reads the log, so all of it is written and delivered
        >>> end()
        >>> "message.updated" in {record.event.type for record in seen}
        True
        """
        self._app.engine.check_is_open()
        listener = RecordListener(callback)
        unsubscribe = self._kernel_session.subscribe(listener.queue_records)
        self._listeners = (*self._listeners, listener)

        def end() -> None:
            unsubscribe()
            self._listeners = tuple(other for other in self._listeners if other is not listener)
            listener.end()

        return end

    def _wait_for_listeners(self) -> None:
        """Wait until all subscribers have received every record written so far."""
        for listener in self._listeners:
            listener.wait_for_delivery()

    def _begin_turn(self, operation: str, **arguments: Any) -> EngineFuture[Answer]:
        turn_operation = cast("TurnOperation", self._build_operation(operation, **arguments))
        return self._begin_work(turn_operation.turn(self._kernel_session, None))

    def _run_now_or_in_order(self, operation: str, **arguments: Any) -> bool:
        """Run an operation now, or after the work submitted before; returns whether it did something.

        A prompt of a moment ago may not be admitted yet.
        """
        if not self._run_at_once(operation, **arguments).late:
            return True
        if self._app.engine.is_current():
            return False
        queued_run = self._build_operation(operation, **arguments).run(self._operation_context())
        return not self._begin_work(queued_run).result().late

    def _begin_work(self, coroutine: Coroutine[Any, Any, T]) -> EngineFuture[T]:
        return self._app.engine.submit(coroutine, is_turn=True)


class AsyncRuns:
    """The methods of ``Session`` that take long, as coroutines for any event loop.

    A cancelled wait (``task.cancel``, ``asyncio.timeout``, a task group that fails) withdraws its prompt, or stops
    the turn, retry or compaction that it began, as ``cancel`` does; the agent's answer so far is kept. A wait that only
    joined a turn of another caller, or steered into it, just ends.

    >>> async def two():
    ...     first = session.aio.prompt("Which files are there?", yes=True)
    ...     return await asyncio.gather(first, session.aio.prompt("Hello."))
    >>> import asyncio
    >>> [answer.error for answer in asyncio.run(two())]
    [None, None]
    """

    def __init__(self, runs: SessionRuns, app: App, kernel_session: "KernelSession") -> None:
        self._runs, self._app, self._kernel_session = runs, app, kernel_session

    async def prompt(self, text: str, **options: Unpack[PromptWords]) -> Answer:
        """Send a prompt and await its answer; in a notebook's kernel, ask with %agent.

        Without a terminal, a question that the program does not answer within seconds is rejected, with
        a record. ``start`` leaves questions to the program without a limit.
        """
        if self._app.in_kernel:
            raise UserError(NOT_IN_A_CELL)
        refusal = refuse_unattended(self._kernel_session, has_terminal, MAX_PROGRAM_SECONDS)
        refusal_future = self._app.engine.submit(refusal)
        try:
            return await self._result_of(self._runs.start(text, **options))
        finally:
            refusal_future.cancel()

    async def loop(self) -> Answer:
        """Join the running turn and await its final answer."""
        return await self._result_of(self._runs.loop())

    async def retry(
        self,
        target: str = "",
        *,
        model: str | None = None,
        mode: str | None = None,
        overwrite: Sequence[str] = (),
    ) -> Answer:
        """Send a failed request or a turn's prompt again, and await its answer."""
        retry_future = self._runs.retry(target, model=model, mode=mode, overwrite=overwrite)
        return await self._result_of(retry_future)

    async def compact(
        self, focus: str | None = None, *, model: str | None = None, auto: bool = False
    ) -> Answer:
        """Replace older messages by a summary, and await it."""
        return await self._result_of(self._runs.compact(focus, model=model, auto=auto))

    async def wait_compaction(self) -> bool:
        """Return when no compaction runs and the request that it interrupted was sent again.

        Raises ``WaitAborted`` when the session is closed, before or meanwhile.
        """
        return await self._result_of(self._runs.wait_compaction())

    async def call(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Call any other method of a session without blocking this event loop.

        >>> import asyncio
        >>> asyncio.run(session.aio.call(session.fork)).id != session.id
        True
        """
        return await asyncio.to_thread(function, *arguments, **named)

    async def _result_of(self, future: EngineFuture[T]) -> T:
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            future.cancel()
            # Wait until the end of the turn is recorded, so that the caller can use the session at once.
            await asyncio.wait({asyncio.wrap_future(future.work_ended)}, timeout=MAX_STOP_SECONDS)
            with suppress(UserError):  # the engine has ended
                stop_future = self._app.engine.submit(
                    self._kernel_session.wait_stopped(MAX_STOP_SECONDS)
                )
                await asyncio.wait({asyncio.wrap_future(stop_future)}, timeout=MAX_STOP_SECONDS)
            raise

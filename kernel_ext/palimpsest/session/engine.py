"""The engine of sessions: its thread, locked access to a session's journal, and the secrets kept out of the log.

The engine runs on one daemon thread with its own asyncio loop, for the kernel's life. It owns model streams,
sessions and journals; no engine code runs on the main thread.

Every read of the folded state takes the journal's lock: the writer thread folds streamed text into the
same state, so a read without the lock could see half a change. The secret values are those of this kernel's
environment, also one that a cell has just set.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from palimpsest.store.session_state.state import State
from palimpsest.tools.tool import Abort
from palimpsest.transcript.context_values.decisions import StepRequest
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.redaction.secret_removal import KernelSecrets, redacted_value
from palimpsest.transcript.session_record.events import PromptAdmitted, QuestionAsked, Record
from palimpsest.transcript.session_record.sessions import SessionInfo, Status
from palimpsest.transcript.values import Ask, Reply, Todo, ToolSpec

T = TypeVar("T")
RecordsCallback = Callable[[Sequence[Record]], None]
"""Called with records that were written, on the writer thread."""


async def call_off_loop(call: Callable[[], T]) -> T:
    """Run a blocking call in another thread, or in this one while the interpreter shuts down and starts no threads."""
    if threading.main_thread().is_alive():
        return await asyncio.to_thread(call)
    return call()


def runs_on(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether the caller runs on this loop."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


CLOSED_SENTENCE = "This agent was closed. Load the extension again, or make a new App."
ON_ENGINE_ERROR = (
    "This call waits for the agent's thread, and it was made on it, by a coroutine of a tool or a hook. Make the tool "
    "or hook a plain function, which has a thread of its own, or await the method of session.aio."
)


class EngineFuture(Future[T]):
    """The result of work on the engine; waiting for it on the engine's own thread raises instead of deadlocking.

    A kernel's main thread that waits for a turn serves the turn's requests to it meanwhile.
    """

    def __init__(self, engine: "EngineThread", *, is_turn: bool = False) -> None:
        super().__init__()
        self._engine = engine
        self._is_turn = is_turn
        self.work_ended: Future[None] = Future()
        """Done when the work has ended: later than this future where that was cancelled."""

    def result(self, timeout: float | None = None) -> T:
        """Wait for the result and return it; raises UserError on the engine's own thread."""
        self._check_thread()
        return super().result(self._serve_main_thread(timeout))

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the end and return the exception, if any; raises UserError on the engine's own thread."""
        self._check_thread()
        return super().exception(self._serve_main_thread(timeout))

    def _check_thread(self) -> None:
        if not self.done() and self._engine.is_current():
            raise UserError(ON_ENGINE_ERROR)

    def _serve_main_thread(self, timeout: float | None) -> float | None:
        """Run the turn's requests on the main thread until it is done or the timeout over; returns the seconds left."""
        serve = self._engine.serve_main_thread
        if not self._is_turn or serve is None or self.done():
            return timeout
        return serve(self, timeout)


class EngineThread:
    """A thread that runs coroutines for all other threads."""

    def __init__(self, name: str = "palimpsest-engine") -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready_event = threading.Event()
        self._start_lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.serve_main_thread: Callable[[Future[Any], float | None], float | None] | None = None
        """Runs the engine's requests on a kernel's main thread until a future is done or a timeout is over.

        Called on any thread that waits; returns the seconds left.
        """

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The engine's loop; starts the thread if it does not run yet."""
        with self._start_lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run_loop, name=self._name, daemon=True)
                self._thread.start()
        self._ready_event.wait()
        if self._loop is None:
            raise RuntimeError("The engine thread ended before its loop began.")
        return self._loop

    def submit(
        self, coroutine: Coroutine[Any, Any, T], *, is_turn: bool = False
    ) -> EngineFuture[T]:
        """Run a coroutine on the engine; returns a future for other threads.

        A turn may need the main thread, so a wait for it there serves its requests. Raises UserError where
        the engine has ended.
        """
        if self.loop.is_closed():
            coroutine.close()
            raise UserError(CLOSED_SENTENCE)
        loop, future = self.loop, EngineFuture[T](self, is_turn=is_turn)
        loop.call_soon_threadsafe(_start_work, loop, coroutine, future)
        return future

    def check_is_open(self) -> None:
        """Raise UserError where the engine has ended."""
        if self._loop is not None and self._loop.is_closed():
            raise UserError(CLOSED_SENTENCE)

    def is_current(self) -> bool:
        """Return whether the caller runs on the engine's thread, where waiting would deadlock."""
        return threading.current_thread() is self._thread

    def stop(self, timeout: float = 2.0) -> None:
        """Cancel what runs and end the thread; waits at most ``timeout`` seconds."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or not thread.is_alive():
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout)

    def _run_loop(self) -> None:
        loop = asyncio.new_event_loop()
        # By this thread name, imports made on behalf of the engine are distinguished from the user's.
        loop.set_default_executor(ThreadPoolExecutor(thread_name_prefix="palimpsest-work"))
        asyncio.set_event_loop(loop)
        self._loop = loop
        loop.call_soon(self._ready_event.set)
        try:
            loop.run_forever()
        finally:
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


def _start_work(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T], future: EngineFuture[T]
) -> None:
    """Start a coroutine and pass its result to a future; cancelling the future cancels the coroutine."""
    if future.cancelled():
        coroutine.close()
        future.work_ended.set_result(None)
        return
    task = loop.create_task(coroutine)

    def cancel_task(ended_future: "Future[T]") -> None:
        if ended_future.cancelled():
            with contextlib.suppress(RuntimeError):  # the loop was closed, and the work with it
                loop.call_soon_threadsafe(task.cancel)

    def pass_result(task: "asyncio.Task[T]") -> None:
        future.work_ended.set_result(None)
        if task.cancelled():
            future.cancel()
        exception = None if task.cancelled() else task.exception()
        if not future.set_running_or_notify_cancel():
            return
        if exception is not None:
            future.set_exception(exception)
        else:
            future.set_result(task.result())

    future.add_done_callback(cancel_task)
    task.add_done_callback(pass_result)


class Run:
    """One run of the loop: the prompts delivered in it, and its abort signal."""

    def __init__(self) -> None:
        self.abort = Abort()
        self.message_id_by_prompt_id: dict[str, str] = {}
        """Prompt id to the id of the user message it became."""
        self.yes = False
        """Whether a prompt of this run answers permission questions with "once"."""
        self.first_seq = 0
        """Sequence number of the run's first record."""
        self.withdrawn_prompt_texts: list[str] = []
        """Texts of prompts that waited in the inbox when the run was stopped, and were withdrawn."""


class RedactedSpecs:
    """Returns tool specs without secrets; each spec is searched once for each set of secrets.

    Every step sends the same specs, and searching them took most of a prompt's time for removing secrets.
    """

    def __init__(self, secrets: KernelSecrets) -> None:
        self._secrets = secrets
        self._known_secrets: tuple[str, ...] = ()
        self._specs_by_name: dict[str, tuple[ToolSpec, ToolSpec]] = {}
        """By the tool's name: its spec as given, and without secrets."""

    def __call__(self, specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
        """Return specs without secrets."""
        values = self._secrets()
        if values != self._known_secrets:
            self._known_secrets, self._specs_by_name = values, {}
        # Copies are stored, since a server may change its schema in place and return the same object again.
        new_specs = [
            spec.model_copy(deep=True)
            for spec in specs
            if self._specs_by_name.get(spec.name, (None, None))[0] != spec
        ]
        redacted = redacted_value(new_specs, self._secrets.secret_remover()) if new_specs else ()
        self._specs_by_name |= {
            old.name: (old, new) for old, new in zip(new_specs, redacted, strict=True)
        }
        return tuple(self._specs_by_name[spec.name][1] for spec in specs)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An immutable snapshot of a session's state, safe to read from any thread."""

    session: SessionInfo | None
    status: Status
    messages: Messages
    asks: tuple[Ask, ...]
    inbox: tuple[PromptAdmitted, ...]
    todos: tuple[Todo, ...]
    request: StepRequest | None
    seq: int
    replies: Mapping[str, Reply] = field(default_factory=dict)
    """Answers to permission questions, by the id of the tool call that asked."""
    questions: tuple[QuestionAsked, ...] = ()
    """Questions of the model to the user that are not answered yet."""
    partial: bool = False
    """Whether the messages that a summary covers are in the log only, not in ``messages``."""
    problem: str = ""
    """One sentence while records cannot be written, since the disk does not respond; else empty."""

    @classmethod
    def of_state(cls, state: State, *, messages: bool = True) -> "Snapshot":
        """Return a snapshot of a state, with its messages or none; the caller holds the state's lock."""
        return cls(
            session=state.session,
            status=state.status,
            messages=state.messages() if messages else (),
            asks=tuple(state.asks_by_id.values()),
            inbox=tuple(state.inbox.values()),
            todos=state.todos,
            request=state.request,
            seq=state.seq,
            replies=dict(state.replies),
            questions=tuple(state.questions.values()),
            partial=state.is_partial,
        )

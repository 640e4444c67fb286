"""A call's record says what its code left running for as long as it runs, and a new kernel tells what ran at the end."""

import asyncio
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from tests.harness.session import SessionHarness, ask, until

from palimpsest.model.script import calls, says
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.session_state.interrupted_work import close_interrupted, code_at_the_end
from palimpsest.testing import ScriptedModel
from palimpsest.tools.tool import LeftRunning, PythonOutcome
from palimpsest.transcript.messages import UserMessage
from palimpsest.transcript.parts import TextPart, ToolPart

CODE = "import threading\nthreading.Thread(target=f).start()"


class LeavingRunner:
    """A Python runner whose code leaves a thread running until ``over`` is done."""

    def __init__(self) -> None:
        self.over: Future[None] = Future()

    async def run(self, code: str, **_: Any) -> PythonOutcome:
        return PythonOutcome(
            code, "", None, None, left_running=LeftRunning(("the thread 'worker'",), self.over)
        )


def harness(root: Path, runner: LeavingRunner, *answers: Any, **more: Any) -> SessionHarness:
    model = ScriptedModel(*answers)
    python = {"python": lambda _session: runner}
    return SessionHarness(root, model, kernel_tools=True, **python, **more)


async def asked(made: SessionHarness) -> LiveSession:
    session = await made.session()
    await ask(session, "start it", yes=True)
    await session.journal.flush()
    return session


def left(session: LiveSession) -> list[Any]:
    return [
        part.state.metadata.get("left_running")  # type: ignore[union-attr]
        for message in session.snapshot().messages
        for part in message.parts
        if isinstance(part, ToolPart)
    ]


def notes(session: LiveSession) -> list[str]:
    return [
        part.text
        for message in session.snapshot().messages
        if isinstance(message.info, UserMessage)
        for part in message.parts
        if isinstance(part, TextPart) and part.synthetic
    ]


async def test_it_stands_in_the_record_until_it_is_over(tmp_path: Path) -> None:
    runner = LeavingRunner()
    session = await asked(harness(tmp_path, runner, calls("python", code=CODE), says("Started.")))
    assert left(session) == [["the thread 'worker'"]]

    await asyncio.to_thread(runner.over.set_result, None)

    assert left(session) == [None]


async def test_what_was_over_before_the_call_was_written_is_not_in_it(tmp_path: Path) -> None:
    runner = LeavingRunner()
    runner.over.set_result(None)

    session = await asked(harness(tmp_path, runner, calls("python", code=CODE), says("Started.")))

    assert left(session) == [None]


async def test_a_session_that_is_closed_leaves_no_trace_of_it(tmp_path: Path) -> None:
    store, runner = MemoryStore(), LeavingRunner()
    answers = calls("python", code=CODE), says("Started.")
    session = await asked(harness(tmp_path, runner, *answers, store=store))

    await session.close()

    assert code_at_the_end(store.load(session.id)) == ""


async def test_the_next_kernel_tells_user_and_model_once(tmp_path: Path) -> None:
    store, runner = MemoryStore(), LeavingRunner()
    answers = calls("python", code=CODE), says("Started."), says("Sorry."), says("Yes.")
    session = await asked(harness(tmp_path, runner, *answers, store=store))
    state = store.load(session.id)

    code = code_at_the_end(state)
    session.journal.append(*close_interrupted(state, now_ms=1))

    assert "the thread 'worker', started by import threading / threading.Thread" in code
    assert "may have ended it" in code
    assert close_interrupted(session.journal.state, now_ms=2) == []
    assert code_at_the_end(session.journal.state) == ""
    await ask(session, "what happened?")
    await ask(session, "really?")
    ended = [note for note in notes(session) if "The kernel ended" in note]
    assert len(ended) == 1
    assert "the thread 'worker', started by 'import threading'" in ended[0]


async def test_a_fork_says_nothing_of_a_kernel_that_goes_on(tmp_path: Path) -> None:
    runner = LeavingRunner()
    made = harness(tmp_path, runner, calls("python", code=CODE), says("Started."))
    session = await asked(made)

    fork = await made.workspace.fork(session.id)

    assert fork.take_opening_notice() == ""
    assert isinstance(fork, LiveSession)
    await until(lambda: left(fork) == [None])
    assert left(session) == [["the thread 'worker'"]]

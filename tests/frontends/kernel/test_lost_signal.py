"""An interrupt that arrives just before the main thread blocks is sent again, and ends the wait."""

import asyncio
import signal
import threading
import time
from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell
from tests.waiting import LAST_RESORT_SECONDS, eventually

from palimpsest.frontends.kernel.code_execution import run_unsuspended
from palimpsest.frontends.kernel.interrupts import InterruptHold, Interruptible, Interrupts
from palimpsest.frontends.kernel.jobs import CodeJob, Interrupted
from palimpsest.frontends.kernel.main_thread import MainThread, blocking


def wait_interruptibly(seconds: float = LAST_RESORT_SECONDS) -> None:
    """Block the thread, as a question does."""
    threading.Event().wait(seconds)


def signal_interruptibly() -> None:
    """Get a signal where it may interrupt."""
    signal.raise_signal(signal.SIGINT)


class Waiting(Interruptible):
    """A running piece that a signal may interrupt inside one function."""

    interruptible_code = wait_interruptibly.__code__


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    thread = threading.Thread(target=made.run_forever)
    thread.start()
    yield made
    made.call_soon_threadsafe(made.stop)
    thread.join()
    made.close()


@pytest.fixture
def caught(
    loop: asyncio.AbstractEventLoop,
) -> Iterator[tuple[Interrupts, InterruptHold, list[str]]]:
    told: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    interrupts = Interrupts(lambda: loop)
    catching = interrupts.install(lambda: told.append("stop"))
    assert catching is not None
    yield interrupts, catching, told
    catching.restore_handler()
    interrupts.close()
    signal.signal(signal.SIGINT, before)


def number_only(interrupts: Interrupts) -> None:
    """Simulate a signal that reaches the engine, but no handler, since the main thread is blocked."""
    pair = interrupts._sockets
    assert pair is not None
    pair[1].send(bytes([signal.SIGINT]))


def test_a_wait_that_a_signal_came_too_early_for_ends(
    caught: tuple[Interrupts, InterruptHold, list[str]],
) -> None:
    interrupts, _, told = caught
    running = Waiting()
    interrupts.running_piece = running

    number_only(interrupts)
    with pytest.raises(KeyboardInterrupt):
        wait_interruptibly()

    interrupts.running_piece = None
    assert running.interrupted
    assert told


def test_code_that_began_right_after_a_signal_and_never_awaits_ends(
    caught: tuple[Interrupts, InterruptHold, list[str]],
) -> None:
    interrupts, _, told = caught
    shell = InteractiveShell()
    code = compile(
        "import time\nend = time.monotonic() + 30\nwhile time.monotonic() < end: pass", "", "exec"
    )

    class Awaiting(Waiting):
        interruptible_code = None

    async def work() -> float:
        running = Awaiting()
        running.task = asyncio.current_task()
        interrupts.running_piece = running
        # No user code runs on the main thread here, so the task must be cancelled.
        signal.raise_signal(signal.SIGINT)
        began = time.monotonic()
        await shell.run_code(code)
        interrupts.running_piece = None
        return time.monotonic() - began

    assert asyncio.run(work()) < 20
    assert told


def test_a_signal_that_was_met_is_not_sent_again(
    caught: tuple[Interrupts, InterruptHold, list[str]],
) -> None:
    interrupts, _, told = caught
    for _ in range(2):
        running = Waiting()
        running.interruptible_code = signal_interruptibly.__code__
        interrupts.running_piece = running
        with pytest.raises(KeyboardInterrupt):
            signal_interruptibly()
        interrupts.running_piece = running = Waiting()
        wait_interruptibly(0.5)
        assert not running.interrupted
    assert told


def test_the_next_turn_hears_nothing_of_a_signal_that_ended_the_one_before(
    loop: asyncio.AbstractEventLoop,
) -> None:
    before = signal.getsignal(signal.SIGINT)
    interrupts = Interrupts(lambda: loop)
    told: list[str] = []

    def stop() -> None:
        told.append("first")
        interrupts.interrupt_main()  # as when a turn with an open question is stopped

    first = interrupts.install(stop)
    assert first is not None

    # The engine receives the signal first, so one run of the handler gets both.
    def hear() -> None:
        number_only(interrupts)
        threading.Event().wait(LAST_RESORT_SECONDS)

    interrupts.running_piece = heard = Waiting()
    heard.interruptible_code = hear.__code__
    with pytest.raises(KeyboardInterrupt):
        hear()
    first.restore_handler()

    interrupts.running_piece = running = Waiting()
    second = interrupts.install(lambda: told.append("second"))
    assert second is not None
    try:
        wait_interruptibly(0.5)
    finally:
        interrupts.running_piece = None
        second.restore_handler()
        interrupts.close()
        signal.signal(signal.SIGINT, before)
    assert told == ["first"]
    assert not running.interrupted


def test_a_second_signal_raises_nothing_in_what_catches_the_first(
    caught: tuple[Interrupts, InterruptHold, list[str]],
) -> None:
    interrupts, _, told = caught
    running = Waiting()
    running.interruptible_code = signal_interruptibly.__code__
    interrupts.running_piece = running
    try:
        signal_interruptibly()
    except KeyboardInterrupt:
        running.interrupted = False
        signal.raise_signal(signal.SIGINT)
    interrupts.running_piece = None

    assert running.interrupted
    eventually(lambda: told)


class SignalWhilePrepared:
    """The host of a job, during whose preparation somebody presses stop."""

    def show_call(self, call_id: str) -> None:  # noqa: ARG002
        signal.raise_signal(signal.SIGINT)

    def prepare_native_output(self, call_id: str) -> bool:  # noqa: ARG002
        return False

    def warn_stuck(self, words: str) -> None:
        raise AssertionError(words)


def test_code_that_was_stopped_while_it_was_prepared_does_not_begin(
    loop: asyncio.AbstractEventLoop,
) -> None:
    before = signal.getsignal(signal.SIGINT)
    shell = InteractiveShell()
    main_thread = MainThread(shell, lambda: loop)
    job = CodeJob("ses", "began = True", "call")
    catching = main_thread.interrupts.install(lambda: main_thread.interrupt(job))
    assert catching is not None
    try:
        blocking(main_thread.run_job(job, lambda _: SignalWhilePrepared(), awaits=False))
    finally:
        catching.restore_handler()
        main_thread.interrupts.close()
        signal.signal(signal.SIGINT, before)

    assert isinstance(job.future.exception(), Interrupted)
    assert "began" not in shell.user_ns


def test_code_whose_stop_came_before_it_began_is_told_again(
    loop: asyncio.AbstractEventLoop,
) -> None:
    before = signal.getsignal(signal.SIGINT)
    shell = InteractiveShell()
    main_thread = MainThread(shell, lambda: loop)
    code = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"
    job = CodeJob("ses", code, "call")
    catching = main_thread.interrupts.install(lambda: None)
    assert catching is not None
    began = time.monotonic()
    # As a signal that is met between the preparation and the first line of the code.
    job.has_started = job.interrupted = True
    loop.call_soon_threadsafe(main_thread.interrupt, job)
    try:
        main_thread.interrupts.running_piece = job
        run_unsuspended(
            shell.run_cell_async(code, transformed_cell=code), shell
        )  # which shows the interrupt
    finally:
        main_thread.interrupts.running_piece = None
        job.future.cancel()
        catching.restore_handler()
        main_thread.interrupts.close()
        signal.signal(signal.SIGINT, before)

    assert job.has_reached_job
    assert time.monotonic() - began < 50

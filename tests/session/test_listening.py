"""Listeners, tools and hooks may call their session; a call that would wait for itself raises an error."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.app.wiring import App
from palimpsest.model.script import calls, says
from palimpsest.public.record_listener import RecordListener
from palimpsest.public.session_object import Session, open_session
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.session_record.events import Record, SessionStatus

ROOT = Path(__file__).parents[2]


def app_with(folder: Path, *answers: Any) -> App:
    model = ScriptedModel(*answers)
    return App(start=folder, environment={}, overrides={"titles": False}, model=lambda _: model)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    made = app_with(tmp_path, says("One."), says("Two."))
    yield made
    made.close()


CALLS: dict[str, Callable[[Session], object]] = {
    "fork": lambda session: session.fork().id,
    "retitle": lambda session: session.retitle("Anew"),
    "archive": lambda session: session.archive(archived=False),
    "context": lambda session: session.context().used_tokens,
    "requests": lambda session: session.requests(),
    "pin": lambda session: session.pin(session.messages[-1].id),
    "use_policy": lambda session: session.use_policy("default").name,
    "diff": lambda session: session.diff(),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_callback_may_call_the_session_and_what_follows_is_written(app: App, name: str) -> None:
    session = open_session(app)
    made: list[object] = []
    problems: list[Exception] = []

    def told(records: Sequence[Record]) -> None:
        idle = any(
            isinstance(record.event, SessionStatus) and record.event.status.type == "idle"
            for record in records
        )
        if idle and not made and not problems:
            try:
                made.append(CALLS[name](session))
            except Exception as problem:  # noqa: BLE001  told below
                problems.append(problem)

    end = session.subscribe(told)
    session.prompt("first")
    second = session.prompt("second")
    end()
    session._flush()

    assert (len(made), problems) == (1, [])
    assert second.text == "Two."
    written = [record.event for record in app.services.store.read(session.id)]
    assert "Two." in str(written)


def test_a_callback_may_send_a_prompt_and_wait_for_it(app: App) -> None:
    session = open_session(app)
    answers: list[str] = []
    once = threading.Lock()

    def told(_records: Sequence[Record]) -> None:
        if once.acquire(blocking=False):
            answers.append(session.prompt("second").text)

    end = session.subscribe(told)
    answers.append(session.prompt("first").text)
    end()

    assert sorted(answers) == ["One.", "Two."]


def test_a_callback_that_fails_is_told_what_follows() -> None:
    told: list[Sequence[Record]] = []

    def fails(records: Sequence[Record]) -> None:
        told.append(records)
        raise ValueError("This callback is broken.")

    listener = RecordListener(fails)
    listener.queue_records(())
    listener.queue_records(())
    listener.end()

    assert len(told) == 2


@pytest.mark.soak  # with each commit tests/session/test_exit.py has a script that ends; this adds a listener that still prints
def test_a_script_that_ends_waits_until_all_is_delivered(tmp_path: Path) -> None:
    script = f"""
from {RecordListener.__module__} import RecordListener

def told(records):
    for _ in range(20_000):
        print("x" * 200)

RecordListener(told).queue_records(())
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(ROOT / "kernel_ext")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    # Python aborts where a thread that it ends is printing.
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 20_000


def test_a_callback_may_end_its_own_subscription(app: App) -> None:
    session = open_session(app)
    ended = threading.Event()
    ends: list[Callable[[], None]] = []

    def told(_records: Sequence[Record]) -> None:
        ends[0]()
        ended.set()

    ends.append(session.subscribe(told))
    session.prompt("first")

    assert ended.wait(LAST_RESORT_SECONDS)


def test_a_tool_on_the_engine_that_waits_for_the_engine_is_told_so(tmp_path: Path) -> None:
    app = app_with(tmp_path, calls("rename", title="Anew"), says("Done."))
    session = open_session(app)

    async def rename(title: str) -> str:
        """Call the session otherwise.

        Args:
            title: How.
        """
        return session.retitle(title)

    app.registry.add(rename)
    answer = session.prompt("Rename it.", yes=True)
    app.close()

    assert answer.text == "Done."
    assert "made on it, by a coroutine" in str(answer.messages[0].parts)

"""Listeners, tools and hooks may call their session; a call that would wait for itself raises an error."""

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from palimpsest.app.wiring import App
from palimpsest.model.script import calls, says
from palimpsest.public.record_listener import RecordListener
from palimpsest.public.session_object import Session, open_session
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.session_record.events import Record, SessionStatus


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
    "context": lambda session: session.context().used,
    "requests": lambda session: session.requests(),
    "pin": lambda session: session.pin(session.messages[-1].id),
    "use_policy": lambda session: session.use_policy("default").name,
    "diff": lambda session: session.diff(),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.timeout(60)
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


@pytest.mark.timeout(60)
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
    listener.take(())
    listener.take(())
    listener.end()

    assert len(told) == 2


def test_a_callback_may_end_its_own_subscription(app: App) -> None:
    session = open_session(app)
    ended = threading.Event()
    ends: list[Callable[[], None]] = []

    def told(_records: Sequence[Record]) -> None:
        ends[0]()
        ended.set()

    ends.append(session.subscribe(told))
    session.prompt("first")

    assert ended.wait(30)


@pytest.mark.timeout(60)
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

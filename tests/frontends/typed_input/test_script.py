"""A prompt in a Python script asks permission at the terminal, and without a terminal refuses at once."""

import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.harness.process_forks import APPLICATION, forked_python
from tests.harness.terminal import read_until
from tests.sample_size import thinned
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.store.log.store_factory import open_store
from palimpsest.transcript.session_record.events import PermissionReplied

SCRIPT = """\
import signal
from palimpsest.app.wiring import App
from palimpsest.model.script import calls, says
from palimpsest.testing import ScriptedModel
from palimpsest.public.session_object import open_session

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
model = ScriptedModel({answers})
app = App(model=lambda _: model, environment={{}}, overrides={{"model": "a/b", "titles": False}})
print("answer:", open_session(app).prompt("Do it.").text, flush=True)
app.close()
"""
WRITES = "calls('write', path='a.txt', content='x'), says('Over.')"
ASKS = (
    "calls('question', questions=[{'question': 'Which one?', 'options': "
    "[{'label': 'Red'}, {'label': 'Blue'}]}]), says('Over.')"
)

pytestmark = pytest.mark.slow


def begun(
    folder: Path, answers: str, stdin: int, *, fresh: bool = False
) -> "subprocess.Popen[str]":
    """Start a script; a fresh one imports the application itself, and receives signals itself."""
    script = SCRIPT.format(answers=answers)
    pipe = subprocess.PIPE
    python = [sys.executable] if fresh else forked_python(*APPLICATION)
    command = [*python, "-c", script]
    return subprocess.Popen(
        command, cwd=folder, stdin=stdin, stdout=pipe, stderr=pipe, text=True, bufsize=0
    )


def typed(folder: Path, answers: str, until: str, line: bytes) -> str:
    """Run a script at a terminal, type a line once it has printed ``until``; return the whole output."""
    ours, its = pty.openpty()
    running = begun(folder, answers, its)
    os.close(its)
    assert running.stdout is not None
    said = bytearray()
    if read_until(running.stdout.fileno(), said, until.encode()):
        os.write(ours, line)
    rest, problems = ended(running)
    os.close(ours)
    assert (until in said.decode(), problems) == (True, ""), said.decode() + rest
    return said.decode() + rest


def ended(running: "subprocess.Popen[str]") -> tuple[str, str]:
    """Return the rest of a script's output and errors; one that does not end fails with them."""
    try:
        return running.communicate(timeout=LAST_RESORT_SECONDS)
    except subprocess.TimeoutExpired:
        running.kill()
        pytest.fail("The script did not end. It showed: {}{}".format(*running.communicate()))


def replies(folder: Path) -> list[PermissionReplied]:
    store, _ = open_store(folder)
    [session] = store.list()
    events = [record.event for record in store.read(session.id)]
    return [event for event in events if isinstance(event, PermissionReplied)]


def test_a_question_is_answered_at_the_terminal(tmp_path: Path) -> None:
    output = typed(tmp_path, WRITES, "> ", b"what?\n1\n")

    assert "The agent wants to use write" in output
    assert "Please answer 1, 2 or 3" in output
    assert output.endswith("answer: Over.\n")
    assert (tmp_path / "a.txt").read_text() == "x"
    assert [reply.reply.by for reply in replies(tmp_path)] == ["person"]


@pytest.mark.soak  # with each commit a question for permission is, above; this adds one of the model
def test_what_the_model_asks_is_answered_at_the_terminal(tmp_path: Path) -> None:
    output = typed(tmp_path, ASKS, "> ", b"2\n")

    assert "Which one?" in output
    assert output.endswith("answer: Over.\n")
    store, _ = open_store(tmp_path)
    [session] = store.list()
    assert (
        "Blue"
        in "".join(
            record.model_dump_json()
            for record in store.read(session.id)
            if "question" in record.event.type
        ).rpartition("question.asked")[2]
    )


@pytest.mark.parametrize("answers", thinned([WRITES, ASKS], 2), ids=["permission", "question"])
def test_without_a_terminal_nobody_is_waited_for(tmp_path: Path, answers: str) -> None:
    said, problems = ended(begun(tmp_path, answers, subprocess.DEVNULL))

    assert (said, problems) == ("answer: Over.\n", "")
    assert not (tmp_path / "a.txt").exists()
    assert [reply.reply.by for reply in replies(tmp_path)] == ["headless"] * (answers == WRITES)


def interrupted(running: "subprocess.Popen[str]") -> tuple[str, str]:
    """Interrupt a script with SIGINT, repeatedly until it ends; return its output.

    A signal just before the reading begins has no effect, as with any ``input()``.
    """
    for _ in range(4):
        running.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return running.communicate(timeout=LAST_RESORT_SECONDS)
    pytest.fail("Nothing came of an interrupt.")


def test_a_keyboard_interrupt_stops_the_turn(tmp_path: Path) -> None:
    ours, its = pty.openpty()
    running = begun(tmp_path, WRITES, its, fresh=True)
    os.close(its)
    assert running.stdout is not None
    said = bytearray()
    assert read_until(running.stdout.fileno(), said, b"> "), said.decode()

    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(0.2)
    _, problems = interrupted(running)
    os.close(ours)

    assert problems.rstrip().endswith("KeyboardInterrupt")
    assert not (tmp_path / "a.txt").exists()
    store, _ = open_store(tmp_path)
    [session] = store.list()
    assert "Stopped." in "".join(record.model_dump_json() for record in store.read(session.id))

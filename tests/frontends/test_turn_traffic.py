"""A step costs its page what it adds, at the beginning of a long turn and at its end."""

import json
import tempfile
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel, Message
from tests.sample_size import thinned

STEPS = 60
EDGE = 10
SCRIPT = """from pathlib import Path
from palimpsest.model.script import calls, says, thinks
def steps(count):
    for number in range(count):
        Path(f"{number}.txt").write_text("some words of a line\\n" * 50)
    words = "I look at what the file says, and decide what to read next."
    step = thinks(words).says(words).pauses(0.05)
    harness.script(*(step.calls("read", path=f"{n}.txt") for n in range(count)), says("Done."))
"""
GO = "%%agent\nGo."


def turn_messages(*, cell: bool) -> list[Message]:
    """Return the messages of a turn of 60 steps that a page watches, asked for in a cell or in the panel."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        Kernel(cwd=Path(folder)) as kernel,
    ):
        kernel.load_scripted_model()
        kernel.run(f"{SCRIPT}steps({STEPS})")
        kernel.request(type="watch", client="page")
        begun = len(kernel.iopub)
        if cell:
            kernel.run(GO)
        else:
            kernel.request(type="prompt", id="asked", text="Go.")
            kernel.wait(lambda m: m["content"].get("kind") == "outcome", since=begun)
        kernel.wait(_ends, since=begun)
        return list(kernel.iopub[begun:])


def bytes_by_step(messages: list[Message]) -> list[int]:
    """Return the bytes of the records of each step."""
    found = [0]
    for message in messages:
        for record in message["content"].get("records", ()):
            if record["type"] == "step.requested":
                found.append(0)
            found[-1] += len(json.dumps(record))
    return found[1:-1]


def _ends(message: Message) -> bool:
    """Tell whether a message reports that the session is idle again."""
    records = message["content"].get("records", ())
    return any(record.get("status") == {"type": "idle"} for record in records)


@pytest.mark.soak  # with each commit tests/frontends/turn_output/test_refreshed_bytes.py counts outputs of a cell; this adds the records that a page is sent
@pytest.mark.slow
@pytest.mark.parametrize("way", thinned(["cell", "panel"], 2))
def test_the_last_steps_of_a_turn_send_no_more_than_its_first(way: str) -> None:
    steps = bytes_by_step(turn_messages(cell=way == "cell"))

    assert len(steps) == STEPS
    # How many records fall into one tick is up to the machine; what grows with the turn would be five times as much.
    assert sum(steps[-EDGE:]) <= 2 * sum(steps[:EDGE])

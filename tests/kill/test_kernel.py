"""A real kernel that is killed while it streams and runs tools loses nothing that pages received.

Every record that a page received in a notice was written before; after the kill it is in the log, the
session opens, running tools are marked as interrupted, and the next prompt works.
"""

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.harness.kernel import Kernel
from tests.sample_size import sample_size
from tests.waiting import LAST_RESORT_SECONDS, eventually

from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.session_state.interrupted_work import close_interrupted
from palimpsest.transcript.parts import TextPart, ToolFailed, ToolPart

KILLS = sample_size(2, 50)

SCRIPT = """
import itertools
from palimpsest.rehearsal.scenario import register_scenario
from palimpsest.model.script import says
words = "".join(f"{n} " for n in range(60))
steps = []
for n in range(40):
    steps.append(says(words).drips(0.002).calls("python", code=f"x{n} = {n}\\nprint(x{n})")
                 .calls("bash", command="echo one; sleep 0.2; echo two"))
register_scenario("busy", [*steps, says("Done.")])
"""


def told(kernel: Kernel) -> dict[str, int]:
    """Return the highest sequence number that the page received, by session."""
    highest: dict[str, int] = {}
    for notice in kernel.client.notices("records"):
        for record in notice["records"]:
            session = notice["session"]
            highest[session] = max(highest.get(session, 0), int(record["seq"]))
    return highest


def start(folder: Path) -> Kernel:
    environment = {
        "JPY_SESSION_NAME": str(folder / "busy.ipynb"),
        "PALIMPSEST_REHEARSAL_DELAY": "0",
    }
    kernel = Kernel(cwd=folder, env=environment)
    assert kernel.client.run("%load_ext palimpsest").status == "ok"
    return kernel


def watch(kernel: Kernel) -> None:
    """Send a page's watch command, as soon as the extension has loaded."""
    eventually(lambda: kernel.client.request(type="watch", client="killer")["status"] == "ok")


@pytest.mark.slow
@pytest.mark.timeout(300 + 60 * KILLS)
def test_a_killed_kernel_loses_nothing_that_it_told(tmp_path: Path) -> None:
    rng = random.Random(7)
    interrupted = 0
    for number in range(KILLS):
        with start(tmp_path) as kernel:
            if number:
                hello = "%agent --model rehearsal/rehearsal hello"
                answer = kernel.client.run(hello)
                assert answer.status == "ok"
                assert "Hello" in answer.markdown()
            assert kernel.client.run(SCRIPT).status == "ok"
            watch(kernel)
            run = kernel.client.send("%agent -y --model rehearsal/busy go on")
            kernel.client.wait(_is_a_record)
            time.sleep(rng.uniform(0.0, 1.2))
            os.kill(kernel.process.pid, signal.SIGKILL)
            kernel.process.wait(LAST_RESORT_SECONDS)
            kernel.client.drain()
            highest = told(kernel)
        assert highest, run
        interrupted += _examine(tmp_path, highest)
    assert interrupted > KILLS // 2


def _is_a_record(message: dict[str, Any]) -> bool:
    content = message["content"]
    return message["header"]["msg_type"] == "palimpsest_notice" and "message.part" in str(content)


def _examine(folder: Path, highest: dict[str, int]) -> int:
    store = JsonlStore(open_project_folder(folder))
    count = 0
    for session_id, seq in highest.items():
        stored = {record.seq for record in store.read(session_id)}
        assert set(range(1, seq + 1)) <= stored
        state = store.open_live(session_id)
        events = close_interrupted(state, now_ms=1)
        count += len(events)
        for event in events:
            part = getattr(event, "part", None)
            if isinstance(part, ToolPart):
                assert isinstance(part.state, ToolFailed)
                assert part.state.metadata["interrupted"] is True
        for message in state.messages():
            for part in message.parts:
                if isinstance(part, TextPart) and part.text.startswith("0 1"):
                    rising = part.text.split()
                    assert rising == [str(n) for n in range(len(rising))]
    assert len(store.list()) == 1, "the notebook goes on with one session"
    return count

"""A session of a script that ends without closing it is closed: no traceback, and a checkpoint."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import BaseModel
from tests.harness.session import SessionHarness, ask

from palimpsest.session.prompts.answers import defect_error
from palimpsest.store.log.store_factory import open_store
from palimpsest.store.session_state.interrupted_work import INTERRUPTED
from palimpsest.testing import ScriptedModel, calls, says
from palimpsest.tools.permission_rules.permissions import from_config
from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.errors import AbortedError
from palimpsest.transcript.messages import AssistantMessage, stop_reason_of
from palimpsest.transcript.parts import ToolFailed, ToolPart
from palimpsest.transcript.session_record.events import Checkpoint


class Nothing(BaseModel):
    """Tool arguments without fields."""


SCRIPT = """\
from palimpsest.app.wiring import App
from palimpsest.model.script import says
from palimpsest.testing import ScriptedModel
from palimpsest.public.session_object import open_session

model = ScriptedModel(says("Hello."))
app = App(model=lambda _: model, environment={}, overrides={"model": "a/b", "titles": False})
print(open_session(app).prompt("Hi.").text)
"""


@pytest.mark.slow
def test_a_script_that_closes_nothing_ends_in_silence(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert (ran.stdout, ran.stderr) == ("Hello.\n", "")
    store, _ = open_store(tmp_path)
    [session] = store.list()
    assert isinstance(list(store.read(session.id))[-1].event, Checkpoint)


MIDDLE = """\
import atexit, threading, time
from palimpsest.app.wiring import App
from palimpsest.model.script import calls, says
from palimpsest.testing import ScriptedModel
from palimpsest.public.session_object import open_session

asked = threading.Event()
def look(_request):
    asked.set()
    return says("I look. ").pauses(0.3).calls("glob", pattern="*")
model = ScriptedModel(look, says("Done."))
app = App(model=lambda _: model, environment={}, overrides={"model": "a/b", "titles": False})
atexit.register(time.sleep, 1.0)  # while the interpreter ends, the engine goes on until it is closed
open_session(app).start("Look.")
asked.wait()
"""


@pytest.mark.soak  # with each commit an answer that the end of the kernel cuts says so, beside it; this adds a script that ends
@pytest.mark.slow
def test_an_end_in_the_middle_of_a_turn_is_no_defect(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", MIDDLE], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert (ran.stdout, ran.stderr) == ("", "")
    store, _ = open_store(tmp_path)
    [session] = store.list()
    told = "\n".join(record.model_dump_json() for record in store.read(session.id))
    assert "Palimpsest itself failed" not in told
    assert "cannot schedule" not in told
    assert "I look." in told


CLOSED = MIDDLE.replace("pauses(0.3)", "pauses(600)").replace(
    "atexit.register(time.sleep, 1.0)", ""
)


@pytest.mark.slow
def test_an_answer_that_the_end_of_the_kernel_cuts_says_so(tmp_path: Path) -> None:
    """The words are those of a kernel that was killed, whichever of the two comes first in a restart."""
    subprocess.run([sys.executable, "-c", CLOSED], cwd=tmp_path, check=True)

    store, _ = open_store(tmp_path)
    [session] = store.list()
    info = store.load(session.id).messages()[-1].info
    assert isinstance(info, AssistantMessage)
    assert info.error == AbortedError(message=INTERRUPTED)
    assert stop_reason_of(info) == "interrupted"


def test_a_pool_that_takes_no_more_is_no_defect() -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(RuntimeError) as refused:
        pool.submit(print)

    assert defect_error(refused.value) == AbortedError(message="The kernel ends.")
    assert "RuntimeError: odd" in defect_error(RuntimeError("odd")).message


class Late:
    """A tool that needs a thread after the interpreter has shut down its thread pools."""

    name = "late"
    description = "Comes late."
    arguments = Nothing
    concurrent = True
    permission = "late"

    async def run(self, _arguments: object, _context: ToolContext) -> ToolOutcome:
        raise RuntimeError("cannot schedule new futures after shutdown")


async def test_a_tool_that_gets_no_thread_any_more_was_stopped_and_has_no_defect(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(calls("late"), says("Done."))
    harness = SessionHarness(tmp_path, model, rules=from_config({"*": "allow"}, home="/"))
    harness.services.agents.registry.register(Late())
    session = await harness.session()

    answer = await ask(session, "Go.")

    (part,) = [
        tool_part
        for m in answer.messages
        for tool_part in m.parts
        if isinstance(tool_part, ToolPart)
    ]
    assert isinstance(part.state, ToolFailed)
    assert "cannot schedule" not in part.state.error

"""``%agent --bg`` in a real kernel: the cell ends at once, and its answer can be fetched later."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel
from tests.waiting import eventually

pytestmark = pytest.mark.slow

SETUP = """
from palimpsest.model.script import calls, says, stalls
from palimpsest.tools.permission_rules.permissions import from_config
from tests.harness.kernel_session import load
harness = load(get_ipython(), rules=from_config({'*': 'allow'}, home='/'))
"""

SCENES = """
%load_ext palimpsest
import palimpsest
from palimpsest.rehearsal.scenario import register_scenario
from palimpsest.model.script import says
register_scenario("one", [says("Here.")])
register_scenario("two", [says("Here."), says("Late.").pauses(20.0)])
session = palimpsest.current_session()
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with Kernel(cwd=tmp_path) as kernel:
        assert kernel.client.run(SETUP).status == "ok"
        yield kernel


def wait_for(kernel: Kernel, expression: str) -> None:
    """Evaluate an expression in cells of their own until it is true, with an idle kernel between them."""
    eventually(lambda: kernel.client.value(expression) == "True")


def test_the_cell_ends_at_once_and_says_where_it_goes_on(kernel: Kernel) -> None:
    kernel.client.run("harness.script(says('Here.').pauses(1.0))")

    run = kernel.client.run("handle = %agent --bg Think about it.")

    assert run.status == "ok"
    assert "works on this in the background" in run.markdown()
    assert kernel.client.value("handle.done") == "False"
    assert kernel.client.value("6 * 7") == "42"
    status = kernel.client.run("%agent status").markdown()
    assert "runs" in status
    assert kernel.client.value("handle.wait().text") == "'Here.'"
    assert kernel.client.value("(handle.done, str(handle.answer))") == "(True, 'Here.')"


def test_its_python_runs_in_the_idle_kernel_between_cells(kernel: Kernel) -> None:
    kernel.client.run("harness.script(calls('python', code='found = 41 + 1'), says('It is 42.'))")

    kernel.client.run("handle = %agent --bg Compute.")

    wait_for(kernel, "handle.done")
    assert kernel.client.value("found") == "42"
    assert kernel.client.value("handle.answer.text") == "'It is 42.'"


def test_waiting_runs_its_python_and_shows_the_answer(kernel: Kernel) -> None:
    kernel.client.run(
        "harness.script(says('Hm.').pauses(0.5).calls('python', code='found = 7'), says('Seven.'))"
    )
    kernel.client.run("%agent --bg Compute.")

    run = kernel.client.run("%agent wait")

    assert run.markdown() == "Seven."
    assert kernel.client.value("found") == "7"
    again = kernel.client.run("answer = %agent wait")
    assert again.status == "ok"
    assert kernel.client.value("answer.text") == "'Seven.'"


def test_the_stop_button_ends_the_waiting_and_stop_ends_the_turn(kernel: Kernel) -> None:
    kernel.client.run("harness.script(says('Well').stalls())")
    kernel.client.run("handle = %agent --bg Compute.")
    cell = kernel.client.send("print('waiting'); get_ipython().run_line_magic('agent', 'wait')")
    kernel.client.wait_text("waiting")
    kernel.client.wait_until_running("CellWait.run")

    kernel.interrupt()
    run = kernel.client.finish(cell)

    assert "The agent goes on" in str(run.of("error"))
    assert kernel.client.value("handle.done") == "False"
    kernel.client.run("%agent stop")
    wait_for(kernel, "handle.done")
    assert kernel.client.value("handle.answer.error.type") == "'aborted'"


def test_what_is_refused_is_refused_at_once(kernel: Kernel) -> None:
    run = kernel.client.run("%agent --bg --agent nobody Compute.")

    assert "There is no agent 'nobody'" in str(run.reply["content"]["evalue"])
    assert kernel.client.value("len(harness.model.requests)") == "0"


def test_a_second_prompt_waits_behind_it(kernel: Kernel) -> None:
    kernel.client.run("harness.script(says('One.').pauses(0.4), says('Two.'))")
    kernel.client.run("first = %agent --bg Compute.")

    run = kernel.client.run("%agent And then?")

    assert "Two." in run.markdown()
    assert kernel.client.value("first.answer.text") == "'One.'"


@pytest.mark.soak  # with each commit tests/frontends/test_turns_in_a_kernel.py takes one back from the page; this adds the command, for one and for all
def test_waiting_prompts_are_taken_back(kernel: Kernel) -> None:
    kernel.client.run("harness.script(says('One.').pauses(2.0), says('Two.'))")
    kernel.client.run("first = %agent --bg First.")
    kernel.client.run("second = %agent --bg Second.")
    kernel.client.run("third = %agent --bg Third.")

    assert "Withdrawn." in kernel.client.run("%agent withdraw").markdown()
    assert "Withdrawn." in kernel.client.run("%agent withdraw all").markdown()
    assert "No prompt was waiting." in kernel.client.run("%agent withdraw").markdown()

    assert kernel.client.value("first.wait().text") == "'One.'"
    assert kernel.client.value("len(harness.model.requests)") == "1"


def test_a_turn_that_failed_is_tried_again(kernel: Kernel) -> None:
    kernel.client.run(
        "from palimpsest.model.script import fails\n"
        "harness.script(fails(401, 'No such key.'), says('Here I am.'))"
    )
    kernel.client.run("%agent Hello?")

    again = kernel.client.run("%agent retry")

    assert "Here I am." in again.markdown()
    nothing = kernel.client.run("%agent retry").reply["content"]
    assert "nothing to try again" in str(nothing.get("evalue"))


@pytest.mark.soak  # with each commit waiting runs Python and shows the answer, above; this adds a question that is typed meanwhile
def test_waiting_asks_what_the_model_asks(kernel: Kernel) -> None:
    ask = "calls('question', questions=[{'question': 'Which?', 'options': [{'label': 'Red'}]}])"
    kernel.client.run(f"harness.script({ask}, says('Red it is.'))")
    kernel.client.run("handle = %agent --bg Paint it.")
    wait_for(kernel, "bool(harness.workspace._open_sessions[handle.session].snapshot().questions)")

    status = kernel.client.run("%agent status").markdown()
    run_id = kernel.client.send("%agent wait", stdin=True)
    assert "1  Red" in kernel.client.question()
    kernel.client.answer("1")

    assert kernel.client.finish(run_id).markdown() == "Red it is."
    assert "waits for your answer in the page, or in %agent wait: Which?" in status
    assert "0 prompts, 1 question" in status


@pytest.mark.soak  # with each commit tests/frontends/test_loading.py unloads it; this adds answers that a cell holds
def test_an_answer_is_kept_when_the_extension_is_unloaded(tmp_path: Path) -> None:
    with Kernel(cwd=tmp_path, env={"PALIMPSEST_REHEARSAL_DELAY": "0"}) as kernel:
        kernel.client.run(SCENES)
        kernel.client.run("handle = %agent -m rehearsal/one --bg One.")
        kernel.client.run("handle.wait()")
        kernel.client.run("late = %agent -m rehearsal/two --bg Two.")

        assert kernel.client.run("%unload_ext palimpsest").status == "ok"

        assert kernel.client.value("handle.wait().text") == "'Here.'"
        wait_for(kernel, "late.done")
        ended = kernel.client.run("late.wait()").reply["content"]
        assert ended.get("ename") in ("UsageError", "TurnStopped")
        closed = kernel.client.run("session.start('Three.')").reply["content"]
        assert closed["ename"] == "UserError"
        assert closed["evalue"].startswith("This agent was closed.")

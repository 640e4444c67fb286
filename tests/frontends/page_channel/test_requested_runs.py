"""A cell that the agent has the page run is run as a person runs it, also inside the agent's own waiting cell."""

import ast
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.harness.kernel import AWAITING, BLOCKING, Kernel, Message, Run
from tests.harness.notebook_page import NotebookPage
from tests.waiting import eventually

from palimpsest.frontends.user_cells.requested_cells import RUN_KEY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel whose agent has a tool that runs a cell."""
    with Kernel(cwd=tmp_path_factory.mktemp("notebooks")) as kernel:
        run = kernel.run(
            "from palimpsest.model.script import says, calls\n"
            "from tests.harness.kernel_session import load\n"
            "from tests.harness.run_cell_tool import ALLOWED, RunCellTool\n"
            "harness = load(get_ipython(), rules=ALLOWED, notebook=True)\n"
            "harness.registry.register(RunCellTool())"
        )
        assert run.status == "ok", run.reply["content"]
        yield kernel


@pytest.fixture
def page(loaded: Kernel) -> Iterator[NotebookPage]:
    """A page that shows the notebook a.ipynb, which the agent has read."""
    with NotebookPage(loaded, runs=True) as page:
        page.shows("'nothing'")
        loaded.script("calls('notebook')", "says('Read.')")
        loaded.run("%agent read it")
        yield page


def script_run(kernel: Kernel, page: NotebookPage, source: str) -> None:
    """Show one cell, and let the model run it, then answer."""
    page.shows(source)
    kernel.script(f"calls('run_cell', cell='cell-1', source={source!r})", "says('Seen.')")


def told(kernel: Kernel) -> dict[str, Any]:
    """Return what the model was told of the run."""
    found = kernel.value(
        "[m['content'] for m in harness.model.requests[-1].messages if m['role'] == 'tool'][-1]"
    )
    return dict(json.loads(ast.literal_eval(found)))


def has_begun(message: Message) -> bool:
    """Return whether code has printed that it began; its text may come in pieces."""
    return bool(message["content"].get("text", "").startswith("begun"))


def number_of(run: Run) -> int:
    """Return a cell's number, which its input and its reply have alike."""
    (shown,) = run.of("execute_input")
    assert run.reply["content"]["execution_count"] == shown["execution_count"]
    return int(shown["execution_count"])


def test_a_cell_runs_inside_the_waiting_cell_with_outputs_and_number_of_its_own(
    loaded: Kernel, page: NotebookPage
) -> None:
    script_run(loaded, page, "print('inner out')\nlen('abc')")

    outer_id = loaded.send("%%agent\nrun it", cellId="agent-cell")
    inner = page.finish_run()
    outer = loaded.finish(outer_id)
    after = loaded.run("get_ipython().execution_count - 1")

    assert inner.stream() == "inner out\n"
    assert [one["data"]["text/plain"] for one in inner.of("execute_result")] == ["3"]
    assert outer.stream() == ""
    assert outer.of("execute_result") == []
    assert number_of(inner) == number_of(outer) + 1
    assert inner.of("execute_result")[0]["execution_count"] == number_of(inner)
    assert number_of(after) == number_of(inner) + 1
    assert "Seen." in outer.markdown()
    result = told(loaded)
    assert (result["number"], result["status"], result["by"]) == (number_of(inner), "ok", True)
    assert result["outputs"] == [["stdout", "inner out\n", False], ["result", "3", False]]


def test_a_cell_runs_for_a_prompt_of_the_panel(loaded: Kernel, page: NotebookPage) -> None:
    script_run(loaded, page, "print('panel out')\npanel = 7")

    loaded.request(type="prompt", text="run it", client=page.name)
    inner = page.finish_run()
    eventually(lambda: loaded.value("len(harness.model.requests)") == "2")
    after = loaded.run("panel")

    assert inner.stream() == "panel out\n"
    assert number_of(after) == number_of(inner) + 1
    assert after.of("execute_result")[0]["data"]["text/plain"] == "7"
    assert told(loaded)["outputs"] == [["stdout", "panel out\n", False]]


def test_several_cells_run_in_one_waiting_cell_in_order(loaded: Kernel, page: NotebookPage) -> None:
    page.shows("first = 1", "print(first + 1)")
    loaded.script(
        "calls('run_cell', cell='cell-1', source='first = 1')",
        "calls('python', code='first').says('')",
        "calls('run_cell', cell='cell-2', source='print(first + 1)')",
        "says('Seen.')",
    )

    outer_id = loaded.send("%%agent\nrun both")
    first, second = page.finish_run(), page.finish_run()
    outer = loaded.finish(outer_id)
    after = loaded.run("1")

    assert second.stream() == "2\n"
    begin = number_of(outer)
    assert [number_of(run) for run in (outer, first, second, after)] == [
        begin, begin + 1, begin + 2, begin + 3
    ]  # fmt: skip
    assert loaded.value(f"In[{begin} + 2]") == "'print(first + 1)'"


def test_input_is_asked_of_the_page_that_runs_the_cell(loaded: Kernel, page: NotebookPage) -> None:
    script_run(loaded, page, "print('got ' + input('your name? '))")

    outer_id = loaded.send("%%agent\nrun it", stdin=True)
    assert page.runner.question() == "your name? "
    page.runner.answer("Ada")
    inner = page.finish_run()
    loaded.finish(outer_id)

    assert inner.stream() == "got Ada\n"
    asked_later = loaded.send("input('later? ')", stdin=True)
    assert loaded.question() == "later? "
    loaded.answer("x")
    loaded.finish(asked_later)


def test_an_error_ends_the_inner_cell_alone(loaded: Kernel, page: NotebookPage) -> None:
    script_run(loaded, page, "print('before')\n1 / 0")

    outer_id = loaded.send("%%agent\nrun it")
    queued = loaded.send("print('queued ran')")
    inner = page.finish_run()
    outer, later = loaded.finish(outer_id), loaded.finish(queued)

    assert inner.status == "error"
    assert inner.reply["content"]["ename"] == "ZeroDivisionError"
    assert (outer.status, later.status) == ("ok", "ok")
    assert later.stream() == "queued ran\n"
    assert told(loaded)["status"] == "error"
    assert "ZeroDivisionError" in told(loaded)["outputs"][1][1]


def test_a_figure_of_the_inner_cell_is_its_own(loaded: Kernel, page: NotebookPage) -> None:
    source = (
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nlater = display(1, display_id=True)"
    )
    script_run(loaded, page, source)

    outer_id = loaded.send("%matplotlib inline\n%agent run it\nprint('after')\nlater.update(2)")
    inner, outer = page.finish_run(), loaded.finish(outer_id)

    shown = [content["data"] for content in inner.of("display_data")]
    assert ["image/png" in data for data in shown] == [False, True]
    assert "image/png" not in str(outer.of("display_data"))
    assert outer.stream() == "after\n"
    assert outer.of("update_display_data")[-1]["data"]["text/plain"] == "2"
    assert [[kind, image] for kind, _, image in told(loaded)["outputs"]] == [
        ["display", False],
        ["display", True],
    ]


def test_a_value_that_cannot_be_shown_fails_the_inner_cell_alone(
    loaded: Kernel, page: NotebookPage
) -> None:
    source = "class Broken:\n    def __repr__(self): raise ValueError('no text')\nBroken()"
    script_run(loaded, page, source)

    outer_id = loaded.send("%%agent\nrun it")
    inner, outer = page.finish_run(), loaded.finish(outer_id)

    # Releases of ipykernel differ in whether this is an error of the cell.
    assert inner.status == loaded.run(source).status
    assert len(inner.of("error")) == 1
    assert outer.status == "ok"
    assert outer.of("error") == []


def test_a_cell_marked_private_stays_the_user_s_next_one(
    loaded: Kernel, page: NotebookPage
) -> None:
    script_run(loaded, page, "print('run by the agent')")

    loaded.run("%agent private")
    outer_id = loaded.send("%%agent\nrun it")
    page.finish_run()
    loaded.finish(outer_id)
    loaded.run("secret = 'HUSHED'")

    assert "run by the agent" in str(told(loaded)["outputs"])
    runs = "harness.notebook_runs.recorded_runs().runs"
    assert loaded.value(f"{runs}[-1].hidden") == "'private'"


def test_a_cell_that_awaits_runs_in_an_awaiting_cell(loaded: Kernel, page: NotebookPage) -> None:
    script_run(
        loaded,
        page,
        "import asyncio\nprint('one')\nawait asyncio.sleep(0)\nprint('two')",
    )

    outer_id = loaded.send("%%agent\nrun it")
    inner, outer = page.finish_run(), loaded.finish(outer_id)

    assert inner.stream() == "one\ntwo\n"
    assert outer.stream() == ""
    assert number_of(inner) == number_of(outer) + 1


def test_a_cell_that_awaits_is_refused_in_a_blocking_cell(
    loaded: Kernel, page: NotebookPage
) -> None:
    source = "import asyncio\nawait asyncio.sleep(0)"
    script_run(loaded, page, source)

    outer_id = loaded.send("for _ in range(1):\n    %agent run it")
    inner, outer = page.finish_run(), loaded.finish(outer_id)

    assert inner.status == "aborted"
    assert "has a top-level 'await', which cannot run now" in loaded.requests()
    assert outer.status == "ok"


def test_a_cell_runs_in_a_blocking_cell(loaded: Kernel, page: NotebookPage) -> None:
    script_run(loaded, page, "print('inner')")

    outer_id = loaded.send("for _ in range(1):\n    %agent run it\nprint('outer')")
    inner, outer = page.finish_run(), loaded.finish(outer_id)

    assert inner.stream() == "inner\n"
    assert outer.stream() == "outer\n"
    assert number_of(inner) == number_of(outer) + 1


@pytest.mark.parametrize("code", [BLOCKING, AWAITING])
def test_stop_ends_the_inner_cell_and_the_turn(
    loaded: Kernel, page: NotebookPage, code: str
) -> None:
    script_run(loaded, page, code)

    outer_id = loaded.send("%%agent\nrun it")
    page.runner.wait(has_begun)
    loaded.interrupt()
    inner, outer = page.finish_run(), loaded.finish(outer_id)

    assert inner.status == "error"
    assert inner.reply["content"]["ename"] in ("KeyboardInterrupt", "CancelledError")
    assert outer.status == "error"
    assert outer.reply["content"]["ename"] == "TurnStopped"
    assert loaded.run("1").status == "ok"
    assert loaded.value("harness.notebook_runs.recorded_runs().runs[-2].status") == "'stopped'"


@pytest.mark.parametrize("code", [BLOCKING, AWAITING])
def test_cancel_ends_the_running_cell_of_a_panel_turn(
    loaded: Kernel, page: NotebookPage, code: str
) -> None:
    script_run(loaded, page, code)

    loaded.request(type="prompt", text="run it", client=page.name)
    page.runner.wait(has_begun)
    loaded.request(type="cancel")
    inner = page.finish_run()

    assert inner.reply["content"]["ename"] in ("KeyboardInterrupt", "CancelledError")
    assert loaded.run("1").status == "ok"


def test_the_kernel_s_stop_ends_the_running_cell_and_the_panel_s_turn(
    loaded: Kernel, page: NotebookPage
) -> None:
    script_run(loaded, page, BLOCKING)

    before = len(loaded.iopub)
    loaded.request(type="prompt", text="run it", client=page.name)
    page.runner.wait(has_begun)
    loaded.interrupt()
    inner = page.finish_run()

    assert inner.reply["content"]["ename"] == "KeyboardInterrupt"
    loaded.wait(lambda m: m["content"].get("kind") == "outcome", since=before)
    assert loaded.value("len(harness.model.requests)") == "1"


def test_a_run_waits_for_the_user_s_cell_and_cancel_withdraws_it(
    loaded: Kernel, page: NotebookPage
) -> None:
    gate = loaded.gate()
    script_run(loaded, page, "withdrawn = True")

    busy = loaded.send(gate.awaiting)
    gate.reached()
    loaded.request(type="prompt", text="run it", client=page.name)
    eventually(lambda: not page.runs.empty())
    loaded.request(type="cancel")
    inner = page.finish_run()
    gate.open()
    user = loaded.finish(busy)

    assert inner.status == "aborted"
    assert user.status == "ok"
    assert "not defined" in loaded.value("withdrawn")


def test_a_cell_whose_prompt_waits_for_the_turn_lets_the_turn_s_run_take_place(
    loaded: Kernel, page: NotebookPage
) -> None:
    gate = loaded.gate()
    page.shows("print('inner')")
    loaded.script(
        "calls('run_cell', cell='cell-1', source=\"print('inner')\")",
        "says('Seen.')",
        "says('Second.')",
    )

    loaded.send(gate.awaiting)
    gate.reached()
    waiting = loaded.send("%%agent\nand then")
    loaded.request(type="prompt", text="run it", client=page.name)
    eventually(lambda: not page.runs.empty())
    gate.open()
    inner, outer = page.finish_run(), loaded.finish(waiting)

    assert inner.stream() == "inner\n"
    assert outer.stream() == ""
    assert "Second." in outer.markdown()
    assert number_of(inner) == number_of(outer) + 1


def test_a_cell_that_changed_is_not_run_and_its_source_is_told(
    loaded: Kernel, page: NotebookPage
) -> None:
    page.shows("changed = 2")
    loaded.script("calls('run_cell', cell='cell-1', source='changed = 1')", "says('Seen.')")

    loaded.run("%agent run it")

    assert page.runs.empty()
    assert "The cell was changed since you last saw it, so it was not run." in loaded.requests()
    assert "changed = 2" in loaded.requests()


@pytest.mark.parametrize(
    "request_fields",
    [
        {"code": "smuggled = 1"},
        {"cellId": "other"},
        {"tags": ["agent-hidden"]},
        {RUN_KEY: "made up"},
    ],
)
def test_a_request_that_is_not_the_one_asked_for_runs_nothing(
    loaded: Kernel,
    page: NotebookPage,
    request_fields: dict[str, Any],
) -> None:
    loaded.run(
        "import palimpsest.frontends.page_channel.requested_runs as runs\nruns.MAX_BEGIN_SECONDS = 0.1"
    )
    script_run(loaded, page, "smuggled = 2")
    page.run_fields = request_fields

    outer_id = loaded.send("%%agent\nrun it")
    inner, outer = page.finish_run(), loaded.finish(outer_id)
    loaded.run("runs.MAX_BEGIN_SECONDS = 60.0")

    assert inner.status == "aborted"
    assert outer.status == "ok"
    assert "did not reach the kernel" in loaded.requests()
    assert "not defined" in loaded.value("smuggled")


def test_a_request_counts_once(loaded: Kernel, page: NotebookPage) -> None:
    script_run(loaded, page, "counted = globals().get('counted', 0) + 1")

    outer_id = loaded.send("%%agent\nrun it")
    page.finish_run()
    loaded.finish(outer_id)
    again = page.runner.send(
        page.cells[0]["source"],
        channel="control",
        cellId="cell-1",
        **{RUN_KEY: page.run_requests[-1]},
    )

    assert page.runner.finish(again, channel="control").status == "aborted"
    assert loaded.value("counted") == "1"


def test_other_requests_on_the_control_channel_are_handled_as_before(loaded: Kernel) -> None:
    run_id = loaded.send("print('on control')", channel="control")

    assert loaded.finish(run_id, channel="control").status == "ok"


def test_the_next_prompt_does_not_tell_the_run_again(loaded: Kernel, page: NotebookPage) -> None:
    script_run(loaded, page, "print('told once')")
    outer_id = loaded.send("%%agent\nrun it")
    page.finish_run()
    loaded.finish(outer_id)
    loaded.run("print('of the user')")
    loaded.script("says('Ok.')")

    loaded.run("%agent what did I run?")

    noted = loaded.value("harness.model.requests[-1].messages[-1]")
    assert "of the user" in noted
    assert "told once" not in noted

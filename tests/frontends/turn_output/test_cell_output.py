"""The outputs of a cell and what a notebook saves: segments around native outputs, capped and redacted."""

import json
import re
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel, Run

from palimpsest.frontends.turn_output.segments import MAX_OUTPUTS

MIME = "application/vnd.palimpsest.segment+json"
pytestmark = pytest.mark.slow


def kinds(run: Run) -> list[str]:
    """Return the types of a cell's outputs, in order."""
    names = []
    for output in run.outputs():
        data = output["data"]
        if MIME in data:
            names.append("segment")
        else:
            names.append(next((mime for mime in data if mime != "text/plain"), "text/plain"))
    return names


def segments(run: Run) -> list[dict[str, object]]:
    return [output["data"][MIME] for output in run.outputs() if MIME in output["data"]]


def test_a_figure_stands_after_the_call_that_made_it(kernel: Kernel) -> None:
    kernel.script(
        "says('First.').calls('python', code='import matplotlib.pyplot as plt; plt.plot([1]); 1')",
        "says('Second.').calls('python', code='import pandas as pd; pd.DataFrame({\"a\": [1]})')",
        "says('Third.')",
    )

    run = kernel.run("%%agent -y\nhi")

    assert kinds(run) == ["segment", "image/png", "segment", "text/html", "segment"]
    first, second, third = (s["messages"] for s in segments(run))
    assert [p["type"] for m in first for p in m["parts"]] == ["step-start", "text", "tool"]
    assert [p["type"] for m in second for p in m["parts"]][:3] == [
        "step-finish",
        "step-start",
        "text",
    ]
    assert "Third." in json.dumps(third)
    assert all(not s["open"] for s in segments(run))
    infos = [m["info"] for s in segments(run) for m in s["messages"]]
    assert all(info["time"].get("completed") for info in infos)
    assert "running" not in run.markdown()


def test_figures_go_to_the_model_as_images(kernel: Kernel) -> None:
    kernel.script(
        "calls('python', code='import matplotlib.pyplot as plt; plt.plot([1]); None').says('')",
        "says('I see it.')",
    )

    kernel.run("answer = %agent -y hi")

    tool = "[p for p in answer.parts if p.type == 'tool'][0]"
    assert kernel.value(f"[a.mime for a in {tool}.state.attachments]") == "['image/png']"


def test_what_is_only_said_to_be_a_picture_is_not_sent_as_one(kernel: Kernel) -> None:
    code = "from IPython.display import display; display({'image/png': 'bm8gcG5n'}, raw=True)"
    kernel.script(f"calls('python', code={code!r}).says('')", "says('Hm.')")

    kernel.run("answer = %agent -y hi")

    tool = "[p for p in answer.parts if p.type == 'tool'][0]"
    assert kernel.value(f"{tool}.state.attachments") == "()"


def test_figures_that_the_user_left_open_are_not_the_agents(kernel: Kernel) -> None:
    kernel.script("calls('python', code='1').says('')", "says('done')")

    run = kernel.run("import matplotlib.pyplot as plt\nplt.plot([1])\nanswer = %agent -y hi")

    assert kinds(run) == ["image/png", "segment"]
    assert (
        kernel.value("[p for p in answer.parts if p.type == 'tool'][0].state.attachments") == "()"
    )


def test_printed_text_is_in_the_card_and_nowhere_else(kernel: Kernel) -> None:
    code = (
        "import os, sys, logging, threading\nprint('by print')\nprint('by stderr', file=sys.stderr)\n"
        "os.system('echo by a child')\nt = threading.Thread(target=print, args=('by a thread',))\n"
        "t.start(); t.join()\nlogging.warning('by a logger')\n'by value'"
    )
    kernel.script(f"calls('python', code={code!r}).says('')", "says('done')")

    run = kernel.run("%%agent -y\nhi")

    for words in ("by print", "by stderr", "by a child", "by a thread", "by a logger", "by value"):
        assert run.markdown().count(words) >= 1
        assert words in kernel.requests()
    assert run.stream() == run.stream("stderr") == ""


def test_a_progress_bar_is_told_as_it_looks_at_the_end(kernel: Kernel) -> None:
    code = "for i in range(4):\n    print(f'\\r{i} of 3', end='')\nprint()"
    kernel.script(f"calls('python', code={code!r}).says('')", "says('done')")

    kernel.run("%%agent -y\nhi")

    assert "3 of 3" in kernel.requests()
    assert "1 of 3" not in kernel.requests()


def test_clearing_the_output_spares_the_story(kernel: Kernel) -> None:
    code = "from IPython.display import clear_output\nprint('old')\nclear_output()\nprint('new')"
    kernel.script(f"says('Before.').calls('python', code={code!r})", "says('done')")

    run = kernel.run("%%agent -y\nhi")

    assert run.of("clear_output") == []
    assert "Before." in run.markdown()
    assert "\nnew\n" in run.markdown()


def test_an_error_of_the_agents_code_is_no_error_of_the_cell(kernel: Kernel) -> None:
    kernel.script("calls('python', code='1/0').says('')", "says('done')")

    run = kernel.run("%%agent -y\nhi")

    assert run.status == "ok"
    assert run.of("error") == []
    assert "ZeroDivisionError" in run.markdown()
    assert "\x1b[" not in run.markdown()


def test_help_that_the_agent_asks_for_goes_to_the_agent(kernel: Kernel) -> None:
    kernel.script("calls('python', code='len?').says('')", "says('done')")

    run = kernel.run("%%agent -y\nhi")

    assert "Return the number of items" in kernel.requests()
    assert run.reply["content"]["payload"] == []


def test_a_semicolon_hides_a_value(kernel: Kernel) -> None:
    kernel.script("calls('python', code='6 * 1000003;').says('')", "says('done')")

    assert "6000018" not in kernel.run("%%agent -y\nhi").markdown()


def test_more_figures_than_a_cell_takes_are_counted(kernel: Kernel) -> None:
    code = (
        "from IPython.display import display, HTML\nfor i in range(100): display(HTML('<b>x</b>'))"
    )
    kernel.script(f"calls('python', code={code!r}).says('')", "says('done')")

    run = kernel.run("%%agent -y\nhi")

    assert len(run.outputs()) <= MAX_OUTPUTS + 1
    assert "more figures or tables were made" in run.markdown()
    assert "done" in run.markdown()


def test_the_notebook_keeps_little_of_a_large_tool_output(kernel: Kernel) -> None:
    kernel.script("calls('python', code='print(\"line\\\\n\" * 20000)').says('')", "says('done')")

    run = kernel.run("%%agent -y\nhi")

    assert len(json.dumps([output["data"] for output in run.outputs()])) < 12_000
    assert "done" in run.markdown()


def test_keys_are_taken_out_of_everything_shown(kernel: Kernel) -> None:
    kernel.run("import os\nos.environ['EXAMPLE_API_KEY'] = 'hunter2hunter2-xyz'")
    kernel.script(
        "calls('python', code='print(os.environ[\"EXAMPLE_API_KEY\"])').says('')",
        "says('It is hunter2hunter2-xyz and sk-abcdefghijklmnopqrstuvwx.')",
    )

    run = kernel.run("%%agent -y\nhi")
    kernel.run("del os.environ['EXAMPLE_API_KEY']")

    shown = json.dumps([m["content"] for m in run.messages])
    assert "hunter2hunter2-xyz" not in shown
    assert "sk-abcdefghijklmnopqrstuvwx" not in shown
    assert "[redacted]" in run.markdown()


def test_markup_of_the_model_stays_text(kernel: Kernel) -> None:
    kernel.script("says('<img src=x onerror=alert(1)> <script>x</script>')")

    story = kernel.run("%%agent\nhi").markdown()

    assert "<img" not in story
    assert "<script" not in story


def test_a_retry_is_counted_down(kernel: Kernel) -> None:
    kernel.script("fails(503, 'overloaded', retry_after=2)", "says('At last.')")

    run = kernel.run("%%agent\nhi")

    counted = [str(c["data"]) for c in run.of("update_display_data") + run.of("display_data")]
    assert any("in 2 s" in text for text in counted)
    assert any("in 1 s" in text for text in counted)
    assert "At last." in run.markdown()


def test_words_come_while_the_model_speaks(kernel: Kernel) -> None:
    kernel.script("says('one two three four five six seven eight').drips(0.15)")

    run = kernel.run("%%agent\nhi")

    lengths = [
        len(c["data"]["text/markdown"])
        for m in run.messages
        if "text/markdown" in (c := m["content"]).get("data", {})
    ]
    assert len(lengths) >= 4
    assert len(lengths) <= 12


def test_outputs_land_in_the_right_cell_while_another_one_runs(kernel: Kernel) -> None:
    gate = kernel.gate()
    drawing = "import matplotlib.pyplot as plt\nplt.plot([1])\nprint('from the agent')"
    code = f"{drawing}\n{gate.blocking}"
    kernel.script(
        f"says('Working.').calls('python', code={code!r})", "says('And done.').drips(0.1)"
    )
    with kernel.subshell() as subshell:
        mine = kernel.send("%%agent -y\nhi")
        gate.reached()
        other = kernel.send("for i in range(3): print('from the other', i)", subshell=subshell)
        runs = {other: kernel.finish(other)}
        gate.open()
        runs[mine] = kernel.finish(mine)

    assert "And done." in runs[mine].markdown()
    assert "image/png" in kinds(runs[mine])
    assert "from the agent" in runs[mine].markdown()
    assert runs[mine].stream() == ""
    assert runs[other].outputs() == []
    assert runs[other].stream().count("from the other") == 3


@pytest.mark.soak  # with each commit tests/frontends/turn_output/test_refreshed_bytes.py has both; this adds a kernel, and that both end alike
def test_a_watched_cell_ends_with_the_outputs_of_one_that_nobody_watches(tmp_path: Path) -> None:
    figure = "code=f\"from IPython.display import HTML; HTML('<b>{n}</b>')\""
    step = f"says('word ' * 700).calls('python', {figure}).calls('read', path=f'missing{{n}}')"
    script = f"*({step} for n in range(12)), says('Done.')"

    with Kernel(cwd=tmp_path) as kernel:  # none in which an earlier test left something running
        kernel.load_scripted_model()
        kernel.script(script)
        alone = kernel.run("%%agent --new -y\nhi")
        kernel.request(type="watch", client="page")
        kernel.script(script)
        watched = kernel.run("%%agent --new -y\nhi")
        kernel.request(type="unwatch", client="page")

    def told(run: Run) -> list[str]:
        texts = [output["data"].get("text/markdown", "") for output in run.outputs()]
        return [re.sub(r"[\d.,]+( m?s\b)?", "", text) for text in texts]  # no times, no tokens

    assert told(watched) == told(alone)
    assert kinds(watched) == kinds(alone)
    assert 20 <= len(told(alone)) < MAX_OUTPUTS


def test_a_cell_knows_its_id_and_number(kernel: Kernel) -> None:
    kernel.script("says('ok')")

    kernel.run("answer = %agent hi", cellId="cell-7")

    origin = "harness.workspace._open_sessions[answer.session].snapshot().messages[-2].info.origin"
    assert kernel.value(f"({origin}.kind, {origin}.cell_id)") == "('cell', 'cell-7')"
    assert kernel.value(f"{origin}.execution_count == get_ipython().execution_count - 1") == "True"


def test_a_mistake_in_showing_does_not_end_the_turn(kernel: Kernel) -> None:
    kernel.script("says('The answer.')")
    kernel.run(
        "import palimpsest.frontends.turn_output.cell_output as cell\nkept = cell.segment_bundle\n"
        "cell.segment_bundle = lambda *a, **k: 1 / 0"
    )
    try:
        run = kernel.run("answer = %agent hi")
    finally:
        kernel.run("cell.segment_bundle = kept")

    assert run.status == "ok"
    assert "cannot be shown here" in run.markdown()
    assert kernel.value("str(answer)") == "'The answer.'"


@pytest.mark.soak  # with each commit tests/session/test_whole_characters.py has any text; this adds a kernel and its outputs
def test_halves_of_a_character_break_no_cell(kernel: Kernel) -> None:
    kernel.script(
        "calls('python', code='print(chr(0xd83d)); chr(0xdc27)').says('')",
        "calls('python', code='from IPython.display import HTML; HTML(chr(0xd83d))').says('')",
        "says('It is \\ud83d').says('\\ude00.')",
    )

    run = kernel.run("answer = %agent -y hi")

    assert run.status == "ok"
    assert run.stream("stderr") == ""
    assert "It is 😀." in run.markdown()
    tools = "[p.state for p in answer.parts if p.type == 'tool']"
    assert kernel.value(f"[one.status for one in {tools}]") == "['completed', 'completed']"
    assert kernel.value("answer.text") == repr("It is 😀.")

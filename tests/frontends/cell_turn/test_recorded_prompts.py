"""Run All shows recorded answers and spends nothing; in a real kernel, with a real HTTP model server."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel, Run
from tests.harness.served_home import served_home

from palimpsest.model.script import calls, says
from palimpsest.testing import FaultServer

pytestmark = pytest.mark.slow

MODEL = "openai/gpt-4o"
KEY = "sk-" + "ant-api03-abcDEF0123456789_-x"
Cells = list[tuple[str, str]]

LOAD = ("load", "%load_ext palimpsest")
DATA = ("data", "numbers = [1, 2, 3]")
SUM = ("sum", "%%agent\nAdd up @numbers.")
USE = ("use", "print('total is', total)")
NEXT = ("next", "%%agent\nAnd the mean?")
NOTEBOOK: Cells = [LOAD, DATA, SUM, USE, NEXT]
CODE = "total = sum(numbers)\nprint('added', total)"
SUMMARY = (
    "## Goal\nDraw the line from 1 to 2 for the person who asked for it in a cell.\n\n"
    "## Progress\nThe line was drawn with matplotlib by one call of Python, and shown in the cell; after that "
    "the agent thought about it in the background, as it was asked to, and found nothing to add.\n\n"
    "## Next Steps\nNone: the person has what they asked for."
)
ANSWERS = (
    calls("python", code=CODE).says(""),
    says("The sum is 6."),
    says("The mean is 2."),
)


class Notebook:
    """A notebook of a project: its cells run in kernels that can be started anew."""

    def __init__(self, folder: Path, server: FaultServer) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        keys = {"OPENAI_API_KEY": KEY, "JPY_SESSION_NAME": str(self.project / "sums.ipynb")}
        self.env = served_home(
            folder / "home", MODEL, server.openai_base, "titles = false\n", **keys
        )
        self.server = server

    def kernel(self, **env: str) -> Kernel:
        """Start a kernel for the notebook, as after a restart."""
        return Kernel(cwd=self.project, env=self.env | env)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recorded")


@pytest.fixture
def notebook(place: Path, server: FaultServer) -> Iterator[Notebook]:
    server._answers.clear()
    server.requests.clear()
    yield Notebook(place / "now", server)
    shutil.rmtree(place / "now")


def run_all(
    kernel: Kernel, cells: Cells, *, answers: tuple[str, ...] = (), stdin: bool = True
) -> list[Run]:
    """Send all cells at once, as Run All does, and type the answers to what is asked."""
    sent = [kernel.send(code, stdin=stdin, cellId=cell_id) for cell_id, code in cells]
    for answer in answers:
        kernel.question()
        kernel.answer(answer)
    return [kernel.finish(code) for code in sent]


def first_run(notebook: Notebook) -> None:
    """Run a new notebook and approve its Python once; for a later test, bring back the files that this left."""
    folder = notebook.folder.with_name("kept")
    if folder.exists():
        shutil.copytree(folder, notebook.folder, dirs_exist_ok=True)
        return
    notebook.server.script(*ANSWERS)
    with notebook.kernel() as kernel:
        runs = run_all(kernel, NOTEBOOK, answers=("1",))
        assert [run.status for run in runs] == ["ok"] * len(runs), runs[-1].reply["content"]
        assert len(notebook.server.requests) == 3
    notebook.server.requests.clear()
    shutil.copytree(notebook.folder, folder)


def texts(run: Run) -> str:
    return run.markdown() + run.stream()


def test_restart_and_run_all_sends_nothing(notebook: Notebook) -> None:
    first_run(notebook)

    with notebook.kernel() as kernel:
        runs = run_all(kernel, NOTEBOOK)

    assert [run.status for run in runs] == ["ok"] * 5
    assert notebook.server.requests == []
    assert "Recorded answer of" in texts(runs[2])
    assert "The sum is 6." in texts(runs[2])
    assert "total is 6" in runs[3].stream()
    assert "The mean is 2." in texts(runs[4])
    assert "again" not in texts(runs[4]).split("anew")[1]


@pytest.mark.soak  # with each commit a restart sends nothing, above; this adds the same kernel
def test_run_all_again_in_the_same_kernel_sends_nothing(notebook: Notebook) -> None:
    notebook.server.script(*ANSWERS)
    with notebook.kernel() as kernel:
        run_all(kernel, NOTEBOOK, answers=("1",))
        notebook.server.requests.clear()

        runs = run_all(kernel, NOTEBOOK)

    assert notebook.server.requests == []
    assert "Recorded answer of" in texts(runs[2])
    assert "The mean is 2." in texts(runs[4])


@pytest.mark.soak  # with each commit a restart sends nothing, above; this adds a cell that is run alone, and again
def test_one_cell_after_a_restart_shows_its_record_and_run_once_more_asks(
    notebook: Notebook,
) -> None:
    first_run(notebook)
    notebook.server.script(says("Asked anew."))

    with notebook.kernel() as kernel:
        for cell_id, code in NOTEBOOK[:2]:
            kernel.run(code, cellId=cell_id)
        recorded = kernel.run(SUM[1], cellId=SUM[0], stdin=True)
        assert "Recorded answer of" in texts(recorded)
        assert notebook.server.requests == []
        assert "total is 6" in kernel.run(USE[1], cellId=USE[0]).stream()

        alone(kernel)
        anew = kernel.run(SUM[1], cellId=SUM[0], stdin=True)

    assert "Asked anew." in texts(anew)
    assert len(notebook.server.requests) == 1


def changed(cells: Cells, cell_id: str, code: str) -> Cells:
    return [(place, code if place == cell_id else source) for place, source in cells]


@pytest.mark.soak  # with each commit nothing is sent where nobody can be asked, below; this adds a person who is asked
def test_a_changed_prompt_of_run_all_asks_once_before_it_spends(notebook: Notebook) -> None:
    first_run(notebook)
    cells = changed(NOTEBOOK, "sum", "%%agent\nAdd up @numbers, please.")

    with notebook.kernel() as kernel:
        sent = [kernel.send(code, stdin=True, cellId=cell_id) for cell_id, code in cells]
        question = kernel.question()
        assert "This cell's prompt is not the one that it asked" in question
        kernel.answer("3")
        runs = [kernel.finish(code) for code in sent[:3]]
        assert runs[2].status == "error"
        assert "nothing was sent" in runs[2].reply["content"]["evalue"]
        assert notebook.server.requests == []

    notebook.server.script(says("It is 6, once more."), says("The mean is still 2."))
    with notebook.kernel() as kernel:
        # One question for both: the mean was asked about another sum.
        runs = run_all(kernel, [cell for cell in cells if cell[0] != "use"], answers=("1",))

    assert "It is 6, once more." in texts(runs[2])
    assert "The mean is still 2." in texts(runs[3])
    assert len(notebook.server.requests) == 2


@pytest.mark.soak  # with each commit nothing is sent where nobody can be asked, below; this adds a cell that is run alone
def test_a_changed_prompt_alone_is_sent_at_once(notebook: Notebook) -> None:
    first_run(notebook)
    notebook.server.script(says("Of course."))

    with notebook.kernel() as kernel:
        kernel.run(LOAD[1], cellId="load")
        alone(kernel)
        run = kernel.run("%%agent\nAdd up 1 and 2.", cellId="sum", stdin=True)

    assert "Of course." in texts(run)
    assert "%agent revert msg_" in texts(run)


def alone(kernel: Kernel) -> None:
    """Let the time pass after which a cell is not one of several any more."""
    kernel.value("setattr(get_ipython()._palimpsest_extension.cells.batches, '_ended_times', None)")


@pytest.mark.parametrize(
    ("mode", "sends", "words"),
    [
        ("", 0, "nobody is here to be asked"),
        pytest.param("prefer", 1, "It is 6", marks=pytest.mark.soak),
        ("only", 0, "only recorded answers are shown here"),
    ],
)
def test_where_nobody_is_there_the_policy_counts(
    notebook: Notebook, mode: str, sends: int, words: str
) -> None:
    first_run(notebook)
    notebook.server.script(says("It is 6."))
    cells = changed(NOTEBOOK, "sum", "%%agent\nAdd up @numbers, please.")

    with notebook.kernel(**({"PALIMPSEST_REPLAY": mode} if mode else {})) as kernel:
        runs = run_all(kernel, cells[:3], stdin=False)

        if mode == "only":
            for line in ("%agent --again Hi.", "%agent retry"):
                refused = kernel.run(line).reply["content"]
                assert "only recorded answers are shown here" in refused["evalue"]

    assert len(notebook.server.requests) == sends
    assert words in texts(runs[2]) + str(runs[2].reply["content"])


@pytest.mark.soak  # with each commit tests/frontends/operations/test_written_operations.py reads the switch; this adds what it does
def test_never_and_again_and_the_switch_send(notebook: Notebook) -> None:
    first_run(notebook)
    notebook.server.script(*[says(f"Answer {number}.") for number in range(9)])

    with notebook.kernel(PALIMPSEST_REPLAY="never") as kernel:
        assert "Answer 0." in texts(run_all(kernel, [LOAD, DATA, SUM])[2])
    with notebook.kernel() as kernel:
        again = ("sum", "%%agent --again\nAdd up @numbers.")
        assert "Answer 1." in texts(run_all(kernel, [LOAD, DATA, again])[2])
        off = kernel.run("%agent replay off")
        assert "Each cell sends its prompt" in texts(off)
    with notebook.kernel() as kernel:
        assert "Answer 2." in texts(run_all(kernel, [LOAD, DATA, SUM])[2])
        assert "Run All asks" in texts(kernel.run("%agent replay on"))
    with notebook.kernel() as kernel:
        run = run_all(kernel, [LOAD, DATA, SUM])[2]

    assert "Recorded answer of" in texts(run)
    assert "Answer 2." in texts(run)
    assert len(notebook.server.requests) == 3


def test_python_that_was_not_approved_on_this_machine_asks_first(
    notebook: Notebook, tmp_path: Path
) -> None:
    first_run(notebook)
    elsewhere = {"PALIMPSEST_STATE_DIR": str(tmp_path / "other")}

    with notebook.kernel(**elsewhere) as kernel:
        runs = run_all(kernel, NOTEBOOK[:3], stdin=False)
        assert "was not run again: you have not approved it" in texts(runs[2])
        assert kernel.value("'total' in globals()") == "False"
    with notebook.kernel(**elsewhere) as kernel:
        sent = [kernel.send(code, stdin=True, cellId=cell_id) for cell_id, code in NOTEBOOK]
        assert CODE.splitlines()[0] in kernel.question()
        kernel.answer("1")
        runs = [kernel.finish(code) for code in sent]
        assert "total is 6" in runs[3].stream()
    with notebook.kernel(**elsewhere) as kernel:
        assert "total is 6" in run_all(kernel, NOTEBOOK)[3].stream()
    assert notebook.server.requests == []


def test_recorded_code_is_shown_to_its_end_before_it_is_approved(
    notebook: Notebook, tmp_path: Path
) -> None:
    lines = "".join(f"# line {number} \x1b[2J\n" for number in range(60))
    notebook.server.script(calls("python", code=f"{lines}{CODE}").says(""), *ANSWERS[1:])
    with notebook.kernel() as kernel:
        for code in (LOAD[1], DATA[1]):
            kernel.run(code)
        kernel.run(SUM[1].replace("%%agent", "%%agent --yes"), cellId="sum")

    with notebook.kernel(PALIMPSEST_STATE_DIR=str(tmp_path / "other")) as kernel:
        for code in (LOAD[1], DATA[1]):
            kernel.run(code)
        sent = kernel.send(SUM[1], stdin=True, cellId="sum")
        first = kernel.question()
        kernel.answer("1")
        assert "There is more to see first" in kernel.question()
        kernel.answer("")
        last = kernel.question()
        kernel.answer("1")
        kernel.finish(sent)
        assert kernel.value("total") == "6"

    assert "1 yes" not in first
    assert "# line 0 \\x1b[2J\n" in first
    assert f"    {CODE.splitlines()[1]}\nRun it again" in last
    assert "! call 1, line 1, column 10;" in last


@pytest.mark.soak  # with each commit recorded code is shown to its end, above; this adds code that was changed in the log
def test_recorded_code_that_is_not_as_it_was_approved_says_in_which_line(
    notebook: Notebook,
) -> None:
    lines = "".join(f"# line {number}\n" for number in range(6))
    notebook.server.script(calls("python", code=f"{lines}{CODE}").says(""), *ANSWERS[1:])
    with notebook.kernel() as kernel:
        for code in (LOAD[1], DATA[1]):
            kernel.run(code)
        kernel.run(SUM[1].replace("%%agent", "%%agent --yes"), cellId="sum")
    for log in notebook.project.glob(".palimpsest/sessions/*/*.jsonl"):
        log.write_text(log.read_text("utf-8").replace("# line 3", "mark = 3"), "utf-8")

    with notebook.kernel() as kernel:
        for code in (LOAD[1], DATA[1]):
            kernel.run(code)
        sent = kernel.send(SUM[1], stdin=True, cellId="sum")
        question = kernel.question()
        kernel.answer("3")
        kernel.finish(sent)

    assert "! call 1: almost what you allowed before, but line 4 is new: mark = 3." in question


def test_a_rule_that_denies_python_now_counts(notebook: Notebook) -> None:
    first_run(notebook)

    with notebook.kernel(PALIMPSEST_PERMISSION='{"python": "deny"}') as kernel:
        runs = run_all(kernel, NOTEBOOK[:3])
        assert kernel.value("'total' in globals()") == "False"

    assert "was not run again: a rule denies it" in texts(runs[2])


@pytest.mark.soak  # with each commit code that fails now fails its cell, below; this adds other inputs and outputs
def test_other_inputs_and_another_output_are_told(notebook: Notebook) -> None:
    first_run(notebook)

    with notebook.kernel() as kernel:
        runs = run_all(kernel, changed(NOTEBOOK, "data", "numbers = [1, 2, 3, 4]"))

    assert "ran with other inputs than recorded: numbers" in texts(runs[2])
    assert "printed something else than recorded" in texts(runs[2])
    assert "total is 10" in runs[3].stream()


def test_python_that_fails_now_fails_the_cell(notebook: Notebook) -> None:
    first_run(notebook)

    with notebook.kernel() as kernel:
        runs = run_all(kernel, changed(NOTEBOOK, "data", "numbers = None")[:4])

    assert runs[2].status == "error"
    assert "fails now: TypeError" in runs[2].reply["content"]["evalue"]
    assert "The sum is 6." in texts(runs[2])


def test_files_and_commands_are_shown_and_not_done_again(notebook: Notebook) -> None:
    cells: Cells = [LOAD, ("do", "%%agent --yes\nWrite notes.txt and say hello.")]
    notebook.server.script(
        calls("write", path="notes.txt", content="noted\n").calls("bash", command="echo x >> log"),
        says("Done."),
    )
    with notebook.kernel() as kernel:
        assert run_all(kernel, cells)[1].status == "ok"
    assert (notebook.project / "notes.txt").exists()
    (notebook.project / "notes.txt").unlink()
    notebook.server.requests.clear()

    with notebook.kernel() as kernel:
        run = run_all(kernel, cells)[1]

    assert "Done." in texts(run)
    assert not (notebook.project / "notes.txt").exists()
    assert (notebook.project / "log").read_text() == "x\n"
    assert notebook.server.requests == []


def test_figures_tables_background_prompts_and_summaries_come_back(notebook: Notebook) -> None:
    draws = (
        "import matplotlib; matplotlib.use('module://matplotlib_inline.backend_inline')\n"
        "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()"
    )
    cells: Cells = [
        LOAD,
        ("draw", "%%agent --yes\nDraw it."),
        ("later", "handle = %agent --bg Think about it."),
        ("wait", "handle.wait().text"),
        ("compact", "%agent compact"),
        ("after", "value = %agent And now?\nvalue.text, value.recorded"),
    ]
    notebook.server.script(
        calls("python", code=draws).says(""),
        says("Here it is."),
        says("Thought."),
        says(SUMMARY),
        says("Now nothing."),
    )
    with notebook.kernel() as kernel:
        first = run_all(kernel, cells)
        assert [run.status for run in first] == ["ok"] * 6, first[-1].reply["content"]
    notebook.server.requests.clear()

    with notebook.kernel() as kernel:
        runs = run_all(kernel, cells)

    assert notebook.server.requests == []
    assert texts(runs[1]).count("[figure]") == texts(first[1]).count("[figure]") == 1
    assert "Thought." in texts(runs[3])
    assert "Recorded answer of" in texts(runs[4])
    assert "('Now nothing.', True)" in texts(runs[5])


@pytest.mark.soak  # with each commit a restart sends nothing, above; this adds a notebook with two sessions
def test_a_session_of_its_own_and_the_notebooks_first_one_are_both_found(
    notebook: Notebook,
) -> None:
    cells: Cells = [
        LOAD,
        ("one", "%agent The first."),
        ("two", "%agent --new The second."),
        ("three", "%agent The third."),
    ]
    notebook.server.script(says("One."), says("Two."), says("Three."))
    with notebook.kernel() as kernel:
        run_all(kernel, cells)
    notebook.server.requests.clear()

    with notebook.kernel() as kernel:
        runs = run_all(kernel, cells)

    assert notebook.server.requests == []
    assert [
        word in texts(run) for word, run in zip(("One.", "Two.", "Three."), runs[1:], strict=True)
    ]


@pytest.mark.soak  # with each commit the first run of the others is one with a question, above; this adds one without
def test_a_new_notebook_is_run_whole_without_a_question(notebook: Notebook) -> None:
    notebook.server.script(says("One."), says("Two."))

    with notebook.kernel() as kernel:
        runs = run_all(kernel, [LOAD, ("one", "%agent First."), ("two", "%agent Second.")])

    assert ["One." in texts(runs[1]), "Two." in texts(runs[2])] == [True, True]


@pytest.mark.soak  # with each commit tests/session/replay/test_recorded_turns.py finds them in order; this adds a kernel
def test_a_loop_in_one_cell_shows_its_answers_in_order(notebook: Notebook) -> None:
    loop = "for _ in range(3):\n    answer = %agent Go on.\n    print(answer.text)"
    cells: Cells = [LOAD, ("loop", loop), ("after", "%agent And now?")]
    notebook.server.script(says("One."), says("Two."), says("Three."), says("Done."))
    with notebook.kernel() as kernel:
        assert run_all(kernel, cells)[1].stream().split() == ["One.", "Two.", "Three."]
    notebook.server.requests.clear()

    with notebook.kernel() as kernel:
        runs = run_all(kernel, cells)

    assert runs[1].stream().split() == ["One.", "Two.", "Three."]
    assert "Done." in texts(runs[2])
    assert notebook.server.requests == []

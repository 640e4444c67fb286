"""The magics work in every host: nbclient, Papermill, a terminal, and the oldest supported ipykernel."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import nbclient
import nbconvert
import nbformat
import pexpect
import pytest
from nbclient.exceptions import CellExecutionError
from tests.e2e.forked_kernels import STARTED, kernel_specs
from tests.e2e.jupyterlab import LEFT_OUT
from tests.harness.kernel import ROOT, Kernel
from tests.harness.unattended_script import (
    always,
    as_text,
    settings,
)
from tests.sample_size import SOAKING, sampled_cases
from tests.waiting import LAST_RESORT_SECONDS, eventually

from palimpsest.model.script import calls, fails, says
from palimpsest.testing import FaultServer

Serve = Callable[..., FaultServer]

pytestmark = pytest.mark.slow
MIME = "application/vnd.palimpsest.segment+json"
SETUP = (
    "from palimpsest.model.script import says, calls\nfrom tests.harness.kernel_session import load\n"
    "harness = load(get_ipython())"
)
PLOT = (
    "import matplotlib.pyplot as plt\nplt.plot([1])\nprint(chr(60) + 'u>drawn' + chr(60) + '/u>')"
)
SCRIPT = (
    f"harness.script(says('I **plot** ' + chr(60) + 'b>it' + chr(60) + '/b>.').calls('python', code={PLOT!r}), says('Done.'),"
    "calls('python', code='refused = 1').says(''), says('Then not.'))"
)


def notebook(*cells: str, kernel: str = "python3") -> nbformat.NotebookNode:
    made = nbformat.v4.new_notebook()
    made.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    made.metadata.kernelspec = {"name": kernel, "display_name": "Python 3", "language": "python"}
    return made


def execute(made: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Execute a notebook as nbclient does, in a folder; return it with its outputs."""
    nbclient.NotebookClient(made, timeout=300, resources={"metadata": {"path": folder}}).execute()
    return made


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, forks: str | None) -> Iterator[Path]:
    """A working folder and kernels that find our code: forked ones, except the one named ``STARTED``."""
    folder = tmp_path_factory.mktemp("hosts")
    kernel_specs(folder / "share", forks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
        patch.setenv("JUPYTER_PATH", str(folder / "share"))
        patch.setenv("PYTHONPATH", f"{LEFT_OUT}:{ROOT / 'kernel_ext'}:{ROOT}")
        patch.setenv("IPYTHONDIR", str(folder / ".ipython"))
        patch.delenv("PYTEST_CURRENT_TEST", raising=False)
        patch.chdir(folder)
        yield folder


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    with ExitStack() as stack:

        def serve(answers: list[Any], **given: Any) -> FaultServer:
            server = stack.enter_context(FaultServer(*answers))
            monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai")
            monkeypatch.setenv("PALIMPSEST_CONFIG_CONTENT", as_text(settings(server, **given)))
            return server

        yield serve


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
class TestSavedNotebooks:
    """Notebooks saved by nbclient and Papermill are complete and valid documents."""

    @pytest.fixture(scope="class")
    @staticmethod
    def executed(environment: Path) -> nbformat.NotebookNode:
        made = notebook(
            SETUP,
            SCRIPT,
            "%%agent -y\nPlot.",
            "answer = %agent Do it?",
            "str(answer)",
            kernel=STARTED,
        )
        nbclient.NotebookClient(
            made, timeout=300, resources={"metadata": {"path": environment}}
        ).execute()
        return made

    def test_nbclient_saves_the_whole_story(self, executed: nbformat.NotebookNode) -> None:
        nbformat.validate(executed)
        asked, refused, value = executed.cells[2:]
        kinds = [next(iter(sorted(output.data))) for output in asked.outputs]

        assert kinds == [MIME, "image/png", MIME]
        assert "I **plot**" in asked.outputs[0].data["text/markdown"]
        assert "Done." in asked.outputs[-1].data["text/markdown"]
        assert "nobody was there to ask" in refused.outputs[0].data["text/markdown"]
        assert value.outputs[0].data["text/plain"] == "'Then not.'"
        assert not any(output.data[MIME]["open"] for output in asked.outputs if MIME in output.data)

    @pytest.mark.parametrize(
        "exporter",
        sampled_cases((nbconvert.HTMLExporter, nbconvert.MarkdownExporter), nbconvert.HTMLExporter),
    )
    def test_nbconvert_shows_it_escaped_and_in_order(
        self, executed: nbformat.NotebookNode, exporter: type[nbconvert.Exporter]
    ) -> None:
        body, _ = exporter().from_notebook_node(executed)

        assert body.index("plot") < body.index("Done.") < body.index("Then not.")
        assert "<b>it</b>" not in body
        assert "drawn" in body
        if exporter is nbconvert.HTMLExporter:
            assert "<u>drawn" not in body
        else:
            assert "\n<u>drawn</u>\n" in body

    @pytest.mark.soak  # with each commit nbclient runs one, above; this adds Papermill
    def test_papermill_runs_it_with_parameters(self, environment: Path) -> None:
        made = notebook(
            "size = 1",
            SETUP,
            "harness.script(says('So be it.'))",
            "%%agent\nWhat is {size}?",
        )
        made.cells[0].metadata.tags = ["parameters"]
        nbformat.write(made, environment / "in.ipynb")

        done = subprocess.run(
            [sys.executable, "-m", "papermill", "in.ipynb", "out.ipynb", "-p", "size", "7"],
            check=False,
            capture_output=True,
            text=True,
        )

        assert done.returncode == 0, done.stderr
        out = nbformat.read(environment / "out.ipynb", as_version=4)
        assert "So be it." in out.cells[-1].outputs[0].data["text/markdown"]


FORMS = ["%%agent -y\ngo", "answer = %agent -y go", "for _ in range(3):\n    %agent -y go"]
FAILED = {
    "circle": (always(calls("list")), 4, {}),
    "circle of two": (always(calls("list"), calls("glob", pattern="*")), 7, {}),
    "circle, allowed": (always(calls("list")), 4, {"permission": "allow"}),
    "circle, bypass": (always(calls("list")), 4, {"mode": "bypass"}),
    "budget": (
        always(calls("list").reports(input=600), calls("glob", pattern="*").reports(input=600)),
        3,
        {"budget": {"tokens": 1_500}},
    ),
    "steps": (always(calls("list"), calls("glob", pattern="*")), 2, {"max_steps": 2}),
    "window": ([], 0, {"limits": {"window": 3_000}}),
    "error": ([fails(401)], 1, {}),
}
"""The server's answers, and the number of requests it gets before the cell fails."""


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
class TestFailedTurn:
    """A notebook that runs unattended ends at the cell whose turn failed."""

    # What ends a turn is tested in a kernel; here, that nbclient gets the error.
    @pytest.mark.parametrize(
        "case",
        [pytest.param(case, marks=[] if case == "circle" else pytest.mark.soak) for case in FAILED],
    )
    def test_nbclient_stops_there(self, environment: Path, served: Serve, case: str) -> None:
        answers, most, given = FAILED[case]
        server = served(answers, **given)
        made = notebook("%load_ext palimpsest", FORMS[0], "print('went on')")

        with pytest.raises(CellExecutionError, match="AgentTurnFailed"):
            nbclient.NotebookClient(
                made, timeout=300, resources={"metadata": {"path": environment}}
            ).execute()

        assert len(server.requests) == most
        assert made.cells[-1].outputs == []
        (error,) = [output for output in made.cells[1].outputs if output.output_type == "error"]
        assert f"({case.partition(',')[0].partition(' ')[0]})" in error.evalue
        assert error.traceback == [f"AgentTurnFailed: {error.evalue}"]

    def failed(self, folder: Path, *cells: str) -> Any:
        """Run cells as nbclient does; return the error of the last one, after which nothing ran."""
        made = notebook("%load_ext palimpsest", *cells, "print('went on')")
        with pytest.raises(CellExecutionError, match="AgentTurnFailed"):
            nbclient.NotebookClient(
                made, timeout=300, resources={"metadata": {"path": folder}}
            ).execute()
        assert made.cells[-1].outputs == []
        (error,) = [output for output in made.cells[-2].outputs if output.output_type == "error"]
        return error


class TestRecordedAnswers:
    """A notebook with agent cells runs in nbclient and Papermill from its recorded answers, without a model."""

    CODE = "total = 6 * 7\nprint('made', total)"
    CELLS = ("%load_ext palimpsest", "%%agent --yes\nMultiply.", "total + 0", "%agent And now?")

    @pytest.mark.soak  # with each commit tests/frontends/cell_turn/test_recorded_prompts.py has a kernel that sends nothing; this adds Papermill
    def test_only_recorded_answers_are_needed(
        self, environment: Path, served: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server = served(
            [calls("python", code=self.CODE).says(""), says("It is 42."), says("Nothing more.")]
        )
        nbformat.write(notebook(*self.CELLS), "kept.ipynb")
        execute(notebook(*self.CELLS), environment)
        sent = len(server.requests)
        assert sent == 3

        monkeypatch.setenv("PALIMPSEST_REPLAY", "only")
        done = run_papermill("kept.ipynb", "second.ipynb")
        assert done.returncode == 0, done.stderr
        executed = [nbformat.read(environment / "second.ipynb", as_version=4)]
        if SOAKING:  # the first run has shown that nbclient finds what is recorded where it runs
            executed.append(execute(notebook(*self.CELLS), environment))
        for made in executed:
            assert "42" in str(made.cells[2].outputs)
            assert "Recorded answer of" in str(made.cells[1].outputs)
            assert "Nothing more." in str(made.cells[3].outputs)

        changed = notebook(*self.CELLS[:3], "%agent And then?")
        with pytest.raises(CellExecutionError, match="only recorded answers are shown here"):
            execute(changed, environment)
        assert len(server.requests) == sent


class TestStepMode:
    """A notebook that switches step mode on runs to its end where nobody can let a request go, and says so once."""

    CELLS = (
        "%load_ext palimpsest",
        "%agent step on",
        "%%agent --yes\nMultiply.",
        "total",
        "handle = %agent --bg And now?",
        "%agent wait",
        "%agent And then?",
        "%agent compact",
        "%agent step off",
    )
    NOBODY = "Step mode is on, and nobody is here to let a request go"

    @pytest.mark.soak  # with each commit tests/frontends/typed_input/test_held_requests.py has a kernel without a page; this adds nbconvert and Papermill
    @pytest.mark.parametrize("host", ["nbconvert", "papermill"])
    def test_it_runs_to_its_end(self, environment: Path, served: Serve, host: str) -> None:
        long = "It is 42, since seven times six is that. " * 200
        server = served(
            [
                calls("python", code="total = 6 * 7").says(""),
                says(f"It is 42. {long}"),
                says(f"Nothing more. {long}"),
                says(f"Then nothing. {long}"),
                says("## Goal\n- multiply\n\n## Facts\n- total is 42\n" + "- none\n" * 40),
            ]
        )
        nbformat.write(notebook(*self.CELLS), f"steps-{host}.ipynb")
        done = (
            run_papermill(f"steps-{host}.ipynb", "stepped-papermill.ipynb")
            if host == "papermill"
            else run_nbconvert(f"steps-{host}.ipynb", "stepped-nbconvert.ipynb")
        )
        assert done.returncode == 0, done.stderr
        made = nbformat.read(environment / f"stepped-{host}.ipynb", as_version=4)
        said = [str(cell.get("outputs", "")) for cell in made.cells if cell.cell_type == "code"]
        first = next(at for at, text in enumerate(said) if "step mode is on" in text.lower())

        assert self.NOBODY in said[first + 1]
        assert "42" in said[first + 2]
        assert "Nothing more." in said[first + 4]
        assert "Then nothing." in said[first + 5]
        assert sum(text.count(self.NOBODY) for text in said) == 1
        assert "Step mode is off" in said[-1]
        assert len(server.requests) == 5


def run_nbconvert(source: str, target: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "jupyter", "nbconvert", "--to", "notebook", "--execute"]
    return subprocess.run(
        [*command, "--output", target, source], check=False, capture_output=True, text=True
    )


def run_papermill(*names: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "papermill", *names], check=False, capture_output=True, text=True
    )


class TestTerminal:
    """IPython in a terminal: plain text, in order, with questions at the prompt."""

    @pytest.fixture(scope="class")
    @staticmethod
    def terminal(environment: Path) -> Iterator["pexpect.spawn[str]"]:
        child: pexpect.spawn[str] = pexpect.spawn(
            sys.executable,
            ["-m", "IPython", "--simple-prompt", "--colors=NoColor", "--no-banner"],
            cwd=str(environment),
            env={**os.environ, "TERM": "dumb", "COLUMNS": "200"},
            encoding="utf-8",
            timeout=LAST_RESORT_SECONDS,
        )
        child.expect_exact("In [1]: ")
        for line in SETUP.splitlines():
            child.sendline(line)
            child.expect(r"In \[\d+\]: ")
        yield child
        # pexpect's own end gives up when a killed process has not gone within a tenth of a second.
        child.kill(signal.SIGKILL)
        child.wait()
        child.close()

    def script(self, terminal: "pexpect.spawn[str]", answers: str) -> None:
        terminal.sendline(f"harness.script({answers})")
        terminal.expect(r"In \[\d+\]: ")

    def test_prints_the_answer(self, terminal: "pexpect.spawn[str]") -> None:
        self.script(terminal, "says('Hello there.')")
        terminal.sendline("%agent hi?")
        terminal.expect_exact("Hello there.")
        terminal.expect(r"In \[\d+\]: ")

    def test_asks_and_runs_python_here(self, terminal: "pexpect.spawn[str]") -> None:
        self.script(
            terminal,
            "calls('python', code='import asyncio; await asyncio.sleep(0); x = 6 * 7; x').says(''), says('Done.')",
        )
        terminal.sendline("%agent hi")
        terminal.expect_exact("3 reject")
        terminal.sendline("1")
        terminal.expect_exact("42")
        terminal.expect_exact("Done.")
        terminal.expect(r"In \[\d+\]: ")
        terminal.sendline("x + 1")
        terminal.expect_exact("43")
        terminal.expect(r"In \[\d+\]: ")

    def test_ctrl_c_stops(self, environment: Path, terminal: "pexpect.spawn[str]") -> None:
        blocks = "import pathlib, time; pathlib.Path('blocks.flag').touch(); time.sleep(600)"
        self.script(
            terminal, f"says('Let me think.\\n').stalls(), calls('python', code={blocks!r})"
        )
        terminal.sendline("%agent hi")
        terminal.expect_exact("Let me think.")
        terminal.sendintr()
        terminal.expect_exact("Stopped")
        terminal.expect(r"In \[\d+\]: ")
        terminal.sendline("%agent -y hi")
        eventually((environment / "blocks.flag").exists)
        terminal.sendintr()
        terminal.expect_exact("Stopped")
        terminal.expect(r"In \[\d+\]: ")
        terminal.sendline("20 + 1")
        terminal.expect_exact("21")
        terminal.expect(r"In \[\d+\]: ")

    def test_wrong_input_gets_one_line(self, terminal: "pexpect.spawn[str]") -> None:
        terminal.sendline("%agent --modle x hi")
        terminal.expect_exact("Did you mean '--model'?")
        terminal.expect(r"In \[\d+\]: ")
        assert "Traceback" not in (terminal.before or "")


@pytest.mark.soak  # with each commit tests/frontends/test_loading.py loads it by name; this adds a magic that IPython loads lazily
def test_loads_by_itself_where_the_magic_is_declared_lazily(tmp_path: Path) -> None:
    with Kernel(cwd=tmp_path, fresh=True) as kernel:
        kernel.run(
            "get_ipython().magics_manager.lazy_magics['agent'] = 'tests.frontends.extension_module'"
        )
        assert "So lazy." in kernel.run("%agent hi").markdown()
        assert "So lazy." in kernel.run("%%agent\nhi").markdown()


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the oldest supported ipykernel."""
    folder = tmp_path_factory.mktemp("old")
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
    subprocess.run([*install, "ipykernel==6.31.0"], check=True)
    return folder


@pytest.mark.soak  # with each commit tests/frontends/user_cells/test_user_cells.py runs with the newest; this adds the oldest ipykernel
def test_the_oldest_ipykernel_passes_the_tests_of_cells(old: Path) -> None:
    tests = [
        "tests/frontends/user_cells/test_user_cells.py",
        "tests/frontends/page_channel/test_requested_runs.py",
        "tests/frontends/cell_turn/test_recorded_prompts.py",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        env={**os.environ, "PALIMPSEST_TEST_KERNEL_PACKAGES": str(old)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.soak  # with each commit tests/frontends/test_magic.py runs with the newest; this adds the oldest ipykernel
def test_the_oldest_ipykernel_runs_the_blocking_magic_and_asks(old: Path, tmp_path: Path) -> None:
    path = f"{old}:{ROOT / 'kernel_ext'}:{ROOT}"
    with Kernel(cwd=tmp_path, env={"PYTHONPATH": path}, fresh=True) as kernel:
        assert kernel.value("__import__('ipykernel').__version__") == "'6.31.0'"
        kernel.load_scripted_model()
        kernel.script("calls('python', code='6 * 7').says('')", "says('Done.').drips(0.2)")

        run_id = kernel.send("%%time\n%agent hi", stdin=True)
        kernel.question()
        kernel.answer("1")
        run = kernel.finish(run_id)

        assert "42" in run.markdown()
        assert "Done." in run.markdown()

"""The code of README and docs runs as written, for a user without key and network.

Each page's Python is one script in a process of its own, in a folder with an earlier session; code with
magics runs in a kernel, line by line where it is a list of them; settings are parsed, and a server's file
is loaded. docs/testing.md has a test of its own beside its subject.
"""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel
from tests.harness.process_forks import APPLICATION, forked_python
from tests.sample_size import sampled_cases, thinned
from traitlets.config.loader import PyFileConfigLoader

from palimpsest.frontends.operation_table import TABLE
from palimpsest.testing import ScriptedModel, calls, isolated_session, says

ROOT = Path(__file__).parents[2]
PAGES = {
    page.name: page.read_text(encoding="utf-8")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if page.name != "testing.md"
}
PLACEHOLDERS = {"words", "title"}
"""Placeholders for any text after ``%agent``, besides its subcommands."""
MAGIC_LINE = re.compile(r"^(%\w[^\n]*?)(?:  +.*)?$", re.MULTILINE)
"""A line in a list of magics, without the explanation beside it."""
REFUSED = {
    "%agent fix": "No cell has failed since the agent was loaded",
    "%agent permissions revoke 2": "There is no number 2 in the list",
    "%agent compact focus on the numbers of the second model": "The agent's turn did not finish (compaction): The summary saved too little",
}
"""Expected errors of lines that have nothing to act on, since earlier lines of the page already did it."""
ASKED = """
import palimpsest
palimpsest.current_session().prompt("Which files are there?", yes=True)
palimpsest.current_session().prompt("What is 17 * 23?", yes=True)
"""


ELSEWHERE = {
    "api.md": "below, as one script",
    "cells.md": "in tests/tools/notebook/test_shared_notebook.py",
    "inspector.md": "in tests/frontends/inspector/test_inspector_page.py, in a kernel that shows widgets",
}
"""Pages whose Python runs in another test."""


def blocks(page: str, language: str) -> list[str]:
    """Return a page's code blocks in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGES[page], re.DOTALL | re.MULTILINE)


def having(language: str) -> list[str]:
    """Return the pages that have code blocks in a language."""
    return [page for page in PAGES if blocks(page, language)]


def magics(page: str) -> list[str]:
    """Return a page's code blocks of magics, which have no language."""
    return [block for block in blocks(page, "") if re.search("^%", block, re.MULTILINE)]


def run(source: str, folder: Path, *, fresh: bool = False) -> None:
    """Run a script in a folder; it may print, but must not fail or write to stderr.

    A fresh one imports everything itself, as a user's does; the others find the application imported.
    """
    python = [sys.executable] if fresh else forked_python(*APPLICATION)
    bare = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "kernel_ext"), "HOME": str(folder)}
    done = subprocess.run(
        [*python, "-c", source],
        cwd=folder,
        env=bare,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("one\n")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", thinned([page for page in having("python") if page not in ELSEWHERE], 8)
)
def test_the_python_of_a_page_runs(page: str, folder: Path) -> None:
    sources = blocks(page, "python")
    source = "\n".join(sources)
    if "get_config()" in source:
        settings = folder / "jupyter_config.py"
        settings.write_text(source)
        assert PyFileConfigLoader(settings.name, str(folder)).load_config().Palimpsest
        return
    if "%agent" in source:
        with Kernel(cwd=folder) as kernel:
            assert kernel.run("%load_ext palimpsest").status == "ok"
            for one in sources:
                ran = kernel.run(one)
                assert ran.status == "ok", ran.reply
        return
    ast.parse(source)
    if "session" in source:
        run(ASKED, folder)
    # Only loading is tested; a page's own server or tool runs when it is called.
    run(source.replace('if __name__ == "__main__":', "if False:"), folder)


@pytest.mark.soak  # with each commit tests/test_examples.py runs the example of each method; this adds the page, line by line
@pytest.mark.slow
def test_every_line_of_the_page_about_python_runs_in_one_script(folder: Path) -> None:
    run("\n".join(blocks("api.md", "python")), folder)


@pytest.mark.slow
def test_the_settings_of_every_page_are_read_without_a_problem(folder: Path) -> None:
    homes = []
    for page in having("toml"):
        for number, source in enumerate(blocks(page, "toml")):
            homes.append(folder / f"{page}-{number}")
            beside = homes[-1] / ".config" / "palimpsest"
            (beside / "docs").mkdir(parents=True)
            (beside / "config.toml").write_text(source)
            (beside / "docs" / "style.md").write_text("Be brief.\n")
    assert len(homes) > 10
    run(
        "import os, palimpsest, palimpsest.app.wiring, palimpsest.frontends.frontend\n"
        f"for home in {[*map(str, homes)]}:\n"
        "    if (child := os.fork()) == 0:\n"
        "        os.environ['HOME'] = home\n"
        "        os.chdir(home)\n"
        "        found = palimpsest.config()\n"
        "        assert not found.problems, found.problems\n"
        "        assert any('config.toml' in str(row) for row in found.rows()), found.rows()\n"
        "        os._exit(0)\n"
        "    assert os.waitpid(child, 0)[1] == 0, home\n",
        folder,
    )


TYPED = ("magic.md",)
"""The page with the most of what can be typed; the others say parts of it again."""


@pytest.mark.slow
@pytest.mark.parametrize("page", sampled_cases([*filter(magics, PAGES)], *TYPED))
def test_the_magics_of_a_page_run(page: str, folder: Path) -> None:
    cells = ["%load_ext palimpsest", "%agent -y Which files are there?", "%agent What is 17 * 23?"]
    for source in magics(page):
        cells += source.split("\n\n") if "%%agent" in source else MAGIC_LINE.findall(source)
    with Kernel(cwd=folder) as kernel:
        for cell in cells:
            ran = kernel.run(cell)
            said = ran.reply["content"].get("evalue", "")
            assert (ran.status == "error", bool(said)) == (cell in REFUSED,) * 2, (cell, said)
            assert said.startswith(REFUSED.get(cell, "")), (cell, said)


WRITTEN = {
    "agents.md": (
        ".palimpsest/agents/reviewer.md",
        ".palimpsest/commands/review.md",
        ".palimpsest/skills/pdf-tables/SKILL.md",
    ),
    "instructions.md": ("AGENTS.md",),
}
"""The files into which the Markdown blocks of a page are written, in order."""
LISTED = """
import palimpsest
reviewer, = (one for one in palimpsest.agents() if one.name == "reviewer")
assert reviewer.mode == "subagent", reviewer
assert reviewer.origin.endswith(".palimpsest/agents/reviewer.md"), reviewer
assert palimpsest.problems() == (), palimpsest.problems()
assert reviewer.description == "Reviews a change and names what would break", reviewer
review, = palimpsest.commands()
assert (review.name, review.description) == ("review", "Reviews one file"), review
skill, = palimpsest.skills()
assert (skill.name, skill.description) == ("pdf-tables", "Use when tables have to be read from PDF files")
"""


@pytest.fixture
def written(folder: Path) -> Path:
    for page, places in WRITTEN.items():
        for place, source in zip(places, blocks(page, "markdown"), strict=True):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(source)
    return folder


def test_the_markdown_of_every_page_is_written_by_a_test() -> None:
    assert having("markdown") == [*WRITTEN]


@pytest.mark.slow
def test_the_agent_the_command_and_the_skill_of_a_page_are_listed(written: Path) -> None:
    run(LISTED, written)


def test_what_a_page_tells_agents_and_instructions_stands_in_the_requests(written: Path) -> None:
    (written / "src").mkdir()
    (written / "src" / "io.py").write_text("print('read')\n")
    subprocess.run(["git", "init", "--quiet"], cwd=written, check=True)
    task = calls("task", description="Look", prompt="Look at it.", agent="reviewer")
    model = ScriptedModel(task, says("It breaks io."), says("Reviewed."), says("No errors."))

    with isolated_session(model, folder=written) as session:
        session.prompt("Is the change right?", yes=True)
        session.prompt("/review src/io.py the error handling", yes=True)

    own, others, *_, command = (str(request.messages) for request in model.requests)
    assert "Distances are in metres." in own
    assert "pdf-tables" in own
    assert "Use when tables have to be read from PDF files" in own
    assert "You review changes. Read the diff" in others
    assert "edit" not in [tool.name for tool in model.requests[1].tools]
    assert "with regard to the error handling." in command
    assert "print('read')" in command.replace("\\'", "'")


def test_each_command_that_a_page_names_is_one() -> None:
    named = {
        (page, word)
        for page, text in PAGES.items()
        for word in re.findall(r"`%agent ([a-z]\w*)", text)
    }

    assert {
        (page, word) for page, word in named if word not in {*TABLE.forms, *PLACEHOLDERS}
    } == set()


@pytest.mark.soak  # with each commit pages about Python and magics run, above; this adds what a shell runs
@pytest.mark.slow
@pytest.mark.parametrize("page", thinned([page for page in having("sh") if page != "README.md"], 2))
def test_what_a_page_says_for_a_shell_sets_what_we_look_for(page: str, folder: Path) -> None:
    package = ROOT / "kernel_ext" / "palimpsest"
    source = "\n".join(path.read_text("utf-8") for path in package.rglob("*.py"))
    looks = "import os, palimpsest; palimpsest.models(); print(*os.environ)"
    for block in blocks(page, "sh"):
        named = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", block))
        assert {name for name in named if f'"{name}"' not in source} == set()
        script = f"set -eu\n{block}\nexec '{sys.executable}' -c '{looks}'"
        bare = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "kernel_ext")}
        done = subprocess.run(
            ["sh", "-c", script],
            cwd=folder,
            env=bare | {"HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        exported = set(re.findall(r"^export (\w+)=", block, re.MULTILINE))
        assert exported <= set(done.stdout.split())


def test_the_commands_of_the_readme_are_there() -> None:
    wanted = [
        line.split("#")[0].split() for line in "\n".join(blocks("README.md", "sh")).split("\n")
    ]
    for command in filter(None, wanted):
        done = subprocess.run(
            [*command, "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert (command[0], done.returncode) == ("make", 0), done.stderr


def test_what_a_page_tells_to_install_is_there() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    matches = re.findall(r"pip install '?([\w.-]+)(?:\[(\w+)\])?", "\n".join(PAGES.values()))
    ours = [(name, extra) for name, extra in matches if name == settings["name"]]
    assert ours
    assert {extra for _, extra in ours if extra} <= set(settings["optional-dependencies"])

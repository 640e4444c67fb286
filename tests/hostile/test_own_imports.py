"""Modules in a folder that are named like installed packages are not imported by the extension."""

import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel
from tests.harness.served_home import served_home

from palimpsest.import_guard import is_in_current_folder
from palimpsest.model.script import calls, says
from palimpsest.testing import FaultServer

pytestmark = pytest.mark.slow

MODEL = "openai/gpt-4o"
SHADOW = """
from pathlib import Path
Path({marks!r}, {name!r}).touch()
raise ImportError("planted")
"""
MODULES = "' '.join(sorted({name.partition('.')[0] for name in __import__('sys').modules}))"
OPTIONAL = {
    "orjson",
    "brotli",
    "zstandard",
    "h2",
    "socksio",
    "email_validator",
    "fastuuid",
    "enterprise",
}
"""Packages that libraries import if they are installed, and are not installed here."""


@pytest.fixture(scope="module")
def shadows(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Every name that could be shadowed: the installed packages that a bare kernel has not imported."""
    with Kernel(cwd=tmp_path_factory.mktemp("bare"), fresh=True) as bare:
        loaded = set(bare.client.value(MODULES).strip("'").split())
    known = {*importlib.metadata.packages_distributions(), *sys.stdlib_module_names, *OPTIONAL}
    left = known - loaded - set(sys.builtin_module_names)
    return {name for name in left if name.isidentifier()} - {"palimpsest", "ipykernel_launcher"}


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


@pytest.fixture
def planted(tmp_path: Path, shadows: set[str], marks: Path) -> Path:
    """A folder with a module of every such name, and the entry points of a fake package."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name in shadows | {"planted_plugin", "planted_hook"}:
        (folder / f"{name}.py").write_text(SHADOW.format(marks=str(marks), name=name))
    info = folder / "planted-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[pydantic]\nplugin = planted_plugin:plugin\n[palimpsest.hooks]\nprompt = planted_hook:hook\n"
    )
    return folder


@pytest.fixture
def server() -> Iterator[FaultServer]:
    answers = (
        calls("bash", command="true"),
        calls("python", code="import neighbour\nprint(neighbour.WORD)"),
        calls("glob", pattern="*.md"),
        says("Done."),
    )
    with FaultServer(*answers) as server:
        yield server


def own(home: Path, base: str) -> dict[str, str]:
    """Return the environment of a user with a model server of their own."""
    key = "sk-" + "a1B2" * 8
    return served_home(home, MODEL, base, "titles = false\n", OPENAI_API_KEY=key)


def test_a_planted_package_never_runs(
    planted: Path, marks: Path, shadows: set[str], tmp_path: Path, server: FaultServer
) -> None:
    assert {"pydantic", "litellm", "tiktoken", "httpx"} <= shadows
    (planted / "neighbour.py").write_text("WORD = 'from the folder'\n")
    with Kernel(cwd=planted, env=own(tmp_path / "home", server.openai_base), fresh=True) as kernel:
        # Marks so far are due to Python and the kernel itself.
        for mark in marks.iterdir():
            mark.unlink()
        assert kernel.client.run("%load_ext palimpsest").status == "ok"
        run = kernel.client.run("%%agent --yes\nLook around.")
        assert run.status == "ok", run.reply
        assert kernel.client.run("%agent hooks").status == "ok"

    assert sorted(mark.name for mark in marks.iterdir()) == []
    assert "from the folder" in str([request.body for request in server.requests])
    assert "planted" not in run.stream("stderr").replace("planted_plugin", "")


@pytest.mark.soak  # with each commit a planted package never runs, above; this adds imports that a person wants
def test_a_users_own_imports_find_the_folder(planted: Path, marks: Path, tmp_path: Path) -> None:
    (planted / "tools_of_mine.py").write_text(
        "import palimpsest\n@palimpsest.tool\ndef shout(word: str) -> str:\n"
        '    """Say it loudly."""\n    import neighbour\n    return neighbour.loud(word)\n'
    )
    (planted / "neighbour.py").write_text("def loud(word): return word.upper()\n")
    scenario = (
        "from palimpsest.rehearsal.scenario import register_scenario\n"
        "from palimpsest.model.script import calls, says\n"
        "register_scenario('loud', [calls('shout', word='hello'), says('Well.')])\n"
        "import tools_of_mine"
    )
    home = {"HOME": str(tmp_path / "home")}
    with Kernel(cwd=planted, env=home, fresh=True) as kernel:
        assert kernel.client.run("%load_ext palimpsest").status == "ok"
        run = kernel.client.run(scenario)
        assert run.status == "ok", run.reply["content"]
        run = kernel.client.run("%%agent -y -m rehearsal/loud\nSay hello.")
        assert "HELLO" in str(run.messages)
        planted_too = kernel.client.run("import orjson")

    assert planted_too.status == "error"  # the user's own import works as in any Python
    assert "orjson" in {mark.name for mark in marks.iterdir()}


def test_a_repository_that_names_programs_runs_none(tmp_path: Path, marks: Path) -> None:
    folder = tmp_path / "project"
    (folder / ".git" / "refs" / "heads").mkdir(parents=True)
    (folder / ".git" / "objects").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "refs" / "heads" / "main").write_text("1" * 40 + "\n")
    touch = f"touch {marks}/"
    (folder / ".git" / "config").write_text(
        "[core]\n\trepositoryformatversion = 1\n"
        f'\tfsmonitor = "{touch}fsmonitor"\n\tsshCommand = "{touch}ssh;"\n\tpager = "{touch}pager"\n'
        "[extensions]\n\tpartialClone = origin\n"
        f'[remote "origin"]\n\turl = "ext::{touch}ext"\n\tpromisor = true\n'
        f'\tuploadpack = "{touch}uploadpack;"\n[protocol "ext"]\n\tallow = always\n'
    )
    with Kernel(cwd=folder, env={"HOME": str(tmp_path / "home")}, fresh=True) as kernel:
        assert kernel.client.run("%load_ext palimpsest").status == "ok"
        assert kernel.client.run("%agent list the files").status == "ok"

    assert sorted(mark.name for mark in marks.iterdir()) == []


def test_the_current_folder_is_known_by_every_path_that_leads_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project" / "package").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "project")
    for folder in (tmp_path / "project", tmp_path / "link"):
        monkeypatch.chdir(folder)
        for path in (".", "package/..", tmp_path / "project", tmp_path / "link"):
            assert is_in_current_folder(Path(path) / "module.py"), (folder, path)
        for path in ("package", tmp_path, "missing", "\0"):
            assert not is_in_current_folder(Path(path) / "module.py"), (folder, path)

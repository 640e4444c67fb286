"""The package's public names, as an editor, a type checker and ``help`` see them, are the real ones."""

import ast
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import palimpsest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(palimpsest.__file__).parent

SCRIPT = """\
import palimpsest

session = palimpsest.current_session()
print(session.prompt("hello").text)
session.promt("hello")
palimpsest.curent_session()
"""


def stubbed() -> dict[str, str]:
    """Return the names in the stub file with the modules that they come from."""
    tree = ast.parse((HERE / "__init__.pyi").read_text("utf-8"))
    return {
        alias.name: str(node.module)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_the_stub_says_what_is_imported_on_first_use() -> None:
    assert stubbed() == palimpsest._MODULE_BY_NAME


def test_dir_and_help_list_the_public_names() -> None:
    names = {*palimpsest._MODULE_BY_NAME, "__version__"}

    assert set(dir(palimpsest)) == set(palimpsest.__all__) == names
    told = pydoc.plain(pydoc.render_doc(palimpsest))
    missing = [name for name in names - {"__version__"} if name not in told]
    assert missing == []


@pytest.mark.soak  # with each commit tests/packaging/test_metadata.py has a release with its types; this adds mypy over a script
@pytest.mark.slow
def test_a_type_checker_finds_a_misspelt_name_in_a_persons_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    # From the project's folder, whose type checking cache makes it take half a second.
    command = [sys.executable, "-m", "mypy", "--strict", str(script)]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)

    lines = [line for line in checked.stdout.splitlines() if ": error:" in line]
    assert len(lines) == 2, checked
    assert '"Session" has no attribute "promt"' in lines[0]
    assert 'no attribute "curent_session"' in lines[1]


@pytest.mark.soak  # with each commit the stub says what is imported, above; this adds mypy over the programs of the docs
@pytest.mark.slow
def test_the_example_programs_pass_a_strict_type_checker() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "docs/examples"]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)

    assert checked.returncode == 0, checked.stdout

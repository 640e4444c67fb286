"""The shape of the package: what a newcomer can rely on in every file."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "kernel_ext" / "palimpsest"
MODULES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = [path for path in MODULES if path.name == "__init__.py" and path.parent != PACKAGE]
TREE = re.compile(r"```\n(kernel_ext/palimpsest/\n.*?)```", re.DOTALL)


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_says_what_it_is(path: Path) -> None:
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))

    assert said
    assert said.splitlines()[0].endswith((".", ":"))


@pytest.mark.parametrize("path", FOLDERS, ids=name_of)
def test_the_init_of_a_folder_is_its_docstring(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))

    assert len(tree.body) == 1


def test_the_tree_for_contributors_is_the_one_on_disk() -> None:
    found = TREE.search((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))

    assert found
    told = {line.split()[0] for line in found[1].splitlines()[1:]}
    there = {
        path.name + ("/" if path.is_dir() else "")
        for path in PACKAGE.iterdir()
        if path.suffix in {"", ".py"} and path.name != "__pycache__"
    }
    assert told == there

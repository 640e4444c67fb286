"""A kernel learns its notebook's path from its front end, relative to the kernel's folder."""

from types import SimpleNamespace
from typing import Any

import pytest

from palimpsest.frontends.magic.agent_magics import RunningCells, current_notebook, rename_notebook


def shell(**names: Any) -> Any:
    return SimpleNamespace(user_ns=names, starting_dir="/home/ada/work")


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("/home/ada/work/analysis/penguins.ipynb", "analysis/penguins.ipynb"),
        ("/home/ada/other.ipynb", "../other.ipynb"),
        ("penguins.ipynb", "penguins.ipynb"),
        ("/home/ada/work/console-1", None),
        ("", None),
    ],
)
def test_names_the_notebook_of_jupyter(
    named: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", named)

    assert current_notebook(shell()) == expected


def test_names_the_notebook_of_vs_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)

    assert current_notebook(shell(__vsc_ipynb_file__="/home/ada/work/a.ipynb")) == "a.ipynb"


@pytest.mark.parametrize(
    ("was", "notebook", "expected"),
    [
        ("work/analysis/penguins.ipynb", "work/analysis/birds.ipynb", "analysis/birds.ipynb"),
        ("analysis/penguins.ipynb", "birds.ipynb", "birds.ipynb"),
        ("/penguins.ipynb", "/birds.ipynb", "analysis/birds.ipynb"),
        ("other.ipynb", "birds.ipynb", None),
        ("guins.ipynb", "birds.ipynb", None),
        ("penguins.ipynb", "birds.txt", None),
    ],
)
def test_takes_a_new_name_where_its_own_notebook_is_meant(
    was: str, notebook: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", "/home/ada/work/analysis/penguins.ipynb")

    assert rename_notebook(was, notebook) == (expected is not None)
    assert current_notebook(shell()) == (expected or "analysis/penguins.ipynb")


def test_the_outermost_cell_is_the_one_that_asks() -> None:
    cells = RunningCells(SimpleNamespace())

    cells.begin(SimpleNamespace(cell_id="outer"))
    cells.begin(SimpleNamespace(cell_id=None))
    assert (cells.running_count, cells.cell_id) == (2, "outer")

    for _ in range(3):  # IPython reports the end of an empty cell without its beginning
        cells.end()
    assert cells.running_count == 0

"""A prompt for a cell leads to a change of the notebook, and to a sentence on what came of it."""

import ast
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.harness.open_notebook import CellCalls, OpenNotebook
from tests.harness.rehearsal import RehearsalHarness
from tests.harness.tools import ToolHarness

from palimpsest.transcript.values import CellDecision, Reply

PENGUINS = pd.DataFrame({"species": ["Adelie", "Gentoo"], "body_mass_g": [3700.0, 5076.0]})
TOTALS = "import math\nx = 1\nprint(f'{x}', obj.x, call(x=x))  # x"


@pytest.fixture
def harness(tmp_path: Path) -> RehearsalHarness:
    cells: list[dict[str, Any]] = [
        {"id": "title", "kind": "markdown", "source": "# Penguins"},
        {"id": "load", "source": "import pandas as pd", "number": 1},
        {"id": "totals", "source": TOTALS, "number": 3},
        {"id": "area", "source": "def area(x):\n    return x", "number": 4},
        {"id": "shell", "source": "%%bash\nx=1"},
    ]
    calls = CellCalls(ToolHarness(tmp_path), OpenNotebook(cells))
    return RehearsalHarness(tmp_path, cell_calls=calls, penguins=PENGUINS, levels=[1, 2])


def sources(harness: RehearsalHarness) -> list[str]:
    assert harness.cell_calls is not None
    return harness.cell_calls.notebook.sources


@pytest.mark.parametrize(
    ("prompt", "place", "source"),
    [
        ("Write a cell that shows the first rows of penguins.", 5, "penguins.head(5)"),
        ("add a new cell to count @penguins by species", 5, 'penguins["species"].value_counts(dropna=False)'),
        ("Add a cell to list the columns of penguins", 5, "penguins.dtypes"),
        ("Write a cell that shows @levels", 5, "levels"),
        ("insert a cell below: 6 * 7", 5, "6 * 7"),
        ("insert a cell with `len(penguins)` in it", 5, "len(penguins)"),
        ('insert a cell with cities = {"Rome": 2.8, "Oslo": 0.7}', 5, 'cities = {"Rome": 2.8, "Oslo": 0.7}'),
        ("please add a cell that shows levels", 5, "levels"),
        ("Insert a cell below cell 1:\n```python\na = 1\nb = 2\n```", 2, "a = 1\nb = 2"),
        ("Create a Markdown cell at the top: # Start here", 0, "# Start here"),
    ],
)  # fmt: skip
def test_a_cell_is_written_where_it_was_asked_for_and_nothing_runs(
    prompt: str, place: int, source: str, harness: RehearsalHarness
) -> None:
    answer = harness.ask(prompt)

    assert sources(harness)[place] == source
    assert len(sources(harness)) == 6
    assert answer.text.endswith("I wrote the cell. I have not run it.")
    assert set(answer.tools) <= {"variables", "cells"}


def test_a_variable_is_renamed_where_it_is_one_and_only_there(harness: RehearsalHarness) -> None:
    answer = harness.ask("rename `x` to total in cell 3")

    renamed = "import math\ntotal = 1\nprint(f'{total}', obj.x, call(x=total))  # x"
    assert sources(harness)[2] == renamed
    assert answer.tools == ["notebook", "cells"]
    assert "`x` is `total` in cell 3 now." in answer.text


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ("rename x to y in cell 4", "more than a plain variable"),
        ("rename math to m in cell 3", "no variable of that cell"),
        ("rename x to obj in cell 3", "no free name"),
        ("rename x to class in cell 3", "no free name"),
        ("rename x to y in @cell shell", "not in Python"),
        ("rename x to y in cell 9", "could not read cell 9"),
        ("write a cell", "What shall stand in the cell?"),
        ("write a cell that plays music", "What shall stand in the cell?"),
        (
            "write a cell which imports pandas and makes a small list of cities",
            "What shall stand in the cell?",
        ),
        (
            "Put the imports into one cell at the top, and give each plot a title.",
            "more than I understand of cells",
        ),
        ("delete cell 9", "could not read cell 9"),
        ("replace 'y' with 'z' in cell 3", "stands 0 times in cell 3"),
        ("insert a cell above cell 3: 1", "at the top"),
    ],
)
def test_what_would_be_a_guess_is_not_changed(
    prompt: str, why: str, harness: RehearsalHarness
) -> None:
    before = sources(harness)
    answer = harness.ask(prompt)

    assert why in answer.text
    assert "cells" not in answer.tools
    assert sources(harness) == before


def test_a_text_is_replaced_in_a_cell(harness: RehearsalHarness) -> None:
    answer = harness.ask("Change `x = 1` to `x = 10` in cell 3")

    assert sources(harness)[2] == TOTALS.replace("x = 1", "x = 10")
    assert answer.text.endswith("Cell 3 is changed. I have not run it.")


def test_a_cell_is_moved_and_deleted(harness: RehearsalHarness) -> None:
    before = sources(harness)
    harness.ask("move cell 3 to the top")
    assert sources(harness) == [before[2], *before[:2], *before[3:]]
    harness.ask("Move cell 3 below cell 1")
    assert sources(harness) == before
    answer = harness.ask("please delete cell 4")

    assert sources(harness) == [*before[:3], before[4]]
    assert answer.text.endswith("Cell 4 is deleted.")


def test_a_cell_is_run_in_its_place(harness: RehearsalHarness) -> None:
    answer = harness.ask("run cell 1")

    assert harness.cell_calls is not None
    assert len(harness.cell_calls.notebook.runs) == 1
    assert answer.text == "I ran cell 1. What came of it stands below the cell."


def test_a_rejected_cell_is_told_as_rejected(harness: RehearsalHarness) -> None:
    assert harness.cell_calls is not None
    decision = CellDecision(index=0, accept=False, reason="no")
    harness.cell_calls.tools.user.reply = Reply(answer="once", cells=(decision,))
    answer = harness.ask("insert a cell: 6 * 7")

    assert answer.text.endswith("You rejected it, so the notebook is as it was.")
    assert len(sources(harness)) == 5


def test_without_a_page_the_tool_s_reason_is_given_with_the_cell(harness: RehearsalHarness) -> None:
    assert harness.cell_calls is not None
    harness.cell_calls.notebook.is_open = False
    answer = harness.ask("Write a cell that shows the first rows of penguins")

    assert "The notebook is as it was: No open page shows your notebook" in answer.text
    assert answer.text.endswith("```python\npenguins.head(5)\n```")


def test_a_plot_is_written_as_code_that_python_reads(harness: RehearsalHarness) -> None:
    harness.ask("Write a cell that plots body_mass_g by species")

    code = sources(harness)[5]
    ast.parse(code)
    assert "boxplot" in code

"""Fixture: calls of tools about a notebook that is open in a page."""

import pytest
from tests.harness.open_notebook import CellCalls, OpenNotebook
from tests.harness.tools import ToolHarness


@pytest.fixture
def calls(harness: ToolHarness) -> CellCalls:
    cells = [
        {"id": "title", "kind": "markdown", "source": "# Sales"},
        {"id": "load", "source": "import pandas\ndf = pandas.read_csv('a.csv')", "number": 1},
        {"id": "plot", "source": "df.plot()", "number": 2},
        {"id": "secret", "source": "KEY = 'x'", "hidden": True},
        {"id": "ask", "source": "%%agent\nmend the plot", "number": 4},
    ]
    return CellCalls(harness, OpenNotebook(cells))

"""Whoever passes a notebook on keeps or drops where its cells came from, as docs/cells.md says."""

import re
from pathlib import Path

import nbconvert
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

PAGE = Path(__file__).parents[3] / "docs" / "cells.md"
ORIGIN = {"session": "ses_kept", "message": "msg_1", "call": "call_1", "request": 12}


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> nbformat.NotebookNode:
    """A notebook in the current folder, with a cell that the agent wrote."""
    monkeypatch.chdir(tmp_path)
    written = new_code_cell("x = 1", metadata={"palimpsest": ORIGIN, "tags": ["mine"]})
    made = new_notebook(cells=[written, new_code_cell("y = 2")])
    nbformat.write(made, "analysis.ipynb")
    return made


@pytest.mark.parametrize(
    "exporter",
    [nbconvert.HTMLExporter, nbconvert.LatexExporter, nbconvert.MarkdownExporter, nbconvert.PythonExporter],
)  # fmt: skip
def test_no_export_of_a_notebook_holds_them(
    exporter: type[nbconvert.TemplateExporter], notebook: nbformat.NotebookNode
) -> None:
    text, _ = exporter().from_notebook_node(notebook)

    assert "x" in text
    assert ORIGIN["session"] not in text


@pytest.mark.usefixtures("notebook")
def test_the_lines_of_the_page_remove_them_and_nothing_else() -> None:
    [lines] = re.findall(r"```python\n(import nbformat.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    exec(lines, {})

    first, second = nbformat.read("shared.ipynb", as_version=4).cells
    assert first.metadata == {"tags": ["mine"]}
    assert (first.source, second.source) == ("x = 1", "y = 2")

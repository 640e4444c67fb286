"""The first notebook runs in a real kernel, and its results can be read without one."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from tests.harness.replay_checks import replayed_as_it_was

from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import demo  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("start") / "notebooks"
    demo.copy_notebooks(where)
    return where


@pytest.fixture(scope="module")
def ran(folder: Path) -> Iterator[tuple[nbformat.NotebookNode, int]]:
    before = os.environ.get("PALIMPSEST_CONFIG_CONTENT")
    demo.rehearse()
    yield demo.run(folder)
    if before is None:
        del os.environ["PALIMPSEST_CONFIG_CONTENT"]
    else:
        os.environ["PALIMPSEST_CONFIG_CONTENT"] = before


def shown(notebook: nbformat.NotebookNode, cell_id: str) -> str:
    """Return the text of a cell's outputs."""
    (cell,) = [cell for cell in notebook.cells if cell.id == cell_id]
    data = [output.get("data", {}) for output in cell.outputs]
    texts = [output.get("text", "") for output in cell.outputs]
    return "\n".join([one.get("text/markdown", one.get("text/plain", "")) for one in data] + texts)


def test_is_saved_without_outputs() -> None:
    # As it is committed, without the outputs of an earlier run.
    committed = subprocess.run(
        ["git", "show", "HEAD:notebooks/00-start.ipynb"], cwd=ROOT, capture_output=True, check=False
    )
    there = (ROOT / "notebooks" / "00-start.ipynb").read_bytes()
    notebook = json.loads(committed.stdout if committed.returncode == 0 else there)

    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)


@pytest.mark.slow
def test_says_before_its_first_question_that_it_comes() -> None:
    notebook = nbformat.read(ROOT / "notebooks" / "00-start.ipynb", as_version=4)
    (at,) = [place for place, cell in enumerate(notebook.cells) if cell.id == "describe"]

    words = notebook.cells[at - 1].source
    assert "asks below the cell first" in words
    assert "press **1**" in words


def test_runs_and_says_what_is_true(ran: tuple[nbformat.NotebookNode, int], folder: Path) -> None:
    notebook, asked = ran

    nbformat.validate(notebook)
    assert asked >= 3
    assert "| sex | 11 |" in shown(notebook, "describe")
    assert "**0.6562**" in shown(notebook, "scatter")
    assert "| Biscoe | 61 |" in shown(notebook, "count")
    assert '["body_mass_g"]' in shown(notebook, "fix")
    assert "allowed once" in shown(notebook, "write")
    assert "Biscoe" in (folder / "data" / "notes.md").read_text(encoding="utf-8")
    assert "The notebook is as it was: No open page shows your notebook" in shown(notebook, "cell")
    assert 'penguins.groupby("island")["body_mass_g"].mean()' in shown(notebook, "cell")
    assert "rehearsal/rehearsal" in shown(notebook, "status")
    assert "messages as in the request before" in shown(notebook, "records")


def test_a_policy_of_three_lines_is_asked_and_then_acts(
    ran: tuple[nbformat.NotebookNode, int],
) -> None:
    notebook, _ = ran

    assert "newest_three" in shown(notebook, "own-policy")
    assert "| Adelie | 152 |" in shown(notebook, "own-policy-asks")
    assert "policy/newest_three" in shown(notebook, "own-policy-context").replace("\\", "")


@pytest.mark.slow
def test_draws_the_figure_as_an_ordinary_output(ran: tuple[nbformat.NotebookNode, int]) -> None:
    (cell,) = [cell for cell in ran[0].cells if cell.id == "scatter"]

    kinds = [sorted(output.get("data", {})) for output in cell.outputs]
    assert ["image/png", "text/plain"] in kinds


@pytest.mark.slow
@pytest.mark.usefixtures("ran")
def test_leaves_a_session_that_reads_as_a_page(folder: Path) -> None:
    page, errors = demo.session_page(folder)

    assert errors == []
    assert page.count('<section class="prompt" id="prompt-') == 7
    assert 'src="data:image/png;base64,' in page


@pytest.mark.slow
def test_becomes_a_page_without_scripts(ran: tuple[nbformat.NotebookNode, int]) -> None:
    page = demo.page(ran[0])

    assert "<script" not in page
    assert "allowed once" in page


@pytest.mark.slow
@pytest.mark.usefixtures("ran")
def test_its_sessions_are_replayed_as_they_were(folder: Path) -> None:
    store = JsonlStore(open_project_folder(folder))

    listed = store.list()

    assert listed
    for session in listed:
        assert replayed_as_it_was(store, session.id).recorded.steps

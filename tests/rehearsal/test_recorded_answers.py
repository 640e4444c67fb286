"""Prompts of the first notebook, the documentation and the front ends' tests are answered as they were recorded.

``answers.json`` holds a line for each prompt: what was asked, which tools were called with what, and the answer. It was
recorded before the rules that none of these prompts needs were deleted; ``python -m tests.rehearsal.test_recorded_answers``
writes it anew.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from tests.harness.open_notebook import CellCalls, OpenNotebook
from tests.harness.rehearsal import RehearsalHarness
from tests.harness.tools import ToolHarness
from tests.sample_size import thinned

from palimpsest.rehearsal.extractive_summary import without_notice

ROOT = Path(__file__).parents[2]
RECORDED = Path(__file__).with_name("answers.json")
PAGE = ROOT / "docs" / "rehearsal.md"
NOTEBOOKS = ROOT / "notebooks"
LEFT_OUT = (".palimpsest", "notes.md", "lesson-results", "0[1-9]-*.ipynb")
"""What the first notebook does without; the lessons beside it are no part of its folder here."""

Entry = dict[str, Any]


def entries() -> list[Entry]:
    found: list[Entry] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def sessions(asked: list[Entry]) -> Iterator[list[Entry]]:
    """Yield the prompts of each session: those that follow one of the notebook belong to it."""
    first = [entry for entry in asked if entry.get("notebook")]
    yield first
    yield from ([entry] for entry in asked if entry not in first)


def answered(asked: list[Entry], folder: Path) -> list[Entry]:
    """Ask the prompts of one session, with the variables of the first notebook."""
    shutil.copytree(NOTEBOOKS, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (folder / "README.md").write_text("# Penguins\n\nMeasured near Palmer Station.\n")
    penguins = pd.read_csv(folder / "data" / "penguins.csv")
    cells = [
        {"id": "load", "source": "import pandas", "number": 2},
        {"id": "sum", "source": "x = sum(levels)\nprint(x)", "number": 3},
    ]
    calls_of_cells = CellCalls(ToolHarness(folder), OpenNotebook(cells))
    harness = RehearsalHarness(
        folder, cell_calls=calls_of_cells, penguins=penguins, limit=42, levels=[1, 2]
    )
    found = []
    for entry in asked:
        if "@heavy" in entry["prompt"]:
            harness.namespace["heavy"] = penguins[penguins["body_mass_g"] > 5000]
        turn = harness.ask(entry["prompt"])
        calls = [list(call) for call in turn.calls]
        found.append({**entry, "calls": calls, "answer": without_notice(turn.text)})
    return found


@pytest.mark.parametrize(
    "asked",
    thinned(
        [pytest.param(session, id=session[0]["prompt"][:40]) for session in sessions(entries())], 3
    ),
)
def test_is_answered_as_it_was_recorded(asked: list[Entry], tmp_path: Path) -> None:
    assert answered(asked, tmp_path / "project") == asked


def test_every_example_of_the_page_is_one_of_them() -> None:
    table = PAGE.read_text(encoding="utf-8").split("| you want |")[1].split("\n\n")[0]

    spans = re.findall(r"``(.+?) ?``|`([^`]+)`", table)
    examples = {one for pair in spans for one in pair if one and not one.startswith("%agent")}
    assert len(examples) > 20
    assert examples - {entry["prompt"] for entry in entries()} == set()


def test_every_prompt_of_the_first_notebook_is_one_of_them() -> None:
    cells = json.loads((NOTEBOOKS / "00-start.ipynb").read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    asked = {source.partition("\n")[2] for source in sources if source.startswith("%%agent")}

    assert asked
    assert asked - {entry["prompt"] for entry in entries()} == set()


def main() -> None:
    """Record the answers to the prompts of the file anew."""
    found = []
    for asked in sessions(entries()):
        with TemporaryDirectory() as folder:
            found += answered(asked, Path(folder) / "project")
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in found)
    RECORDED.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()

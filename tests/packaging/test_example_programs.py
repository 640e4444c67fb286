"""The programs of docs/examples run as they stand, with no key and no network; ``make check`` checks their types."""

import csv
import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.harness.process_forks import APPLICATION, forked_python

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
RUN = """
import runpy, sys
for program in list(sys.argv[1:]):
    print("==", program)
    sys.argv[:] = [program]
    runpy.run_path(program, run_name="__main__")
"""
NOTEBOOKS = 5
NOTEBOOK = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


@pytest.mark.soak  # with each commit tests/packaging/test_doc_examples.py runs the pages; this adds the programs
@pytest.mark.slow
def test_each_program_runs(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for number in range(NOTEBOOKS):
        cell = {"cell_type": "code", "source": f"print({number})", "metadata": {}, "outputs": []}
        cell |= {"id": f"c{number}", "execution_count": None}
        (project / f"n{number:02}.ipynb").write_text(json.dumps(NOTEBOOK | {"cells": [cell]}))
    programs = sorted(EXAMPLES.glob("*.py"))
    assert len(programs) == 6
    # A sitecustomize or a key of the machine must change nothing.
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    environment |= {"HOME": str(tmp_path), "PALIMPSEST_STATE_DIR": str(tmp_path / "state")}

    done = subprocess.run(
        [*forked_python(*APPLICATION), "-c", RUN, *map(str, programs)],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    told = {part.split("\n")[0].rsplit("/", 1)[-1]: part for part in done.stdout.split("== ")[1:]}
    rows = list(csv.reader((project / "answers.csv").open(encoding="utf-8")))
    assert [row[0] for row in rows[1:]] == [f"n{number:02}.ipynb" for number in range(NOTEBOOKS)]
    assert {row[3] for row in rows[1:]} == {"finished"}
    assert "newest_five" in told["policy_live.py"]
    assert ",list," in told["hook_to_csv.py"]
    # The notebooks, and the tables of two programs.
    assert told["structured_answer.py"].split("\n")[1].startswith(f"{NOTEBOOKS + 2} ")
    assert told["several_sessions.py"].count("These are the files") == 3
    assert "5.0" in told["tool_with_a_model.py"]

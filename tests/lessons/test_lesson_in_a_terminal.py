"""In a terminal a lesson asks, keeps, answers and helps in sentences, without widgets and without saying a thing twice."""

import subprocess
import sys
from pathlib import Path

import pytest

CELLS = """\
import palimpsest
lesson = palimpsest.lesson(7, "ann")
lesson.predict("share")
lesson.predict("uncaught")
lesson.reveal()
lesson.after_predictions("the table", [1, 2])
lesson.predict("share", 20)
lesson.predict("share", "x")
lesson.predict("elsewhere", 1)
lesson.predict("uncaught", 2)
lesson.reveal("share")
lesson.after_predictions("the table", [1, 2])
lesson.check(print)
lesson.hint()
palimpsest.lesson(5, "ann").predict("order")
"""


@pytest.mark.slow
def test_each_step_says_something_sensible(tmp_path: Path) -> None:
    command = [*("-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor")]
    done = subprocess.run(
        [sys.executable, *command, f"--ipython-dir={tmp_path}"],
        input=CELLS,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    _, *shown = done.stdout.split("\nIn [")
    steps = dict(enumerate((text.partition("]: ")[2] for text in shown), start=1))

    assert "where the value is a number from 0 to 200 %." in steps[3]
    assert "the number of an option: 1 results_alone: leaves out" in steps[4]
    assert steps[5].count("Predict first, with lesson.predict(") == 3
    assert "Predict first, above: share, elsewhere, uncaught. Then this is shown." in steps[6]
    assert "You predicted 20 %. It is kept." in steps[7]
    assert "it is 72 %" not in "".join(steps[number] for number in range(1, 11))
    assert "UserError: Give a number from 0 to 200 %; 'x' is none." in steps[8]
    assert "You predicted 20 %; it is 72 %: 52 too low." in steps[11]
    assert "the table\n\n[1, 2]" in steps[12]
    assert "✗ Not yet" in steps[13]
    assert "Hint 1 of 3" in steps[14]
    assert "all 5 numbers in a list, the cheapest one first: 1 everything, 2 newest 5" in steps[15]
    assert "VBox" not in done.stdout
    assert "Traceback" not in done.stdout + done.stderr

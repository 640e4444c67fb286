"""A teacher sees who predicted what, how far off, with how many hints and checks; and a picture beside the truth."""

import json
from pathlib import Path

import pytest

from palimpsest.frontends.command_line.main import main
from palimpsest.public.lesson import lesson


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """Return a folder in which three learners did lesson 1: right, far off with hints, and not to the end."""
    for learner, share, thumb in (("ann", 52, 30), ("bo", 10, None), ("cy", 90, 5)):
        opened = lesson(1, learner, tmp_path / learner)
        opened.results.path.parent.parent.mkdir()
        opened.predict("share", share)
        if thumb is not None:
            opened.predict("thumb", thumb)
        if learner == "bo":
            opened.hint()
            opened.hint()
            opened.check(print)
            opened.check(None)
    return tmp_path


def test_one_table_of_all_learners(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lessons", "results", str(course), "--json"]) == 0

    values = json.loads(capsys.readouterr().out)
    rows = {(row["learner"], row["name"]): row for row in values["rows"]}
    assert [key for key in rows if key[0] == "ann"] == [("ann", "share"), ("ann", "thumb")]
    assert rows["ann", "share"]["off"] == "right"
    assert rows["cy", "share"]["off"] == "38 too high"
    assert rows["bo", "thumb"]["predicted"] is None
    assert rows["bo", "kinds"]["hints"] == 2
    assert rows["bo", "kinds"]["checks"] == 2
    assert rows["bo", "kinds"]["passed"] == "no"
    assert "Lesson 1, share: 52 %." in values["notes"]


def test_a_page_with_a_picture_of_the_predictions(course: Path, tmp_path: Path) -> None:
    page = tmp_path / "class.html"

    assert main(["lessons", "results", str(course), "-o", str(page)]) == 0

    written = page.read_text()
    assert written.count("<circle") == 5
    assert "<title>ann: 52 %</title>" in written
    assert "Content-Security-Policy" in written


def test_a_choice_has_a_bar_for_each_option_and_names_the_true_one(tmp_path: Path) -> None:
    for learner, growth in (("ann", 1), ("bo", 3), ("cy", 1)):
        lesson(2, learner, tmp_path).predict("growth", growth)
    page = tmp_path / "class.html"

    assert main(["lessons", "results", str(tmp_path), "-o", str(page)]) == 0

    written = page.read_text()
    assert written.count("<rect") == 4
    assert "2 \N{MIDDLE DOT} three times as large</text>" in written
    assert "1 \N{MIDDLE DOT} about as large, which it is</text>" in written
    assert "It is: about as large; 1 of 3 chose it." in written


def test_a_changed_file_is_named(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = course / "cy" / "lesson-results" / "cy.jsonl"
    file.write_text(file.read_text().replace("90", "52"))

    assert main(["lessons", "results", str(course)]) == 0

    assert "The file of cy was changed afterwards" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["lessons", "copy"], "Name the folder"),
        (["lessons", "results", "nowhere"], "There are no results in 'nowhere'"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert sentence in capsys.readouterr().err


def test_a_learners_words_are_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "lesson-results"
    folder.mkdir()
    line = {"lesson": 1, "event": "prediction", "name": "share", "value": "<script>\x1b[2J"}
    (folder / "<b>ann.jsonl").write_text(json.dumps(line) + "\n")
    page = tmp_path / "class.html"

    assert main(["lessons", "results", str(tmp_path), "-o", str(page)]) == 0

    assert "\x1b" not in capsys.readouterr().out
    assert "<b>ann" not in page.read_text()
    assert "<script>" not in page.read_text()


def test_one_lesson_can_be_asked_for(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lessons", "results", str(course), "--lesson", "2", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["rows"] == []


def test_no_other_file_is_written_over(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, page = course / "notes.html", course / "class.html"
    mine.write_text("my notes")

    assert main(["lessons", "results", str(course), "-o", str(mine)]) == 2
    assert "is there already and is no report" in capsys.readouterr().err
    assert mine.read_text() == "my notes"
    for _ in range(2):
        assert main(["lessons", "results", str(course), "-o", str(page)]) == 0

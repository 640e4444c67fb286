"""A learner's file is only added to, tells when it was changed, and never stops a lesson."""

import json
import os
from pathlib import Path

import pytest

from palimpsest.lessons.learner_file import LearnerFile, LearnerLine, learner_file, learner_name
from palimpsest.lessons.prediction_kinds import NumberKind
from palimpsest.public.lesson import lesson
from palimpsest.transcript.errors import UserError

SHARE = NumberKind("%")


def predicted(name: str, value: object) -> LearnerLine:
    return LearnerLine(lesson=1, event="prediction", name=name, value=value)


def test_keeps_the_first_prediction_and_every_event(tmp_path: Path) -> None:
    file = learner_file(tmp_path, "ann")
    file.add(predicted("share", 40))
    file.add(predicted("share", 52))
    file.add(LearnerLine(lesson=1, event="check", name="kinds", passed=False))

    again = learner_file(tmp_path, "ann")

    first = again.prediction(1, "share", SHARE)
    assert first is not None
    assert first.value == 40
    assert len(again.lines) == 3
    assert again.altered_at is None
    assert again.learner == "ann"
    assert all(line.time.endswith("+00:00") for line in again.lines)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda lines: [lines[0].replace("40", "52"), *lines[1:]], 2),
        (lambda lines: lines[1:], 1),
        (lambda lines: [lines[0], "no JSON", *lines[1:]], 2),
        (lambda lines: [*lines[:1], *lines[2:]], 2),
    ],
    ids=["a prediction changed", "a line taken away", "a line damaged", "one left out"],
)
def test_tells_that_it_was_changed_afterwards(change: object, line: int, tmp_path: Path) -> None:
    file = learner_file(tmp_path, "ann")
    for number in (40, 41, 42):
        file.add(predicted("share", number))
    lines = file.path.read_text().splitlines()
    file.path.write_text("".join(f"{text}\n" for text in change(lines)))  # type: ignore[operator]

    again = learner_file(tmp_path, "ann")
    again.add(predicted("thumb", 5))

    assert again.altered_at == line
    assert learner_file(tmp_path, "ann").altered_at == line


def test_a_folder_that_cannot_be_written_keeps_the_lesson_going(tmp_path: Path) -> None:
    (tmp_path / "lesson-results").write_text("a file in the way")

    opened = lesson(1, "ann", tmp_path)
    prediction = opened.predict("share", 40)

    assert "You predicted 40 %. It is kept." in prediction.text
    assert "kept until the kernel ends, and not in a file" in prediction.text
    assert opened.missing_predictions == ["thumb"]
    assert "not in a file" in opened.text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="There are no pipes in the file system here.")
def test_a_link_and_a_pipe_in_its_place_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "lesson-results"
    folder.mkdir()
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.write_text("mine\n")
    (folder / "ann.jsonl").symlink_to(elsewhere)
    os.mkfifo(folder / "bo.jsonl")

    for learner in ("ann", "bo"):
        file = learner_file(tmp_path, learner)
        file.add(predicted("share", 40))
        assert "not in a file" in file.problem
        assert file.prediction(1, "share", SHARE) is not None
    assert elsewhere.read_text() == "mine\n"


def test_the_learner_is_named_by_the_environment() -> None:
    assert learner_name({"PALIMPSEST_LEARNER": "ann", "USER": "jovyan"}) == "ann"
    assert learner_name({"JUPYTERHUB_USER": "Ann Bo/../x", "USER": "jovyan"}) == "Ann-Bo-..-x"
    assert learner_name({}) == "learner"
    assert learner_name({"USER": "jovyan"}, "ann+bo") == "ann+bo"
    with pytest.raises(UserError, match="no name for a file"):
        learner_name({}, "///")


def test_a_line_of_a_later_version_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "ann.jsonl"
    line = {
        "v": 2,
        "lesson": 1,
        "event": "prediction",
        "name": "share",
        "value": 40,
        "mood": "sure",
    }
    path.write_text(json.dumps(line) + "\n")

    prediction = LearnerFile(path).prediction(1, "share", SHARE)

    assert prediction is not None
    assert prediction.value == 40


def test_two_lessons_open_at_once_write_one_file_in_turn(tmp_path: Path) -> None:
    first, second = lesson(1, "ann", tmp_path), lesson(2, "ann", tmp_path)
    first.predict("share", 40)
    second.predict("share", 64)
    first.predict("thumb", 5)

    again = learner_file(tmp_path, "ann")

    assert [line.lesson for line in again.lines] == [1, 2, 1]
    assert again.altered_at is None


def test_a_prediction_of_another_kernel_counts(tmp_path: Path) -> None:
    here, elsewhere = lesson(1, "ann", tmp_path), lesson(1, "ann", tmp_path)
    elsewhere.predict("share", 40)

    assert "You predicted 40 %, and that stays" in here.predict("share", 52).text


def test_a_value_that_is_none_counts_as_not_predicted(tmp_path: Path) -> None:
    file = learner_file(tmp_path, "ann")
    file.add(predicted("share", "much"))
    file.add(predicted("share", 40))
    opened = lesson(1, "ann", tmp_path)

    assert opened.missing_predictions == ["thumb"]
    assert "You predicted 40 %" in opened.reveal("share").text

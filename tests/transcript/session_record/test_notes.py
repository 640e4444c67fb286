"""The lines of a file of notes leave the same notes in whatever order they stand."""

from itertools import permutations

import pytest
from pydantic import ValidationError

from palimpsest.transcript.session_record.notes import (
    NoteLine,
    NotePlace,
    current_notes,
    verdict_counts,
)


def line(identifier: str, time: int, note: str = "", **fields: object) -> NoteLine:
    """Return a line about a note, by default about its own."""
    values = {"id": identifier, "note": note or identifier, "session": "ses_1", "time": time}
    return NoteLine.model_validate({**values, **fields})


ANN = line("a", 1, author="Ann", text="Too long.", place=NotePlace(kind="request", request=3))
BO = line("b", 5, "a", author="Bo", text="Too long, and twice.", verdict="bad")
OTHER = line("c", 2, author="Bo", verdict="good")
GONE = line("d", 6, "c", author="Ann", removed=True)


def test_the_newest_line_of_a_note_holds_in_any_order() -> None:
    lines = (ANN, BO, OTHER, GONE)

    for order in permutations(lines):
        assert current_notes(order) == current_notes(lines)

    (note,) = current_notes(lines)
    assert (note.author, note.time, note.changed_by, note.changed) == ("Ann", 1, "Bo", 5)
    assert (note.text, note.verdict, note.place.kind) == ("Too long, and twice.", "bad", "session")


def test_lines_that_stand_twice_count_once() -> None:
    assert current_notes([ANN, BO, ANN, BO]) == current_notes([ANN, BO])


def test_a_change_holds_where_the_first_line_is_lost() -> None:
    (note,) = current_notes([BO])

    assert (note.id, note.author, note.text) == ("a", "Bo", "Too long, and twice.")


def test_a_removed_note_comes_back_where_somebody_changed_it_later() -> None:
    later = line("e", 7, "c", author="Bo", verdict="unsure")

    assert current_notes([OTHER, GONE]) == ()
    assert [note.verdict for note in current_notes([OTHER, GONE, later])] == ["unsure"]


def test_a_line_that_changes_a_note_is_newer_than_the_note_whatever_the_clock_says() -> None:
    (note,) = current_notes([ANN, BO])

    changed = note.model_copy(update={"text": "Short."}).next_line("f", "Ann", time=0)

    assert [one.text for one in current_notes([changed, ANN, BO])] == ["Short."]


def test_notes_are_counted_by_their_verdict() -> None:
    assert verdict_counts(current_notes([ANN, BO, OTHER])) == {"good": 1, "bad": 1, "unsure": 0}


@pytest.mark.parametrize(
    "place",
    [
        {"kind": "request"},
        {"kind": "range", "request": 4},
        {"kind": "range", "request": 4, "last": 3},
        {"kind": "item"},
        {"kind": "compaction", "compaction": 0},
        {"kind": "elsewhere"},
    ],
)
def test_a_place_that_is_not_complete_is_refused(place: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        NotePlace.model_validate(place)

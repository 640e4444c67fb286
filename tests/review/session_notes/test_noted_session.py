"""Notes are written on places that the session has, and listed with them."""

from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.sample_files import sample

from palimpsest import open_recording
from palimpsest.public.recorded_session import RecordedSession
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_queries import AskNotes
from palimpsest.transcript.errors import NotFound, UserError


@pytest.fixture
def session(tmp_path: Path) -> RecordedSession:
    """A recording of six requests, with cache breaks at the fifth and sixth, and one compaction."""
    return open_recording(sample("gemini_cli.jsonl", tmp_path))[0]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ({}, "the session"),
        ({"request": 6}, "request 6"),
        ({"requests": (2, 4)}, "requests 2 to 4"),
        ({"item": 1}, "item 1 (user)"),
        ({"item": 1, "request": 3}, "item 1 (user) in request 3"),
        ({"cache_break": 5}, "cache break at request 5"),
        ({"compaction": 1}, "compaction 1, before request 6"),
    ],
)
def test_a_note_is_on_a_place(session: RecordedSession, place: dict[str, Any], words: str) -> None:
    note = session.note("Look here.", author="Ann", **place)

    assert session.notes()[0] == note
    assert [found.text for found in session.notes().places] == [words]


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ({"request": 7}, "The session has 6 requests; there is no request 7."),
        ({"request": 0}, "The session has 6 requests; there is no request 0."),
        ({"requests": (2, 7)}, "The session has 6 requests; there is no request 7."),
        ({"requests": (4, 2)}, "'4-2' is no range of requests; write it as 3-9."),
        ({"item": 999}, "there is no item 999"),
        ({"item": "msg_none"}, "The session has no item 'msg_none'"),
        ({"cache_break": 2}, "The cache did not break at request 2; it broke at 5, 6."),
        ({"compaction": 2}, "The session has 1 compaction; there is no compaction 2."),
        ({"request": 1, "compaction": 1}, "A note is on one place"),
    ],
)
def test_a_place_that_is_not_there_is_told(
    session: RecordedSession, place: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UserError) as refused:
        session.note("Look here.", **place)

    assert sentence in str(refused.value)
    assert len(session.notes()) == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({}, "A note has a text, a tag or a verdict; give one of them."),
        ({"text": " \n"}, "A note has a text, a tag or a verdict; give one of them."),
        (
            {"text": "x" * 4_001},
            "The text of a note has at most 4,000 characters; this one has 4,001.",
        ),
        ({"tag": "x" * 61}, "The tag has at most 60 characters; this one has 61."),
        ({"verdict": "great"}, "'great' is no verdict; there are good, bad, unsure."),
    ],
)
def test_words_that_make_no_note_are_told(
    session: RecordedSession, words: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UserError, match=f"^{sentence}$"):
        session.note(**words)


def test_people_change_and_remove_notes_in_turn(session: RecordedSession) -> None:
    first = session.note("Reads it again.", request=2, author="Ann")
    other = session.note(tag="dear", author="Ann")

    session.change_note(first.id[-8:], verdict="bad", author="Bo")
    session.change_note(first.id, "Reads it twice.", author="Ann")
    session.remove_note(other.id, author="Bo")

    (note,) = session.notes()
    assert (note.text, note.verdict, note.author, note.changed_by) == (
        *("Reads it twice.", "bad", "Ann", "Ann"),
    )
    with pytest.raises(NotFound):
        session.remove_note(other.id)
    with pytest.raises(UserError, match="A note has a text"):
        session.change_note(first.id, "", verdict="")


def test_a_place_that_the_session_no_longer_has_is_said_in_words(session: RecordedSession) -> None:
    note = session.note("It was here.", item=1, author="Ann")
    lost = note.place.model_copy(update={"item": "msg_gone/prt_gone"})
    session.note_files.append([note.model_copy(update={"place": lost}).next_line("x", "Ann", 0)])
    far = note.place.model_copy(update={"kind": "request", "request": 90})
    session.note_files.append(
        [note.model_copy(update={"id": "far", "place": far}).next_line("y", "Ann", 0)]
    )

    assert [(place.text, place.request) for place in session.notes().places] == [
        ("an item that the session no longer has", None),
        ("request 90", None),
    ]


def test_words_of_a_note_are_text_in_each_form(session: RecordedSession) -> None:
    session.note("<i>*bold*</i> | \x1b[31mred", tag="[x](http://e.vil)", author="`Ann`")

    table = session.notes().table

    assert "\x1b" not in table.text
    assert "<i>" not in table.html
    assert "[31m" not in table.html
    assert "*bold*" not in table.markdown
    assert "[x]" not in table.markdown


def test_a_view_has_the_notes_with_numbers_from_0(session: RecordedSession) -> None:
    session.note("A range.", requests=(2, 4), verdict="unsure", author="Ann")
    session.note("An item.", item=3, request=5)
    session.note("A summary.", compaction=1)

    answer = ViewAnswers(session).answer(AskNotes()).notes

    assert answer is not None
    places = [view.found for view in answer.notes]
    assert [
        (place.request, place.last_request, place.item, place.compaction) for place in places
    ] == [
        (1, 3, None, None),
        (4, None, 2, None),
        (5, None, None, 0),
    ]
    assert (places[0].text, answer.notes[0].note.verdict) == ("requests 2 to 4", "unsure")


def test_the_author_is_the_user_where_nobody_is_named(
    session: RecordedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER", "ann")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ann Example")

    assert session.note("Mine.").author == "Ann Example"
    assert session.note("Named.", author=" Bo ").author == "Bo"
    monkeypatch.setenv("PALIMPSEST_AUTHOR", "Ann of the night shift")
    assert session.note("Late.").author == "Ann of the night shift"

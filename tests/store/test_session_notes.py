"""Files of notes are only added to, merged line by line, and read as far as they can be."""

import errno
import json
import os
from pathlib import Path

import pytest

from palimpsest.store import session_notes
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.session_notes import (
    NoteFiles,
    append_note_lines,
    new_note_id,
    notes_beside,
    read_note_file,
    recording_notes,
    store_notes,
)
from palimpsest.transcript.errors import NotFound, StorageFailed, UserError
from palimpsest.transcript.session_record.notes import NoteLine

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL"


def line(text: str, session: str = "ses_1", author: str = "Ann") -> NoteLine:
    """Return the line of a new note."""
    name = new_note_id()
    return NoteLine(id=name, note=name, session=session, author=author, time=1, text=text)


def files_in(folder: Path) -> NoteFiles:
    """Return the notes beside a recording in a folder."""
    return recording_notes(folder / "run.jsonl")


def texts(files: NoteFiles, session: str = "ses_1") -> list[str]:
    return [note.text for note in files.notes(session)]


def test_notes_lie_beside_the_recording_and_are_read_from_there(tmp_path: Path) -> None:
    files = files_in(tmp_path)

    files.append([line("one"), line("two", "ses_2")])

    assert [path.name for path in tmp_path.iterdir()] == ["run.jsonl.notes.jsonl"]
    assert (texts(files), texts(files, "ses_2")) == (["one"], ["two"])


def test_nothing_that_was_written_is_erased(tmp_path: Path) -> None:
    files, file = files_in(tmp_path), tmp_path / "run.jsonl.notes.jsonl"
    files.append([line("one")])
    before = file.read_bytes()

    (note,) = files.notes("ses_1")
    files.append([note.next_line(new_note_id(), "Bo", 2, is_removed=True)])

    assert files.notes("ses_1") == ()
    assert file.read_bytes().startswith(before)
    assert len(file.read_text().splitlines()) == 2


def test_the_files_of_two_people_become_one(tmp_path: Path) -> None:
    (tmp_path / "ann").mkdir()
    (tmp_path / "bo").mkdir()
    ann, bo = files_in(tmp_path / "ann"), files_in(tmp_path / "bo")
    shared = line("Both have it.")
    ann.append([shared, line("Ann's.")])
    bo.append([shared, line("Bo's.", author="Bo"), line("elsewhere", "ses_9")])
    (note,) = (note for note in bo.notes("ses_1") if note.text == "Both have it.")
    changed = note.model_copy(update={"verdict": "bad"})
    bo.append([changed.next_line(new_note_id(), "Bo", 5)])
    theirs = read_note_file(tmp_path / "bo" / "run.jsonl.notes.jsonl")

    first, again = (ann.merge(theirs, ["ses_1"]) for _ in range(2))

    assert (first.added_count, first.known_count, first.left_out) == (2, 1, 1)
    assert (again.added_count, again.known_count, again.left_out) == (0, 3, 1)
    merged = [(note.author, note.text, note.verdict) for note in ann.notes("ses_1")]
    assert sorted(merged) == [
        ("Ann", "Ann's.", ""),
        ("Ann", "Both have it.", "bad"),
        ("Bo", "Bo's.", ""),
    ]


def test_another_copy_of_a_folder_is_merged_beside_the_same_recordings(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ann" / "runs", tmp_path / "bo" / "runs"
    for folder in (ours, theirs):
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "a.jsonl").touch()
    (theirs / "b.jsonl").touch()
    recording_notes(theirs / "deep" / "a.jsonl").append([line("on a")])
    recording_notes(theirs / "b.jsonl").append([line("on b, which is not here")])
    recording_notes(theirs).append([line("on the folder"), line("elsewhere", "ses_9")])
    files = recording_notes(ours)

    first, again = (files.merge_folder(ours, theirs, ["ses_1"]) for _ in range(2))

    assert (first.added_count, first.known_count, first.left_out) == (3, 0, 1)
    assert (again.added_count, again.known_count, again.left_out) == (0, 3, 1)
    beside = recording_notes(ours / "deep" / "a.jsonl")
    assert texts(beside) == ["on a"]
    assert sorted(texts(files)) == ["on a", "on b, which is not here", "on the folder"]
    assert not (ours / "b.jsonl.notes.jsonl").exists()


def test_copies_that_were_put_one_after_the_other_are_merged_too(tmp_path: Path) -> None:
    files, file = files_in(tmp_path), tmp_path / "run.jsonl.notes.jsonl"
    files.append([line("one"), line("two")])

    file.write_bytes(file.read_bytes() * 2)

    assert sorted(texts(files)) == ["one", "two"]


def test_a_broken_line_is_named_and_costs_only_itself(tmp_path: Path) -> None:
    files, file = files_in(tmp_path), tmp_path / "run.jsonl.notes.jsonl"
    files.append([line("one")])
    with file.open("ab") as stream:
        stream.write(b'{"id": "x", "note": "x", \n\xff\xfe\n[[1]]\n' + b'{"a":' * 9_000 + b"\n")
        stream.write(b'{"id":"z","note":"z","session":"ses_1","time":1,"version":99}\n')
        stream.write(b'{"torn": "by a crash')

    files.append([line("two")])
    found = files.read("ses_1")

    assert [one.text for one in found.lines] == ["one", "two"]
    where = [problem.where.rpartition(", ")[2] for problem in found.problems]
    assert where[:5] == ["line 2", "line 3", "line 4", "line 5", "line 6"]
    assert "newer Palimpsest" in found.problems[4].what
    assert found.problems[5].what == "1 more lines of it are no notes."


def test_no_key_reaches_the_file(tmp_path: Path) -> None:
    secret = "correct-horse-battery-staple-9000"
    beside = notes_beside(tmp_path / "run.jsonl")
    files = NoteFiles(lambda _session: beside, environment={"MY_API_KEY": secret})

    written = files.append([line(f"It printed {KEY} and {secret}.")])

    assert written[0].text == "It printed [redacted] and [redacted]."
    assert KEY not in beside.read_text()
    assert secret not in beside.read_text()


def test_a_link_is_neither_read_nor_written(tmp_path: Path) -> None:
    outside, beside = tmp_path / "outside", tmp_path / "run.jsonl.notes.jsonl"
    append_note_lines(outside, [line("not ours")])
    before = outside.read_bytes()
    beside.symlink_to(outside)

    with pytest.raises(StorageFailed, match="is a link"):
        files_in(tmp_path).append([line("one")])

    found = files_in(tmp_path).read("ses_1")
    assert (found.lines, [problem.what for problem in found.problems]) == (
        (),
        ["It is no file, so no note is read from it."],
    )
    assert outside.read_bytes() == before


def test_a_folder_in_its_place_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl.notes.jsonl").mkdir()

    with pytest.raises(StorageFailed, match="cannot be written"):
        files_in(tmp_path).append([line("one")])

    assert files_in(tmp_path).notes("ses_1") == ()


def test_a_folder_that_cannot_be_written_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_file = os.open

    def refuse(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return open_file(path, flags, mode)

    monkeypatch.setattr(os, "open", refuse)

    with pytest.raises(StorageFailed) as refused:
        files_in(tmp_path).append([line("one")])

    assert "run.jsonl.notes.jsonl' cannot be written" in str(refused.value)
    assert [*tmp_path.iterdir()] == []


def test_a_file_that_is_too_large_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = files_in(tmp_path)
    files.append([line("one")])
    monkeypatch.setattr(session_notes, "MAX_FILE_BYTES", 100)

    with pytest.raises(StorageFailed, match="nothing is added"):
        files.append([line("two")])

    assert [problem.what for problem in files.read("ses_1").problems] == [
        "It is larger than 0 MB, and is not read."
    ]


def test_a_folder_of_recordings_has_the_notes_beside_each(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    (runs / "deep").mkdir(parents=True)
    recording_notes(runs / "a.jsonl").append([line("in a")])
    recording_notes(runs / "deep" / "b.jsonl").append([line("in b")])
    files = recording_notes(runs)

    files.append([line("on the folder")])

    assert sorted(texts(files)) == ["in a", "in b", "on the folder"]
    assert (tmp_path / "runs.notes.jsonl").is_file()


def test_a_note_is_found_by_the_end_of_its_id(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    files.append([line("one"), line("two")])
    one, _ = files.notes("ses_1")

    assert files.note("ses_1", one.id[-10:]) == one
    with pytest.raises(NotFound, match="no note 'zz'"):
        files.note("ses_1", "zz")
    with pytest.raises(NotFound, match="no note ''"):
        files.note("ses_1", "")


def test_sessions_in_memory_have_no_notes() -> None:
    files = store_notes(MemoryStore())

    assert files.notes("ses_1") == ()
    with pytest.raises(UserError, match="in memory only"):
        files.append([line("one")])


def test_a_line_is_json_that_needs_no_program_of_ours(tmp_path: Path) -> None:
    files_in(tmp_path).append([line("One line,\nand another \u202e.")])

    (written,) = (tmp_path / "run.jsonl.notes.jsonl").read_text("ascii").splitlines()

    assert json.loads(written)["text"] == "One line,\nand another \u202e."
    assert set(json.loads(written)) == {
        *("version", "id", "note", "session", "author", "time", "text"),
    }

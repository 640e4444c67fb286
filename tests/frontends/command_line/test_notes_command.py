"""``palimpsest notes`` writes, lists and merges notes, and report and import bring them along."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.command_line.test_command_line import valid
from tests.recordings.formats.sample_files import sample
from tests.recordings.formats.test_shared_beginnings import made

from palimpsest.frontends.command_line.main import main

RUN = "gemini_cli.jsonl"
NOTES = f"{RUN}.notes.jsonl"


class Terminal:
    """Runs commands in a folder."""

    def __init__(self, folder: Path, captured: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._captured = captured
        self.errors = ""

    def run(self, *arguments: str, code: int = 0) -> str:
        """Run a command, which ends with a code, and return what it wrote."""
        ended = main(arguments)
        written = self._captured.readouterr()
        self.errors = written.err
        assert ended == code, written.err
        return written.out

    def json(self, *arguments: str) -> Any:
        """Run a command with ``--json``."""
        return valid(json.loads(self.run(*arguments, "--json")))


@pytest.fixture
def terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Terminal:
    """A terminal in a folder with a recording."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PALIMPSEST_AUTHOR", "Ann")
    sample(RUN, tmp_path)
    return Terminal(tmp_path, capsys)


def test_a_note_is_written_and_listed(terminal: Terminal) -> None:
    nothing = terminal.run("notes", RUN)
    written = terminal.run("notes", RUN, "--add", "Reads it again.", "--request", "2")
    terminal.run("notes", RUN, "--range", "3-5", "--verdict", "bad", "--tag", "slow")
    terminal.run("notes", RUN, "--break", "5", "--verdict", "unsure", "--author", "Bo")
    listed = terminal.run("notes", RUN)
    (session,) = terminal.json("notes", RUN)["sessions"]

    assert nothing.startswith("There is no note yet;")
    assert written.startswith("Written as note_")
    assert listed.startswith("3 notes on ")
    assert ": 1 bad, 1 unsure" in listed
    assert "requests 3 to 5           bad      slow" in listed
    assert [(note["author"], note["where"]) for note in session["notes"]] == [
        ("Ann", "request 2"),
        ("Ann", "requests 3 to 5"),
        ("Bo", "cache break at request 5"),
    ]
    assert (session["count"], session["good"], session["bad"]) == (3, 0, 1)
    assert {path.name for path in terminal.folder.iterdir()} == {RUN, NOTES}


def test_the_list_is_markdown_for_a_pull_request(terminal: Terminal) -> None:
    terminal.run("notes", RUN, "--add", "a | b <img src=x>", "--compaction", "1")

    written = terminal.run("notes", RUN, "--markdown")

    assert "| where | verdict | tag | note | by | id |" in written
    assert "compaction 1, before request 6" in written
    assert "<img" not in written


def test_a_note_is_changed_and_removed_by_the_end_of_its_id(terminal: Terminal) -> None:
    note = terminal.json("notes", RUN, "--add", "one", "--request", "1")["added"]

    changed = terminal.json("notes", RUN, "--change", note[-8:], "--verdict", "good")
    removed = terminal.json("notes", RUN, "--remove", note[-8:])

    assert (changed["changed"], changed["sessions"][0]["notes"][0]["verdict"]) == (note, "good")
    assert (changed["sessions"][0]["notes"][0]["text"], removed["removed"]) == ("one", note)
    assert removed["sessions"] == []
    assert len((terminal.folder / NOTES).read_text().splitlines()) == 3


def test_a_condition_counts_verdicts(terminal: Terminal) -> None:
    terminal.run("notes", RUN, "--verdict", "bad", "--request", "1")

    terminal.run("notes", RUN, "--fail-if", "bad > 1")
    terminal.run("notes", RUN, "--fail-if", "bad > 0", code=1)

    assert "bad > 0 holds for" in terminal.errors


def test_another_copy_is_merged(terminal: Terminal) -> None:
    copy = terminal.folder / "from-bo"
    copy.mkdir()
    sample(RUN, copy)
    terminal.run("notes", RUN, "--add", "Ann's.")
    terminal.run("notes", f"from-bo/{RUN}", "--add", "Bo's.", "--author", "Bo")
    with (copy / NOTES).open("a") as file:
        file.write("broken\n")

    merged = terminal.json("notes", RUN, "--merge", f"from-bo/{NOTES}")
    again = terminal.json("notes", RUN, "--merge", f"from-bo/{NOTES}")

    assert merged["merged"] == {"added": 1, "known": 0, "left_out": 0}
    assert again["merged"] == {"added": 0, "known": 1, "left_out": 0}
    assert [note["text"] for note in again["sessions"][0]["notes"]] == ["Ann's.", "Bo's."]
    assert again["problems"] == [
        {"where": f"{NOTES}, line 2", "what": "It is no note, and is left out."}
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--add", "x", "--request", "9"), "The session has 6 requests; there is no request 9."),
        (("--add", "x", "--range", "3"), "'3' is no range of requests; write it as 3-9."),
        (("--remove", "zz"), f"There is no note 'zz' on '{RUN}'."),
        (("--remove", "a", "--change", "b"), "One note at a time"),
        (("--add", "x", "--merge", RUN), "One note at a time"),
        (("--merge", "none.jsonl"), "There is no file 'none.jsonl' with notes."),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    terminal: Terminal, words: tuple[str, ...], sentence: str
) -> None:
    terminal.run("notes", RUN, *words, code=2)

    assert terminal.errors.startswith(f"palimpsest: {sentence}")
    assert terminal.errors.count("\n") == 1


def test_notes_come_along_with_an_import_once(terminal: Terminal) -> None:
    terminal.run("notes", RUN, "--add", "From outside.", "--request", "2")

    first = terminal.json("import", RUN, "--project", ".")
    again = terminal.json("import", RUN, "--project", ".")
    session = first["sessions"][0]["session"]
    terminal.run("notes", session, "--add", "In the project.", "--author", "Bo")
    listed = terminal.json("notes", ".")
    back = terminal.json("notes", RUN, "--merge", f".palimpsest/sessions/{session}/notes.jsonl")

    assert (first["notes"], again["notes"]) == (1, 0)
    assert [note["text"] for note in listed["sessions"][0]["notes"]] == [
        "From outside.",
        "In the project.",
    ]
    assert back["merged"] == {"added": 1, "known": 1, "left_out": 0}
    assert (terminal.folder / ".palimpsest/sessions" / session / "notes.jsonl").is_file()


def test_notes_beside_recordings_of_a_folder_are_no_recordings(terminal: Terminal) -> None:
    made(terminal.folder / "runs", "claude")
    terminal.run("notes", "runs/a.jsonl", "--add", "On a.")
    terminal.run("notes", "runs", "--session", "2", "--add", "On the second.")

    inspected = terminal.json("inspect", "runs")
    listed = terminal.json("notes", "runs")
    terminal.run("inspect", "runs/a.jsonl.notes.jsonl", code=2)

    assert inspected["problems"] == []
    assert [note["text"] for session in listed["sessions"] for note in session["notes"]] == [
        "On a.",
        "On the second.",
    ]
    assert "holds notes on a recording, not the recording itself" in terminal.errors


def test_a_report_shows_the_notes_without_keys_and_markup(terminal: Terminal) -> None:
    terminal.run("notes", RUN, "--add", "<script>alert(1)</script>", "--request", "2")
    with (terminal.folder / NOTES).open("a") as file:
        added = json.loads((terminal.folder / NOTES).read_text())
        key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL"
        file.write(json.dumps({**added, "id": "by-hand", "note": "by-hand", "text": key}) + "\n")

    terminal.run("report", RUN, "-o", "page.html")
    page = (terminal.folder / "page.html").read_text()

    assert "2 notes on " in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "[redacted]" in page
    assert "<script>alert(1)" not in page
    assert "sk-ant-api03" not in page

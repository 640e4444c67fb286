"""Every command of docs/reviewing-with-colleagues.md runs, and the list that the page shows is what they write."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.recordings.formats.sample_files import sample
from tests.recordings.money_recordings import write_recordings

from palimpsest import open_recording
from palimpsest.frontends.command_line.main import main

PAGE_FILE = Path(__file__).parents[3] / "docs" / "reviewing-with-colleagues.md"
PAGE = PAGE_FILE.read_text("utf-8")
COMMANDS = re.findall(r"^(ann|bo)\$ palimpsest (.*)$", PAGE, re.MULTILINE)
SHOWN = re.compile(r"`notes\.md` begins with\n+```text\n(.*?)\n```", re.DOTALL)
"""The list on the page."""
SAMPLES = {
    "gemini.jsonl": "gemini_cli.jsonl",
    "codex.jsonl": "codex_rollout.jsonl",
    "claude.jsonl": "claude_code/compaction_session.jsonl",
    "pi.jsonl": "pi_version_3.jsonl",
    "openhands.jsonl": "openhands_v0.jsonl",
    "swe.traj": "marshmallow-1867.traj",
    "mini.traj.json": "mini-swe-agent.traj.json",
}
MADE = {
    "made-pi.jsonl": "unknown_model.jsonl",
    "made-claude.jsonl": "long_prompts.jsonl",
    "made-chat.jsonl": "chat_priority.jsonl",
}


def ten_recordings(folder: Path) -> Path:
    """Write the ten recordings of the page into a folder."""
    folder.mkdir(parents=True)
    for name, source in SAMPLES.items():
        sample(source, folder).rename(folder / name)
    made = write_recordings(folder.parent / "made")
    for name, source in MADE.items():
        made[source].rename(folder / name)
    shutil.rmtree(folder.parent / "made")
    return folder


class Colleagues:
    """Two people with a copy of the recordings each, who run the commands of the page."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        ten_recordings(folder / "ann" / "runs")
        shutil.copytree(folder / "ann", folder / "bo")

    def run(self, who: str, command: str, captured: pytest.CaptureFixture[str]) -> str:
        """Run a command of the page in the folder of one of them, which must succeed; returns what it wrote."""
        home = self.folder / who
        self._monkeypatch.chdir(home)
        self._monkeypatch.setenv("PALIMPSEST_AUTHOR", who.capitalize())
        words = shlex.split(command)
        target = words[words.index(">") + 1] if ">" in words else ""
        given = words[: words.index(">")] if target else words
        if "ID" in given:
            given[given.index("ID")] = self.first_note_on("gemini.jsonl")
        code = main(given)
        ran = captured.readouterr()
        assert code == 0, (command, ran.err)
        if target:
            (home / target).write_text(ran.out, "utf-8")
        return ran.out

    def first_note_on(self, name: str) -> str:
        """Return the end of the id of Ann's first note on a recording."""
        notes = (self.folder / "ann" / "runs" / f"{name}.notes.jsonl").read_text("utf-8")
        return str(json.loads(notes.splitlines()[0])["id"])[-10:]


@pytest.fixture
def colleagues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Colleagues:
    """Ann and Bo, before they wrote anything."""
    return Colleagues(tmp_path, monkeypatch)


def steady(text: str) -> str:
    """Return a list without what differs from day to day: ids and dates."""
    text = re.sub(r"[0-9A-Za-z]{10}(?= \|$)", "..........", text, flags=re.MULTILINE)
    return re.sub(r"\d{4}-\d\d-\d\d", "2026-11-30", text)


def listed(colleagues: Colleagues, captured: pytest.CaptureFixture[str]) -> str:
    """Run every command of the page, in order, and return the list that it shows."""
    said = {command: colleagues.run(who, command, captured) for who, command in COMMANDS}
    assert said["notes runs --merge ../bo/runs"].startswith("6 lines came, 0 were here already.")
    assert "14 lines of notes on them came along." in said["import runs --project ."]
    return steady((colleagues.folder / "ann" / "notes.md").read_text("utf-8")).strip()


@pytest.mark.slow
def test_every_command_of_the_page_runs_and_writes_its_list(
    colleagues: Colleagues, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(COMMANDS) > 15
    written_list = listed(colleagues, capsys)

    match = SHOWN.search(PAGE)
    assert match is not None
    assert written_list.startswith(match[1])

    (gemini,) = (
        session
        for session in open_recording(colleagues.folder / "ann" / "runs" / "gemini.jsonl")
        if session.notes()
    )
    assert {note.author for note in gemini.notes()} == {"Ann", "Bo"}
    assert [note.verdict for note in gemini.notes()].count("unsure") == 3
    page = (colleagues.folder / "ann" / "gemini.html").read_text("utf-8")
    assert "4 notes on " in page
    assert "the break may have been worth it." in page


@pytest.mark.slow
def test_git_merges_the_notes_of_two_branches(
    colleagues: Colleagues, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line of .gitattributes that the page names: both wrote on the same recording, and no line is lost."""
    assert "*.notes.jsonl merge=union" in PAGE
    folder = colleagues.folder / "ann"

    def git(*words: str) -> None:
        head = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
        subprocess.run([*head, *words], cwd=folder, check=True, capture_output=True)

    (folder / ".gitattributes").write_text("*.notes.jsonl merge=union\n")
    colleagues.run("ann", "notes runs/gemini.jsonl --add both --request 1", capsys)
    git("init", "-b", "main")
    git("add", ".gitattributes", "runs")
    git("commit", "-m", "recordings")
    git("checkout", "-b", "bo")
    colleagues.run("ann", "notes runs/gemini.jsonl --add bo --request 2 --author Bo", capsys)
    git("commit", "-am", "bo")
    git("checkout", "main")
    colleagues.run("ann", "notes runs/gemini.jsonl --add ann --request 2", capsys)
    git("commit", "-am", "ann")
    git("merge", "bo")

    notes = open_recording(folder / "runs" / "gemini.jsonl")[0].notes()
    assert [note.text for note in notes] == ["both", "bo", "ann"]
    assert notes.problems == ()


def test_the_page_says_that_a_script_wrote_the_notes() -> None:
    assert f"`tests/frontends/command_line/{Path(__file__).name}`" in PAGE
    assert "nobody judged these sessions" in PAGE

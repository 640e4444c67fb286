"""The rehearsal model lists, reads, searches and writes files, and runs given code."""

from pathlib import Path

import pytest
from tests.harness.rehearsal import RehearsalHarness


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "counting.py").write_text(
        "def count_whales(n):\n    # TODO faster\n    return n\n"
    )
    (tmp_path / "notes.txt").write_text("alpha beta\ngamma delta\n")
    return tmp_path


@pytest.fixture
def harness(folder: Path) -> RehearsalHarness:
    return RehearsalHarness(folder)


@pytest.mark.parametrize(
    "phrasing",
    ["list files", "what files are here?", "ls", "show me the project's files", "list the current directory"],
)  # fmt: skip
def test_lists_the_files(harness: RehearsalHarness, phrasing: str) -> None:
    answer = harness.ask(phrasing)

    assert answer.calls == [("list", {})]
    assert "notes.txt" in answer.text
    assert "counting.py" in answer.text


@pytest.mark.parametrize(
    "phrasing", ["list the files in src", "show me the files of the src folder", "which files are in src/?"]
)  # fmt: skip
def test_lists_one_folder(harness: RehearsalHarness, phrasing: str) -> None:
    answer = harness.ask(phrasing)

    assert answer.calls[0][1]["path"].rstrip("/") == "src"
    assert "notes.txt" not in answer.text


def test_finds_files_by_a_pattern(harness: RehearsalHarness) -> None:
    answer = harness.ask("list *.py")

    assert answer.calls == [("glob", {"pattern": "**/*.py"})]
    assert "src/counting.py" in answer.text


@pytest.mark.parametrize(
    "phrasing", ["read notes.txt", "what does notes.txt say?", "What's in notes.txt?", "notes.txt"]
)
def test_reads_a_file(harness: RehearsalHarness, phrasing: str) -> None:
    answer = harness.ask(phrasing)

    assert answer.calls == [("read", {"path": "notes.txt"})]
    assert "gamma delta" in answer.text


def test_says_when_there_is_no_such_file(harness: RehearsalHarness) -> None:
    assert "That did not work" in harness.ask("read nowhere.txt").text


@pytest.mark.parametrize(
    "phrasing", ["search for TODO", "grep TODO", "look for the word TODO", "which files contain TODO?"]
)  # fmt: skip
def test_searches_text(harness: RehearsalHarness, phrasing: str) -> None:
    answer = harness.ask(phrasing)

    assert answer.calls == [("grep", {"pattern": "TODO"})]
    assert "counting.py" in answer.text


def test_searches_for_special_characters_as_they_are(
    harness: RehearsalHarness, folder: Path
) -> None:
    (folder / "odd.txt").write_text("cost: $5 (net) [a.b]\n")

    assert "odd.txt" in harness.ask('search for "$5 (net) [a.b]"').text


def test_says_when_nothing_is_found(harness: RehearsalHarness) -> None:
    assert "nowhere" in harness.ask("search for 'zebra'").text


@pytest.mark.parametrize(
    "phrasing",
    [
        'create a file new.txt with "hello there"',
        "write 'hello there' to new.txt",
        "write a file new.txt that says: hello there",
        "create new.txt: hello there",
        "write new.txt\n```\nhello there\n```",
    ],
)
def test_creates_a_file(harness: RehearsalHarness, folder: Path, phrasing: str) -> None:
    harness.ask(phrasing)

    assert (folder / "new.txt").read_text() == "hello there\n"


def test_leaves_an_existing_file_alone_until_it_is_told_to_overwrite(
    harness: RehearsalHarness, folder: Path
) -> None:
    answer = harness.ask("create notes.txt with 'other'")
    assert "exists already" in answer.text
    assert (folder / "notes.txt").read_text() == "alpha beta\ngamma delta\n"

    harness.ask("overwrite notes.txt with 'other'")
    assert (folder / "notes.txt").read_text() == "other\n"


@pytest.mark.parametrize(
    ("phrasing", "code"),
    [
        ("run 1 + 1", "1 + 1"),
        ("run this:\n```python\n1 + 1\n```", "1 + 1"),
        ("execute `1 + 1`", "1 + 1"),
        ("calculate 17*23", "17*23"),
        ("what is 2**10?", "2**10"),
        ("evaluate sum(range(5))", "sum(range(5))"),
        ("Please run the following code: x = 3", "x = 3"),
        ("12 * 12", "12 * 12"),
    ],
)
def test_runs_the_code_it_is_given(harness: RehearsalHarness, phrasing: str, code: str) -> None:
    answer = harness.ask(phrasing)

    assert answer.calls == [("python", {"code": code})]
    if "=" not in code:
        assert str(eval(code)) in answer.text


def test_reports_an_error(harness: RehearsalHarness) -> None:
    assert "ZeroDivisionError: division by zero" in harness.ask("run 1 / 0").text

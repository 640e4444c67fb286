"""The rehearsal model lists, reads, searches, writes and edits files, and runs given code."""

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
    (tmp_path / "README.md").write_text("# Whales\n\nThis project counts whales near Norway.\n")
    return tmp_path


@pytest.fixture
def harness(folder: Path) -> RehearsalHarness:
    return RehearsalHarness(folder)


@pytest.mark.parametrize(
    "phrasing",
    [
        "list files",
        "what files are here?",
        "ls",
        "show me the project's files",
        "Which files do I have?",
        "list the current directory",
        "show folder contents",
        "display all files please",
    ],
)
def test_lists_the_files(harness: RehearsalHarness, phrasing: str) -> None:
    answer = harness.ask(phrasing)

    assert answer.tools == ["list"]
    for name in ("README.md", "notes.txt", "counting.py"):
        assert name in answer.text


@pytest.mark.parametrize(
    "phrasing",
    [
        "list the files in src",
        "what's in the src folder?",
        "show me src/",
        "which files are in the directory src",
        "list src folder",
    ],
)
def test_lists_one_folder(harness: RehearsalHarness, phrasing: str) -> None:
    answer = harness.ask(phrasing)

    assert answer.calls[0][1]["path"].rstrip("/") == "src"
    assert "counting.py" in answer.text
    assert "README.md" not in answer.text


@pytest.mark.parametrize(
    "phrasing",
    [
        "find all python files",
        "which .py files are there?",
        "list *.py",
        "are there any python scripts?",
        "find files ending in .py",
    ],
)
def test_finds_files_by_kind(harness: RehearsalHarness, phrasing: str) -> None:
    answer = harness.ask(phrasing)

    assert answer.calls == [("glob", {"pattern": "**/*.py"})]
    assert "src/counting.py" in answer.text


@pytest.mark.parametrize(
    "phrasing",
    [
        "read notes.txt",
        "show me notes.txt",
        "what does notes.txt say?",
        "open the file notes.txt",
        "cat notes.txt",
        "What's in notes.txt?",
        "print the contents of `notes.txt`",
        "notes.txt",
    ],
)
def test_reads_a_file(harness: RehearsalHarness, phrasing: str) -> None:
    answer = harness.ask(phrasing)

    assert answer.calls == [("read", {"path": "notes.txt"})]
    assert "gamma delta" in answer.text


def test_reads_the_file_whose_name_is_closest(harness: RehearsalHarness) -> None:
    answer = harness.ask("read notse.txt")

    assert answer.tools == ["read", "glob", "read"]
    assert "gamma delta" in answer.text


@pytest.mark.parametrize(
    "phrasing",
    [
        "search for TODO",
        "grep TODO",
        "find 'TODO' in the code",
        "where is TODO mentioned?",
        "which files contain TODO",
        "look for the word TODO",
        'search all files for "TODO"',
        "show lines containing TODO",
    ],
)
def test_searches_text(harness: RehearsalHarness, phrasing: str) -> None:
    answer = harness.ask(phrasing)

    assert answer.calls == [("grep", {"pattern": "TODO"})]
    assert "counting.py" in answer.text


def test_searches_for_special_characters_as_they_are(
    harness: RehearsalHarness, folder: Path
) -> None:
    (folder / "odd.txt").write_text("cost: $5 (net) [a.b]\n")
    answer = harness.ask('search for "$5 (net) [a.b]"')

    assert "odd.txt" in answer.text


def test_says_when_nothing_is_found(harness: RehearsalHarness) -> None:
    assert "nowhere" in harness.ask("search for 'zebra'").text


@pytest.mark.parametrize(
    "phrasing",
    [
        'create a file new.txt with "hello there"',
        "write 'hello there' to new.txt",
        "make a new file called new.txt containing hello there",
        "save the text hello there to new.txt",
        'put "hello there" into new.txt',
        "create new.txt: hello there",
    ],
)
def test_creates_a_file(harness: RehearsalHarness, folder: Path, phrasing: str) -> None:
    harness.ask(phrasing)

    assert (folder / "new.txt").read_text() == "hello there\n"


def test_leaves_an_existing_file_alone(harness: RehearsalHarness, folder: Path) -> None:
    answer = harness.ask("create notes.txt with 'other'")

    assert "exists already" in answer.text
    assert (folder / "notes.txt").read_text() == "alpha beta\ngamma delta\n"


def test_overwrites_when_told_to(harness: RehearsalHarness, folder: Path) -> None:
    harness.ask("overwrite notes.txt with 'other'")

    assert (folder / "notes.txt").read_text() == "other\n"


@pytest.mark.parametrize(
    "phrasing",
    [
        "replace alpha with omega in notes.txt",
        'change "alpha" to "omega" in notes.txt',
        "in notes.txt, replace alpha by omega",
        "edit notes.txt: replace `alpha` with `omega`",
        "swap alpha for omega in notes.txt",
        "in notes.txt use 'omega' instead of 'alpha'",
    ],
)
def test_replaces_text(harness: RehearsalHarness, folder: Path, phrasing: str) -> None:
    harness.ask(phrasing)

    assert (folder / "notes.txt").read_text() == "omega beta\ngamma delta\n"


def test_names_the_way_when_text_occurs_twice(harness: RehearsalHarness, folder: Path) -> None:
    answer = harness.ask("replace ta with TA in notes.txt")
    assert "replace all" in answer.text
    harness.ask("replace all ta with TA in notes.txt")

    assert (folder / "notes.txt").read_text() == "alpha beTA\ngamma delTA\n"


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


def test_repairs_a_misspelt_name_once(folder: Path) -> None:
    harness = RehearsalHarness(folder, weights=[1, 2, 3])
    answer = harness.ask("run sum(wieghts)")

    assert "NameError" in answer.text
    assert "`6`" in answer.text


def test_reports_an_error_it_cannot_repair(harness: RehearsalHarness) -> None:
    answer = harness.ask("run 1 / 0")

    assert "ZeroDivisionError: division by zero" in answer.text


@pytest.mark.parametrize(
    "phrasing",
    [
        "run `echo hello` in the shell",
        "$ echo hello",
        "!echo hello",
        "execute the command echo hello",
        "in the terminal run echo hello",
        "run the shell command `echo hello`",
        "```bash\necho hello\n```",
    ],
)
def test_runs_a_shell_command(harness: RehearsalHarness, phrasing: str) -> None:
    answer = harness.ask(phrasing)

    assert answer.calls == [("bash", {"command": "echo hello"})]
    assert "hello" in answer.text


def test_summarises_a_file_by_what_stands_in_it(harness: RehearsalHarness) -> None:
    answer = harness.ask("summarise README.md")

    assert "# Whales" in answer.text
    assert "counts whales near Norway" in answer.text

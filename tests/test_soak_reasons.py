"""A test that only the soak runs names one that runs with each commit, which exists, and says what it adds."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
REASON = re.compile(r"pytest\.mark\.soak\s*#(.*with each commit.*)")
TEST_PATH = re.compile(r"(?:tests|labextension)/[\w/]+(?:\.test)?(?:\.tsx?|\.py)?")
SOAK_MARK = re.compile(r"^\s*@pytest\.mark\.soak\b", re.MULTILINE)
"""The mark of a whole test; the mark of a single case is on the line of the case."""
WHOLE_REASON = re.compile(r"^\s*@pytest\.mark\.soak  # with each commit .+; this adds .+$")
TEST_DEFINITION = re.compile(r"^\s*(?:async )?def test_", re.MULTILINE)


def named_tests(text: str) -> Iterator[str]:
    """Yield the paths of the tests that the soak marks of a module name."""
    for reason in REASON.findall(text):
        yield from TEST_PATH.findall(reason)


def runs_with_each_commit(path: Path) -> bool:
    """Return whether a module, or a module of a folder, has a test that runs with each commit."""
    if path.suffix != ".py":
        return path.is_file() or any(
            runs_with_each_commit(module) for module in path.rglob("test_*.py")
        )
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return len(TEST_DEFINITION.findall(text)) > len(SOAK_MARK.findall(text))


def test_what_a_soak_mark_names_runs_with_each_commit() -> None:
    named = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in TESTS.rglob("test_*.py")
        for name in named_tests(path.read_text(encoding="utf-8"))
    }

    assert len(named) > 100
    assert [
        (path, name) for path, name in sorted(named) if not runs_with_each_commit(ROOT / name)
    ] == []


def test_each_whole_test_of_the_soak_says_which_one_stays_and_what_it_adds() -> None:
    lines = [
        (path.relative_to(ROOT).as_posix(), line)
        for path in TESTS.rglob("test_*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if SOAK_MARK.match(line)
    ]

    assert len(lines) > 100
    assert [(path, line) for path, line in lines if not WHOLE_REASON.match(line)] == []


def test_a_missing_module_and_a_module_with_only_soak_tests_are_found(tmp_path: Path) -> None:
    mark = "@pytest.mark." + "soak  # with each commit tests/other.py has it, and tests/rest too\n"
    test = "def test_a() -> None: ...\n"
    (tmp_path / "test_soak.py").write_text(mark + test)
    (tmp_path / "test_both.py").write_text(mark + test + test)

    assert [*named_tests(mark)] == ["tests/other.py", "tests/rest"]
    assert not runs_with_each_commit(tmp_path / "test_soak.py")
    assert runs_with_each_commit(tmp_path / "test_both.py")
    assert runs_with_each_commit(tmp_path)
    assert not runs_with_each_commit(tmp_path / "test_gone.py")

"""A test that is the soak's says which test stays and what it adds, and that one is there and runs with each commit."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
REASON = re.compile(r"pytest\.mark\.soak\s*#(.*with each commit.*)")
NAMED = re.compile(r"(?:tests|labextension)/[\w/]+(?:\.test)?(?:\.tsx?|\.py)?")
WHOLE = re.compile(r"^\s*@pytest\.mark\.soak\b", re.MULTILINE)
"""The mark of a whole test; that of a case stands in a line with it."""
REASONED = re.compile(r"^\s*@pytest\.mark\.soak  # with each commit .+; this adds .+$")
BEGUN = re.compile(r"^\s*(?:async )?def test_", re.MULTILINE)


def reasons(text: str) -> Iterator[str]:
    """Yield what is named in a module as the tests that stay."""
    for reason in REASON.findall(text):
        yield from NAMED.findall(reason)


def stays(path: Path) -> bool:
    """Return whether a module, or one of a folder, has a test that runs with each commit."""
    if path.suffix != ".py":
        return path.is_file() or any(stays(one) for one in path.rglob("test_*.py"))
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return len(BEGUN.findall(text)) > len(WHOLE.findall(text))


def test_what_stays_for_a_test_of_the_soak_runs_with_each_commit() -> None:
    named = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in TESTS.rglob("test_*.py")
        for name in reasons(path.read_text(encoding="utf-8"))
    }

    assert len(named) > 100
    assert [one for one in sorted(named) if not stays(ROOT / one[1])] == []


def test_each_whole_test_of_the_soak_says_which_one_stays_and_what_it_adds() -> None:
    lines = [
        (path.relative_to(ROOT).as_posix(), line)
        for path in TESTS.rglob("test_*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if WHOLE.match(line)
    ]

    assert len(lines) > 100
    assert [(path, line) for path, line in lines if not REASONED.match(line)] == []


def test_a_module_of_the_soak_alone_and_one_that_is_gone_are_found(tmp_path: Path) -> None:
    mark = "@pytest.mark." + "soak  # with each commit tests/other.py has it, and tests/rest too\n"
    test = "def test_a() -> None: ...\n"
    (tmp_path / "test_soak.py").write_text(mark + test)
    (tmp_path / "test_both.py").write_text(mark + test + test)

    assert [*reasons(mark)] == ["tests/other.py", "tests/rest"]
    assert not stays(tmp_path / "test_soak.py")
    assert stays(tmp_path / "test_both.py")
    assert stays(tmp_path)
    assert not stays(tmp_path / "test_gone.py")

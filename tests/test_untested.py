"""A run on a machine without a browser passes and says last what it did not test; on CI it fails."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.untested import MARK, untested

ROOT = Path(__file__).parents[1]
BROWSER_TEST = "tests/e2e/test_small_window.py"


def run(**more: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of one file that need a browser, where none is on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PALIMPSEST_", "CI"))}  # fmt: skip
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", BROWSER_TEST],
        cwd=ROOT,
        env=kept | {"PATH": str(ROOT)} | more,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_without_a_browser_the_last_line_says_what_was_not_tested_and_how_to_get_it() -> None:
    done = run()

    assert done.returncode == 0, done.stdout
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"{MARK}: ")
    assert "a browser, and none was found: install Chromium" in last
    assert "PALIMPSEST_BROWSER=" in last


@pytest.mark.soak  # with each commit the last line says it, above; this adds that the run fails on CI
@pytest.mark.slow
def test_on_ci_the_run_fails_with_the_same_sentence() -> None:
    done = run(CI="true")

    assert done.returncode != 0
    assert "It needs a browser, and none was found" in done.stdout


@pytest.mark.soak  # with each commit the last line tells of no browser at all, above; this adds one that was named
@pytest.mark.slow
def test_a_browser_that_was_named_and_is_none_fails_by_its_name() -> None:
    done = run(PALIMPSEST_BROWSER="/no/such/browser")

    assert done.returncode != 0
    assert "'/no/such/browser', which is no program on this machine" in done.stdout


@pytest.mark.soak  # with each commit the last line says it, above; this adds the file for make
@pytest.mark.slow
def test_the_lines_go_into_a_file_for_make_which_shows_them_last(tmp_path: Path) -> None:
    done = run(PALIMPSEST_UNTESTED=str(tmp_path / "lines"))

    assert MARK not in done.stdout.splitlines()[-1]
    assert (tmp_path / "lines").read_text().startswith(f"{MARK}: ")
    target = (ROOT / "Makefile").read_text()
    assert 'PALIMPSEST_UNTESTED="$$untested"' in target


def test_tests_of_one_need_are_counted_and_other_skips_are_not_told() -> None:
    def skipped(words: str) -> SimpleNamespace:
        return SimpleNamespace(longrepr=("file.py", 7, f"Skipped: {words}"))

    browser = skipped(f"{MARK}: a browser")
    [two] = untested([browser, skipped("only root"), browser])
    [one] = untested([browser])

    assert two.startswith(f"{MARK}: 2 tests, which need a browser, and none was found: install")
    assert one.startswith(f"{MARK}: 1 test, which needs a browser, and none was found: install")
    assert untested([]) == untested([SimpleNamespace(longrepr=None)]) == []

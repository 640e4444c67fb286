"""Files of tests are distributed over processes by the helpers that they need."""

from pathlib import Path

from tests.work_distribution import FIRST, LONGEST, PAGE, PROCESS, kind_of, next_file, place_of

PANEL, VIEW = "tests/e2e/test_panel.py", "tests/e2e/test_view.py"
KERNEL = "tests/frontends/test_loading.py"
SHORT, SHORTER = "tests/context/test_one.py", "tests/context/test_two.py"
ALL = [PANEL, VIEW, KERNEL, SHORT, SHORTER]
ROOT = Path(__file__).resolve().parents[1]


def test_each_process_begins_with_a_kind_of_its_own() -> None:
    assert [next_file(ALL, process) for process in range(5)] == [PANEL, KERNEL, SHORT, PANEL, PANEL]


def test_a_process_whose_kind_is_done_helps_another_and_starts_a_browser_last() -> None:
    assert next_file([PANEL, VIEW, KERNEL, SHORT], 2) == SHORT
    assert next_file([PANEL, VIEW, KERNEL], 2) == KERNEL
    assert next_file([PANEL, VIEW], 2) == VIEW
    assert next_file([KERNEL, SHORT, SHORTER], 0) == SHORTER


def test_the_kind_of_a_file_is_that_of_its_folder() -> None:
    assert [kind_of(file) for file in (PANEL, KERNEL, SHORT)] == [PAGE, PROCESS, ()]
    assert all((ROOT / folder).is_dir() for folder in (*PAGE, *PROCESS))


def test_the_longest_files_of_a_folder_begin_first() -> None:
    begun = sorted([SHORT, KERNEL, PANEL, "tests/e2e/test_sessions.py", VIEW], key=place_of)

    assert begun == [PANEL, VIEW, "tests/e2e/test_sessions.py", KERNEL, SHORT]
    assert [file for file in (*FIRST, *LONGEST) if not (ROOT / file).exists()] == []

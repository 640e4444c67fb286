"""Code that ran with approval is known outside the project, for this project and session alone."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from palimpsest.session.permissions import approved_code
from palimpsest.session.permissions.approved_code import ApprovedCode
from palimpsest.store.project_folder.layout import ProjectNumber
from palimpsest.tools.tool import Abort, PythonOutcome

posix = pytest.mark.skipif(sys.platform == "win32", reason="access lists instead of modes")
CODE = "total = 1 + 1"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".palimpsest").mkdir(parents=True)
    return tmp_path / "project"


def opened(project: Path, state: Path) -> ApprovedCode:
    return ApprovedCode(
        project, ProjectNumber(project / ".palimpsest"), folder=state / "approved_code"
    )


def test_what_was_approved_is_known_in_the_next_kernel_and_nothing_else(
    project: Path, tmp_path: Path
) -> None:
    opened(project, tmp_path / "state").add("ses_1", CODE)
    later = opened(project, tmp_path / "state")

    assert later.is_approved("ses_1", CODE)
    assert not later.is_approved("ses_1", CODE + " ")
    assert not later.is_approved("ses_2", CODE)
    assert (later.approved_texts("ses_1"), later.approved_texts("ses_2")) == ((CODE,), ())
    later.forget_session("ses_1")
    assert not opened(project, tmp_path / "state").is_approved("ses_1", CODE)
    assert opened(project, tmp_path / "state").approved_texts("ses_1") == ()


def test_the_text_is_kept_without_keys(project: Path, tmp_path: Path) -> None:
    key = "sk-" + "ant-api03-abcDEF0123456789_-x"
    opened(project, tmp_path / "state").add("ses_1", f"key = '{key}'")

    assert opened(project, tmp_path / "state").is_approved("ses_1", f"key = '{key}'")
    assert not any(key in file.read_text() for file in (tmp_path / "state").rglob("*.t*"))
    assert opened(project, tmp_path / "state").approved_texts("ses_1")


def test_a_copy_and_another_project_at_the_same_path_have_nothing(
    project: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    opened(project, state).add("ses_1", CODE)
    copy = tmp_path / "copy"
    shutil.copytree(project, copy)

    assert not opened(copy, state).is_approved("ses_1", CODE)
    shutil.rmtree(project / ".palimpsest")
    (project / ".palimpsest").mkdir()
    assert not opened(project, state).is_approved("ses_1", CODE)


@posix
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_what_others_could_have_written_is_not_believed(
    project: Path, tmp_path: Path, depth: int
) -> None:
    state = tmp_path / "state"
    opened(project, state).add("ses_1", CODE)
    file = next((state / "approved_code").rglob("*.txt"))
    assert file.stat().st_mode & 0o777 == 0o600

    [file, *file.parents][depth].chmod(0o777 if depth else 0o666)

    assert not opened(project, state).is_approved("ses_1", CODE)


@posix
def test_a_link_in_the_place_of_the_file_is_not_followed(project: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    known = opened(project, state)
    known.add("ses_1", CODE)
    file = next((state / "approved_code").rglob("*.txt"))
    elsewhere = tmp_path / "elsewhere.txt"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)

    assert not opened(project, state).is_approved("ses_1", CODE)
    opened(project, state).add("ses_1", "other = 1")
    assert elsewhere.read_text().count("\n") == 1


def test_a_state_folder_inside_the_project_and_strange_names_are_not_used(
    project: Path, tmp_path: Path
) -> None:
    inside = opened(project, project / "state")
    inside.add("ses_1", CODE)
    assert inside.is_approved("ses_1", CODE)  # until this kernel ends
    assert not opened(project, project / "state").is_approved("ses_1", CODE)

    known = opened(project, tmp_path / "state")
    known.add("../../ses_1", CODE)
    assert list((tmp_path / "state").rglob("*.txt")) == []


def test_what_cannot_be_written_lasts_until_the_kernel_ends(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    (tmp_path / "project" / ".palimpsest").mkdir(parents=True)
    known = ApprovedCode(
        tmp_path / "project",
        ProjectNumber(tmp_path / "project" / ".palimpsest"),
        folder=blocked / "x",
    )
    known.add("ses_1", CODE)

    assert known.is_approved("ses_1", CODE)
    assert ApprovedCode().is_approved("ses_1", CODE) is False


@pytest.mark.parametrize("interrupted", [False, True])
async def test_only_code_that_ran_to_its_end_is_recorded(*, interrupted: bool) -> None:
    class Runner:
        async def run(self, *_: object, **__: object) -> PythonOutcome:
            return PythonOutcome("", "", None, None, was_interrupted=interrupted)

    known = ApprovedCode()
    await known.observed_runner(Runner(), "ses_1").run(
        CODE, call_id="c", abort=Abort(), on_output=lambda _: None
    )

    assert known.is_approved("ses_1", CODE) is not interrupted


def test_other_surrogates_and_long_code_have_their_own_checksum(
    project: Path, tmp_path: Path
) -> None:
    known = opened(project, tmp_path / "state")
    known.add("ses_1", "x = '\ud800'")

    assert known.is_approved("ses_1", "x = '\ud800'")
    assert not known.is_approved("ses_1", "x = '\ud801'")
    assert os.listdir(tmp_path / "state" / "approved_code")  # noqa: PTH208  # the folder is there


@pytest.mark.soak  # with each commit a few are kept and asked about in the tests around; this adds more than a file takes
def test_a_year_of_use_keeps_the_newest_and_a_question_as_quick(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approved_code, "MAX_FILE_BYTES", 20_000)
    codes = [f"step_{number} = {'x' * 200!r}" for number in range(500)]
    known = opened(project, tmp_path / "state")
    for code in codes:
        known.add("ses_1", code)
    later = opened(project, tmp_path / "state")

    files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert sorted(file.suffix for file in files) == [".texts", ".txt"]
    assert all(file.stat().st_size < 21_000 and file.stat().st_mode & 0o77 == 0 for file in files)
    assert later.is_approved("ses_1", codes[-1])
    assert later.approved_texts("ses_1")[-1] == codes[-1]
    kept = [later.is_approved("ses_1", code) for code in codes]
    assert kept == sorted(kept), "the oldest are gone"
    assert 100 < sum(kept) < 500
    assert known.is_approved("ses_1", codes[0]), "until this kernel ends"


def test_what_an_earlier_kernel_recorded_is_not_written_again(
    project: Path, tmp_path: Path
) -> None:
    for _ in range(3):
        opened(project, tmp_path / "state").add("ses_1", CODE)

    files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert [file.read_text().count("\n") for file in files] == [1, 1]


def test_a_file_that_is_far_too_large_is_begun_again(project: Path, tmp_path: Path) -> None:
    opened(project, tmp_path / "state").add("ses_1", CODE)
    for path in (tmp_path / "state").rglob("ses_1.*"):
        path.write_bytes(b"x" * 12_000_000)

    assert opened(project, tmp_path / "state").approved_texts("ses_1") == ()
    opened(project, tmp_path / "state").add("ses_1", CODE)
    opened(project, tmp_path / "state").add("ses_1", "other = 1")

    assert opened(project, tmp_path / "state").is_approved("ses_1", "other = 1")
    assert opened(project, tmp_path / "state").approved_texts("ses_1")[-1:] == ("other = 1",)

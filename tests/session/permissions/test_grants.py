"""Approvals are stored outside the project, apply to this project alone, and survive a restart."""

import json
import multiprocessing
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest.session.permissions.effective_rules import Approvals
from palimpsest.session.permissions.grants import Grants, grants_file
from palimpsest.store.project_folder.layout import ProjectNumber
from palimpsest.transcript.values import Rule

GIT = Rule(permission="bash", pattern="git *", action="allow")
LS = Rule(permission="bash", pattern="ls *", action="allow")
posix = pytest.mark.skipif(sys.platform == "win32", reason="access lists instead of modes")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".palimpsest").mkdir(parents=True)
    return tmp_path / "project"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def opened(project: Path, state: Path) -> Approvals:
    """Return the approvals as a kernel that opens the project reads them."""
    number = ProjectNumber(project / ".palimpsest")
    return Approvals(Grants(project, number, folder=state / "grants", author="ada"))


def kept(project: Path, state: Path) -> Path:
    return grants_file(state / "grants", project.resolve())


def test_what_one_kernel_allows_another_finds(project: Path, state: Path) -> None:
    first, other = opened(project, state), opened(project, state)
    assert other.rules() == ()

    first.add((GIT,), "ses_1")
    other.add((LS, GIT), "ses_2")
    first.add_to_session((LS,), "ses_1")

    assert first.rules() == other.rules() == opened(project, state).rules() == (GIT, LS)
    assert [a.session_id for a in first.list()] == ["ses_1", "ses_2"]
    assert (other.rules_of_session("ses_1"), other.rules_of_session("ses_2")) == ((LS,), ())


def test_a_record_says_what_by_whom_and_when(project: Path, state: Path) -> None:
    opened(project, state).add_to_session((GIT,), "ses_1")

    data = json.loads(kept(project, state).read_text())
    (record,) = data["grants"]
    assert record.pop("at") > 1_000_000_000_000
    assert record == {
        "project": str(project.resolve()),
        "session": "ses_1",
        "key": "allow",
        "value": {"permission": "bash", "pattern": "git *"},
        "by": "ada",
    }


def test_nothing_of_it_lies_in_the_project(project: Path, state: Path) -> None:
    opened(project, state).add((GIT,), "ses_1")

    inside = [path for path in project.rglob("*") if path.is_file()]
    assert [path.name for path in inside] == ["project.json"]
    assert set(json.loads(inside[0].read_text())) == {"version", "number"}


@posix
def test_only_the_person_reads_and_writes_it(project: Path, state: Path) -> None:
    before = os.umask(0)
    try:
        opened(project, state).add((GIT,), "ses_1")
    finally:
        os.umask(before)

    assert kept(project, state).stat().st_mode & 0o777 == 0o600
    assert (state / "grants").stat().st_mode & 0o777 == 0o700
    assert state.stat().st_mode & 0o777 == 0o700


def test_what_is_taken_back_is_gone_for_every_kernel(project: Path, state: Path) -> None:
    first, other = opened(project, state), opened(project, state)
    first.add((GIT, LS), "ses_1")

    assert other.remove(GIT)
    assert not other.remove(GIT)
    assert first.rules() == (LS,)


def test_a_copy_has_nothing(project: Path, state: Path, tmp_path: Path) -> None:
    opened(project, state).add((GIT,), "ses_1")
    shutil.copytree(project, tmp_path / "copy")

    assert opened(tmp_path / "copy", state).rules() == ()
    assert opened(project, state).rules() == (GIT,)


def test_another_project_at_the_same_place_has_nothing(project: Path, state: Path) -> None:
    opened(project, state).add((GIT,), "ses_1")
    shutil.rmtree(project)
    (project / ".palimpsest").mkdir(parents=True)
    assert opened(project, state).rules() == ()

    (project / ".palimpsest" / "project.json").write_text('{"number": "' + "0" * 32 + '"}')
    assert opened(project, state).rules() == ()
    opened(project, state).add((LS,), "ses_2")
    assert opened(project, state).rules() == (LS,)


def test_a_link_to_the_project_is_the_project(project: Path, state: Path, tmp_path: Path) -> None:
    opened(project, state).add((GIT,), "ses_1")
    (tmp_path / "link").symlink_to(project)

    assert opened(tmp_path / "link", state).rules() == (GIT,)


def test_a_linked_home_is_the_home(project: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "home").symlink_to(tmp_path / "real")
    opened(project, tmp_path / "home" / "state").add((GIT,), "ses_1")

    assert opened(project, tmp_path / "real" / "state").rules() == (GIT,)


def no_link(path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    path.with_suffix(".x").write_bytes(content)
    path.symlink_to(path.with_suffix(".x"))


def is_group_writable(path: Path) -> None:
    path.chmod(0o620)


def is_in_an_open_folder(path: Path) -> None:
    path.parent.chmod(0o777)


def is_below_an_open_folder(path: Path) -> None:
    path.parent.parent.chmod(0o777)


@posix
@pytest.mark.parametrize(
    "spoil", [no_link, is_group_writable, is_in_an_open_folder, is_below_an_open_folder]
)
def test_what_somebody_else_may_have_written_is_not_believed(
    project: Path, state: Path, spoil: Callable[[Path], None]
) -> None:
    opened(project, state).add((GIT,), "ses_1")
    spoil(kept(project, state))

    after = opened(project, state)

    assert after.rules() == ()
    assert after.problem.count(". ") == 0
    assert "asked again" in after.problem
    after.add((LS,), "ses_1")
    assert after.rules() == (LS,)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives away")
@pytest.mark.parametrize("level", [0, 1, 2])
def test_what_belongs_to_somebody_else_is_not_believed(
    project: Path, state: Path, level: int
) -> None:
    opened(project, state).add((GIT,), "ses_1")
    path = kept(project, state)
    os.chown((path, path.parent, path.parent.parent)[level], 65534, 65534)

    after = opened(project, state)

    assert after.rules() == ()
    assert "belongs to another user" in after.problem


def test_a_state_folder_inside_the_project_is_not_believed(project: Path) -> None:
    inside = opened(project, project / "state")
    inside.add((GIT,), "ses_1")

    assert (
        not (project / "state" / "grants").exists() or not kept(project, project / "state").exists()
    )
    assert "lies inside the project" in inside.problem
    assert inside.rules() == (GIT,)
    assert opened(project, project / "state").rules() == ()


@pytest.mark.parametrize("content", ["{", "[]", '{"grants": 1}', "\x00", "[" * 100_000, "\ud800"])
def test_a_broken_file_is_said_and_set_aside(project: Path, state: Path, content: str) -> None:
    opened(project, state).add((GIT,), "ses_1")
    path = kept(project, state)
    path.write_bytes(content.encode("utf-8", "surrogatepass"))

    after = opened(project, state)
    assert after.rules() == ()
    assert str(path) in after.problem
    after.add((LS,), "ses_1")

    assert opened(project, state).rules() == (LS,)
    assert after.problem == ""
    aside = path.with_name(f"{path.name}.broken-1")
    assert aside.read_bytes() == content.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    "record",
    [1, None, {}, {"key": 1}, {"key": "allow"}, {"key": "allow", "value": {"permission": 1}}],
)
def test_a_record_that_is_none_costs_only_itself(
    project: Path, state: Path, record: object
) -> None:
    opened(project, state).add((GIT,), "ses_1")
    path = kept(project, state)
    data = json.loads(path.read_text())
    if isinstance(record, dict):
        record = {"project": str(project.resolve()), "session": None} | record
    data["grants"].insert(0, record)
    path.write_text(json.dumps(data))

    assert opened(project, state).rules() == (GIT,)
    assert [allowance.rule for allowance in opened(project, state).list()] == [GIT]


def test_where_nothing_can_be_written_it_holds_for_this_kernel(project: Path, state: Path) -> None:
    opened(project, state).add((GIT,), "ses_1")
    path = kept(project, state)
    path.unlink()
    path.parent.joinpath(f".{path.name}.lock").unlink()
    path.parent.rmdir()
    path.parent.write_text("a file where the folder should be")

    here = opened(project, state)
    here.add((LS,), "ses_1")
    here.add_to_session((GIT,), "ses_1")

    assert (here.rules(), here.rules_of_session("ses_1")) == ((LS,), (GIT,))
    assert here.problem.startswith("What you allow holds until this kernel ends, because")
    assert here.remove(LS)
    assert here.rules() == ()
    assert opened(project, state).rules() == ()


def test_without_a_folder_it_holds_in_memory_and_nothing_is_wrong() -> None:
    nowhere = Approvals()
    nowhere.add((GIT,), "ses_1")

    assert nowhere.rules() == (GIT,)
    assert nowhere.problem == ""


def test_what_is_lent_ends_with_the_kernel(project: Path, state: Path) -> None:
    here = opened(project, state)
    here.approve_for_kernel((GIT, LS.model_copy(update={"action": "deny"})), "ses_1")

    assert here.rules_of_session("ses_1") == (GIT,)
    assert opened(project, state).rules_of_session("ses_1") == ()


def test_what_an_earlier_version_kept_in_the_project_is_only_shown(
    project: Path, state: Path
) -> None:
    path = project / ".palimpsest" / "permissions.json"
    path.write_text(json.dumps({"always": [{"permission": "bash", "pattern": "*", "seal": "x"}]}))
    number = ProjectNumber(project / ".palimpsest")
    approvals = Approvals(Grants(project, number, folder=state / "grants"), path.parent)

    assert approvals.rules() == ()
    assert "names bash: *. It holds no more" in approvals.earlier_sentence


def _many(project: Path, state: Path, name: str) -> None:
    approvals = opened(project, state)
    for number in range(20):
        rule = Rule(permission="bash", pattern=f"{name} {number}", action="allow")
        approvals.add((rule,), name)


@pytest.mark.slow
def test_two_kernels_that_write_at_once_lose_nothing(project: Path, state: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_many, args=(project, state, name)) for name in ("a", "b")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert len(opened(project, state).rules()) == 40
    assert [path.name for path in (state / "grants").iterdir() if "broken" in path.name] == []

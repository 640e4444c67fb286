"""What is always allowed in a project is kept there, for this user only, and can be taken back."""

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from palimpsest.session.approvals import Approvals
from palimpsest.transcript.errors import StorageFailed
from palimpsest.transcript.values import Rule

GIT = Rule(permission="bash", pattern="git *", action="allow")
LS = Rule(permission="bash", pattern="ls *", action="allow")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".palimpsest").mkdir()
    return tmp_path / ".palimpsest"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return tmp_path / "config"


def test_what_one_kernel_keeps_another_finds(folder: Path, keys: Path) -> None:
    one, other = Approvals(folder, keys), Approvals(folder, keys)
    assert other.rules() == ()

    one.add((GIT,), "ses_1", 5)
    other.add((LS, GIT), "ses_2", 6)

    assert one.rules() == other.rules() == Approvals(folder, keys).rules() == (GIT, LS)
    assert [(a.session_id, a.at) for a in one.list()] == [("ses_1", 5), ("ses_2", 6)]


def test_what_is_taken_back_is_gone_for_every_kernel(folder: Path, keys: Path) -> None:
    one, other = Approvals(folder, keys), Approvals(folder, keys)
    one.add((GIT, LS), "ses_1", 5)

    assert other.remove(GIT)
    assert not other.remove(GIT)
    assert one.rules() == (LS,)


def test_what_somebody_else_planted_is_neither_used_nor_lost(folder: Path, keys: Path) -> None:
    stranger = Approvals(folder, keys.with_name("elsewhere"))
    stranger.add((GIT,), "ses_x", 1)
    planted = json.loads((folder / "permissions.json").read_text())["always"]

    ours = Approvals(folder, keys)
    assert ours.rules() == ()
    ours.add((LS,), "ses_1", 5)

    assert ours.rules() == (LS,)
    assert stranger.rules() == (GIT,)
    assert planted[0] in json.loads((folder / "permissions.json").read_text())["always"]


def test_a_sealed_line_that_was_changed_is_not_used(folder: Path, keys: Path) -> None:
    Approvals(folder, keys).add((GIT,), "ses_1", 5)
    path = folder / "permissions.json"
    path.write_text(path.read_text().replace("git *", "*"))

    assert Approvals(folder, keys).rules() == ()


@pytest.mark.parametrize("content", ["{", "[]", '{"always": [1]}', '{"always": 1}', "\x00"])
def test_a_broken_file_is_said_in_one_sentence_and_kept(
    folder: Path, keys: Path, content: str
) -> None:
    path = folder / "permissions.json"
    path.write_text(content)
    approvals = Approvals(folder, keys)

    assert approvals.rules() == ()
    assert str(path) in approvals.problem
    assert approvals.problem.count(". ") == 0
    approvals.add((GIT,), "ses_1", 5)

    assert approvals.rules() == (GIT,)
    assert approvals.problem == ""
    assert (folder / "permissions.json.broken-1").read_text() == content


def test_without_a_place_it_says_that_it_holds_for_the_session_only() -> None:
    with pytest.raises(StorageFailed, match="this session only"):
        Approvals().add((GIT,), "ses_1", 5)
    assert Approvals().rules() == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_loses_nothing(folder: Path, keys: Path) -> None:
    approvals = Approvals(folder, keys)
    approvals.add((GIT,), "ses_1", 5)
    folder.chmod(0o500)
    with pytest.raises(StorageFailed, match="cannot be written"):
        approvals.add((LS,), "ses_1", 6)
    folder.chmod(0o700)

    assert approvals.rules() == (GIT,)


def _many(folder: Path, keys: Path, name: str) -> None:
    approvals = Approvals(folder, keys)
    for number in range(20):
        rule = Rule(permission="bash", pattern=f"{name} {number}", action="allow")
        approvals.add((rule,), name, number)


@pytest.mark.slow
def test_two_kernels_that_write_at_once_lose_nothing(folder: Path, keys: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_many, args=(folder, keys, name)) for name in ("a", "b")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert len(Approvals(folder, keys).rules()) == 40
    assert [path.name for path in folder.iterdir() if "broken" in path.name] == []

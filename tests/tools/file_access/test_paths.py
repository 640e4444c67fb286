"""Paths are resolved, links included, before they are checked."""

from pathlib import Path

import pytest
from tests.harness.tools import ToolHarness

from palimpsest.tools.file_access.paths import confine
from palimpsest.transcript.errors import NotFound, PermissionDenied, UserError
from palimpsest.transcript.values import Reply


def test_a_link_out_of_the_project_is_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "project"
    root.mkdir()
    (root / "door").symlink_to(outside)

    place = confine("door/secret.txt", root, root)

    assert not place.inside
    assert place.path == outside / "secret.txt"
    assert place.directory_pattern == f"{outside}/*"


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "~/x", "~root/x"])
def test_roads_out_of_the_project_are_seen(tmp_path: Path, path: str) -> None:
    root = tmp_path / "project"
    root.mkdir()

    assert not confine(path, root, root).inside


def test_a_project_reached_through_a_link_is_still_itself(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)

    place = confine("a.txt", tmp_path / "link", tmp_path / "link")

    assert place.inside
    assert place.shown == "a.txt"


def test_a_name_that_begins_like_the_project_is_not_inside_it(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()

    assert not confine("../project-two/a", root, root).inside


@pytest.mark.parametrize("path", ["", "a\0b", "a\ud800b"])
def test_what_is_no_path_is_refused_in_words(tmp_path: Path, path: str) -> None:
    with pytest.raises(UserError, match="is not a path"):
        confine(path, tmp_path, tmp_path)


async def test_reading_outside_asks_for_the_folder(harness: ToolHarness, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("42\n")

    outcome = await harness.call("read", path="../data.txt")

    assert outcome.output == "1: 42"
    assert [(a.permission, a.patterns) for a in harness.user.asked] == [
        ("external_directory", (f"{tmp_path}/*",))
    ]


async def test_a_refused_folder_is_not_read(harness: ToolHarness, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("42\n")
    harness.user.reply = Reply(answer="reject")

    with pytest.raises(PermissionDenied):
        await harness.call("read", path="../data.txt")


async def test_reading_inside_asks_nothing(harness: ToolHarness) -> None:
    harness.write("a.txt", "hello\n")

    await harness.call("read", path="a.txt")

    assert harness.user.asked == []


async def test_a_file_of_keys_asks(harness: ToolHarness) -> None:
    harness.write(".env", "A=1\n")

    await harness.call("read", path=".env")

    assert [(a.permission, a.patterns) for a in harness.user.asked] == [("read", (".env",))]


@pytest.mark.parametrize("path", [".palimpsest/layout", "a/../.palimpsest/x"])
async def test_the_record_of_the_session_cannot_be_written(harness: ToolHarness, path: str) -> None:
    with pytest.raises(UserError, match="record of this session"):
        await harness.call("write", path=path, content="x")

    assert harness.user.asked == []


async def test_a_missing_file_comes_with_close_names(harness: ToolHarness) -> None:
    harness.write("Penguins.csv", "a\n")

    with pytest.raises(NotFound, match=r"'Penguins\.csv'"):
        await harness.call("read", path="penguin.csv")


@pytest.mark.parametrize("tool", ["read", "list", "write", "edit", "grep"])
@pytest.mark.parametrize("path", ["x" * 5_000, "a/" * 3_000])
async def test_a_path_that_no_disk_takes_gets_one_short_sentence(
    harness: ToolHarness, tool: str, path: str
) -> None:
    more = {"write": {"content": ""}, "edit": {"old": "a", "new": "b"}, "grep": {"pattern": "x"}}

    with pytest.raises(UserError, match="cannot be followed: File name too long") as problem:
        await harness.call(tool, path=path, **more.get(tool, {}))

    assert len(str(problem.value)) < 300

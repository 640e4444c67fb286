"""The resolved file is the one that is opened, even if it is replaced in the meantime."""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.harness.tools import ScriptedUser, ToolHarness

from palimpsest.tools.file_access.file_contents import read_resolved_file, replace_resolved_file
from palimpsest.transcript.errors import UserError


class Swapper(ScriptedUser):
    """A user during whose reply the file is replaced."""

    def __init__(self, swap: Callable[[], None]) -> None:
        super().__init__()
        self.swap = swap

    async def __call__(self, *_args: Any, **_more: Any) -> None:
        self.swap()


def put(link: Path, target: Path) -> Callable[[], None]:
    def swap() -> None:
        if not link.is_symlink():
            link.rename(link.with_name(f"{link.name}-away"))
            link.symlink_to(target)

    return swap


@pytest.mark.parametrize("swapped", ["sub/a.txt", "sub"])
@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("read", {}),
        ("grep", {"pattern": "."}),
        ("edit", {"old": "one", "new": "two"}),
        ("write", {"content": "two"}),
    ],
)
async def test_a_link_swapped_in_while_the_question_is_open_is_not_followed(
    harness: ToolHarness, tmp_path: Path, swapped: str, tool: str, more: dict[str, str]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("one CANARY\n")
    harness.write("sub/a.txt", "one\n")
    target = outside if swapped == "sub" else outside / "a.txt"
    harness.user = Swapper(put(harness.root / swapped, target))

    shown = ""
    try:
        shown = (await harness.call(tool, path="sub/a.txt", **more)).output
    except UserError as problem:
        shown = str(problem)

    assert "CANARY" not in shown
    assert (outside / "a.txt").read_text() == "one CANARY\n"
    assert [path.name for path in outside.iterdir()] == ["a.txt"]


async def test_a_new_file_is_not_made_through_a_link_swapped_in(
    harness: ToolHarness, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    harness.write("sub/a.txt", "one\n")
    harness.user = Swapper(put(harness.root / "sub", outside))

    with pytest.raises(UserError, match=r"cannot be (written|read)"):
        await harness.call("write", path="sub/new.txt", content="x")

    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("what", ["pipe", "link", "folder", "device"])
def test_only_files_are_opened(tmp_path: Path, what: str) -> None:
    place = tmp_path / "x"
    match what:
        case "pipe":
            os.mkfifo(place)
        case "link":
            (tmp_path / "y").write_text("CANARY")
            place.symlink_to("y")
        case "folder":
            place.mkdir()
        case _:
            place = Path("/dev/zero")

    with pytest.raises(OSError, match="something else stands"):
        read_resolved_file(place)


def test_a_file_keeps_its_mode_and_folders_are_made(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("a")
    script.chmod(0o751)

    replace_resolved_file(script, b"b")
    replace_resolved_file(tmp_path / "new/deep/c.txt", b"c")

    assert (script.read_text(), stat.S_IMODE(script.stat().st_mode)) == ("b", 0o751)
    assert (tmp_path / "new/deep/c.txt").read_text() == "c"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "run.sh"]


AS_NOBODY = """
import os, sys
from pathlib import Path
from palimpsest.tools.file_access.file_contents import read_resolved_file, replace_resolved_file
os.setgid(65534); os.setuid(65534)
folder = Path(sys.argv[1])
for work in (
    lambda: read_resolved_file(folder / "closed.txt"),
    lambda: replace_resolved_file(folder / "closed.txt", b"no"),
    lambda: replace_resolved_file(folder / "new.txt", b"no"),
    lambda: replace_resolved_file(folder / "open.txt", b"yes"),
    lambda: read_resolved_file(folder / "through/inner.txt"),
):
    try:
        print(work() or "done")
    except OSError as error:
        print(type(error).__name__)
"""


@pytest.mark.skipif(
    os.name != "posix" or os.getuid() != 0, reason="only root becomes somebody else"
)
def test_another_user_reads_and_writes_only_what_is_his() -> None:
    with tempfile.TemporaryDirectory() as above:
        Path(above).chmod(0o755)
        _as_another_user(Path(above) / "locked")


def _as_another_user(folder: Path) -> None:
    (folder / "through").mkdir(parents=True)
    for name, mode in (("closed.txt", 0o600), ("open.txt", 0o666), ("through/inner.txt", 0o644)):
        (folder / name).write_text("before")
        (folder / name).chmod(mode)
    (folder / "through").chmod(0o711)  # may be passed through, not listed
    folder.chmod(0o755)

    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(folder)], capture_output=True, text=True, check=False
    )

    assert done.stdout.split() == [
        "PermissionError", "PermissionError", "PermissionError", "done", "b'before'",
    ], done.stderr  # fmt: skip
    assert (folder / "closed.txt").read_text() == "before"
    assert (folder / "open.txt").read_text() == "yes"
    assert not (folder / "new.txt").exists()

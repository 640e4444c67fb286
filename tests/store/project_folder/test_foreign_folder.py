"""A sessions folder that is a link, or belongs to another user, is not written."""

import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.sample_size import thinned
from tests.store.record_builders import OWNER, SESSION
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.app.wiring import App
from palimpsest.model.script import says
from palimpsest.public.session_object import Session
from palimpsest.store.blobs.blob_sweep import delete_unneeded, find_unneeded
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.log.store_factory import open_store
from palimpsest.store.project_folder.layout import find_project, open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import NotFound, StorageFailed


def picture(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return everything below a folder, and itself: mode, modification time and content."""
    contents = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        seen = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(seen.st_mode) else b""
        moment = seen.st_mtime_ns if stat.S_ISREG(seen.st_mode) else 0
        contents[str(path)] = (seen.st_mode, moment, content)
    return contents


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    folder = tmp_path / "foreign"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner/a.txt").write_text("theirs")
    folder.chmod(0o755)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


def chat(project: Path) -> str | None:
    """Send one prompt, as a kernel does; return the warning about the store."""
    model = ScriptedModel(says("Yes."))
    app = App(start=project, model=lambda _: model, environment={}, overrides={"titles": False})
    try:
        live = app.engine.submit(app.workspace.current(None)).result(LAST_RESORT_SECONDS)
        assert Session(app, live).prompt("Hello").text == "Yes."
        return app.warning
    finally:
        app.close()


def test_a_folder_that_is_a_link_is_left_alone_and_said(project: Path, foreign: Path) -> None:
    (project / ".palimpsest").symlink_to(foreign)
    before = picture(foreign)

    warning = chat(project)

    assert picture(foreign) == before
    assert warning is not None
    assert "is a link; put a folder in its place" in warning
    assert "in memory only" in warning


@pytest.mark.parametrize("name", ["sessions", "blobs", "snapshots", "share"])
@pytest.mark.parametrize("begun", [True, False])
def test_a_folder_inside_that_is_a_link_is_left_alone(
    project: Path, foreign: Path, name: str, *, begun: bool
) -> None:
    (project / ".palimpsest").mkdir()
    (project / ".palimpsest" / name).symlink_to(foreign)
    if begun:
        (project / ".palimpsest/layout").write_text('{"version": 1, "project_id": "x"}')
    before = picture(foreign)

    warning = chat(project)

    assert picture(foreign) == before
    assert "is a link" in (warning or "")


@pytest.mark.parametrize("name", [".gitignore", "layout", "index.json", ".permissions.json.lock"])
@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_is_a_link_changes_nothing_elsewhere(
    project: Path, foreign: Path, name: str, *, there: bool
) -> None:
    (project / ".palimpsest").mkdir()
    target = foreign / "target"
    if there:
        target.write_text("theirs")
    (project / ".palimpsest" / name).symlink_to(target)
    before = picture(foreign)

    chat(project)

    assert picture(foreign) == before


def test_a_session_whose_folder_is_a_link_is_not_opened(project: Path, foreign: Path) -> None:
    store = JsonlStore(open_project_folder(project))
    (store.layout.sessions / SESSION).symlink_to(foreign)
    before = picture(foreign)

    assert list(store.list()) == []
    with pytest.raises(NotFound, match="is a link"):
        store.acquire(SESSION, OWNER, create=True)
    with pytest.raises(NotFound):
        store.load(SESSION)
    assert picture(foreign) == before


def test_long_texts_are_kept_in_no_linked_folder_and_deleted_from_none(
    project: Path, foreign: Path
) -> None:
    store = JsonlStore(open_project_folder(project))
    sha256 = store.put_blob(b"long").sha256
    place = store.layout.blobs / sha256[:2]
    (foreign / sha256).write_bytes(b"long")
    os.utime(foreign / sha256, (1, 1))
    (place / sha256).unlink()
    place.rmdir()
    place.symlink_to(foreign)
    before = picture(foreign)

    with pytest.raises(StorageFailed):
        store.put_blob(b"long")
    later = time.time() + 10 * 86_400
    find_unneeded(store.layout, later, 0.0)
    delete_unneeded(store.layout, find_unneeded(store.layout, later * 2, 0.0).due_blobs)

    assert picture(foreign) == before


@pytest.mark.parametrize("name", thinned(["log-1.jsonl", "log-2.jsonl", "lease.json"], 2))
@pytest.mark.parametrize("what", ["pipe", "link", "dangling", "hard link", "folder"])
def test_a_log_or_lease_that_is_no_file_of_ours_hangs_nobody_and_changes_nothing(
    project: Path, foreign: Path, name: str, what: str
) -> None:
    store = JsonlStore(open_project_folder(project))
    directory = store.layout.session(SESSION)
    directory.mkdir()
    theirs = foreign / "empty"
    theirs.write_bytes(b"")
    match what:
        case "pipe":
            os.mkfifo(directory / name)
        case "link":
            (directory / name).symlink_to(theirs)
        case "dangling":
            (directory / name).symlink_to(foreign / "none")
        case "hard link":
            os.link(theirs, directory / name)
        case _:
            (directory / name).mkdir()
    before = picture(foreign)
    done: list[Any] = []

    def work() -> None:
        try:
            done.append(list(store.list()))
            writer = store.acquire(SESSION, OWNER, create=True)
            writer.close()
        except (NotFound, StorageFailed) as problem:
            done.append(problem)
        done.append("over")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(LAST_RESORT_SECONDS)

    assert done[-1:] == ["over"]
    assert picture(foreign) == before


AS_NOBODY = """
import os, sys
from pathlib import Path
from palimpsest.store.project_folder.layout import find_project
from palimpsest.store.log.store_factory import open_store
os.setgid(65534); os.setuid(65534)
project = Path(sys.argv[1])
print(find_project(project / "sub"))
store, warning = open_store(project)
print(type(store).__name__, warning)
"""


@pytest.mark.skipif(
    os.name != "posix" or os.getuid() != 0, reason="only root becomes somebody else"
)
@pytest.mark.parametrize("mode", thinned([0o777, 0o755, 0o700], 3))
def test_a_folder_of_another_user_is_left_alone_and_makes_no_project(mode: int) -> None:
    with tempfile.TemporaryDirectory() as above:
        project = Path(above)
        project.chmod(0o777)
        (project / "sub").mkdir(mode=0o755)
        open_project_folder(project)
        (project / ".palimpsest").chmod(mode)
        before = picture(project / ".palimpsest")

        told = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, above], capture_output=True, text=True, check=False
        )

        assert told.stdout.splitlines()[0] == f"{above}/sub", told.stderr
        assert told.stdout.splitlines()[1].startswith("MemoryStore")
        assert "in memory only" in told.stdout
        assert picture(project / ".palimpsest") == before


def test_a_folder_of_ones_own_is_used_as_before(project: Path) -> None:
    (project / "sub").mkdir()
    store, warning = open_store(project)

    assert warning is None
    assert isinstance(store, JsonlStore)
    assert not isinstance(store, MemoryStore)
    assert find_project(project / "sub") == project
    assert chat(project) is None

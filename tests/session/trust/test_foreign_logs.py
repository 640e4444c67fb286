"""Paths in a planted log are neither read, written nor exported outside of the project."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask
from tests.session.revert.test_revert import make_harness, writes
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.app.wiring import App
from palimpsest.model.script import calls, says
from palimpsest.public.session_object import Session
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.exchange.importer import import_sessions
from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.store.file_snapshots.trees import TreeEntry, encode_root, encode_tree
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import PatchPart
from palimpsest.transcript.session_record.events import MessageUpdated, PartUpdated, SessionUpdated

NAMES = ["../x", "../../victim.txt", "/dev/shm/palimpsest-test", ".git/hooks/post-checkout"]
HOOK = b"#!/bin/sh\necho planted\n"


async def project(tmp_path: Path, **more: Any) -> tuple[Path, SessionHarness, LiveSession]:
    root = tmp_path / "deep/project"
    (root / ".git/hooks").mkdir(parents=True)
    (tmp_path / "victim.txt").write_text("CANARY of the victim\n")
    made = make_harness(root, writes("a.txt", "by the agent\n"), says("Done."), **more)
    session = await made.session()
    await ask(session, "Write it", yes=True)
    return root, made, session


def plant(made: SessionHarness | App, session: LiveSession, *names: str) -> None:
    """Record a step with changed files of these names, and a snapshot of them."""
    shots = made.services.sessions.snapshots
    assert isinstance(shots, Snapshots)
    shots.objects.begin_snapshot()
    entry = TreeEntry("file", 0o755, shots.objects.put(HOOK), len(HOOK))
    tree = shots.objects.put(encode_tree(dict.fromkeys(names, entry)))
    evil = shots.objects.put(encode_root(tree, [], is_cut=False))
    shots.objects.commit()
    parts = (part for message in session.log.state.messages() for part in message.parts)
    patch = next(part for part in parts if isinstance(part, PatchPart))
    session.log.append(
        PartUpdated(part=patch.model_copy(update={"hash": evil, "after": None, "files": names}))
    )


def picture(folder: Path) -> dict[str, bytes]:
    found = (path for path in sorted(folder.rglob("*")) if ".palimpsest" not in path.parts)
    return {str(path): path.read_bytes() for path in found if path.is_file()}


@pytest.mark.parametrize("name", NAMES)
async def test_a_revert_writes_nothing_that_leads_out(tmp_path: Path, name: str) -> None:
    root, made, session = await project(tmp_path)
    plant(made, session, name, "b.txt")
    before = picture(tmp_path)

    looked = await session.reverts.preview()
    done = await session.reverts.revert(overwrite=[name, "b.txt"])
    back = await session.reverts.unrevert(overwrite=[name, "b.txt"])

    assert picture(tmp_path) == before
    for file in (*looked.files, *done.files):
        assert (file.action, file.diff) == ("impossible", None)
        assert "is not used: it names" in (file.reason or "")
    assert "CANARY" not in str((looked, done, back))
    assert root.exists()


@pytest.mark.parametrize("name", NAMES)
async def test_an_undo_of_a_revert_reads_and_writes_nothing_that_leads_out(
    tmp_path: Path, name: str
) -> None:
    _, made, session = await project(tmp_path)
    shots = made.services.sessions.snapshots
    assert isinstance(shots, Snapshots)
    known = session.log.state.session
    assert known is not None
    first = session.log.state.messages()[0].id
    standing = {
        "message_id": first,
        "snapshot": shots.take_snapshot(),
        "left": shots.take_snapshot(),
        "files": [name],
    }
    session.log.append(SessionUpdated(session=known.model_copy(update={"revert": standing})))
    before = picture(tmp_path)

    back = await session.reverts.unrevert(overwrite=[name])

    assert picture(tmp_path) == before
    assert [(file.action, file.diff) for file in back.files] == [("impossible", None)]


def test_a_protected_file_waits_to_be_named(tmp_path: Path) -> None:
    model = ScriptedModel(calls("write", path="a.txt", content="x\n"), says("Done."))
    app = App(start=tmp_path, model=lambda _: model, environment={}, overrides={"titles": False})
    try:
        session = Session(
            app, app.engine.submit(app.workspace.current(None)).result(LAST_RESORT_SECONDS)
        )
        session.prompt("Write it", yes=True)
        live = app.engine.submit(app.workspace.open(session.id)).result(LAST_RESORT_SECONDS)
        assert isinstance(live, LiveSession)
        plant(app, live, "conftest.py")
        done = session.revert()
    finally:
        app.close()

    assert [(file.file, file.action) for file in done.files] == [("conftest.py", "conflict")]
    assert not (tmp_path / "conftest.py").exists()


@pytest.mark.parametrize("bad", ["../../out", "/nowhere/out", "a/b", "", "..", "x\0y"])
@pytest.mark.parametrize("where", ["message", "part", "project"])
async def test_an_export_makes_no_file_of_an_id_that_leads_out(
    tmp_path: Path, bad: str, where: str
) -> None:
    root, made, session = await project(tmp_path)
    message = session.log.state.messages()[-1]
    known = session.log.state.session
    assert known is not None
    if where == "project":
        note = {"imported": {"project": {"id": bad}}}
        changed = known.model_copy(update={"project_id": bad or "..", "metadata": note})
        session.log.append(SessionUpdated(session=changed))
    elif where == "part":
        session.log.append(PartUpdated(part=message.parts[0].model_copy(update={"id": bad})))
    else:
        info = message.info.model_copy(update={"id": bad})
        session.log.append(MessageUpdated(info=info))
    await session.journal.flush()
    before = picture(tmp_path)

    with pytest.raises(UserError, match="cannot name a file"):
        await made.workspace.sharing.export(session.id, "opencode", root / "out")

    assert picture(tmp_path) == before


@pytest.mark.parametrize(
    "path", ["..", "../out.md", "/dev/shm", ".git/hooks/post-checkout", ".Palimpsest/x"]
)
async def test_a_page_exports_into_the_project_only(tmp_path: Path, path: str) -> None:
    _, made, session = await project(tmp_path)
    await session.journal.flush()
    before = picture(tmp_path)

    with pytest.raises(UserError):
        await made.workspace.sharing.export(session.id, "md", path, stays_inside=True)

    assert picture(tmp_path) == before


@pytest.mark.parametrize("bad", ["../../x", "/etc/x", "..", "", "a/b", "x\0"])
def test_an_import_takes_no_id_that_leads_out(tmp_path: Path, bad: str) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim/m.json").write_text('{"id": "CANARY", "role": "user"}')
    storage = tmp_path / "in/storage"
    (storage / "session/p").mkdir(parents=True)
    (storage / "session/p/s.json").write_text(json.dumps({"id": bad, "title": "t"}))
    export = tmp_path / "export.json"
    export.write_text(json.dumps({"info": {"id": bad}, "messages": []}))
    store = MemoryStore()

    for source in (storage, export):
        report = import_sessions(store, source, lambda: 1)
        assert report.sessions == ()
        assert "is no id of a session" in report.problems[0].what

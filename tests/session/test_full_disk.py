"""A turn on a full disk reports it once, continues in memory, and writes everything when there is space."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.harness.sample_session import everything
from tests.harness.session import SessionHarness, ask
from tests.store.log.test_faults import mounted
from tests.store.record_builders import SESSION

from palimpsest.model.script import calls, says
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.session.interfaces.sharing_operations import FORMS
from palimpsest.session.sharing.exports import export_session
from palimpsest.session.sharing.share_page import make_page
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.log.store_factory import open_store
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import StorageFailed
from palimpsest.transcript.parts import ToolCompleted, ToolFailed, ToolPart
from palimpsest.transcript.session_record.events import Record, SessionError


async def test_a_turn_survives_a_full_disk(tmp_path: Path) -> None:
    long = "\n".join(f"{n} {'x' * 90}" for n in range(2_000))
    with mounted(tmp_path, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        (tmp_path / "long.txt").write_text(long)
        store, _ = open_store(tmp_path)
        model = ScriptedModel(
            says("First."), calls("read", path="long.txt"), says("Long."), says("Here.")
        )
        harness = SessionHarness(tmp_path, model, store=store)
        session = await harness.session()
        errors: list[str] = []

        def listen(records: Sequence[Record]) -> None:
            errors.extend(
                r.event.error.message for r in records if isinstance(r.event, SessionError)
            )

        session.subscribe(listen)
        await ask(session, "Hello")
        filler = tmp_path / "filler"
        _fill(filler)
        full = await ask(session, "Read it.")
        filler.unlink()
        assert await session.journal.flush(sync=True)
        answer = await ask(session, "Now?")
        records = await harness.records(session)
        rebuilt = list(rebuild_all(store, session.id, records))
        await harness.workspace.close()
        again = await SessionHarness(
            tmp_path, ScriptedModel(), store=open_store(tmp_path)[0]
        ).session()
        texts = [type(p).__name__ for m in again.snapshot().messages for p in m.parts]
        await again.close()

    assert len(errors) == 1
    assert "disk is full" in errors[0]
    assert (full.text, full.error) == ("Long.", None)
    (part,) = [p for m in full.messages for p in m.parts if isinstance(p, ToolPart)]
    assert isinstance(part.state, ToolCompleted)
    assert answer.text == "Here."
    assert all(found.matches for found in rebuilt)
    assert "TextPart" in texts


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for size in (65_536, 4_096, 64):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"x" * size)


def test_an_export_on_a_full_disk_leaves_no_file(tmp_path: Path) -> None:
    store = MemoryStore()
    everything().write(store)
    folder = tmp_path / "full"
    folder.mkdir()
    with mounted(folder, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        _fill(folder / "filler")
        for form in FORMS:
            with pytest.raises(StorageFailed, match="The disk is full"):
                export_session(store, SESSION, form, None, cwd=folder, environment={})  # type: ignore[arg-type]
        left = [path.name for path in folder.rglob("*") if path.is_file()]

    assert left == ["filler"]


async def test_a_file_a_page_and_a_snapshot_say_that_the_disk_is_full(tmp_path: Path) -> None:
    with mounted(tmp_path, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        store, _ = open_store(tmp_path)
        model = ScriptedModel(says("Hi."), calls("write", path="new.txt", content="x" * 9_000), says("No."))  # fmt: skip
        harness = SessionHarness(tmp_path, model, store=store)
        session = await harness.session()
        await ask(session, "Hello")
        _fill(tmp_path / "filler")
        answer = await ask(session, "Write it.", yes=True)
        with pytest.raises(StorageFailed, match="The disk is full: the page cannot be written"):
            make_page(store, session.log.state.session, {})
        (tmp_path / "filler").unlink()
        await harness.workspace.close()

    (part,) = [p for m in answer.messages for p in m.parts if isinstance(p, ToolPart)]
    assert isinstance(part.state, ToolFailed)
    assert "The disk is full: new.txt cannot be written." in part.state.error
    assert answer.text == "No."
    assert not (tmp_path / "new.txt").exists()

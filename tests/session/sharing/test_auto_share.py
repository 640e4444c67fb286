"""A session is shared automatically if its setting says so, and no turn fails because of its page."""

import asyncio
import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask, until
from tests.store.foreign_sessions import sample
from tests.waiting import LAST_RESORT_SECONDS, eventually

from palimpsest.model.script import says
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.sharing import sharing_service as sharing
from palimpsest.session.sharing.share_page import page_path
from palimpsest.session.sharing.sharing_service import SHARING_OPTED_OUT
from palimpsest.store.exchange.import_report import ImportControl
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import SessionHeld, UserError
from palimpsest.transcript.session_record.events import SessionUpdated


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".palimpsest" / "share"


def make_harness(
    tmp_path: Path, mode: Any = "manual", *answers: str, kernel: str = "kernel-a"
) -> SessionHarness:
    store = JsonlStore(open_project_folder(tmp_path), heartbeat_seconds=0.1, watch_seconds=2.5)
    model = ScriptedModel(*(says(words) for words in answers or ("One.", "Two.", "Three.")))
    return SessionHarness(tmp_path, model, store=store, kernel_id=kernel, share=mode)


def pages(folder: Path) -> list[str]:
    return [page.read_text(encoding="utf-8") for page in folder.glob("*.html")]


def block(folder: Path) -> None:
    """Create a file where the folder should be."""
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("mine")


def page_of(session: LiveSession) -> Path | None:
    record = session.snapshot().session
    return page_path(session._services.store, record) if record is not None else None


def share_of(session: LiveSession) -> Any:
    record = session.snapshot().session
    return None if record is None else record.share


async def test_a_page_is_made_when_somebody_says_so(tmp_path: Path, folder: Path) -> None:
    made = make_harness(tmp_path)
    session = await made.session()
    await ask(session, "first")
    sharing = made.workspace.sharing

    assert page_of(session) is None
    path = await sharing.share(session.id[:24])
    await ask(session, "second")

    assert path.parent == folder
    assert "One." in path.read_text(encoding="utf-8")
    assert "Two." not in path.read_text(encoding="utf-8"), "it is a copy of its moment"
    assert share_of(session)["url"] == f".palimpsest/share/{path.name}"
    assert await sharing.share(session.id) == path == page_of(session)
    assert "Two." in path.read_text(encoding="utf-8")
    assert await sharing.unshare(session.id)
    assert share_of(session) is None
    assert not await sharing.unshare(session.id)
    await made.workspace.close()


async def test_a_page_follows_every_turn_where_the_setting_says_so(
    tmp_path: Path, folder: Path
) -> None:
    made = make_harness(tmp_path, "auto")
    session = await made.session()

    await ask(session, "first")
    await until(lambda: any("One." in page for page in pages(folder)))
    await ask(session, "second")
    await made.workspace.close()

    (page,) = pages(folder)
    assert "Two." in page
    events = [record.event for record in made.store.read(session.id)]
    told = [event.session.share for event in events if isinstance(event, SessionUpdated)]
    assert len({str(share) for share in told if share is not None}) == 1, "its name stays"


async def test_what_was_taken_back_stays_so(tmp_path: Path, folder: Path) -> None:
    made = make_harness(tmp_path, "auto")
    session = await made.session()
    await ask(session, "first")
    await until(lambda: pages(folder))
    await session.auto_share.wait_until_shared()

    await made.workspace.sharing.unshare(session.id)
    await ask(session, "second")
    await session.auto_share.wait_until_shared()

    assert pages(folder) == []
    assert share_of(session) == SHARING_OPTED_OUT
    await made.workspace.sharing.share(session.id)
    assert len(pages(folder)) == 1
    await made.workspace.close()


async def test_a_page_that_is_made_while_it_is_taken_back_goes_too(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_harness(tmp_path, "auto")
    session = await made.session()
    make, remove = sharing.make_page, sharing.remove_page
    go_on = threading.Event()

    def late(*arguments: Any) -> Any:
        assert go_on.wait(LAST_RESORT_SECONDS)
        return make(*arguments)

    def made_behind(*arguments: Any) -> bool:
        found = remove(*arguments)
        monkeypatch.setattr(sharing, "remove_page", remove)
        go_on.set()
        eventually(lambda: (share_of(session) or {}).get("secret"))
        return found

    monkeypatch.setattr(sharing, "make_page", late)
    monkeypatch.setattr(sharing, "remove_page", made_behind)
    await ask(session, "first")

    assert await made.workspace.sharing.unshare(session.id)
    assert share_of(session) == SHARING_OPTED_OUT
    assert pages(folder) == []
    await made.workspace.close()


async def test_a_session_that_another_one_began_has_no_page(tmp_path: Path, folder: Path) -> None:
    made = make_harness(tmp_path, "auto")
    session = await made.session()
    record = session.snapshot().session
    assert record is not None
    child = record.model_copy(update={"parent_id": "ses_parent"})
    session.journal.append(SessionUpdated(session=child))

    await session.runner.prompt("first", PromptOptions())
    await made.workspace.close()

    assert pages(folder) == []


async def test_a_page_that_cannot_be_made_fails_no_turn(
    tmp_path: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = make_harness(tmp_path, "auto")
    session = await made.session()
    block(folder)

    answer = await ask(session, "first")
    await until(lambda: "could not be made" in caplog.text)

    assert (answer.text, answer.error) == ("One.", None)
    assert (await ask(session, "second")).text == "Two."
    await made.workspace.close()


async def test_sharing_can_be_switched_off(tmp_path: Path, folder: Path) -> None:
    made = make_harness(tmp_path, "disabled")
    session = await made.session()
    await ask(session, "first")

    with pytest.raises(UserError, match="switched off"):
        await made.workspace.sharing.share(session.id)
    assert pages(folder) == []
    await made.workspace.close()


async def test_a_fork_and_its_parent_have_pages_of_their_own(tmp_path: Path, folder: Path) -> None:
    made = make_harness(tmp_path)
    session = await made.session()
    await ask(session, "first")
    sharing = made.workspace.sharing
    path = await sharing.share(session.id)

    fork = await made.workspace.fork(session.id)
    assert page_of(fork) is None
    assert not await sharing.unshare(fork.id)
    assert await sharing.share(fork.id) != path
    assert len(pages(folder)) == 2
    await made.workspace.close()


async def test_a_session_that_another_kernel_writes_is_not_shared_here(
    tmp_path: Path, folder: Path
) -> None:
    made = make_harness(tmp_path)
    session = await made.session()
    await ask(session, "first")
    other = make_harness(tmp_path, kernel="kernel-b")
    await other.workspace.open(session.id)

    with pytest.raises(SessionHeld):
        await other.workspace.sharing.share(session.id)

    assert pages(folder) == []
    exported = await other.workspace.sharing.export(session.id, "md")
    assert "One." in exported.path.read_text(encoding="utf-8")
    await other.workspace.close()
    await made.workspace.close()


async def test_an_open_session_is_not_written_by_an_import(tmp_path: Path) -> None:
    sample("opencode_storage", tmp_path)
    made = make_harness(tmp_path)
    sharing = made.workspace.sharing
    await asyncio.to_thread(sharing.imports.import_from, "opencode_storage", ImportControl())
    identifier = "ses_11111111aaaaMockOpenCode01"
    await made.workspace.open(identifier)
    file = next((tmp_path / "opencode_storage" / "part").rglob("*PlanText04.json"))
    file.write_text(json.dumps(json.loads(file.read_text()) | {"text": "changed"}))

    report = await asyncio.to_thread(
        sharing.imports.import_from, "opencode_storage", ImportControl()
    )

    assert [session.outcome for session in report.sessions] == ["same"]
    (problem,) = report.problems
    assert "is open in a kernel" in problem.what
    await made.workspace.close()


async def test_an_imported_session_is_gone_on_with(tmp_path: Path) -> None:
    sample("opencode_storage", tmp_path)
    made = make_harness(tmp_path)
    await asyncio.to_thread(
        made.workspace.sharing.imports.import_from, "opencode_storage", ImportControl()
    )
    shutil.rmtree(tmp_path / "opencode_storage")

    session = await made.workspace.open("ses_11111111aaaaMockOpenCode01", "a.ipynb")
    assert isinstance(session, LiveSession)
    answer = await ask(session, "And now?")

    assert answer.text == "One."
    assert len(session.snapshot().messages) == 5
    await made.workspace.close()

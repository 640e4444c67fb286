"""Another agent's recording is read, searched and forked, and no model is asked in it."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.harness.session import SessionHarness, ask
from tests.recordings.formats.sample_files import sample

from palimpsest.model.script import says
from palimpsest.recordings.formats.built_in import REGISTRY
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.records.session_search import Query
from palimpsest.store.exchange.import_report import ImportControl
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import NotFound, UserError


def make_harness(tmp_path: Path) -> tuple[SessionHarness, ScriptedModel]:
    model = ScriptedModel(says("Gone on."))
    harness = SessionHarness(tmp_path, model, store=JsonlStore(open_project_folder(tmp_path)))
    object.__setattr__(harness.services.sessions, "import_sessions", REGISTRY.import_from)
    return harness, model


async def imported(harness: SessionHarness, tmp_path: Path) -> str:
    path = sample("claude_code/compaction_session.jsonl", tmp_path)
    report = await asyncio.to_thread(
        harness.workspace.sharing.imports.import_from, path.name, ImportControl()
    )
    return report.sessions[0].id


async def test_a_prompt_to_a_recording_is_refused_and_a_fork_goes_on(tmp_path: Path) -> None:
    made, model = make_harness(tmp_path)
    recording = await imported(made, tmp_path)
    session = await made.workspace.open(recording, "a.ipynb")
    assert isinstance(session, LiveSession)
    before = session.snapshot().messages

    for refused in (ask(session, "And now?"), session.compact(), session.loop(), session.retry()):
        with pytest.raises(UserError, match=f"fork it \\(%agent fork {recording}\\)"):
            await refused
    assert model.requests == []
    fork = await made.workspace.fork(recording, None, notebook="b.ipynb")
    assert isinstance(fork, LiveSession)
    answer = await ask(fork, "And now?")

    assert session.snapshot().messages == before
    assert answer.text == "Gone on."
    sent = json.dumps(model.requests[0].messages)
    assert "Summary of previous conversation" in sent
    assert "Sure, I'm ready" not in sent, "the recorded compaction replaced it"
    await made.workspace.close()


async def test_a_recording_is_listed_with_its_origin_and_found_by_its_words(
    tmp_path: Path,
) -> None:
    made, _ = make_harness(tmp_path)
    recording = await imported(made, tmp_path)
    fork = await made.workspace.fork(recording, None, notebook="b.ipynb")

    found = await made.workspace.page(Query("long conversation"))

    assert {session.id: session.imported_from for session in found.sessions} == {
        recording: "claude-code",
        fork.id: "",
    }
    assert (await made.workspace.page(Query("nowhere in it"))).sessions == ()
    await made.workspace.close()


async def test_a_recording_is_forked_at_a_request_as_review_counts_them(tmp_path: Path) -> None:
    made, model = make_harness(tmp_path)
    recording = await imported(made, tmp_path)
    timeline = timeline_of(made.store, recording)
    assert len(timeline.requests) == 2
    *earlier, newest = made.store.load(recording).messages()

    fork = await made.workspace.fork(
        recording, request=2, model="scripted/model", notebook="b.ipynb"
    )
    assert isinstance(fork, LiveSession)
    assert [message.id for message in made.store.load(fork.id).messages()] == [
        message.id for message in earlier
    ]
    assert newest.info.role == "assistant"
    answer = await fork.loop()

    assert answer.text == "Gone on."
    assert len(model.requests) == 1
    assert "Summary of previous conversation" in json.dumps(model.requests[0].messages)
    with pytest.raises(NotFound, match=r"it has 2\. Name one from 1 to 2"):
        await made.workspace.fork(recording, request=3)
    await made.workspace.close()

"""A recording that was imported stays one in an export of ours, and its log ends in a checkpoint."""

from pathlib import Path

from tests.recordings.formats.imported import facts_of, import_file, info_of, now
from tests.recordings.formats.sample_files import SAMPLES, sample

from palimpsest.model.tokenizer import counter
from palimpsest.recordings.formats.built_in import REGISTRY
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.store.exchange.json_export import export_json
from palimpsest.store.interface import Store
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.project_folder.layout import open_project_folder


def write_export(store: Store, session_id: str, into: Path) -> Path:
    into.write_text("".join(export_json(store, session_id, lambda value: value)))
    return into


def test_it_comes_back_as_the_recording_it_is(tmp_path: Path) -> None:
    folder = sample("claude_code", tmp_path)
    store, report = import_file(folder / "compaction_session.jsonl")
    (imported,) = report.sessions
    file = write_export(store, imported.id, tmp_path / "exported.json")

    other, again = import_file(file)

    (back,) = again.sessions
    assert (back.id, back.outcome) == (imported.id, "new")
    assert (info_of(other, back.id).imported_from, info_of(other, back.id).read_only) == (
        "claude-code",
        True,
    )
    before, after = facts_of(store, imported.id), facts_of(other, back.id)
    assert {name: after[name] for name in before} == before
    assert after["exported"]["from"] == "palimpsest"
    old, new = timeline_of(store, imported.id, counter), timeline_of(other, back.id, counter)
    assert (new.origin, new.items, new.requests) == (old.origin, old.items, old.requests)
    assert len(new.requests) > 0
    assert [session.outcome for session in import_file(file, other)[1].sessions] == ["same"]


def test_what_was_captured_of_its_requests_comes_back_too(tmp_path: Path) -> None:
    captured = SAMPLES / "captured_http"
    (transcript,) = (captured / "transcript").glob("*.jsonl")
    store, capture = MemoryStore(), captured / "claude_code.har"
    report = REGISTRY.import_from(store, transcript, now, captured=capture)
    file = write_export(store, report.sessions[0].id, tmp_path / "exported.json")

    other, again = import_file(file)

    before = timeline_of(store, report.sessions[0].id, counter)
    after = timeline_of(other, again.sessions[0].id, counter)
    assert after.requests == before.requests
    assert before.requests[0].cache_marks[-1] == "message 1, block 2"
    sections = [item.index for item in before.items if item.kind in ("system", "tools")]
    assert len(sections) == 4
    for index in sections:
        assert after.read(index) == before.read(index) != ""


def test_the_recording_itself_goes_on_from_there(tmp_path: Path) -> None:
    folder = sample("claude_code", tmp_path)
    path = folder / "compaction_session.jsonl"
    store, report = import_file(path)
    file = write_export(store, report.sessions[0].id, tmp_path / "exported.json")
    other, _ = import_file(file)

    assert [session.outcome for session in import_file(path, other)[1].sessions] == ["same"]


def test_one_with_a_compaction_is_opened_from_its_checkpoint(tmp_path: Path) -> None:
    folder = sample("claude_code", tmp_path)
    path = folder / "compaction_session.jsonl"

    (tmp_path / "project").mkdir()
    store, report = import_file(path, JsonlStore(open_project_folder(tmp_path / "project")))

    (imported,) = report.sessions
    newest = next(iter(store.stream(imported.id)))
    assert newest.event.type == "session.checkpoint"
    opened = store.open_live(imported.id)
    assert opened.is_partial
    assert 0 < len(opened.messages()) < len(store.load(imported.id).messages())
    assert [again.outcome for again in import_file(path, store)[1].sessions] == ["same"]

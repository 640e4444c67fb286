"""An import adds what is new, goes on where it stopped, and copies what is another recording."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.recordings.formats.sample_files import sample
from tests.recordings.import_journal.recordings import BEGIN, answer, load, read_call, result, user

from palimpsest.recordings.formats.built_in import REGISTRY
from palimpsest.recordings.import_journal import session_journal
from palimpsest.recordings.reading.recorded import Recorded
from palimpsest.store.exchange.import_report import ImportControl, ImportReport
from palimpsest.store.interface import Store
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.project_folder.lease import this_owner
from palimpsest.transcript.parts import TextPart, ToolPart
from palimpsest.transcript.session_record.events import Record, SessionUpdated

FIRST: tuple[Recorded, ...] = (
    BEGIN,
    user("u1", "Read a.py"),
    answer("a1", "I read it.", read_call("c1")),
)
MORE: tuple[Recorded, ...] = (
    result("c1", "x = 1"),
    answer("a2", "It sets x."),
    user("u2", "Thanks"),
)


@pytest.fixture(params=["memory", "jsonl"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore()
    (tmp_path / "project").mkdir()
    return JsonlStore(open_project_folder(tmp_path / "project"))


def outcomes(report: ImportReport) -> list[tuple[str, int]]:
    return [(session.outcome, session.messages) for session in report.sessions]


def words(store: Store, session_id: str) -> list[str]:
    return [
        part.text
        for message in store.load(session_id).messages()
        for part in message.parts
        if isinstance(part, TextPart)
    ]


def state_of(store: Store, session_id: str) -> list[tuple[str, str]]:
    return [
        (part.call_id, part.state.status)
        for message in store.load(session_id).messages()
        for part in message.parts
        if isinstance(part, ToolPart)
    ]


def test_the_same_again_adds_nothing(store: Store, tmp_path: Path) -> None:
    first = load(store, tmp_path, *FIRST, *MORE)
    before = [record.line() for record in store.read(first.sessions[0].id)]

    again = load(store, tmp_path, *FIRST, *MORE)

    assert outcomes(first) == [("new", 4)]
    assert outcomes(again) == [("same", 4)]
    assert [record.line() for record in store.read(first.sessions[0].id)] == before


def test_a_grown_recording_appends_what_is_new(store: Store, tmp_path: Path) -> None:
    [begun] = load(store, tmp_path, *FIRST).sessions
    before = [record.line() for record in store.read(begun.id)]
    assert state_of(store, begun.id) == [("c1", "error")]

    grown = load(store, tmp_path, *FIRST, *MORE)

    after = [record.line() for record in store.read(begun.id)]
    assert outcomes(grown) == [("updated", 4)]
    assert after[: len(before)] == before
    assert words(store, begun.id) == ["Read a.py", "I read it.", "It sets x.", "Thanks"]
    assert state_of(store, begun.id) == [("c1", "completed")]
    assert len(after) - len(before) == 8


def test_another_beginning_comes_as_a_copy_once(store: Store, tmp_path: Path) -> None:
    [session] = load(store, tmp_path, *FIRST).sessions
    other = (BEGIN, user("u1", "Read b.py"), *FIRST[2:])

    [copy] = load(store, tmp_path, *other).sessions
    again = load(store, tmp_path, *other)
    [grown] = load(store, tmp_path, *other, *MORE).sessions

    assert copy.id != session.id
    assert (copy.outcome, copy.title) == ("copy", "Read b.py (imported again)")
    assert [(record.id, record.outcome) for record in again.sessions] == [(copy.id, "same")]
    assert (grown.id, grown.outcome) == (copy.id, "updated")
    assert words(store, session.id) == ["Read a.py", "I read it."]


def test_a_shorter_recording_is_another_one(store: Store, tmp_path: Path) -> None:
    load(store, tmp_path, *FIRST, *MORE)

    assert outcomes(load(store, tmp_path, *FIRST)) == [("copy", 2)]


def test_a_stopped_import_is_taken_up_where_it_ended(store: Store, tmp_path: Path) -> None:
    asked: Iterator[bool] = iter([False, False, False, True])
    control = ImportControl(is_cancelled=lambda: next(asked))

    stopped = load(store, tmp_path, *FIRST, *MORE, control=control)
    [there] = stopped.sessions
    seen = words(store, there.id)
    rest = load(store, tmp_path, *FIRST, *MORE)
    whole = [record.line() for record in store.read(there.id)]
    load(store, tmp_path, *FIRST, *MORE)

    assert seen == ["Read a.py", "I read it."]
    assert [problem.what for problem in stopped.problems] == [
        "The import was stopped; importing the same again goes on from here."
    ]
    assert outcomes(rest) == [("updated", 4)]
    assert words(store, there.id) == ["Read a.py", "I read it.", "It sets x.", "Thanks"]
    assert [record.line() for record in store.read(there.id)] == whole


def test_an_import_that_was_killed_is_taken_up_from_its_last_batch(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_journal, "BATCH_BYTES", 1)

    def killed() -> bool:
        if len(seen) == 5:
            raise KeyboardInterrupt
        seen.append(None)
        return False

    seen: list[None] = []
    with pytest.raises(KeyboardInterrupt):
        load(store, tmp_path, *FIRST, *MORE, control=ImportControl(is_cancelled=killed))

    report = load(store, tmp_path, *FIRST, *MORE)

    [session] = report.sessions
    assert outcomes(report) == [("updated", 4)]
    assert words(store, session.id) == ["Read a.py", "I read it.", "It sets x.", "Thanks"]
    assert store.load(session.id).session.cost == 1.0  # type: ignore[union-attr]


def test_a_title_of_the_user_stays(store: Store, tmp_path: Path) -> None:
    [session] = load(store, tmp_path, *FIRST).sessions
    state = store.load(session.id)
    assert state.session is not None
    mine = state.session.model_copy(update={"title": "Mine"})
    writer = store.acquire(session.id, this_owner("user"))
    writer.append([Record(seq=state.seq + 1, ts=1, event=SessionUpdated(session=mine))])
    writer.close()

    load(store, tmp_path, *FIRST, *MORE)

    after = store.load(session.id).session
    assert after is not None
    assert (after.title, after.cost) == ("Mine", 1.0)


def test_a_session_that_a_kernel_has_open_is_left_alone(store: Store, tmp_path: Path) -> None:
    [session] = load(store, tmp_path, *FIRST).sessions
    writer = store.acquire(session.id, this_owner("another"))

    report = load(store, tmp_path, *FIRST, *MORE)

    writer.close()
    assert words(store, session.id) == ["Read a.py", "I read it."]
    assert [problem.what.split(",")[0] for problem in report.problems] == [
        "Session one is open in a kernel"
    ]


def test_a_value_that_no_session_can_hold_costs_only_itself(store: Store, tmp_path: Path) -> None:
    report = load(store, tmp_path, *FIRST, result("unasked", "x"), user("u1", "The same id"), *MORE)

    assert [(problem.where, problem.what) for problem in report.problems] == [
        (
            "recording.listed, result 1",
            "There is a result of the call 'unasked', but no such call.",
        ),
        (
            "recording.listed, message 3",
            "Another message has the id 'u1' too; the first one was kept.",
        ),
    ]
    assert outcomes(report) == [("new", 4)]


def test_progress_is_told_in_bytes(store: Store, tmp_path: Path) -> None:
    path = sample("pi_version_3.jsonl", tmp_path)
    size = path.stat().st_size
    progress: list[tuple[int, int]] = []
    control = ImportControl(progress=lambda done, total: progress.append((done, total)))

    REGISTRY.import_from(store, path, lambda: 1, control)

    assert progress[-1] == (size, size)
    assert progress == sorted(progress)

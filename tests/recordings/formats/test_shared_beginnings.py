"""A session that goes on in a file of its own counts only what is new in it, and says where the rest is counted."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.imported import dialogue, facts_of, messages_of, sums_of

from palimpsest.recordings.formats.built_in import REGISTRY
from palimpsest.recordings.formats.pi import PiImporter
from palimpsest.recordings.reading import sources
from palimpsest.recordings.reading.shared_beginnings import SessionBeginning
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.corpus.session_sources import SessionSource, content_hash
from palimpsest.store.exchange.import_report import ImportReport
from palimpsest.store.log.memory_store import MemoryStore

Rows = list[dict[str, Any]]
START = "2026-01-01T00:00:{:02d}.000Z"


def claude(session: str, names: str, *, after: str | None = None, second: int = 0) -> Rows:
    """Return a prompt and an answer for each name, of 110 tokens in and 5 out."""
    rows: Rows = []
    parent = after
    for number, name in enumerate(names):
        head = {"isSidechain": False, "sessionId": session, "version": "2.1.74", "cwd": "/w"}
        head["timestamp"] = START.format(second + number)
        prompt = {"role": "user", "content": f"Prompt {name}"}
        usage = {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 5}
        answer = {
            "id": f"msg_{name}", "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage,
            "content": [{"type": "text", "text": f"Answer {name}"}], "stop_reason": "end_turn",
        }  # fmt: skip
        rows += [
            {"type": "user", "uuid": f"u{name}", "parentUuid": parent, "message": prompt, **head},
            {
                "type": "assistant", "uuid": f"a{name}", "parentUuid": f"u{name}",
                "message": answer, **head,
            },
        ]  # fmt: skip
        parent = f"a{name}"
    return rows


def claude_copy(session: str, rows: Rows) -> Rows:
    return [{**row, "sessionId": session} for row in rows]


def pi(session: str, names: str, *, after: str | None = None, second: int = 0) -> Rows:
    """Return a header, then a prompt and an answer for each name, of 110 tokens in and 5 out."""
    rows: Rows = [
        {"type": "session", "version": 3, "id": session, "timestamp": START.format(0), "cwd": "/w"}
    ]
    parent = after
    for number, name in enumerate(names):
        time = START.format(second + number)
        usage = {"input": 10, "cacheRead": 100, "output": 5, "cost": {"total": 0.5}}
        answer = {
            "role": "assistant", "provider": "anthropic", "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": f"Answer {name}"}], "usage": usage,
        }  # fmt: skip
        entries = (("u", {"role": "user", "content": f"Prompt {name}"}), ("a", answer))
        for kind, message in entries:
            entry = {"type": "message", "id": f"{kind}{name}", "parentId": parent}
            rows.append({**entry, "timestamp": time, "message": message})
            parent = f"{kind}{name}"
    return rows


def pi_copy(session: str, rows: Rows) -> Rows:
    return [{**rows[0], "id": session}, *rows[1:]]


def write_file(path: Path, *rows: Rows) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for part in rows for row in part))
    return path


def made(folder: Path, kind: str) -> Path:
    """Write a session, one that goes on from its end, and one that goes on from that one's."""
    if kind == "pi":
        first = pi("one", "abc")
        second = pi_copy("two", first) + pi("two", "de", after="ac", second=20)[1:]
        third = pi_copy("three", second) + pi("three", "f", after="ae", second=40)[1:]
    else:
        first = claude("one", "abc")
        second = claude_copy("two", first) + claude("two", "de", after="ac", second=20)
        third = claude_copy("three", second) + claude("three", "f", after="ae", second=40)
    # The names do not give the order away.
    for name, rows in (("z", first), ("m", second), ("a", third)):
        write_file(folder / f"{name}.jsonl", rows)
    return folder


def imported(store: MemoryStore, path: Path) -> ImportReport:
    return REGISTRY.import_from(store, path, lambda: 1)


def requests_of(store: MemoryStore, session: str) -> list[str]:
    """Return the texts of the answers that count as requests of a session."""
    timeline = timeline_of(store, session)
    names = [request.id for request in timeline.requests]
    shown = dict(
        zip([m.id for m in messages_of(store, session)], dialogue(store, session), strict=True)
    )
    return [shown[name] for name in names]


@pytest.mark.parametrize("kind", ["claude", "pi"])
def test_each_message_counts_in_the_first_session_that_holds_it(tmp_path: Path, kind: str) -> None:
    store = MemoryStore()

    report = imported(store, made(tmp_path / "sessions", kind))

    recorded = {str(facts_of(store, session.id)["id"]): session.id for session in report.sessions}
    counted = {name: requests_of(store, session) for name, session in recorded.items()}
    assert counted == {
        "one": ["< Answer a", "< Answer b", "< Answer c"],
        "two": ["< Answer d", "< Answer e"],
        "three": ["< Answer f"],
    }
    assert sum(sums_of(store, session).input for session in recorded.values()) == 6 * 110
    assert timeline_of(store, recorded["three"]).gaps[-1] == (
        "Its first 10 messages with 5 requests are in session two too, and are counted there."
    )
    # All of it stays in the context, and turns are counted from the first one of the session's own.
    assert len(dialogue(store, recorded["three"])) == 12
    assert [request.turn for request in timeline_of(store, recorded["two"]).requests] == [1, 2]
    assert {session.title for session in report.sessions} == {"Prompt a", "Prompt d", "Prompt f"}


def test_two_files_of_one_session_are_no_fork(tmp_path: Path) -> None:
    store = MemoryStore()
    write_file(tmp_path / "a.jsonl", claude("one", "abc"))
    write_file(tmp_path / "b.jsonl", claude("one", "abcd"))

    report = imported(store, tmp_path / "b.jsonl")

    assert [sums_of(store, session.id).input for session in report.sessions] == [440]


def test_sessions_that_begin_with_the_same_id_at_another_time_are_no_fork(tmp_path: Path) -> None:
    store = MemoryStore()
    write_file(tmp_path / "a.jsonl", pi("one", "ab"))
    write_file(tmp_path / "b.jsonl", pi("two", "ab", second=9))

    report = imported(store, tmp_path)

    assert [sums_of(store, session.id).input for session in report.sessions] == [220, 220]


def test_a_branch_in_the_same_file_counts_only_its_own_requests(tmp_path: Path) -> None:
    store = MemoryStore()
    rows = pi("one", "abc") + pi("one", "xy", after="aa", second=30)[1:]
    path = write_file(tmp_path / "a.jsonl", rows)

    main, branch = imported(store, path).sessions

    assert requests_of(store, main.id) == ["< Answer a", "< Answer x", "< Answer y"]
    assert requests_of(store, branch.id) == ["< Answer b", "< Answer c"]
    assert sums_of(store, branch.id).input == 220
    assert dialogue(store, branch.id)[:2] == ["> Prompt a", "< Answer a"]


def test_a_cached_row_is_made_again_when_an_earlier_session_appears(tmp_path: Path) -> None:
    folder = made(tmp_path / "sessions", "claude")
    (folder / "z.jsonl").rename(tmp_path / "z.jsonl")
    source = SessionSource(str(folder / "m.jsonl"))
    alone = content_hash(source)

    (tmp_path / "z.jsonl").rename(folder / "z.jsonl")

    assert content_hash(source) != alone


def test_a_compaction_counts_in_the_first_session_that_holds_it(tmp_path: Path) -> None:
    store = MemoryStore()
    usage = {"input": 900, "output": 90}
    compaction = {
        "type": "compaction", "id": "k", "parentId": "ab", "timestamp": START.format(9),
        "summary": "So far", "firstKeptEntryId": "ub", "tokensBefore": 500, "usage": usage,
    }  # fmt: skip
    first = [*pi("one", "ab"), compaction, *pi("one", "c", after="k", second=10)[1:]]
    write_file(tmp_path / "a.jsonl", first)
    write_file(
        tmp_path / "b.jsonl", pi_copy("two", first), pi("two", "d", after="ac", second=20)[1:]
    )

    one, two = imported(store, tmp_path).sessions

    kinds = [
        [event.kind for event in timeline_of(store, session.id).events] for session in (one, two)
    ]
    assert kinds == [["compact"], []]
    assert sums_of(store, one.id).input - sums_of(store, two.id).input == 2 * 110 + 900
    [summarised] = {
        transition.state
        for transition in timeline_of(store, two.id).transitions
        if transition.state == "summarised"
    }
    assert summarised


def test_two_recordings_with_one_id_are_told_apart_by_their_files(tmp_path: Path) -> None:
    store = MemoryStore()
    write_file(tmp_path / "first run.jsonl", pi("one", "ab"))
    write_file(tmp_path / "second run.jsonl", pi("one", "xy", second=9))

    first, second = imported(store, tmp_path).sessions

    assert (first.title, second.title) == ("Prompt a", "Prompt x (second run.jsonl)")
    assert requests_of(store, second.id) == ["< Answer x", "< Answer y"]


def test_a_session_that_appears_beside_an_imported_one_brings_no_copy(tmp_path: Path) -> None:
    store = MemoryStore()
    folder = made(tmp_path / "sessions", "claude")
    (folder / "z.jsonl").rename(tmp_path / "z.jsonl")
    alone = imported(store, folder / "m.jsonl")

    (tmp_path / "z.jsonl").rename(folder / "z.jsonl")
    again = imported(store, folder / "m.jsonl")

    assert [session.outcome for session in again.sessions] == ["same"]
    assert [session.id for session in again.sessions] == [session.id for session in alone.sessions]


def test_a_branch_that_leaves_after_a_result_keeps_its_requests(tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "c", "name": "read", "arguments": {}}
    rows = pi("one", "abc")
    rows[2]["message"]["content"] = [call]
    result = {"role": "toolResult", "toolCallId": "c", "toolName": "read", "content": []}
    head = {"type": "message", "timestamp": START.format(3), "parentId": "aa"}
    rows.insert(3, {**head, "id": "ra", "message": result})
    for row in (rows[4], other := {**rows[4], "id": "ux"}):
        row["parentId"] = "ra"
    rows += [other, {**rows[5], "id": "ax", "parentId": "ux"}]

    store = MemoryStore()
    main, branch = imported(store, write_file(tmp_path / "a.jsonl", rows)).sessions

    assert requests_of(store, main.id) == ["<", "< Answer b"]  # the first one only calls
    assert requests_of(store, branch.id) == ["< Answer b", "< Answer c"]


def test_a_file_beside_it_that_cannot_be_read_costs_a_recording_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path / "sessions", "claude")
    read = sources.open_regular

    def refusing(path: Path, **more: Any) -> Any:
        if path.name == "z.jsonl":
            raise PermissionError(13, "Permission denied", str(path))
        return read(path, **more)

    monkeypatch.setattr(sources, "open_regular", refusing)
    store = MemoryStore()

    [session] = imported(store, folder / "m.jsonl").sessions

    assert sums_of(store, session.id).input == 5 * 110


def test_files_of_other_formats_beside_it_are_not_read_for_their_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    beginning = PiImporter.session_beginning

    def noted(self: PiImporter, path: Path) -> SessionBeginning:
        asked.append(path.name)
        return beginning(self, path)

    monkeypatch.setattr(PiImporter, "session_beginning", noted)
    write_file(tmp_path / "a.jsonl", pi("one", "ab"))
    (tmp_path / "events.jsonl").write_text('{"event": "start"}\n' * 1_000)

    imported(MemoryStore(), tmp_path / "a.jsonl")

    assert asked == ["a.jsonl"]

"""A capture and the transcript of the same session are one: each request is shown once, with what was sent."""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from tests.recordings.formats.captures import response, tap_line, user, write_lines
from tests.recordings.formats.imported import facts_of, import_file, info_of, now, sums_of
from tests.recordings.formats.sample_files import SAMPLES

from palimpsest.recordings.formats.built_in import REGISTRY
from palimpsest.recordings.import_journal.captured_answers import CapturedAnswers, answer_names
from palimpsest.recordings.reading.recorded import (
    REQUESTS_NOT_RECORDED,
    Call,
    GapRead,
    MessageRead,
    SentRead,
    SessionBegin,
    Text,
)
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.store.exchange.import_report import ImportReport
from palimpsest.store.interface import Store
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.session_record.events import MessageUpdated
from palimpsest.transcript.values import Usage

CAPTURES = SAMPLES / "captured_http"
ID = "3b0c2f7e-6a54-4f0e-9a51-0d7c7d7f1a39"
TRANSCRIPT = CAPTURES / "transcript" / f"{ID}.jsonl"
SHOWN_ELSEWHERE = "Requests of its that are shown with another recording, which has their answers:"


def folder(path: Path, *captures: str) -> Path:
    """Return a folder with the transcript of a run and captures of it."""
    shutil.copytree(CAPTURES / "transcript", path)
    for name in captures:
        shutil.copyfile(CAPTURES / name, path / name)
    return path


def bring_with(path: Path, captured: Path) -> tuple[Store, ImportReport]:
    """Import a recording that is joined with a capture."""
    store = MemoryStore()
    return store, REGISTRY.import_from(store, path, now, captured=captured)


def totals(store: Store, ids: list[str]) -> tuple[int, int]:
    """Return the requests with usage, and the tokens of their prompts."""
    made = [sums_of(store, session_id) for session_id in ids]
    return sum(one.requests for one in made), sum(one.input for one in made)


def test_in_a_folder_each_request_counts_once(tmp_path: Path) -> None:
    alone, captured = import_file(CAPTURES / "claude_code.har")
    together, report = import_file(folder(tmp_path / "both", "claude_code.har"))

    assert [facts_of(together, session.id)["from"] for session in report.sessions] == [
        "claude-code",
        "claude-code",
        "captured-http",
        "captured-http",
    ]
    assert totals(together, [session.id for session in report.sessions]) == totals(
        alone, [session.id for session in captured.sessions]
    )
    assert [problem.what for problem in report.problems] == [f"{SHOWN_ELSEWHERE} 5."]


def test_two_captures_of_one_run_and_its_transcript_count_once(tmp_path: Path) -> None:
    one, _ = import_file(folder(tmp_path / "one", "claude_code.har"))
    store, report = import_file(folder(tmp_path / "two", "claude_code.har", "claude_tap.jsonl"))

    assert len(report.sessions) == 4
    assert [problem.what for problem in report.problems] == [
        f"{SHOWN_ELSEWHERE} 5.",
        f"{SHOWN_ELSEWHERE} 7.",
    ]
    assert totals(store, [session.id for session in report.sessions]) == totals(
        one, [session.id for session in one.list()]
    )


def test_the_transcript_shows_what_was_sent_and_says_so() -> None:
    entries = json.loads((CAPTURES / "claude_code.har").read_text())["log"]["entries"]
    bodies = [json.loads(entry["request"]["postData"]["text"]) for entry in entries]
    main = [body for body in bodies if len(body["tools"]) == 25]

    with open_recording(TRANSCRIPT, captured=CAPTURES / "claude_code.har") as recording:
        review = recording[0]
        first, last = review.request(1), review.request(4)
        requests = review.timeline.requests

    assert [request.seen for request in requests] == ["captured", "captured", "rebuilt", "captured"]
    assert (first.basis, last.basis) == ("captured", "captured")
    assert first.system == "\n\n".join(block["text"] for block in main[0]["system"])
    assert last.system == "\n\n".join(block["text"] for block in main[-1]["system"])
    assert list(map(dict, first.tools)) == main[0]["tools"]
    assert requests[0].cache_marks == ("system block 2", "system block 3", "message 1, block 2")
    assert requests[3].cache_marks == ("system block 2", "system block 3", "message 6, block 1")
    assert first.note.startswith("System prompt, tools and cache marks are recorded")
    assert REQUESTS_NOT_RECORDED not in review.timeline.gaps


def test_without_a_capture_the_gap_stays() -> None:
    with open_recording(TRANSCRIPT) as recording:
        assert REQUESTS_NOT_RECORDED in recording[0].timeline.gaps
        assert recording[0].request(1).basis == "rebuilt"


def test_a_change_of_the_system_prompt_is_known_where_it_was_captured() -> None:
    with open_recording(TRANSCRIPT, captured=CAPTURES / "claude_tap.jsonl") as recording:
        requests = recording[0].timeline.requests

    changed = [after.changed_sections(before) for before, after in pairwise(requests)]
    assert changed == [(), (), ("tools", "system prompt")]


def test_a_capture_that_has_a_part_of_the_requests_says_of_how_many(tmp_path: Path) -> None:
    entries = (CAPTURES / "claude_tap.jsonl").read_text().splitlines()
    capture = tmp_path / "cut.jsonl"
    capture.write_text("\n".join(entries[:2]))
    store, report = import_file(folder(tmp_path / "both"))
    _, joined = bring_with(TRANSCRIPT, capture)

    assert report.problems == ()
    assert (
        f"Of 3 requests of session {ID!r} 1 are in the capture: of the others the system prompt, the tools and the cache "
        "marks are not known."
    ) in [problem.what for problem in joined.problems]
    assert store.list()


def test_what_is_no_capture_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no captured HTTP; give a HAR file"):
        bring_with(TRANSCRIPT, TRANSCRIPT)
    with pytest.raises(NotFound):
        bring_with(TRANSCRIPT, tmp_path / "none.har")


def test_the_note_of_an_answer_names_blobs_and_no_texts(tmp_path: Path) -> None:
    store, report = import_file(folder(tmp_path / "both", "claude_tap.jsonl"))

    notes = [
        (record.event.info.model_extra or {})["imported"].get("sent")
        for record in store.read(report.sessions[0].id)
        if isinstance(record.event, MessageUpdated) and record.event.info.role == "assistant"
    ]
    sent = [note for note in notes if note]
    assert len(sent) == 3
    assert all(set(note) == {"system", "tools", "marks"} for note in sent)
    tools = json.loads(store.get_blob(sent[0]["tools"]["sha256"]))
    assert len(tools) == 25
    assert info_of(store, report.sessions[0].id).title == "Count the files"


def test_an_answer_is_known_by_its_id_its_calls_or_its_text_with_its_usage() -> None:
    usage = Usage(input=10, output=5)
    words = MessageRead("a", "assistant", (Text("A longer answer."),), usage=usage)
    other = MessageRead("b", "assistant", (Text("A longer answer."),), usage=Usage(input=11))
    calls = MessageRead("c", "assistant", (Call("call_1", "read", {}),))

    assert answer_names(words)[0] == "answer a"
    assert answer_names(words)[1] != answer_names(other)[1]
    assert answer_names(calls) == ("answer c", "call call_1")
    assert answer_names(MessageRead("d", "assistant", (Text("Yes"),), usage=usage)) == ("answer d",)


def test_what_a_session_sends_again_is_not_written_again() -> None:
    captured = CapturedAnswers()
    sent = SentRead(("Be brief.",), "[]", ())
    captured.add_requests([(("answer a",), sent), (("answer b",), sent)])
    values = [
        SessionBegin("s", "pi"),
        GapRead(REQUESTS_NOT_RECORDED),
        MessageRead("a", "assistant"),
        MessageRead("b", "assistant"),
        SessionBegin("t", "pi"),
        GapRead(REQUESTS_NOT_RECORDED),
        MessageRead("x", "assistant"),
    ]

    joined = list(captured.joined_values(values, lambda *_: None))

    assert joined == [
        SessionBegin("s", "pi"),
        MessageRead("a", "assistant", captured_request=sent),
        MessageRead("b", "assistant", captured_request=SentRead()),
        SessionBegin("t", "pi"),
        GapRead(REQUESTS_NOT_RECORDED),
        MessageRead("x", "assistant"),
    ]
    assert captured.joined_answers == {"answer a", "answer b"}


def test_a_capture_of_another_session_joins_nothing(tmp_path: Path) -> None:
    other = write_lines(
        tmp_path / "other.jsonl", tap_line(1, [user("One?")], response(900, "Nothing to do."))
    )
    store, report = bring_with(TRANSCRIPT, other)

    assert [facts_of(store, session.id)["from"] for session in report.sessions] == [
        "claude-code",
        "claude-code",
        "captured-http",
    ]
    assert report.problems == ()

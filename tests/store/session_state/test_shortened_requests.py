"""A request is stored compactly in the log, and complete when it is read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.store.record_builders import MODEL, OTHER, OWNER, SESSION, records, session, user

from palimpsest.store.interface import TakenOver
from palimpsest.store.log.follower import Follower
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.session_state.state import apply_records
from palimpsest.store.session_state.step_requests import (
    MAX_BASE_USES,
    SHORTENED_MARK,
    expand_request,
    shorten_request,
)
from palimpsest.transcript.context_values.decisions import ContextItem, Facts, StepRequest
from palimpsest.transcript.session_record.events import (
    Checkpoint,
    Event,
    Record,
    SessionCreated,
    StepRequested,
)
from palimpsest.transcript.values import BlobRef, ModelInfo

INFO = ModelInfo(ref=MODEL, window=200_000, output_limit=8_000, caching=True)
POLICY, TOOLS = (BlobRef(sha256=digit * 64, bytes=9, mime="application/json") for digit in "12")


def item(number: int, *, role: str = "assistant", message: str | None = None) -> ContextItem:
    return ContextItem(
        role=role,
        message_id=message or f"msg_{number}",
        part_ids=(f"prt_{number}",),
        sha256=f"{number:064x}",
        tokens=number,
    )


def request(number: int, **more: Any) -> StepRequested:
    fields: dict[str, Any] = {
        "id": f"req_{number}",
        "message_id": f"msg_{number}",
        "model": INFO,
        "parameters": {"max_tokens": 8_000},
        "policy_blob": POLICY,
        "projection": 2,
        "facts": Facts(
            now=number, estimator="chars/4", window=200_000, reserve=8_000, used_tokens=number
        ),
        "system": POLICY,
        "tools": TOOLS,
        "same": number,
        "items": (item(number, message="msg_9"), item(number + 1, role="tool", message="msg_9")),
        "marks": (0, 1, number, number + 1),
        "sha256": f"{number:064x}",
        "tokens": number,
        "kinds": {"user": number},
    }
    return StepRequested(request=StepRequest(**(fields | more)))


def asked(*events: Event) -> list[Record]:
    return records([SessionCreated(session=session()), *events])


@pytest.fixture
def store(tmp_path: Path) -> JsonlStore:
    return JsonlStore(open_project_folder(tmp_path))


def write(store: JsonlStore, written: list[Record]) -> None:
    writer = store.acquire(SESSION, OWNER, create=True)
    writer.append(written, sync=True)
    writer.close()


def lines(store: JsonlStore, session_id: str = SESSION) -> Iterator[bytes]:
    for log in sorted(store.layout.session(session_id).glob("log-*.jsonl")):
        yield from (line for line in log.read_bytes().splitlines() if b"step.requested" in line)


MANY = asked(*(request(number) for number in range(2, 8)))


def test_all_but_the_first_are_short(store: JsonlStore) -> None:
    write(store, MANY)

    first, *others = lines(store)
    assert SHORTENED_MARK not in first
    assert all(SHORTENED_MARK in line and len(line) < len(first) / 2 for line in others)


def test_who_reads_is_given_whole_requests_from_anywhere(store: JsonlStore) -> None:
    write(store, MANY)

    assert list(store.read(SESSION)) == MANY
    assert list(store.read(SESSION, after=5)) == MANY[5:]
    assert list(store.read(SESSION, after=3, only=("step.requested",))) == MANY[3:]
    assert list(store.stream(SESSION)) == MANY[::-1]
    assert list(Follower(store, SESSION, after=4).new_records()) == MANY[4:]
    assert store.problems(SESSION) == []


def test_the_fold_knows_the_newest_request_and_all_its_items(store: JsonlStore) -> None:
    write(store, MANY)
    state = apply_records(MANY)

    for opened in (store.load(SESSION), store.open_live(SESSION)):
        assert opened.request == state.request
        assert opened.request_items == state.request_items


def test_after_a_checkpoint_one_is_whole_so_that_the_window_needs_nothing_before(
    store: JsonlStore,
) -> None:
    state = apply_records(MANY)
    place = {"window_seq": 2, "window_segment": "log-00001.jsonl", "window_offset": 0}
    written = [
        *MANY,
        Record(seq=8, ts=1, event=Checkpoint(state=state.summary(), **place)),
        Record(seq=9, ts=1, event=request(8)),
        Record(seq=10, ts=1, event=request(9)),
    ]
    write(store, written)

    *_, whole, short = lines(store)
    assert SHORTENED_MARK not in whole
    assert SHORTENED_MARK in short
    assert store.open_live(SESSION).request == apply_records(written).request
    assert store.open_live(SESSION).request_items == apply_records(written).request_items


def test_a_fork_reads_what_its_parent_wrote_short(store: JsonlStore) -> None:
    write(store, MANY)
    forked = store.fork(SESSION, session("ses_b"), seq=5)

    read = list(store.read(forked.id))
    assert read[:5] == MANY[:5]
    assert store.load(forked.id).request_items == apply_records(MANY[:5]).request_items


def test_what_a_writer_wrote_too_late_goes_whole_into_the_fork(store: JsonlStore) -> None:
    late = store.acquire(SESSION, OWNER, create=True)
    late.append(MANY[:4], sync=True)
    other = store.acquire(SESSION, OTHER, steal=True)
    with pytest.raises(TakenOver) as refused:
        late.append(MANY[4:])
    other.close()

    kept = [record.event for record in store.read(refused.value.fork.id)]
    assert [event for event in kept if isinstance(event, StepRequested)] == [
        record.event for record in MANY if isinstance(record.event, StepRequested)
    ]
    refused.value.writer.close()


def test_a_request_with_other_tools_says_only_these(store: JsonlStore) -> None:
    other = BlobRef(sha256="3" * 64, bytes=7)
    written = asked(request(2), request(3, tools=other, purpose="compaction"), request(4))
    write(store, written)

    _, summary, step = lines(store)
    assert json.loads(summary)["request"]["tools"]["sha256"] == other.sha256
    assert "tools" not in json.loads(step)["request"]
    assert list(store.read(SESSION)) == written


def test_one_damaged_line_costs_no_more_than_so_many(store: JsonlStore) -> None:
    written = asked(*(request(number) for number in range(2, MAX_BASE_USES + 10)))
    write(store, written)
    (log,) = store.layout.session(SESSION).glob("log-*.jsonl")
    log.write_bytes(log.read_bytes().replace(b'"id":"req_2","', b'"id":req_2","', 1))

    left = [record for record in store.read(SESSION) if isinstance(record.event, StepRequested)]
    assert left == written[MAX_BASE_USES + 2 :]
    assert "is like request 2, which cannot be read" in store.problems(SESSION)[1].what
    assert store.load(SESSION).request == apply_records(written).request


def test_a_talk_between_requests_stays_as_it_is(store: JsonlStore) -> None:
    written = asked(request(2), user("msg_1"), request(3))
    write(store, written)

    assert list(store.read(SESSION)) == written


MARKS = st.lists(st.integers(0, 12), max_size=4, unique=True).map(sorted).map(tuple)
ITEMS = st.lists(
    st.builds(
        ContextItem,
        role=st.sampled_from(["system", "user", "assistant", "tool", "s", "odd"]),
        message_id=st.sampled_from([None, "msg_1", "msg_2", ""]),
        part_ids=st.lists(st.sampled_from(["prt_1", "prt_2", ""]), max_size=2).map(tuple),
        sha256=st.sampled_from(["ab" * 32, "AB" * 32, "A" * 43, "a" * 43, "short", "", "é" * 64]),
        tokens=st.integers(0, 9),
    ),
    max_size=3,
).map(tuple)
FACTS = st.builds(
    Facts,
    now=st.just(1),
    estimator=st.sampled_from(["chars/4", "other"]),
    window=st.sampled_from([8, 9]),
    reserve=st.just(1),
    cache_age_seconds=st.sampled_from([None, 0.0, 1.5]),
    used_tokens=st.sampled_from([None, 5, 6]),
)
REQUESTS = st.builds(
    request,
    st.integers(1, 9),
    items=ITEMS,
    marks=MARKS,
    facts=FACTS,
    same=st.integers(0, 12),
    tokens=st.sampled_from([5, 6]),
    kinds=st.sampled_from([{}, {"user": 5}, {"user": 2, "tools": 3}]),
    parameters=st.sampled_from([{}, {"max_tokens": 1}]),
    policy_blob=st.sampled_from([None, POLICY]),
    message_id=st.sampled_from([None, "msg_1"]),
    sha256=st.sampled_from(["cd" * 32, "x"]),
)


@given(base=REQUESTS, then=REQUESTS)
def test_whatever_is_written_short_is_read_back_exactly(
    base: StepRequested, then: StepRequested
) -> None:
    earlier, other = (
        event.request.model_dump(mode="json", exclude_none=True) for event in (base, then)
    )

    short = shorten_request(other, earlier, 7)

    if short is not None:
        assert expand_request(json.loads(json.dumps(short)), earlier) == other
        assert StepRequest.model_validate(expand_request(short, earlier)) == then.request

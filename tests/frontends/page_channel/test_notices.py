"""The notices about a session, in bounded pieces, add up to the session's log."""

import time
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.builders import SESSION, Builder

from palimpsest.frontends.operation_text.session_head import head_of
from palimpsest.frontends.page_channel.notices import (
    MAX_NOTICE_CHARS,
    records_since,
    session_states,
)
from palimpsest.session.engine import Snapshot
from palimpsest.store.session_state.state import State, apply_records
from palimpsest.transcript.messages import Message
from palimpsest.transcript.session_record.events import MessageUpdated, PartUpdated, Record

SIZES = (100_000, 1_000_000, 10_000_000)


def log(characters: int) -> list[Record]:
    """Return the records of a session with about this many characters."""
    build, records = Builder(), list[Record]()
    for number in range(20):
        asked = build.user(f"Look at {number}.")
        answer = build.assistant(build.ran("python", "x" * (characters // 20)), "There.", to=asked)
        for message in (asked, answer):
            events: list[Any] = [MessageUpdated(info=message.info)]
            events += [PartUpdated(part=part) for part in message.parts]
            for event in events:
                records.append(Record(seq=len(records) + 1, ts=1, event=event))
    return records


@dataclass
class FakeSession:
    """The parts of a session that the notices read."""

    records: list[Record]
    id: str = SESSION
    read_only: bool = False
    stepping: bool = False
    held: tuple[()] = ()
    opening_notice: str = ""
    density: str = "quiet"
    state: State = field(init=False)

    def __post_init__(self) -> None:
        self.state = apply_records(self.records)

    def snapshot(self, *, messages: bool = True) -> Snapshot:
        return Snapshot.of_state(self.state, messages=messages)

    def decisions(self) -> tuple[()]:
        return ()

    def records_after(self, seq: int) -> list[Record]:
        return [record for record in self.records if record.seq > seq]


@pytest.mark.parametrize("characters", SIZES)
def test_numbered_pieces_hold_each_message_once(characters: int) -> None:
    session: Any = FakeSession(log(characters))

    told = list(session_states(session, "again"))

    assert [notice.piece for notice in told] == list(range(len(told)))
    assert {notice.pieces for notice in told} == {len(told)}
    assert [notice.last for notice in told] == [*[False] * (len(told) - 1), True]
    sent: list[Message] = [message for notice in told for message in notice.messages]
    assert tuple(sent) == session.state.messages()
    assert len(told) > characters // (2 * MAX_NOTICE_CHARS)


@pytest.mark.parametrize("characters", SIZES)
def test_each_batch_of_records_says_what_it_follows(characters: int) -> None:
    session: Any = FakeSession(log(characters))

    told = list(records_since(session, 30, "again"))

    numbers = [[record["seq"] for record in notice.records] for notice in told]
    assert [seq for batch in numbers for seq in batch] == [
        record.seq for record in session.records[30:]
    ]
    assert [notice.after for notice in told] == [30, *(batch[-1] for batch in numbers[:-1])]


def test_an_answer_without_records_says_what_it_follows() -> None:
    session: Any = FakeSession(log(1000))

    [told] = records_since(session, len(session.records), "again")

    assert (told.records, told.after, told.last) == ((), len(session.records), True)


def test_each_head_of_any_session_says_that_it_is_newer_than_those_before() -> None:
    one: Any = FakeSession(log(1_000))
    other: Any = FakeSession(log(1_000), id="ses_other")
    # The heads of a kernel before this one end here, which may be forked from a process that imported us before that.
    before = time.time_ns() // 1_000

    orders = [
        head_of(one).order,
        next(session_states(one, "again")).head.order,
        head_of(other).order,
    ]

    assert orders == sorted(set(orders))
    assert before <= orders[0]

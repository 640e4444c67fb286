"""Folding a journal gives the same state from typed records or lines, at once or incrementally."""

import itertools
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.store.record_builders import (
    MODEL,
    assistant,
    records,
    restored_state,
    session,
    text,
    tool,
    user,
    whole_state,
)

from palimpsest.session.engine import Snapshot
from palimpsest.store.session_state.interrupted_work import close_interrupted
from palimpsest.store.session_state.state import State, apply_records
from palimpsest.transcript.context_values.decisions import ContextItem, Decision, Facts, StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import AbortedError
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import (
    Span,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
)
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    Event,
    MessageUpdated,
    PartDelta,
    PermissionAsked,
    PermissionReplied,
    PromptAdmitted,
    PromptDelivered,
    QuestionAsked,
    QuestionReplied,
    Record,
    SessionCreated,
    SessionDiff,
    SessionStatus,
    SessionUpdated,
    StepRequested,
    TodoUpdated,
    parse_record,
)
from palimpsest.transcript.session_record.sessions import Busy, ForkedFrom, Idle
from palimpsest.transcript.values import Ask, BlobRef, ModelInfo, Reply, Todo

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures" / "fold").glob("*.json"))
ASK = Ask(id="per_1", permission="bash", patterns=("ls",), title="ls", input={"command": "ls"})
BLOB = BlobRef(sha256="0" * 64, bytes=1)


def item(name: str) -> ContextItem:
    return ContextItem(role="user", sha256=name)


def request(name: str, same: int, *items: str) -> StepRequested:
    return StepRequested(
        request=StepRequest(
            id=name,
            model=ModelInfo(ref=MODEL, window=1, output_limit=1),
            policy=Policy(),
            projection=1,
            facts=Facts(now=0, estimator="chars/4", window=1, reserve=0),
            system=BLOB,
            tools=BLOB,
            same=same,
            items=tuple(item(each) for each in items),
            sha256="",
        )
    )


def by_lines(events: list[Record]) -> State:
    state = State()
    for record in events:
        state.apply_line(record.line().encode())
    return state


EVERYTHING: list[Event] = [
    SessionCreated(session=session()),
    user("msg_1"),
    text("prt_1", "msg_1", "Hello"),
    SessionStatus(status=Busy()),
    PromptAdmitted(prompt_id="pmt_1", text="next", delivery="queue"),
    PromptAdmitted(prompt_id="pmt_2", text="now", delivery="steer"),
    PromptDelivered(prompt_id="pmt_2", message_id="msg_1"),
    assistant("msg_2"),
    request("req_1", 0, "a", "b"),
    text("prt_2", "msg_2", time=Span(start=1)),
    PartDelta(message_id="msg_2", part_id="prt_2", field="text", delta="Hi "),
    PartDelta(message_id="msg_2", part_id="prt_2", field="text", delta="there"),
    tool("prt_3", "msg_2", ToolPending()),
    PartDelta(message_id="msg_2", part_id="prt_3", field="state.raw", delta='{"a'),
    tool("prt_3", "msg_2", ToolRunning(input={"a": None}, title="t", time=Span(start=1))),
    PartDelta(message_id="msg_2", part_id="prt_3", field="state.metadata.output", delta="1\n"),
    PermissionAsked(ask=ASK),
    QuestionAsked(question_id="que_1", questions=({"q": 1},)),
    QuestionAsked(question_id="que_2", questions=()),
    QuestionReplied(question_id="que_2", answers=()),
    TodoUpdated(todos=(Todo(content="count"),)),
    SessionDiff(diff=({"file": "a.py"},)),
    DecisionMade(decision=Decision(id="dec_1", action="truncate", rule="truncate")),
    request("req_2", 2, "c"),
    SessionUpdated(session=session(title="Later")),
]


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_folds_the_shared_fixtures(path: Path) -> None:
    fixture = json.loads(path.read_text(encoding="utf-8"))
    state, compact = State(), State()
    for record in fixture["records"]:
        state.apply_line(json.dumps(record).encode())
        compact.apply_line(json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode())
    typed = State()
    for record in fixture["records"]:
        try:
            typed.apply(parse_record(record))
        except ValidationError:
            continue

    for each in (state, compact, typed):
        assert [plain(message) for message in each.messages()] == fixture["messages"]
        assert each.unreadable_records == []


def plain(value: Any) -> Any:
    return value.model_dump(mode="json", exclude_none=True)


def test_typed_records_and_lines_fold_to_the_same_state() -> None:
    written = records(EVERYTHING)

    assert whole_state(by_lines(written)) == whole_state(apply_records(written))


def test_knows_everything_that_is_open() -> None:
    state = apply_records(records(EVERYTHING))

    assert state.session == session(title="Later")
    assert state.status == Busy()
    assert list(state.inbox) == ["pmt_1"]
    assert state.asks_by_id == {"per_1": ASK}
    assert list(state.questions) == ["que_1"]
    assert state.todos == (Todo(content="count"),)
    assert [decision.id for decision in state.decisions] == ["dec_1"]
    assert state.diff == ({"file": "a.py"},)
    assert state.seq == len(EVERYTHING)


def test_the_number_of_a_torn_line_is_not_taken() -> None:
    state = apply_records(records([user("msg_1")]))
    line = records([text("prt_1", "msg_1", "whole")], first=2)[0].line().encode()
    state.apply_line(line[:70] + b" ")
    state.apply_line(line)

    assert state.part("msg_1", "prt_1") is not None
    assert len(state.unreadable_records) == 1


@pytest.mark.parametrize("read", [apply_records, by_lines])
def test_unfolds_the_items_of_the_newest_request(read: Any) -> None:
    chain = records(
        [
            request("req_1", 0, "a", "b", "c", "d"),
            request("req_2", 3, "e", "f"),
            request("req_3", 4, "g"),
            request("req_4", 2, "h"),
        ]
    )

    assert [each.sha256 for each in read(chain[:3]).request_items] == ["a", "b", "c", "e", "g"]
    state = read(chain)
    assert [each.sha256 for each in state.request_items] == ["a", "b", "h"]
    assert state.request is not None
    assert state.request.id == "req_4"
    state.apply(Record(seq=5, ts=1, event=request("req_5", 3, "i")))
    assert [each.sha256 for each in state.request_items] == ["a", "b", "h", "i"]


def test_a_summary_restores_all_but_the_messages() -> None:
    state = apply_records(records(EVERYTHING))
    summary = json.loads(json.dumps(state.summary()))

    restored = restored_state(summary)
    assert restored.summary() == state.summary()
    assert restored.request_items == state.request_items
    assert restored.asks_by_id == state.asks_by_id
    assert restored.messages() == ()


def test_messages_are_built_again_only_when_they_changed() -> None:
    state = apply_records(records(EVERYTHING))
    before = state.messages()
    delta = PartDelta(message_id="msg_2", part_id="prt_2", field="text", delta="!")

    assert state.messages() is before
    state.apply(Record(seq=100, ts=1, event=delta))
    after = state.messages()
    assert after[0] is before[0]
    assert after[1] != before[1]
    assert before[1].parts[0].text == "Hi there"  # type: ignore[union-attr]


def test_a_snapshot_does_not_change_with_the_state() -> None:
    state = apply_records(records(EVERYTHING))
    snapshot = Snapshot.of_state(state)
    reply = PermissionReplied(ask_id="per_1", reply=Reply(answer="once"))
    state.apply(Record(seq=100, ts=1, event=reply))

    assert [ask.id for ask in snapshot.asks] == ["per_1"]
    assert state.asks_by_id == {}


def test_a_fork_does_not_inherit_what_waits_in_its_parent() -> None:
    state = apply_records(records(EVERYTHING))
    place = ForkedFrom(session_id="ses_a", seq=25, segment="log-1.jsonl", offset=1)
    fork = session("ses_f").model_copy(update={"forked_from": place})
    state.apply(Record(seq=26, ts=1, event=SessionCreated(session=fork)))

    assert (state.asks_by_id, state.questions, state.inbox) == ({}, {}, {})
    assert state.status == Idle()
    assert state.session == fork
    assert len(state.messages()) == 2
    assert state.todos == (Todo(content="count"),)


@pytest.mark.slow
def test_streaming_a_long_answer_is_not_quadratic() -> None:
    def seconds(count: int) -> float:
        state = apply_records(records([assistant("msg_1"), text("prt_1", "msg_1")]))
        delta = PartDelta(message_id="msg_1", part_id="prt_1", field="text", delta="x" * 200)
        deltas = [Record(seq=3 + n, ts=1, event=delta) for n in range(count)]
        begun = time.process_time()
        for record in deltas:
            state.apply(record)
        part = state.part("msg_1", "prt_1")
        assert isinstance(part, TextPart)
        assert len(part.text) == 200 * count
        return time.process_time() - begun

    # The text is 16 times longer: a quadratic fold would take 256 times as long.
    assert min(seconds(32_000) for _ in range(3)) < 64 * min(seconds(2_000) for _ in range(3))


def test_closes_what_a_dead_writer_left_open() -> None:
    state = apply_records(records(EVERYTHING))
    events = close_interrupted(state, now_ms=99)
    for seq, event in enumerate(events, state.seq + 1):
        state.apply(Record(seq=seq, ts=99, event=event))

    message = state.messages()[1]
    assert isinstance(message.info, AssistantMessage)
    assert isinstance(message.info.error, AbortedError)
    assert message.info.time.completed == 99
    assert message.info.stopped_by == "interrupted"
    words, call = message.parts
    assert isinstance(words, TextPart)
    assert (words.text, words.time) == ("Hi there", Span(start=1, end=99))
    assert isinstance(call, ToolPart)
    assert call.state == ToolFailed(
        input={"a": None},
        error="Tool execution aborted",
        metadata={"output": "1\n", "interrupted": True},
        time=Span(start=1, end=99),
    )
    assert (state.asks_by_id, state.questions, state.status) == ({}, {}, Idle())
    assert list(state.inbox) == ["pmt_1"]
    replies = [event.reply for event in events if isinstance(event, PermissionReplied)]
    assert replies == [Reply(answer="reject", by="restart")]
    assert close_interrupted(state, now_ms=100) == []


def test_a_call_that_was_still_being_written_keeps_its_half() -> None:
    state = apply_records(
        records([assistant("msg_1"), tool("prt_1", "msg_1", ToolPending(raw='{"a'))])
    )
    for seq, event in enumerate(close_interrupted(state, now_ms=5), 3):
        state.apply(Record(seq=seq, ts=5, event=event))

    part = state.part("msg_1", "prt_1")
    assert isinstance(part, ToolPart)
    assert isinstance(part.state, ToolFailed)
    assert part.state.metadata == {"raw": '{"a', "interrupted": True}


def test_a_turn_that_died_between_two_steps_is_said_to_be_interrupted() -> None:
    events = [SessionStatus(status=Busy()), user("msg_1"), assistant("msg_2", completed=3)]
    between = events[2].info.model_copy(update={"finish": "tool-calls"})
    state = apply_records(records([*events[:2], MessageUpdated(info=between)]))

    closing = close_interrupted(state, now_ms=9)

    ended = between.model_copy(update={"stopped_by": "interrupted"})
    assert closing == [MessageUpdated(info=ended), SessionStatus(status=Idle())]


def test_a_session_that_ended_well_has_nothing_to_close() -> None:
    done = ToolCompleted(input={}, output="2", time=Span(start=1, end=2))
    events = [user("msg_1"), assistant("msg_2", completed=3), tool("prt_1", "msg_2", done)]

    assert close_interrupted(apply_records(records(events)), now_ms=9) == []


FIELDS = st.sampled_from(["text", "state.raw", "state.metadata.output", "nowhere.x", "state"])
STATES = [
    ToolPending(),
    ToolRunning(input={}, time=Span(start=1)),
    ToolCompleted(input={}, output="o", time=Span(start=1, end=2)),
]


@st.composite
def events(draw: st.DrawFn) -> Event:
    message_id = draw(st.sampled_from(["msg_1", "msg_2", "msg_3"]))
    part_id = draw(st.sampled_from(["prt_1", "prt_2"]))
    words = draw(st.text(max_size=8))
    made: list[Event] = [
        user(message_id),
        assistant(message_id, completed=draw(st.sampled_from([None, 3]))),
        text(part_id, message_id, words),
        tool(part_id, message_id, draw(st.sampled_from(STATES))),
        PartDelta(message_id=message_id, part_id=part_id, field=draw(FIELDS), delta=words),
        PartDelta(message_id=message_id, part_id=part_id, field=draw(FIELDS), delta=words),
        PartDelta(message_id=message_id, part_id=part_id, field="text", delta=words),
        draw(st.sampled_from(EVERYTHING)),
    ]
    return draw(st.sampled_from(made))


@settings(deadline=None)
@given(st.lists(events(), max_size=30), st.data())
def test_lines_and_records_agree_wherever_the_reading_stops(
    script: list[Event], data: st.DataObject
) -> None:
    written = records(script)
    stop = data.draw(st.integers(0, len(written)))
    lines, typed = State(), State()
    for number, record in enumerate(written):
        lines.apply_line(record.line().encode())
        typed.apply(record)
        if number == stop:
            assert lines.messages() == typed.messages()

    assert whole_state(lines) == whole_state(typed)


@settings(deadline=None)
@given(st.lists(events(), max_size=30))
def test_typed_deltas_after_lines_agree_too(script: list[Event]) -> None:
    written = records(script)
    mixed = State()
    for record in written:
        if record.seq % 2:
            mixed.apply_line(record.line().encode())
        else:
            mixed.apply(record)

    assert whole_state(mixed) == whole_state(apply_records(written))


@settings(deadline=None)
@given(st.text(min_size=1, max_size=60), st.lists(st.integers(0, 60)), st.sampled_from(STATES))
def test_how_words_are_split_into_deltas_does_not_matter(
    words: str, cuts: list[int], state: Any
) -> None:
    places = sorted({0, len(words), *(cut for cut in cuts if cut < len(words))})
    pieces = [words[a:b] for a, b in itertools.pairwise(places)]
    start: list[Event] = [assistant("msg_1"), text("prt_1", "msg_1"), tool("prt_2", "msg_1", state)]
    for part_id, field in (("prt_1", "text"), ("prt_2", "state.raw")):
        deltas = [
            PartDelta(message_id="msg_1", part_id=part_id, field=field, delta=piece)
            for piece in pieces
        ]
        whole = PartDelta(message_id="msg_1", part_id=part_id, field=field, delta=words)
        split = apply_records(records([*start, *deltas])).messages()

        assert split == apply_records(records([*start, whole])).messages()
        assert by_lines(records([*start, *deltas])).messages() == split


def test_an_older_answer_is_none_to_what_a_call_of_the_same_id_asks() -> None:
    asked = ASK.model_copy(update={"call_id": "call_1"})
    state = State()
    state.apply(Record(seq=1, ts=1, event=PermissionAsked(ask=asked)))
    state.apply(
        Record(seq=2, ts=2, event=PermissionReplied(ask_id="per_1", reply=Reply(answer="once")))
    )
    assert list(state.replies) == ["call_1"]

    again = asked.model_copy(update={"id": "per_2"})
    state.apply(Record(seq=3, ts=3, event=PermissionAsked(ask=again)))

    assert state.replies == {}

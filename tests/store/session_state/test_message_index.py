"""A window that is opened with the index of its lines is what the same lines say, and reads only what is asked for."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.record_builders import assistant, records, text, tool, user, whole_state
from tests.store.session_state.test_state import STATES, events

from palimpsest.store.log_lines import head_of
from palimpsest.store.session_state.interrupted_work import close_interrupted, code_at_the_end
from palimpsest.store.session_state.live_window import live_window
from palimpsest.store.session_state.message_facts import message_index
from palimpsest.store.session_state.message_index import INDEXED_PART_TYPES, MessageIndex
from palimpsest.store.session_state.state import State, apply_records
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import (
    CompactionPart,
    NotebookPart,
    Span,
    SubtaskPart,
    ToolCompleted,
)
from palimpsest.transcript.session_record.events import (
    Event,
    MessageRemoved,
    MessageUpdated,
    PartUpdated,
    SessionCompacted,
    TodoUpdated,
)
from palimpsest.transcript.session_record.sessions import recorded_spending
from palimpsest.transcript.values import Usage

NAMES = [f"msg_{number}" for number in range(1, 7)]


@st.composite
def message(draw: st.DrawFn, name: str) -> list[Event]:
    """Draw the events of one message: its info, and parts in any state."""
    answer = assistant(name, completed=draw(st.sampled_from([None, 3, 3, 3]))).info
    cost = draw(st.sampled_from([None, 0.1, 0.7, -1.0]))
    paid = answer.model_copy(update={"cost": cost, "tokens": Usage(input=draw(st.integers(0, 9)))})
    base = {"id": f"{name}_x", "session_id": answer.session_id, "message_id": name}
    return [
        draw(st.sampled_from([user(name), MessageUpdated(info=paid)])),
        *draw(
            st.lists(
                st.sampled_from(
                    [
                        text("prt_1", name, "Words."),
                        text("prt_1", name, "More.", time=Span(start=1)),
                        tool("prt_2", name, STATES[1]),
                        tool("prt_2", name, STATES[2]),
                        tool(
                            "prt_3",
                            name,
                            ToolCompleted(
                                input={},
                                output="o",
                                metadata={"left_running": ["a thread"]},
                                time=Span(start=1, end=2),
                            ),
                        ),
                        PartUpdated(part=CompactionPart(**base, auto=True)),
                        PartUpdated(part=NotebookPart(**base, text="[1]", about="runs")),
                        PartUpdated(
                            part=SubtaskPart(**base, prompt="Go.", description="d", agent="a")
                        ),
                        TodoUpdated(todos=()),
                    ]
                ),
                max_size=5,
            )
        ),
    ]


@st.composite
def scripts(draw: st.DrawFn) -> list[Event]:
    """Draw the events of some messages, most of them one after another, as an import writes them."""
    groups = [draw(message(name)) for name in NAMES[: draw(st.integers(1, 6))]]
    script = [event for group in groups for event in group]
    for _ in range(draw(st.integers(0, 2))):
        late = draw(st.sampled_from(groups))
        script.append(draw(st.sampled_from(late)))
    return script


later = st.lists(
    st.one_of(
        events(),
        st.sampled_from(NAMES).map(lambda name: MessageRemoved(message_id=name)),
        st.sampled_from(NAMES).map(lambda name: SessionCompacted(message_id=name)),
        st.sampled_from(NAMES).flatmap(lambda name: message(name).map(lambda found: found[-1])),
    ),
    max_size=8,
)


def lines_of(script: Sequence[Event]) -> list[bytes]:
    return [record.line().encode() for record in records(script)]


def index_of(script: Sequence[Event], content: bytes) -> MessageIndex | None:
    messages = apply_records(records(script)).messages()
    return message_index(content.split(b"\n"), 1, messages, min_count=1)


def opened(lines: Sequence[bytes], index: MessageIndex | None) -> State:
    """Return the state of a window's lines as ``live_state`` builds it."""
    state, at = State(), 0
    content = b"".join(line + b"\n" for line in lines)
    if index is not None:
        assert state.open_with(index, content[: index.size], 1)
        at = content[: index.size].count(b"\n")
    for line in lines[at:]:
        head = head_of(line)
        assert head is not None
        state.apply_window_line(line, head)
    state.seq = len(lines)
    return state


@settings(deadline=None)
@given(scripts(), later, st.data())
def test_an_indexed_window_says_what_its_lines_say(
    script: list[Event], after: list[Event], data: st.DataObject
) -> None:
    lines = lines_of([*script, *after])
    before, rest = lines[: len(script)], lines[len(script) :]
    index = index_of(script, b"".join(line + b"\n" for line in before))
    plain, indexed = opened(before, None), opened(before, index)
    for at, line in enumerate(rest):
        if data.draw(st.booleans(), label=f"something is read before {at}"):
            name = data.draw(st.sampled_from(NAMES))
            assert indexed.message(name) == plain.message(name)
        plain.apply_line(line)
        indexed.apply_line(line)

    assert [slot.id for slot in indexed.message_slots()] == [
        slot.id for slot in plain.message_slots()
    ]
    assert close_interrupted(indexed, 9) == close_interrupted(plain, 9)
    assert code_at_the_end(indexed) == code_at_the_end(plain)
    assert spent(indexed) == spent(plain)
    for kind in INDEXED_PART_TYPES:
        assert (
            indexed.messages_with_part(kind)
            == plain.messages_with_part(kind)
            == searched(plain, kind)
        )
    assert live_window(indexed).seq == live_window(plain).seq
    assert indexed.newest_message() == (plain.messages() or (None,))[-1]
    name = data.draw(st.sampled_from(["", *NAMES]))
    assert indexed.page(2, name) == page_of(plain.messages(), 2, name)
    assert whole_state(indexed) == whole_state(plain)


def spent(state: State) -> object:
    counted, infos = state.reported_spending()
    return recorded_spending(infos, counted)


def searched(state: State, kind: str) -> Messages:
    """Return what the search over all messages finds, which the fold keeps as it goes."""
    return tuple(
        message for message in state.messages() if any(part.type == kind for part in message.parts)
    )


def page_of(messages: Messages, count: int, before: str) -> Messages:
    names = [message.id for message in messages]
    if before and before not in names:
        return ()
    end = names.index(before) if before else len(names)
    return messages[max(0, end - count) : end]


@settings(deadline=None)
@given(scripts(), st.data())
def test_an_index_of_other_bytes_is_not_used(script: list[Event], data: st.DataObject) -> None:
    content = b"".join(line + b"\n" for line in lines_of(script))
    index = index_of(script, content)
    if index is None:
        return
    at = data.draw(st.integers(0, index.size - 1))
    changed = bytearray(content[: index.size])
    changed[at] ^= data.draw(st.integers(1, 255))

    assert not State().open_with(index, bytes(changed), 1)
    assert not State().open_with(index, content[: index.size - 1], 1)
    assert State().open_with(index, content[: index.size], 1)


@settings(deadline=None)
@given(scripts(), st.sampled_from(INDEXED_PART_TYPES))
def test_a_type_that_an_older_version_did_not_seek_is_looked_for(
    script: list[Event], kind: str
) -> None:
    lines = lines_of(script)
    index = index_of(script, b"".join(line + b"\n" for line in lines))
    if index is None:
        return
    older = {name: ids for name, ids in index.holders.items() if name != kind}
    state = opened(lines, index.model_copy(update={"holders": older}))

    assert state.messages_with_part(kind) == searched(opened(lines, None), kind)


def test_only_the_messages_that_are_asked_for_are_read() -> None:
    script = [event for name in NAMES for event in (user(name), text(f"prt_{name}", name, "Why?"))]
    lines = lines_of(script)
    lines[1] = lines[1].replace(b'"text":"Why?"', b'"text":    77')
    content = b"".join(line + b"\n" for line in lines)
    messages = apply_records(records(script)).messages()
    index = message_index(content.split(b"\n"), 1, messages, min_count=1)
    state = opened(lines, index)

    assert [message.id for message in state.page(2) or ()] == NAMES[-2:]
    assert close_interrupted(state, 1) == []
    assert state.unreadable_records == []  # the line of the first message was not looked at
    assert len(state.messages()) == len(NAMES)
    assert len(state.unreadable_records) == 1

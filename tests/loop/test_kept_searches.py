"""What a step asks of the whole session is found without a search, and is what the search finds."""

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.record_builders import SESSION, assistant, records, tool, user
from tests.store.session_state.test_state import STATES

from palimpsest.context.compaction.summary_grade import unused_summary_report
from palimpsest.context.visible_messages import View, good_summaries
from palimpsest.loop.subtasks import SUBTASK_KEY
from palimpsest.loop.turn import pending_subtasks
from palimpsest.store.session_state.state import State, apply_records
from palimpsest.transcript.context_values.decisions import REDO, UNDO, Decision, undone_compactions
from palimpsest.transcript.errors import AbortedError
from palimpsest.transcript.messages import AssistantMessage, Messages
from palimpsest.transcript.parts import Span, SubtaskPart, ToolCompleted, ToolPart
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    Event,
    MessageRemoved,
    MessageUpdated,
    PartRemoved,
    PartUpdated,
)

NAMES = [f"msg_{number}" for number in range(1, 7)]
names = st.sampled_from(NAMES)


def subtask(part: str, message: str) -> PartUpdated:
    return PartUpdated(
        part=SubtaskPart(
            id=part, session_id=SESSION, message_id=message, prompt="p", description="d", agent="a"
        )
    )


def begun(message: str, part: str) -> PartUpdated:
    metadata = {SUBTASK_KEY: part}
    state = ToolCompleted(input={}, output="o", metadata=metadata, time=Span(start=1, end=2))
    return tool("prt_t", message, state)


def answer(name: str, parent: str, *, finish: str | None, summary: bool, failed: bool) -> Event:
    info = assistant(name).info.model_copy(
        update={
            "parent_id": parent,
            "finish": finish,
            "summary": summary,
            "error": AbortedError() if failed else None,
        }
    )
    return MessageUpdated(info=info)


answers = st.builds(
    answer,
    names,
    names,
    finish=st.sampled_from([None, "stop", "tool-calls"]),
    summary=st.booleans(),
    failed=st.booleans(),
)
reports = st.builds(
    Decision,
    id=st.sampled_from(["dec_1", "dec_2"]),
    action=st.just("keep"),
    rule=st.sampled_from(["compact", UNDO, REDO]),
    message_id=names,
    numbers=st.sampled_from([{}, {"retention": {}}]),
).map(lambda made: DecisionMade(decision=made))
events = st.one_of(
    names.map(user),
    answers,
    st.builds(subtask, st.sampled_from(["prt_1", "prt_2"]), names),
    st.builds(begun, names, st.sampled_from(["prt_1", "prt_2"])),
    names.map(lambda name: tool("prt_t", name, STATES[1])),
    names.map(lambda name: MessageRemoved(message_id=name)),
    names.map(lambda name: PartRemoved(message_id=name, part_id="prt_1")),
    reports,
)


@settings(deadline=None)
@given(st.lists(events, max_size=25))
def test_pending_subtasks_are_those_that_a_search_finds(script: list[Event]) -> None:
    state = apply_records(records(script))

    assert pending_subtasks(state) == tuple(searched_subtasks(state.messages()))


def searched_subtasks(messages: Messages) -> Iterator[SubtaskPart]:
    ended = [
        at for at, message in enumerate(messages) if isinstance(message.info, AssistantMessage)
    ]
    ended = [
        at
        for at in ended
        if getattr(messages[at].info, "error", None) is not None
        or getattr(messages[at].info, "finish", None) == "stop"
    ]
    parts = [part for message in messages[max(ended, default=-1) + 1 :] for part in message.parts]
    taken = {
        getattr(part.state, "metadata", {}).get(SUBTASK_KEY)
        for part in parts
        if isinstance(part, ToolPart)
    }
    return (part for part in parts if isinstance(part, SubtaskPart) and part.id not in taken)


def test_a_session_without_subtasks_is_not_searched() -> None:
    class Unread(State):
        def messages(self) -> Messages:
            raise AssertionError("All messages are read.")

    state = apply_records(records([user("msg_1"), assistant("msg_2")]), Unread())

    assert pending_subtasks(state) == ()


@settings(deadline=None)
@given(st.lists(events, max_size=25))
def test_an_unused_summary_is_the_one_that_a_search_finds(script: list[Event]) -> None:
    state = apply_records(records(script))
    view = View(state.messages(), state.decisions)

    assert unused_summary_report(view) == searched_summary(view)


def searched_summary(view: View) -> Decision | None:
    """Return what the search over all summaries finds, of which only the newest of each marker counts."""
    good, gone = (
        frozenset(good_summaries(view.messages).values()),
        undone_compactions(view.decisions),
    )
    for at in range(len(view.messages) - 1, -1, -1):
        info = view.messages[at].info
        if at in good and info.id not in gone:
            found = (
                decision for decision in reversed(view.decisions) if "retention" in decision.numbers
            )
            return next((report for report in found if report.message_id == info.id), None)
        if isinstance(info, AssistantMessage) and not info.summary:
            return None
    return None

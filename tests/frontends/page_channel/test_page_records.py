"""A batch without what it replaces itself folds to the same session, wherever a page begins to follow it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.builders import SESSION, Builder

from palimpsest.frontends.protocol.page_records import without_replaced
from palimpsest.store.session_state.state import State, apply_records
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import (
    Event,
    MessageUpdated,
    PartDelta,
    PartRemoved,
    PartUpdated,
    Record,
    parse_record,
)


def answers() -> list[Message]:
    """Return two answers of no words."""
    build = Builder()
    asked = build.user("Look.")
    return [build.assistant(to=asked), build.assistant(to=asked)]


ANSWERS = answers()
PARTS = [
    TextPart(id=f"prt_{number}", session_id=SESSION, message_id=message.id, text="")
    for message in ANSWERS
    for number in (0, 1)
]
"""Two answers have parts of the same id, so a part's place tells which is meant."""


@st.composite
def events(draw: st.DrawFn) -> Event:
    """Return an event about one of a few parts or messages."""
    part = draw(st.sampled_from(PARTS))
    words = draw(st.sampled_from(("a", "b", "")))
    ids = {"message_id": part.message_id, "part_id": part.id}
    return draw(
        st.sampled_from(
            (
                PartUpdated(part=part.model_copy(update={"text": words})),
                PartDelta(**ids, field="text", delta=words),
                PartRemoved(**ids),
                MessageUpdated(info=draw(st.sampled_from(ANSWERS)).info),
            )
        )
    )


def folded(records: list[Record]) -> tuple[Message, ...]:
    state: State = apply_records(records)
    return state.messages()


@given(st.lists(events(), min_size=8, max_size=40), st.integers(0, 20), st.integers(0, 42))
def test_a_page_folds_the_same_wherever_it_begins(
    made: list[Event], before: int, known: int
) -> None:
    begun: list[Event] = [MessageUpdated(info=message.info) for message in ANSWERS]
    records = [Record(seq=seq, ts=1, event=event) for seq, event in enumerate(begun + made, 1)]
    batch = [record.wire() for record in records[min(before, len(records) - 1) :]]

    told = without_replaced(batch)

    assert (told[0]["seq"], told[-1]["seq"]) == (batch[0]["seq"], batch[-1]["seq"])
    has = max(known, batch[0]["seq"] - 1)  # a page that misses more asks for it
    rest = [parse_record(dict(record)) for record in told if record["seq"] > has]
    assert folded([*records[:has], *rest]) == folded(records)


def test_a_call_that_ends_within_a_tick_is_told_once_as_it_begins_and_once_as_it_ends() -> None:
    part = PARTS[0]
    steps: list[Any] = [
        MessageUpdated(info=ANSWERS[0].info),
        PartUpdated(part=part),
        *(PartDelta(message_id=part.message_id, part_id=part.id, field="text", delta="a"),) * 3,
        PartUpdated(part=part.model_copy(update={"text": "aaa"})),
        PartUpdated(part=part.model_copy(update={"text": "aaa."})),
    ]

    records = without_replaced(
        [Record(seq=seq, ts=1, event=event).wire() for seq, event in enumerate(steps, 1)]
    )

    assert [record["seq"] for record in records] == [1, 2, 7]

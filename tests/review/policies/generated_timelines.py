"""Hypothesis strategies for timelines with turns, parallel calls, calls without a result, pauses and pins."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from palimpsest.transcript.timeline import (
    Timeline,
    TimelineItem,
    TimelineRequest,
    Transition,
)

SIZES = st.sampled_from([1, 30, 200, 2_000, 9_000, 60_000])
TOOLS = st.sampled_from(["read", "bash", "edit", "skill"])
PAUSES = st.sampled_from([1, 30, 400, 4_000])


@dataclass
class Growing:
    """A timeline that is being put together."""

    items: list[TimelineItem] = field(default_factory=list)
    requests: list[TimelineRequest] = field(default_factory=list)
    block: int = 0
    now: int = 1_700_000_000_000
    calls: int = 0

    def add(
        self, kind: str, turn: int, chars: int, *, tool: str = "", group: str = "", own: bool = True
    ) -> None:
        """Add an item, in a message of its own or in the one before."""
        self.block += own
        index = len(self.items)
        self.items.append(
            TimelineItem(
                index=index,
                id=f"message-{self.block}/{index}",
                kind=kind,
                message=f"message-{self.block}",
                turn=turn,
                entered=len(self.requests),
                chars=chars,
                label=f"{kind} {index}",
                tool=tool,
                group=group,
                block=self.block,
                hash=f"{chars}-{index}",
                is_error=chars == 1,
            )
        )

    def answer(self, turn: int, pause: int, calls: Sequence[tuple[str, int, bool]]) -> None:
        """Add a request and its answer, whose calls come before their results."""
        started = self.now + pause * 1_000
        first = len(self.items)
        self.add("assistant", turn, 40)
        groups = []
        for tool, _, _ in calls:
            self.calls += 1
            groups.append(f"call-{self.calls}")
            self.add("call", turn, 60, tool=tool, group=groups[-1], own=False)
        self.now = started + 2_000
        self.requests.append(
            TimelineRequest(
                index=len(self.requests),
                id=f"answer-{len(self.requests)}",
                turn=turn,
                items=first,
                answer=(first, len(self.items)),
                started=started,
                ended=self.now,
                model="a/model",
                window=200_000,
            )
        )
        for group, (tool, chars, is_answered) in zip(groups, calls, strict=True):
            if is_answered:
                self.add("output", turn, chars, tool=tool, group=group)


CALLS = st.lists(st.tuples(TOOLS, SIZES, st.sampled_from([True, True, True, False])), max_size=3)
TURNS = st.lists(
    st.tuples(SIZES, st.lists(st.tuples(PAUSES, CALLS), min_size=1, max_size=5)),
    min_size=1,
    max_size=6,
)


@st.composite
def timelines(draw: st.DrawFn, *, pins: bool = True) -> Timeline:
    """Draw a timeline of some turns; with pins and items that a person reverted, where asked."""
    growing = Growing()
    for number, (chars, answers) in enumerate(draw(TURNS), 1):
        growing.add("user", number, chars)
        for pause, calls in answers:
            growing.answer(number, pause, calls)
    items = growing.items
    pinned: set[int] = set()
    if pins:
        pinned = draw(st.sets(st.integers(0, len(items) - 1), max_size=2))
    return Timeline(
        session="generated",
        items=tuple(replace(one, pinned=one.index in pinned) for one in items),
        requests=tuple(growing.requests),
        read=lambda index: "x" * items[index].chars,
    )


def reverted(timeline: Timeline, item: int, request: int) -> Timeline:
    """Return a timeline in which a person reverted an item before a request."""
    one = Transition(item=item, request=request, state="reverted", tokens=0, rule="user/revert")
    return replace(timeline, transitions=(one,))


def prefix(timeline: Timeline, requests: int) -> Timeline:
    """Return a timeline as it was when so many requests had been sent, without the last answer."""
    kept = timeline.requests[:requests]
    last = replace(kept[-1], answer=(kept[-1].items, kept[-1].items), ended=None)
    return replace(
        timeline,
        items=timeline.items[: last.items],
        requests=(*kept[:-1], last),
        _weights={},
    )

"""Values of a timeline that continue those of one that began alike."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.transcript.timeline import Timeline, Transition

MOVES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=8)


def moved(moves: list[tuple[int, int]], earlier: dict[str, Any]) -> Timeline:
    transitions = tuple(
        Transition(item, request, "out")
        for item, request in sorted(moves, key=lambda move: move[1])
    )
    return Timeline("s", transitions=transitions, earlier=earlier)


@given(first=MOVES, second=MOVES, shared=MOVES)
def test_transitions_by_item_are_the_same_after_another_timeline(
    first: list[tuple[int, int]], second: list[tuple[int, int]], shared: list[tuple[int, int]]
) -> None:
    earlier: dict[str, Any] = {}

    for moves in ([*shared, *first], [*shared, *second], shared):
        continued = moved(moves, earlier).by_item
        alone = moved(moves, {}).by_item
        assert {item: [*group] for item, group in continued.items()} == alone

"""Rows and columns of lists that grow are those of the whole lists, whatever changed since."""

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.transcript.growing_lists import GrownColumns, GrownRows, common_beginning

LISTS = st.lists(st.integers(0, 3), max_size=40)


@given(LISTS, LISTS)
def test_common_beginning_is_where_two_lists_differ_first(one: list[int], other: list[int]) -> None:
    same = common_beginning(one, other)

    assert one[:same] == other[:same]
    assert same == min(len(one), len(other)) or one[same] != other[same]


@given(st.lists(LISTS, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_rows_are_those_of_the_whole_list(lists: list[list[int]], chance: random.Random) -> None:
    grown: GrownRows[int] = GrownRows()
    for values in lists:
        about = chance.randrange(2)

        def row(
            place: int, rows: Sequence[int], values: list[int] = values, about: int = about
        ) -> int:
            return values[place] + about + (rows[place - 1] if place else 0)

        whole: list[int] = []
        for place in range(len(values)):
            whole.append(row(place, whole))
        assert list(grown.grown_rows(row, values, subject=about)) == whole


@given(st.lists(LISTS, min_size=1, max_size=6))
def test_columns_are_those_of_the_whole_list(lists: list[list[int]]) -> None:
    grown = GrownColumns()
    for values in lists:
        columns = grown.grown_columns(
            values, {"same": lambda one: one, "twice": lambda one: 2 * one}
        )

        assert columns == {"same": tuple(values), "twice": tuple(2 * value for value in values)}


def test_a_row_is_made_once() -> None:
    made: list[int] = []

    def row(place: int, _: Sequence[int]) -> int:
        made.append(place)
        return place

    grown: GrownRows[int] = GrownRows()
    grown.grown_rows(row, "abc")
    grown.grown_rows(row, "abcd")
    grown.grown_rows(row, "abXd")

    assert made == [0, 1, 2, 3, 2, 3]
    assert grown.grown_rows(row, "abXd", max_unchanged=1) == (0, 1, 2, 3)
    assert made[6:] == [1, 2, 3]

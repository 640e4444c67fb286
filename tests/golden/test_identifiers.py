"""Ids contain time and counter as in the recorded OpenCode, in a field that never wraps.

The recorded 48 bits hold 2^36 milliseconds, and wrapped in August 2026.
Ours has 64 bits; so the recorded digits are the last twelve of ours, and a time that is read from an
id is the recorded one up to a multiple of 2^36 ms. That is the only difference.
"""

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.golden.data import load

from palimpsest.transcript.ids import Ids, encode, time_of

PERIOD = 1 << 36
ENTROPY = bytes(10)
DIGITS = 12


def hex_of(identifier: str) -> str:
    return identifier.partition("_")[2][:16]


def test_ascending_ids_end_in_the_recorded_digits() -> None:
    cases = load("opencode", "identifiers")["ascending"]
    now = [0]
    ids = Ids(lambda: now[0], lambda size: bytes(size))

    ours = []
    for case in cases:
        now[0] = case["timestamp"]
        ours.append([hex_of(ids.new(case["prefix"]))[-DIGITS:] for _ in range(2)])

    recorded = [[case["id"].partition("_")[2][:DIGITS], case["hex12"]] for case in cases]
    assert ours == recorded


def test_descending_ids_end_in_the_recorded_digits() -> None:
    # The counter went on from the two ids before, so it is 3.
    for case in load("opencode", "identifiers")["descending"]:
        ours = encode(case["prefix"], case["timestamp"], 3, ENTROPY, descending=True)

        assert hex_of(ours)[-DIGITS:] == case["hex12"]


def test_the_time_of_an_id_is_the_recorded_one_unless_that_wrapped() -> None:
    recording = load("opencode", "identifiers")
    made = {case["id"]: case["timestamp"] for case in recording["ascending"]}
    for case in recording["timestampOfAscending"]:
        truth = made[case["id"]]
        ours = time_of(encode("msg", truth, 1, ENTROPY))

        assert ours == truth
        assert ours % PERIOD == case["timestamp"]
        assert (ours == case["timestamp"]) == (truth < PERIOD)


@given(st.lists(st.integers(0, 1 << 44), min_size=2, max_size=20))
def test_later_ids_sort_later_whatever_the_clock_does(times: list[int]) -> None:
    ticking = iter(times)
    ids = Ids(lambda: next(ticking), lambda size: bytes(size))

    made = [ids.new("msg") for _ in times]

    assert made == sorted(set(made))


def test_a_wrong_prefix_is_no_id_of_ours() -> None:
    kinds: dict[str, list[Any]] = defaultdict(list)
    for case in load("opencode", "identifiers")["ascending"]:
        kinds[case["prefix"]].append(case)
    assert set(kinds) == {"msg"}
    with pytest.raises(ValueError, match="invalid literal"):
        time_of("nothing")

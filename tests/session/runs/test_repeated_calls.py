"""Repeated sequences of calls are detected, wherever in the turn they begin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.session.runs.tool_gate import fingerprint, repeated_calls


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ("", ""),
        ("aa", ""),
        ("aaa", "a"),
        ("baaa", "a"),
        ("aaab", ""),
        ("ababa", ""),
        ("ababab", "ab"),
        ("bababa", "ab"),
        ("abcabcabc", "abc"),
        ("cabcabcab", "abc"),
        ("abcabcab", ""),
        ("abcdabcdabcd", ""),
    ],
)
def test_three_rounds_make_a_circle(calls: str, found: str) -> None:
    assert repeated_calls(list(calls)) == frozenset(found)


@given(st.lists(st.sampled_from("abcd"), max_size=3, min_size=1), st.integers(3, 6))
def test_a_circle_stays_the_same_one_while_it_goes_on(round_: list[str], times: int) -> None:
    calls = round_ * times

    assert repeated_calls(calls) <= frozenset(round_)
    assert repeated_calls(calls) == repeated_calls([*calls, calls[-len(round_)]]) or len(
        set(round_)
    ) < len(round_)


def test_the_order_of_the_input_makes_no_other_call() -> None:
    assert fingerprint("grep", {"a": 1, "b": 2}) == fingerprint("grep", {"b": 2, "a": 1})
    assert fingerprint("grep", {"a": 1}) != fingerprint("glob", {"a": 1})

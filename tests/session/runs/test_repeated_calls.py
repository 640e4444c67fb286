"""Repeated sequences of calls are detected, wherever in the turn they begin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import Builder

from palimpsest.session.runs.tool_gate import (
    LOOP_PERIODS,
    LOOP_ROUNDS,
    call_fingerprint,
    newest_calls,
    repeated_calls,
)
from palimpsest.transcript.messages import Message


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
    assert call_fingerprint("grep", {"a": 1, "b": 2}) == call_fingerprint("grep", {"b": 2, "a": 1})
    assert call_fingerprint("grep", {"a": 1}) != call_fingerprint("glob", {"a": 1})


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=3), max_size=8), st.booleans())
def test_the_newest_calls_tell_of_a_circle_as_all_of_the_turn_do(
    answers: list[list[str]],
    joined: bool,  # noqa: FBT001
) -> None:
    make = Builder()
    before: list[Message] = [make.user("Go."), make.assistant(make.ran("a", ""), make.ran("a", ""))]
    turn = [make.user("Go on.")]
    told: list[str] = []
    for calls in answers:
        turn.append(make.assistant("So.", *(make.ran(tool, "") for tool in calls)))
        if joined:  # what the engine says is no prompt
            turn.append(make.user(make.text("Reminder.", synthetic=True)))
        for part in turn[-2 if joined else -1].parts:
            if part.type == "tool":
                told.append(call_fingerprint(part.tool, {}))
                newest = newest_calls((*before, *turn), upto=part.call_id)
                assert newest == told[-max(LOOP_PERIODS) * LOOP_ROUNDS :]
                assert repeated_calls(newest) == repeated_calls(told)


def test_what_the_provider_ran_and_a_failed_attempt_are_no_calls_of_ours() -> None:
    make = Builder()
    ours = [make.ran("a", "") for _ in range(3)]
    theirs = [
        ours[1].model_copy(update={"id": f"prt_{name}", "metadata": {name: True}})
        for name in ("failed_attempt", "provider_executed")
    ]
    messages = (make.user("Go."), make.assistant(*ours[:2], *theirs, ours[2]))

    assert len(newest_calls(messages, upto=ours[2].call_id)) == 3

"""The time a user took to answer is recorded apart from the time of the tool calls."""

from palimpsest.processor.tool_call_runner import UserWaitTime


class Clock:
    """A clock that is advanced by the test."""

    def __init__(self) -> None:
        self.now = 1_000

    def __call__(self) -> int:
        return self.now


def test_questions_that_are_open_side_by_side_count_once() -> None:
    clock = Clock()
    person = UserWaitTime(clock)

    with person.count_waiting("call_1"):
        clock.now += 2_000
        with person.count_waiting("call_2"):
            clock.now += 1_000
    with person.count_waiting("call_1"):
        clock.now += 500

    assert person.metadata_of("call_1") == {"waited_ms": 3_500}
    assert person.metadata_of("call_2") == {"waited_ms": 1_000}
    assert person.total == 3_500


def test_what_a_rule_answered_is_no_waiting() -> None:
    clock = Clock()
    person = UserWaitTime(clock)

    with person.count_waiting("call_1"):
        clock.now += 3

    assert person.metadata_of("call_1") == {}
    assert person.total == 0

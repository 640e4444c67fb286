"""Requests that repeat their whole input: a message is told once, and what is gone is told."""

from palimpsest.recordings.message_formats.repeated_inputs import InputMessage, RepeatedInputs
from palimpsest.recordings.reading.recorded import (
    Call,
    CompactionRead,
    GapRead,
    MessageRead,
    Recorded,
    ReducedRead,
    RemovedRead,
    ResultRead,
    Text,
)

REQUESTS = 600


def user(text: str) -> InputMessage:
    return InputMessage("user", (Text(text),))


def calls(*names: str) -> InputMessage:
    return InputMessage("assistant", tuple(Call(name, "f", {}) for name in names))


def result(call: str, text: str = "out") -> InputMessage:
    return InputMessage("user", results=(ResultRead(call, text),))


def asked(inputs: RepeatedInputs, *messages: InputMessage, answer: InputMessage) -> list[Recorded]:
    """Return what a request and its answer add."""
    found = list(inputs.changes_of_input(messages, None))
    return [*found, inputs.add_answer(MessageRead("a", "assistant", answer.parts))]


def test_a_message_that_is_repeated_is_told_once() -> None:
    inputs = RepeatedInputs()
    first, second = user("go on"), user("go on")

    asked(inputs, first, answer=calls("c"))
    values = asked(inputs, first, calls("c"), result("c"), second, answer=calls("d"))

    assert [type(entry) for entry in values] == [ResultRead, MessageRead, MessageRead]


def test_ids_of_calls_and_answers_that_are_used_again_get_a_number() -> None:
    inputs = RepeatedInputs()

    asked(inputs, user("u"), answer=calls("c"))
    values = asked(inputs, user("u"), calls("c"), result("c", "1"), answer=calls("c"))
    more = asked(
        inputs,
        *(user("u"), calls("c"), result("c", "1"), calls("c"), result("c", "2")),
        answer=InputMessage("assistant", (Text("end"),)),
    )

    assert values[1] == MessageRead("a#2", "assistant", (Call("c#2", "f", {}),))
    assert more[0] == ResultRead("c#2", "2")


def test_a_result_is_shortened_left_out_and_shown_again() -> None:
    inputs = RepeatedInputs()
    before = (user("u"), calls("c"))
    asked(inputs, user("u"), answer=calls("c"))
    asked(inputs, *before, result("c", "whole"), answer=calls("d"))

    shorter = asked(inputs, *before, result("c", "w..."), calls("d"), answer=calls("e"))
    again = asked(inputs, *before, result("c", "whole"), calls("d"), calls("e"), answer=calls("f"))
    gone = asked(inputs, *before, calls("d"), calls("e"), calls("f"), answer=calls("g"))

    assert shorter[0] == ReducedRead("c", "w...")
    assert again[0] == ReducedRead("c", "", restored=True)
    assert gone[0] == ReducedRead("c", "")


def test_a_new_message_in_the_place_of_others_is_their_summary() -> None:
    inputs = RepeatedInputs()
    asked(inputs, user("u"), answer=calls("c"))
    asked(inputs, user("u"), calls("c"), result("c"), answer=calls("d"))

    values = asked(inputs, user("sum"), calls("d"), result("d"), answer=calls("e"))
    later = asked(inputs, user("sum of sums"), calls("e"), answer=calls("f"))

    assert values[0] == CompactionRead("c2", "sum", replaced_messages=("m1", "a"))
    assert later[0] == CompactionRead("c3", "sum of sums", replaced_messages=("c2", "a#2"))


def test_an_answer_that_is_tried_again_takes_the_former_one_back() -> None:
    inputs = RepeatedInputs()
    asked(inputs, user("u"), answer=InputMessage("assistant", (Text("bad"),)))

    values = asked(inputs, user("u"), answer=InputMessage("assistant", (Text("good"),)))

    assert values[0] == RemovedRead(("a",))


def test_a_result_without_its_call_is_a_gap() -> None:
    values = asked(RepeatedInputs(), result("x", "12345"), answer=calls("c"))

    assert values[0] == GapRead("A result stood in a request without its call.", chars=5)


def test_each_message_of_a_long_session_is_told_once() -> None:
    inputs, shown, value_count = RepeatedInputs(), [user("u")], 0
    for n in range(REQUESTS):
        value_count += len(asked(inputs, *shown, answer=calls(f"c{n}")))
        shown += [calls(f"c{n}"), result(f"c{n}", f"{n} " * 100)]

    assert value_count == 2 * REQUESTS

"""Messages of parts become provider messages that keep every law."""

from tests.builders import MODEL, Builder

from palimpsest.context.convert import INTERRUPTED, convert
from palimpsest.context.limit import limit
from palimpsest.transcript.errors import AbortedError, ApiError
from palimpsest.transcript.flat import (
    CallBlock,
    FlatMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.policies import LimitPolicy
from palimpsest.transcript.values import ModelRef


def test_a_step_becomes_an_assistant_and_a_tool_message() -> None:
    build = Builder()
    call = build.ran("python", "3", call_id="call_1", code="1+2")
    words = build.text("Let me see.")
    messages = (build.user("hi"), build.assistant(build.step_start(), words, call))

    flat = convert(messages, MODEL)

    assert [message.role for message in flat] == ["user", "assistant", "tool"]
    assert flat[1].blocks == (
        TextBlock(text="Let me see.", part_id=words.id),
        CallBlock(call_id="call_1", tool="python", input={"code": "1+2"}, part_id=call.id),
    )
    assert flat[2].blocks == (
        ResultBlock(call_id="call_1", tool="python", text="3", part_id=call.id),
    )


def test_an_interrupted_tool_gives_what_it_had_printed() -> None:
    build = Builder()
    partial = build.failed("bash", "aborted", {"interrupted": True, "output": "half"})
    flat = convert((build.assistant(partial, build.running("bash")),), MODEL)

    results = [block for block in flat[1].blocks if isinstance(block, ResultBlock)]

    assert [(r.text, r.is_error) for r in results] == [("half", False), (INTERRUPTED, True)]


def test_a_failed_answer_is_left_out_unless_it_was_stopped() -> None:
    build = Builder()
    failed = build.assistant("half", error=ApiError(message="500"))
    stopped = build.assistant("half", error=AbortedError())
    empty = build.assistant(build.step_start(), build.thought("hm"), error=AbortedError())

    assert convert((failed,), MODEL) == ()
    assert [m.message_id for m in convert((stopped,), MODEL)] == [stopped.id]
    assert convert((empty,), MODEL) == ()


def test_thoughts_of_another_model_travel_as_text() -> None:
    build = Builder()
    thought = build.thought("hm", metadata={"signature": "x"})
    message = build.assistant(thought)

    same = convert((message,), MODEL)[0].blocks[0]
    other = convert((message,), ModelRef(provider="anthropic", name="claude"))[0].blocks[0]

    assert same == ReasoningBlock(text="hm", metadata={"signature": "x"}, part_id=thought.id)
    assert other == TextBlock(text="hm", part_id=thought.id)


def test_what_a_failed_attempt_left_behind_is_not_sent() -> None:
    build = Builder()
    left = build.text("half of it", metadata={"failed_attempt": 1})
    whole = build.text("whole")

    flat = convert((build.assistant(left, whole),), MODEL)

    assert flat[0].blocks == (TextBlock(text="whole", part_id=whole.id),)


def test_limit_keeps_the_newest_turns_and_moves_once_in_a_while() -> None:
    build = Builder()
    rules = LimitPolicy()

    def kept(users: int, turns: int | None) -> list[str]:
        messages = tuple(
            m for n in range(users) for m in (build.user(f"q{n}"), build.assistant(f"a{n}"))
        )
        flat = limit(convert(messages, MODEL), turns, rules)
        return [
            b.text for m in flat for b in m.blocks if isinstance(b, TextBlock) and b.text[0] == "q"
        ]

    assert kept(3, 2) == ["q0", "q1", "q2"]
    assert kept(4, 2) == ["q2", "q3"]
    assert kept(5, 2) == ["q2", "q3", "q4"]
    assert kept(6, 2) == ["q4", "q5"]
    assert kept(5, None) == ["q0", "q1", "q2", "q3", "q4"]


def test_limit_keeps_what_precedes_the_first_turn() -> None:
    head = FlatMessage(role="system", blocks=(TextBlock(text="summary"),))
    turns = convert(tuple(Builder().user(f"q{n}") for n in range(9)), MODEL)

    kept = limit((head, *turns), 1, LimitPolicy())

    assert kept[0] is head
    assert len(kept) < len(turns)

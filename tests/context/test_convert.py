"""Messages of parts become provider messages that keep every law."""

from hypothesis import given
from hypothesis import strategies as st
from tests.builders import INFO, MODEL, Builder

from palimpsest.context.convert import INTERRUPTED, convert
from palimpsest.context.laws import broken_laws
from palimpsest.context.limit import limit
from palimpsest.context.pairing import MISSING, pair
from palimpsest.context.projection import project
from palimpsest.context.view import View
from palimpsest.transcript.errors import AbortedError, ApiError
from palimpsest.transcript.flat import (
    CallBlock,
    FlatMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.messages import Message
from palimpsest.transcript.policies import Policy
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


def test_limit_keeps_the_newest_turns() -> None:
    build = Builder()
    messages = tuple(m for n in range(5) for m in (build.user(f"q{n}"), build.assistant(f"a{n}")))
    flat = convert(messages, MODEL)

    kept = limit(flat, 2)

    assert [block.text for m in kept for block in m.blocks if isinstance(block, TextBlock)] == [
        "q3",
        "a3",
        "q4",
        "a4",
    ]
    assert limit(flat, None) == flat
    assert limit(flat, 9) == flat


def test_pairing_repairs_what_a_cut_left() -> None:
    call = CallBlock(call_id="c1", tool="bash", input={})
    orphan = FlatMessage(role="tool", blocks=(ResultBlock(call_id="gone", tool="bash", text="x"),))
    asks = FlatMessage(role="assistant", blocks=(call,))

    assert pair((orphan, asks)) == (
        asks,
        FlatMessage(
            role="tool",
            blocks=(ResultBlock(call_id="c1", tool="bash", text=MISSING, is_error=True),),
        ),
    )


@st.composite
def transcripts(draw: st.DrawFn) -> tuple[Message, ...]:
    """Any history that a session can hold: answered, failed, stopped, running."""
    build = Builder()
    messages: list[Message] = []
    for _ in range(draw(st.integers(0, 6))):
        user = build.user(draw(st.text(max_size=5)))
        messages.append(user)
        for _ in range(draw(st.integers(0, 3))):
            kinds = draw(st.lists(st.sampled_from("trcfips"), max_size=5))
            makers = {
                "t": lambda: build.text(draw(st.text(max_size=5))),
                "r": lambda: build.thought("hm"),
                "c": lambda: build.ran("python", "1"),
                "f": lambda: build.failed("python", "no"),
                "i": lambda: build.failed("python", "no", {"interrupted": True, "output": "x"}),
                "p": lambda: build.running("python"),
                "s": build.step_start,
            }
            error = draw(st.sampled_from([None, None, AbortedError(), ApiError(message="x")]))
            parts = [makers[kind]() for kind in kinds]
            messages.append(build.assistant(*parts, to=user, error=error))
    return tuple(messages)


@given(transcripts(), st.integers(0, 3))
def test_the_laws_hold_after_the_projection(messages: tuple[Message, ...], turns: int) -> None:
    projection = project(
        View(messages),
        system=("header", "body"),
        tools=(),
        model=INFO,
        policy=Policy(history_limit=turns),
        count=len,
    )

    assert broken_laws(projection.messages) == []
    assert len(projection.tokens) == len(projection.messages)
    assert projection.total == sum(projection.tokens)

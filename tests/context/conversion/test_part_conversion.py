"""Messages of parts become provider messages that keep every law of a valid context."""

from typing import Literal

from tests.builders import MODEL, Builder

from palimpsest.context.conversion.part_conversion import INTERRUPTED, neutral_messages
from palimpsest.context.request_assembly.turn_limit import with_turn_limit
from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    MediaBlock,
    NeutralMessage,
    NeutralMessages,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.context_values.policies import ConvertPolicy, LimitPolicy
from palimpsest.transcript.errors import AbortedError, ApiError
from palimpsest.transcript.parts import Attachment, FilePart, ToolPart
from palimpsest.transcript.values import ModelRef


def test_a_step_becomes_an_assistant_and_a_tool_message() -> None:
    build = Builder()
    call = build.ran("python", "3", call_id="call_1", code="1+2")
    words = build.text("Let me see.")
    messages = (build.user("hi"), build.assistant(build.step_start(), words, call))

    flat = neutral_messages(messages, MODEL)

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
    flat = neutral_messages((build.assistant(partial, build.running("bash")),), MODEL)

    results = [block for block in flat[1].blocks if isinstance(block, ResultBlock)]

    assert [(r.text, r.is_error) for r in results] == [("half", False), (INTERRUPTED, True)]


def test_a_pause_goes_on_only_at_the_provider_that_made_it() -> None:
    paused = Builder().assistant("I search.", finish="paused")
    other = ModelRef(provider="gemini", name="gemini-2.5-pro")

    stops = [neutral_messages((paused,), model)[-1].stop for model in (MODEL, other)]

    assert stops == ["paused", None]


def test_a_failed_answer_is_left_out_unless_it_was_stopped() -> None:
    build = Builder()
    failed = build.assistant("half", error=ApiError(message="500"))
    stopped = build.assistant("half", error=AbortedError())
    empty = build.assistant(build.step_start(), build.thought("hm"), error=AbortedError())

    assert neutral_messages((failed,), MODEL) == ()
    assert [m.message_id for m in neutral_messages((stopped,), MODEL)] == [stopped.id]
    assert neutral_messages((empty,), MODEL) == ()


def test_thoughts_of_another_model_travel_as_text() -> None:
    build = Builder()
    thought = build.thought("hm", metadata={"signature": "x"})
    message = build.assistant(thought)

    same = neutral_messages((message,), MODEL)[0].blocks[0]
    other = neutral_messages((message,), ModelRef(provider="anthropic", name="claude"))[0].blocks[0]

    assert same == ReasoningBlock(text="hm", metadata={"signature": "x"}, part_id=thought.id)
    assert other == TextBlock(text="hm", part_id=thought.id)


def test_what_a_failed_attempt_left_behind_is_not_sent() -> None:
    build = Builder()
    left = build.text("half of it", metadata={"failed_attempt": 1})
    whole = build.text("whole")

    flat = neutral_messages((build.assistant(left, whole),), MODEL)

    assert flat[0].blocks == (TextBlock(text="whole", part_id=whole.id),)


def test_limit_keeps_the_newest_turns_and_moves_once_in_a_while() -> None:
    build = Builder()
    rules = LimitPolicy()

    def kept(users: int, turns: int | None) -> list[str]:
        messages = tuple(
            m for n in range(users) for m in (build.user(f"q{n}"), build.assistant(f"a{n}"))
        )
        flat = with_turn_limit(neutral_messages(messages, MODEL), turns, rules)
        return [
            b.text for m in flat for b in m.blocks if isinstance(b, TextBlock) and b.text[0] == "q"
        ]

    assert kept(3, 2) == ["q0", "q1", "q2"]
    assert kept(4, 2) == ["q2", "q3"]
    assert kept(5, 2) == ["q2", "q3", "q4"]
    assert kept(6, 2) == ["q4", "q5"]
    assert kept(5, None) == ["q0", "q1", "q2", "q3", "q4"]


def test_limit_keeps_what_precedes_the_first_turn() -> None:
    head = NeutralMessage(role="system", blocks=(TextBlock(text="summary"),))
    turns = neutral_messages(tuple(Builder().user(f"q{n}") for n in range(9)), MODEL)

    limited = with_turn_limit((head, *turns), 1, LimitPolicy())

    assert limited[0] is head
    assert len(limited) < len(turns)


CLAUDE = ModelRef(provider="anthropic", name="claude-test")
PICTURE = Attachment(mime="image/png", filename="a.png", url="data:image/png;base64,AAAA")
TABLE = Attachment(mime="text/csv", filename="a.csv", url="data:text/csv;base64,YSxi")
LINK = Attachment(mime="image/png", url="https://example.org/a.png")


def looked(build: Builder, *attachments: Attachment, output: str = "here") -> ToolPart:
    part = build.ran("read", output)
    return part.model_copy(
        update={"state": part.state.model_copy(update={"attachments": attachments})}
    )


def media_of(flat: NeutralMessages) -> list[tuple[str, list[str]]]:
    return [
        (
            message.role,
            [
                media.url
                for block in message.blocks
                for media in (block.media if isinstance(block, ResultBlock) else [block])
                if isinstance(media, MediaBlock)
            ],
        )
        for message in flat
    ]


def test_media_of_a_result_is_left_to_the_writer_by_default() -> None:
    build = Builder()
    message = build.assistant(looked(build, PICTURE, LINK))

    assert media_of(neutral_messages((message,), MODEL)) == [
        ("assistant", []),
        ("tool", [PICTURE.url, LINK.url]),
    ]


def test_media_that_a_result_cannot_hold_follows_the_answer() -> None:
    build = Builder()
    message = build.assistant(looked(build, PICTURE, TABLE, LINK), build.step_start(), "So.")
    rule = ConvertPolicy(result_media="by-model")

    local = ModelRef(provider="lm_studio", name="qwen")
    after = [PICTURE.url, LINK.url]

    assert media_of(neutral_messages((message,), local, rule)) == [
        ("assistant", []),
        ("tool", [TABLE.url]),
        ("assistant", []),
        ("user", after),
    ]
    assert media_of(neutral_messages((message,), CLAUDE, rule))[1] == (
        "tool",
        [PICTURE.url, TABLE.url],
    )
    inside = ConvertPolicy(result_media="inside")
    assert media_of(neutral_messages((message,), local, inside))[1] == (
        "tool",
        [PICTURE.url, TABLE.url],
    )


def test_what_is_converted_for_a_summary_may_go_without_media_and_long_results() -> None:
    build = Builder()
    file = FilePart(
        id="f", session_id="s", message_id="m", mime="image/png", filename="a.png", url=PICTURE.url
    )
    asked = build.user("look")
    asked = asked.model_copy(update={"parts": (*asked.parts, file)})
    answer = build.assistant(looked(build, PICTURE, output="0123456789"))

    flat = neutral_messages((asked, answer), MODEL, strip_media=True, result_chars=4)

    assert flat[0].blocks[1] == TextBlock(text="[Attached image/png: a.png]", part_id="f")
    (result,) = flat[2].blocks
    assert isinstance(result, ResultBlock)
    assert (result.text.splitlines()[0], result.media) == ("0123", ())
    assert "6" in result.text.splitlines()[1]


def test_empty_texts_are_sent_where_the_policy_says_so() -> None:
    build = Builder()
    signed = build.thought("hm", metadata={"thinking_blocks": [{"signature": "s"}]})
    messages = (build.user(""), build.assistant(signed, build.text("")))

    def texts(rule: ConvertPolicy) -> list[str]:
        flat = neutral_messages(messages, MODEL, rule)
        return [block.text for m in flat for block in m.blocks if isinstance(block, TextBlock)]

    assert texts(ConvertPolicy()) == []
    assert texts(ConvertPolicy(user_empty_texts=True, empty_texts="kept")) == ["", ""]
    assert texts(ConvertPolicy(empty_texts="spaced")) == [" "]


def test_a_partial_output_counts_as_the_policy_says() -> None:
    build = Builder()
    part = build.failed("bash", "aborted", {"interrupted": True, "output": ""})

    def text(partial: Literal["some", "any", "none"]) -> tuple[str, bool]:
        rule = ConvertPolicy(partial_output=partial)
        (result,) = neutral_messages((build.assistant(part),), MODEL, rule)[1].blocks
        assert isinstance(result, ResultBlock)
        return result.text, result.is_error

    assert text("some") == ("aborted", True)
    assert text("any") == ("", False)
    assert text("none") == ("aborted", True)

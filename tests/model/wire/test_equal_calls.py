"""Equal calls in one answer become separate steps, and everything else stays as it is."""

from palimpsest.model.wire.provider_messages import to_provider
from palimpsest.model.wire.sequential_calls import sequential_calls
from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    NeutralMessage,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.values import ModelInfo, ModelRef

ASKS = NeutralMessage(role="user", blocks=(TextBlock(text="hi"),))


def call(identifier: str, path: str) -> CallBlock:
    return CallBlock(call_id=identifier, tool="read", input={"path": path})


def result(identifier: str) -> ResultBlock:
    return ResultBlock(call_id=identifier, tool="read", text=identifier)


def answers(*blocks: CallBlock | TextBlock) -> NeutralMessage:
    return NeutralMessage(role="assistant", blocks=blocks)


def returns(*identifiers: str) -> NeutralMessage:
    return NeutralMessage(role="tool", blocks=tuple(result(call_id) for call_id in identifiers))


def test_the_second_of_equal_calls_is_asked_after_the_first() -> None:
    words = TextBlock(text="I look.")
    history = (
        ASKS,
        answers(words, call("1", "a"), call("2", "a"), call("3", "b"), call("4", "a")),
        returns("1", "2", "3", "4"),
        ASKS,
    )

    assert sequential_calls(history) == (
        ASKS,
        answers(words, call("1", "a"), call("3", "b")),
        returns("1", "3"),
        answers(call("2", "a")),
        returns("2"),
        answers(call("4", "a")),
        returns("4"),
        ASKS,
    )


def test_other_histories_stay_the_same() -> None:
    history = (ASKS, answers(call("1", "a"), call("2", "b")), returns("1", "2"), answers())

    assert sequential_calls(history) == history


def test_calls_that_nobody_answered_are_kept() -> None:
    unanswered = (ASKS, answers(call("1", "a"), call("2", "a")))

    assert sequential_calls(unanswered) == (ASKS, answers(call("1", "a")), answers(call("2", "a")))
    assert sequential_calls((*unanswered, ASKS))[1:] == (
        answers(call("1", "a")),
        answers(call("2", "a")),
        ASKS,
    )


def test_only_a_gemini_without_ids_is_asked_in_rounds() -> None:
    history = (ASKS, answers(call("1", "a"), call("2", "a")), returns("1", "2"))
    roles = {}
    for name in ("gemini-2.5-pro", "gemini-flash-latest", "gemini-3-pro-preview"):
        ref = ModelRef(provider="gemini", name=name)
        written = to_provider(history, ModelInfo(ref=ref, window=8_000, output_limit=1_000))
        roles[name] = [message["role"] for message in written]

    assert roles["gemini-3-pro-preview"] == ["user", "assistant", "tool", "tool"]
    assert roles["gemini-2.5-pro"] == ["user", "assistant", "tool", "assistant", "tool"]
    assert roles["gemini-flash-latest"] == roles["gemini-2.5-pro"]
    assert not profile(ModelRef(provider="gemini", name="gemini-4-argon")).merges_equal_calls

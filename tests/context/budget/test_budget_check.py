"""The conservative token estimate of a request before it is sent."""

from palimpsest.context.budget.conservative_estimate import conservative_tokens
from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    MediaBlock,
    NeutralMessage,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.context_values.policies import OverflowPolicy

PLAIN = OverflowPolicy(safety_margin=1.0)
PICTURE = MediaBlock(mime="image/png", url="data:image/png;base64,AAAA")


def results(*blocks: ResultBlock) -> NeutralMessage:
    return NeutralMessage(role="tool", blocks=blocks)


def result(text: str, *media: MediaBlock) -> ResultBlock:
    return ResultBlock(call_id="c", tool="t", text=text, media=media)


def test_a_result_weighs_double() -> None:
    words = NeutralMessage(role="user", blocks=(TextBlock(text="x" * 400),))

    assert conservative_tokens((words,), PLAIN) == 12 + 100
    assert conservative_tokens((results(result("x" * 400)),), PLAIN) == 12 + 15 + 200


def test_results_that_share_a_message_weigh_as_much_as_alone() -> None:
    one, two = result("a" * 10), result("b" * 20)

    assert conservative_tokens((results(one, two),), PLAIN) == conservative_tokens(
        (results(one), results(two)), PLAIN
    )


def test_media_weighs_the_same_anywhere() -> None:
    shown = NeutralMessage(role="user", blocks=(PICTURE,))

    assert conservative_tokens((shown,), PLAIN) == 12 + 2_000
    assert conservative_tokens((results(result("", PICTURE)),), PLAIN) == 12 + 15 + 2_000


def test_a_call_weighs_its_name_and_arguments() -> None:
    call = CallBlock(call_id="c", tool="read", input={"path": "/a/b"})

    assert conservative_tokens((NeutralMessage(role="assistant", blocks=(call,)),), PLAIN) == 12 + 5


def test_the_margin_is_over_everything_and_rounded_up() -> None:
    words = NeutralMessage(role="user", blocks=(TextBlock(text="q"),))

    assert conservative_tokens((words,), OverflowPolicy()) == 16

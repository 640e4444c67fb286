"""Differences between the newest recorded OpenClaw and the one before that no recording shows."""

from typing import Any

import pytest

from palimpsest.context.budget.request_tokens import BudgetCheck
from palimpsest.context.message_repair.rule_order import with_tool_ids, without_thinking
from palimpsest.context.presets import PRESETS
from palimpsest.context.request_assembly.fit import MessageRequest, choose_fit_action
from palimpsest.context.request_assembly.projection import Projection
from palimpsest.context.visible_messages import View
from palimpsest.model.errors.overflow_detection import is_overflow
from palimpsest.model.errors.retry import is_retryable
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    NeutralMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.context_values.policies import HygieneRule, Policy
from palimpsest.transcript.errors import ApiError, UnknownError

NEWEST = PRESETS["openclaw-2026.9"]
SIGNED: dict[str, Any] = {
    "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "sig"}]
}
SEALED: dict[str, Any] = {"thinking_blocks": [{"type": "redacted_thinking", "data": "abc"}]}


def calling(identifier: str, metadata: dict[str, Any] | None = None) -> NeutralMessage:
    thought = (ReasoningBlock(text="Hm.", metadata=metadata),) if metadata else ()
    call = CallBlock(call_id=identifier, tool="read", input={})
    return NeutralMessage(role="assistant", blocks=(*thought, call))


def result(identifier: str) -> NeutralMessage:
    block = ResultBlock(call_id=identifier, tool="read", text="ok")
    return NeutralMessage(role="tool", blocks=(block,))


def ids(messages: tuple[NeutralMessage, ...]) -> list[str]:
    blocks = [block for message in messages for block in message.blocks]
    return [with_id.call_id for with_id in blocks if isinstance(with_id, CallBlock | ResultBlock)]


def test_ids_of_signed_thinking_turns_stay_and_are_nobody_elses() -> None:
    messages = (
        calling("call_1"),
        result("call_1"),
        calling("call1", SIGNED),
        result("call1"),
        calling("toolu_9|x", SIGNED),
        result("toolu_9|x"),
    )

    kept = ids(with_tool_ids(messages, "strict", "openclaw-2026.9", keep_signed=True))

    assert kept[2:] == ["call1", "call1", "toolu_9|x", "toolu_9|x"]
    assert kept[0] == kept[1] != "call1"
    assert ids(with_tool_ids(messages, "strict", "openclaw-2026.9"))[4] == "toolu9x"


def test_an_id_that_an_earlier_turn_used_is_written_anew() -> None:
    messages = (calling("a_1"), result("a_1"), calling("a_1", SIGNED), result("a_1"))

    kept = ids(with_tool_ids(messages, "strict", "openclaw-2026.9", keep_signed=True))

    assert len(set(kept)) == 2
    assert "a_1" not in kept


@pytest.mark.parametrize(
    ("rule", "sealed"), [("openclaw-2026.2", [SEALED]), ("openclaw-2026.9", [])]
)
def test_only_the_older_one_leaves_thinking_that_its_provider_sealed(
    rule: HygieneRule, sealed: list[dict[str, Any]]
) -> None:
    answer = NeutralMessage(
        role="assistant",
        blocks=(
            ReasoningBlock(text="Hm.", metadata=SIGNED),
            ReasoningBlock(text="", metadata=SEALED),
            TextBlock(text="Well."),
        ),
    )
    messages = (
        answer,
        NeutralMessage(role="user", blocks=(TextBlock(text="Go on."),)),
        NeutralMessage(role="assistant", blocks=(TextBlock(text="Yes."),)),
    )

    left = without_thinking(messages, rule)[0].blocks

    thoughts = [block for block in left if isinstance(block, ReasoningBlock)]
    assert [thought.metadata for thought in thoughts] == sealed


def test_what_a_provider_measured_takes_the_place_of_the_estimate() -> None:
    message = NeutralMessage(role="user", blocks=(TextBlock(text="word " * 8_000),))
    projection = Projection((message,), (8_000,), 0)
    view = View.of((), (), lambda _: b"")
    facts = Facts(now=0, estimator="chars/4", window=32_000, reserve=1_000)

    def judged(policy: Policy, **known: float) -> BudgetCheck:
        told = facts.model_copy(update=known)
        request = MessageRequest(view, policy, told, len, lambda _: projection, str)
        return choose_fit_action(request, told)[1]

    unmeasured = NEWEST.overflow.model_copy(update={"measured": False})

    estimated = judged(NEWEST)
    measured = judged(NEWEST, calibration=0.75)
    older = judged(NEWEST.model_copy(update={"overflow": unmeasured}), calibration=0.75)

    assert estimated.tokens > 8_000
    assert measured.tokens == 6_000
    assert older.tokens == estimated.tokens


def test_words_of_a_refusal_that_the_newest_one_knows() -> None:
    words = "tokens in request more than max tokens allowed"
    assert is_overflow(words, refusals="openclaw-2026.9")


def test_a_timeout_of_unknown_origin_is_tried_again() -> None:
    assert is_retryable(UnknownError(message="timeout"))
    assert not is_retryable(UnknownError(message="Give a smaller timeout.", explained=True))
    assert not is_retryable(ApiError(message="timeout: must be a number", status=400))

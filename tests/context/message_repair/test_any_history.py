"""Message repair makes any history valid for any provider, and leaves a valid one unchanged."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.history_strategies import FAMILIES, MODELS, PROFILES, histories
from tests.context.laws import laws

from palimpsest.context.message_repair.pairing import MISSING_RESULT_TEXT
from palimpsest.context.message_repair.rule_order import (
    CLOSING_TEXT,
    OPENING_TEXT,
    repaired_in_order,
)
from palimpsest.model.wire.provider_messages import to_provider
from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.context_values.policies import HygieneRule
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.provider_profile.recorded_agents import ProviderFamily, openclaw_family
from palimpsest.transcript.values import ModelInfo, ModelRef

RULES: tuple[HygieneRule, ...] = get_args(HygieneRule)


def says(role: Any, *words: str, **more: Any) -> NeutralMessage:
    return NeutralMessage(role=role, blocks=tuple(TextBlock(text=word) for word in words), **more)


def calls(*identifiers: str, tool: str = "read", **more: Any) -> NeutralMessage:
    made = tuple(CallBlock(call_id=identifier, tool=tool, input={}) for identifier in identifiers)
    return NeutralMessage(role="assistant", blocks=made, **more)


def result(identifier: str, text: str, tool: str = "read") -> NeutralMessage:
    block = ResultBlock(call_id=identifier, tool=tool, text=text)
    return NeutralMessage(role="tool", blocks=(block,))


def results(*given: tuple[str, str]) -> NeutralMessage:
    made = tuple(ResultBlock(call_id=call_id, tool="read", text=text) for call_id, text in given)
    return NeutralMessage(role="tool", blocks=made)


def all_of(messages: NeutralMessages) -> NeutralMessages:
    return messages


def mend(*messages: NeutralMessage, family: ProviderFamily = "openai") -> NeutralMessages:
    return repaired_in_order(messages, all_of, "palimpsest", PROFILES[family])


def words(messages: NeutralMessages, role: str) -> list[str]:
    return [
        block.text
        for message in messages
        if message.role == role
        for block in message.blocks
        if isinstance(block, TextBlock) and block.text.strip()
    ]


@given(history=histories(), family=st.sampled_from(FAMILIES))
def test_every_law_holds_afterwards(history: NeutralMessages, family: ProviderFamily) -> None:
    mended = mend(*history, family=family)

    assert [found for law in laws(family) for found in law.broken(mended)] == []


@given(history=histories(), family=st.sampled_from(FAMILIES))
def test_mending_twice_changes_nothing_more(
    history: NeutralMessages, family: ProviderFamily
) -> None:
    mended = mend(*history, family=family)

    assert mend(*mended, family=family) == mended


@given(history=histories(), family=st.sampled_from(FAMILIES))
def test_nothing_that_was_said_is_lost(history: NeutralMessages, family: ProviderFamily) -> None:
    mended = mend(*history, family=family)

    asked = [text for text in words(mended, "user") if text not in {OPENING_TEXT, CLOSING_TEXT}]
    assert asked == words(history, "user")
    assert words(mended, "assistant") == words(history, "assistant")


@given(history=histories(), family=st.sampled_from(FAMILIES), rule=st.sampled_from(RULES))
def test_no_rule_stumbles_over_a_history(
    history: NeutralMessages, family: ProviderFamily, rule: HygieneRule
) -> None:
    model = ModelInfo(ref=MODELS[family], window=8_000, output_limit=1_000, vision=True)

    sent = to_provider(repaired_in_order(history, all_of, rule, PROFILES[family]), model)

    assert sent == to_provider(repaired_in_order(history, all_of, rule, PROFILES[family]), model)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_valid_history_stays_the_very_same(family: ProviderFamily) -> None:
    history = (
        says("user", "hi"),
        calls("a", "b"),
        results(("a", "1"), ("b", "2")),
        says("assistant", "done"),
        says("user", "more"),
    )

    assert mend(*history, family=family) == history


def test_a_model_belongs_to_one_family() -> None:
    assert {family: openclaw_family(ref.provider, ref.name) for family, ref in MODELS.items()} == {
        family: family for family in FAMILIES
    }
    assert profile(ModelRef(provider="openrouter", name="anthropic/claude-x")).family == "anthropic"
    assert profile(ModelRef(provider="ollama", name="mixtral:8x7b")).family == "mistral"


def test_a_late_result_finds_its_call_past_words_of_the_assistant() -> None:
    history = (calls("a"), says("assistant", "I wait."), says("user", "and?"), result("a", "1"))

    assert mend(*history) == (calls("a"), result("a", "1"), *history[1:3])


def test_a_result_of_an_earlier_frame_finds_the_one_call_that_waits() -> None:
    history = (calls("a"), calls("b"), result("b", "2"), result("a", "1"))

    assert mend(*history) == (calls("a"), result("a", "1"), calls("b"), result("b", "2"))


def test_an_id_used_again_is_another_call() -> None:
    history = (calls("a"), result("a", "1"), calls("a"), result("a", "2"))

    assert mend(*history) == (calls("a"), result("a", "1"), calls("a_2"), result("a_2", "2"))


def test_a_real_result_takes_the_place_of_one_that_was_made_up() -> None:
    made_up = ResultBlock(call_id="a", tool="read", text=MISSING_RESULT_TEXT, is_error=True)
    history = (
        calls("a"),
        NeutralMessage(role="tool", blocks=(made_up,)),
        result("a", "real"),
        says("user", "ok"),
    )

    assert mend(*history) == (calls("a"), result("a", "real"), says("user", "ok"))


def test_a_result_without_an_id_is_taken_by_the_only_call() -> None:
    assert mend(calls(""), result("", "1")) == (calls("call_1"), result("call_1", "1"))


def test_the_calls_of_an_answer_that_failed_are_answered_too() -> None:
    mended = mend(calls("a", "b", stop="error"), result("b", "2"))

    assert [(b.call_id, b.text) for b in mended[1].blocks if isinstance(b, ResultBlock)] == [
        ("a", MISSING_RESULT_TEXT),
        ("b", "2"),
    ]


def test_a_tool_gets_a_name_that_providers_take_and_its_result_has_the_same() -> None:
    mended = mend(calls("a", tool=" web.search "), result("a", "1", tool="search"))

    assert mended == (calls("a", tool="web_search"), result("a", "1", tool="web_search"))


def test_words_that_came_as_one_string_stay_when_questions_are_merged() -> None:
    history = (says("user", "one", plain=True), says("user", "two"))

    assert mend(*history, family="google") == (says("user", "one", "two"),)
    assert mend(*history, family="anthropic") == history


def test_thinking_alone_is_no_turn() -> None:
    silent = NeutralMessage(role="assistant", blocks=(ReasoningBlock(text="hm"),))

    assert mend(says("user", "hi"), silent, family="google") == (says("user", "hi"),)


def test_a_recorded_agent_limits_first_and_pairs_what_the_limit_cut() -> None:
    history = (says("user", "hi"), calls("a"), says("user", "wait"), result("a", "1"))

    def newest(messages: NeutralMessages) -> NeutralMessages:
        return messages[-1:]

    assert (
        repaired_in_order(history, newest, "openclaw-2026.9", PROFILES["mistral"])[0].role == "user"
    )
    assert repaired_in_order(history, newest, "palimpsest", PROFILES["openai"]) == ()

"""A model's profile combines the demands of its server and of its chat template, the stricter of both."""

from itertools import product
from typing import get_args

import pytest

from palimpsest.model.wire.provider_messages import sendable_messages, to_provider, with_marks
from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    MediaBlock,
    NeutralMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.provider_profile.older_profiles import profile_at
from palimpsest.transcript.provider_profile.profile import (
    ID_RULE_ORDER,
    nine_character_id,
    profile,
    stricter_id_rule,
)
from palimpsest.transcript.provider_profile.provider_table import (
    FAMILIES,
    WIRES,
    Family,
    IdRule,
    Wire,
)
from palimpsest.transcript.values import ModelInfo, ModelRef

SIGNED = {"thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]}
PNG = MediaBlock(mime="image/png", url="data:image/png;base64,iVBORw0KGgo=")
PDF = MediaBlock(mime="application/pdf", url="data:application/pdf;base64,JVBERi0xLjc=")


def ref(model_id: str) -> ModelRef:
    provider, _, name = model_id.partition("/")
    return ModelRef(provider=provider, name=name)


def info(model_id: str) -> ModelInfo:
    return ModelInfo(ref=ref(model_id), window=200_000, output_limit=8_000, vision=True)


@pytest.mark.parametrize(
    ("model_id", "wire", "family", "id_rule", "turn_order"),
    [
        ("openai/gpt-5.1", "openai", "openai", "short", "any"),
        ("azure/gpt-4o", "azure", "openai", "short", "any"),
        ("anthropic/claude-sonnet-5", "anthropic", "anthropic", "words", "user_last"),
        ("gemini/gemini-3.5-flash", "gemini", "gemini", "any", "alternating"),
        ("mistral/mistral-large-latest", "mistral", "mistral", "nine", "user_last"),
        ("openrouter/mistralai/mistral-large", "gateway", "mistral", "nine", "user_last"),
        ("vertex_ai/mistral-large", "vertex", "mistral", "nine", "alternating"),
        ("vertex_ai/claude-opus-4", "anthropic", "anthropic", "words", "user_last"),
        ("vertex_ai-language-models/gemini-2.5-pro", "gemini", "gemini", "any", "alternating"),
        ("bedrock/us.anthropic.claude-x", "bedrock", "anthropic", "short_words", "user_last"),
        ("bedrock/converse/mistral.pixtral-large", "bedrock", "mistral", "nine", "user_last"),
        ("openrouter/google/gemini-2.5-pro", "gateway", "gemini", "short", "alternating"),
        ("github_copilot/claude-sonnet-4.5", "copilot", "anthropic", "short_words", "user_last"),
        ("ollama/qwen3", "ollama", "other", "short", "user_first"),
        ("somebody/anything", "chat", "other", "short", "user_first"),
    ],
)
def test_a_model_has_a_wire_and_a_family(
    model_id: str, wire: Wire, family: Family, id_rule: IdRule, turn_order: str
) -> None:
    found = profile(ref(model_id))

    assert (found.wire, found.family) == (wire, family)
    assert (found.id_rule, found.turn_order) == (id_rule, turn_order)


def test_every_wire_and_family_has_a_row() -> None:
    assert set(WIRES) == set(get_args(Wire))
    assert set(FAMILIES) == set(get_args(Family))


def test_a_profile_is_made_once() -> None:
    known = ref("openrouter/mistralai/mistral-large")

    assert profile(known) is profile(known.model_copy(update={"variant": "high"}))


@pytest.mark.parametrize(("one", "other"), list(product(ID_RULE_ORDER, ID_RULE_ORDER)))
def test_the_stricter_rule_of_ids_is_one_rule(one: IdRule, other: IdRule) -> None:
    both = stricter_id_rule(one, other)

    assert both == stricter_id_rule(other, one)
    assert stricter_id_rule(both, one) == stricter_id_rule(both, other) == both


def test_nine_letters_and_digits_stay_as_they_are() -> None:
    assert nine_character_id("abcdef123") == "abcdef123"
    assert nine_character_id("call_1") == "call10000"


def test_signed_thinking_goes_where_it_can_be_checked() -> None:
    thought = ReasoningBlock(text="Hm.", metadata={"family": "anthropic", **SIGNED})
    said = (NeutralMessage(role="assistant", blocks=(thought, TextBlock(text="Hi."))),)

    kept = {
        model_id: "thinking_blocks" in to_provider(said, info(model_id))[0]
        for model_id in (
            "anthropic/claude-x",
            "bedrock/anthropic.claude-x",
            "vertex_ai/claude-x",
            "litellm_proxy/claude-x",
            "openrouter/anthropic/claude-x",
            "github_copilot/claude-x",
            "somebody/claude-x",
        )
    }

    assert list(kept.values()) == [True, True, True, True, False, False, False]


def test_a_cache_mark_has_the_name_that_the_server_knows() -> None:
    sent = with_marks(({"role": "user", "content": "Hi."},), (0,))
    mark = {"type": "ephemeral"}

    named = {
        model_id: sendable_messages(sent, info(model_id))[0]
        for model_id in (
            "anthropic/claude-x",
            "openrouter/anthropic/claude-x",
            "github_copilot/claude-x",
            "somebody/claude-x",
        )
    }

    assert [sorted(set(body) - {"role", "content"}) for body in named.values()] == [
        ["cache_control"],
        ["cache_control"],
        ["copilot_cache_control"],
        [],
    ]
    assert named["github_copilot/claude-x"]["copilot_cache_control"] == mark


def test_media_stays_in_a_result_as_far_as_the_server_takes_it() -> None:
    call = CallBlock(call_id="c", tool="read", input={})
    result = ResultBlock(call_id="c", tool="read", text="two files", media=(PNG, PDF))
    talk = (
        NeutralMessage(role="assistant", blocks=(call,)),
        NeutralMessage(role="tool", blocks=(result,)),
    )

    def pieces(model_id: str) -> list[list[str]]:
        written = to_provider(talk, info(model_id))[1:]
        return [
            [block["type"] for block in message["content"]]
            if isinstance(message["content"], list)
            else ["words"]
            for message in written
        ]

    assert pieces("anthropic/claude-x") == [["text", "image_url", "file"]]
    assert pieces("bedrock/anthropic.claude-x") == [["text", "image_url"], ["text", "file"]]
    assert pieces("openrouter/anthropic/claude-x") == [["words"], ["text", "image_url", "file"]]


def test_an_older_request_is_written_by_the_tables_of_its_time() -> None:
    gateway, vertex = ref("openrouter/mistralai/mistral-large"), ref("vertex_ai/mistral-large")

    assert (profile_at(gateway, 2).id_rule, profile_at(gateway, 2).turn_order) == (
        "short",
        "user_last",
    )
    assert (profile_at(vertex, 2).id_rule, profile_at(vertex, 2).turn_order) == (
        "short",
        "alternating",
    )
    assert profile_at(gateway, 3) == profile(gateway)


@pytest.mark.parametrize(
    "model_id",
    [
        "openai/gpt-5.1",
        "anthropic/claude-sonnet-5",
        "gemini/gemini-2.5-pro",
        "gemini/gemini-3-pro",
        "vertex_ai/gemini-3-pro",
        "mistral/mistral-large-latest",
        "deepseek/deepseek-chat",
    ],
)
def test_nothing_changed_for_a_provider_that_serves_its_own_models(model_id: str) -> None:
    told = {"wire", "family", "needs_window_size", "caches_by_session", "input_limit_listed"}
    now, then = profile(ref(model_id)), profile_at(ref(model_id), 2)

    assert {
        name: (getattr(then, name), getattr(now, name))
        for name in now.__dataclass_fields__
        if name not in told and getattr(then, name) != getattr(now, name)
    } == {}


@pytest.mark.parametrize(
    ("provider", "name", "marked_for", "seconds"),
    [
        ("anthropic", "claude-sonnet-4-5", "", (300, 300)),
        ("anthropic", "claude-sonnet-4-5", "1h", (3_600, 3_600)),
        ("bedrock", "anthropic.claude-sonnet-4-5", "", (300, 300)),
        ("bedrock", "amazon.nova-pro-v1:0", "", None),
        ("openai", "gpt-5.1", "", (300, 600)),
        ("openai", "gpt-5.1", "1h", None),
        ("gemini", "gemini-2.5-pro", "", None),
        ("deepseek", "deepseek-chat", "", None),
        ("ollama", "qwen3", "", None),
    ],
)
def test_how_long_a_prompt_stays_cached_is_known_or_none(
    provider: str, name: str, marked_for: str, seconds: tuple[int, int] | None
) -> None:
    known = profile(ModelRef(provider=provider, name=name))

    assert known.cache_lifetime(marked_for) == seconds

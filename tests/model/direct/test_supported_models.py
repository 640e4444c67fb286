"""Which models are asked directly, and that litellm is imported for no other reason."""

import pytest

from palimpsest.model.adapter.litellm_model import LOADER
from palimpsest.model.catalog.model_check import providers
from palimpsest.model.direct.supported_models import (
    DIRECT_PROVIDERS,
    litellm_reason,
    needs_litellm,
    request_reason,
)
from palimpsest.model.interface import ModelRequest
from palimpsest.transcript.values import ModelInfo, ModelRef

HERE = "http://127.0.0.1:1/v1"


def ref(model: str, variant: str | None = None) -> ModelRef:
    provider, _, name = model.partition("/")
    return ModelRef(provider=provider, name=name, variant=variant)


@pytest.mark.parametrize(
    ("model", "base", "variant", "direct"),
    [
        ("openai/gpt-4o", None, None, True),
        ("openai/gpt-5.1", None, "high", True),
        ("openai/some-model", HERE, None, True),
        ("my-server/qwen", HERE, "high", True),
        ("anthropic/claude-sonnet-4-5", None, "high", True),
        ("anthropic/scripted", HERE, None, True),
        ("anthropic/scripted", HERE, "high", False),
        ("anthropic/claude-opus-4-5", None, "high", False),
        ("anthropic/claude-sonnet-4-5", None, "odd", False),
        ("hosted_vllm/qwen", HERE, "low", True),
        ("openrouter/anthropic/claude-sonnet-4.5", None, "max", True),
        ("deepseek/deepseek-chat", None, None, True),
        ("deepseek/deepseek-chat", None, "high", False),
        ("groq/openai/gpt-oss-120b", None, "high", False),
        ("openai/gpt-5.4", None, None, False),
        ("openai/gpt-5.4", "https://eu.api.openai.com/v1", None, False),
        ("openai/gpt-5.4", HERE, None, True),
        ("openai/gpt-5.4", HERE, "high", False),
        ("openai/gpt-5-codex", None, None, False),
        ("openai/responses/gpt-4o", None, None, False),
        ("openai/gpt-3.5-turbo-instruct", None, None, False),
        ("openai/gpt-4o-audio-preview", None, None, False),
        ("bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0", None, None, False),
        ("vertex_ai/claude-sonnet-4-5", None, None, False),
        ("azure/gpt-4o", HERE, None, False),
        ("gemini/gemini-2.5-flash", None, None, False),
        ("ollama/qwen3", "http://127.0.0.1:11434", None, False),
        ("poe/x", HERE, None, False),
    ],
)
def test_a_model_is_asked_directly_where_its_server_certainly_speaks_the_format(
    model: str,
    base: str | None,
    variant: str | None,
    direct: bool,  # noqa: FBT001 - a row of the table
) -> None:
    reason = litellm_reason(ref(model, variant), base, environment={})

    assert (reason is None) is direct, reason
    assert needs_litellm(ref(model, variant), base) is not direct
    assert needs_litellm(ref(model, variant), base, direct=False), "the setting is off"
    assert reason is None or " " in reason, "a sentence"


def test_the_rehearsal_needs_litellm_never() -> None:
    assert not needs_litellm(ref("rehearsal/rules"), None, direct=False)


@pytest.mark.parametrize(
    "environment",
    [
        {"ANTHROPIC_API_KEY": "sk-ant-oat-1"},
        {"ANTHROPIC_FEDERATION_RULE_ID": "r"},
        {"ANTHROPIC_IDENTITY_TOKEN_FILE": "/token"},
    ],
)
def test_other_ways_to_prove_who_asks_are_left_to_litellm(environment: dict[str, str]) -> None:
    assert litellm_reason(ref("anthropic/claude-sonnet-4-5"), None, environment=environment)


@pytest.mark.usefixtures("litellm")
def test_every_provider_that_litellm_knows_is_known_here() -> None:
    listed = {
        str(getattr(provider, "value", provider))
        for provider in LOADER.wait_for_litellm().provider_list
    }

    assert listed - providers() == set(), "would be taken for a name of the user's own"
    assert set(DIRECT_PROVIDERS) <= listed


@pytest.mark.parametrize(
    ("model", "messages", "parameters"),
    [
        ("openai/gpt-4o", (), {"logit_bias": {}}),
        ("openai/gpt-5.4", (), {"reasoning_effort": "high"}),
        ("anthropic/scripted", (), {"reasoning_effort": "high"}),
        ("anthropic/claude-x", ({"role": "user", "content": "a"}, {"role": "system", "content": "b"}), {}),
        ("openai/gpt-4o", ({"role": "tool", "content": [{"type": "image_url"}]},), {}),
        ("deepseek/deepseek-chat", ({"role": "user", "content": [{"type": "image_url"}]},), {}),
    ],
)  # fmt: skip
def test_a_request_that_only_litellm_can_write_goes_through_it(
    model: str, messages: tuple[dict[str, object], ...], parameters: dict[str, object]
) -> None:
    facts = ModelInfo(ref=ref(model), window=9_000, output_limit=99, api_base=HERE)

    assert request_reason(ModelRequest(model=facts, messages=messages, parameters=parameters))

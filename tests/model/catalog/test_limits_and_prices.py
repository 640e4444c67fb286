"""A model's limits and price come from the best known source, and are marked when assumed."""

import json
import sys
from typing import Any

import pytest

from palimpsest.model.adapter.litellm_model import LOADER
from palimpsest.model.catalog import litellm_table, local_servers
from palimpsest.model.catalog.model_info import model_info
from palimpsest.model.providers import DEFAULT_MODELS
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.values import ModelRef, Price


def test_knows_a_model_from_the_offline_table() -> None:
    info = model_info("anthropic/claude-sonnet-4-5", environment={})

    assert (info.window, info.window_assumed, info.output_limit) == (200_000, False, 64_000)
    assert (info.tools, info.vision, info.caching) == (True, True, True)
    assert (info.price.input, info.price.output, info.price.cache_read) == (3.0, 15.0, 0.3)
    assert info.price.cache_write == 3.75


def test_a_round_window_is_put_together_from_its_halves() -> None:
    info = model_info("openai/gpt-5.1", environment={})

    assert (info.window, info.input_limit, info.output_limit) == (400_000, 272_000, 128_000)


def test_long_prompts_may_cost_more() -> None:
    info = model_info("gemini/gemini-2.5-pro", environment={})

    assert [(tier.above, tier.price.input) for tier in info.price.tiers] == [(200_000, 2.5)]


def test_the_answer_never_takes_the_whole_window() -> None:
    info = model_info("mistral/mistral-large-latest", environment={})

    assert info.output_limit <= info.window // 2


def test_an_unknown_model_has_an_assumed_window_and_no_price() -> None:
    info = model_info("somewhere/new-model", environment={})

    assert (info.window, info.window_assumed, info.price) == (200_000, True, Price())


def test_a_bare_name_finds_its_provider() -> None:
    assert model_info("gpt-4o", environment={}).ref == ModelRef(provider="openai", name="gpt-4o")
    assert model_info("rehearsal", environment={}).price.input == 0.0


@pytest.mark.parametrize("name", ["", "gpt-nonsense", "/x", "openai/"])
def test_a_name_that_cannot_be_is_explained(name: str) -> None:
    with pytest.raises(ConfigError, match="Write it as provider/name"):
        model_info(name, environment={})


def test_configuration_wins() -> None:
    settings = {
        "window": 9_000,
        "output": 1_000,
        "price": {"input": 1.0, "output": 2.0},
        "api_base": "http://127.0.0.1:1/v1",
    }

    info = model_info("local/qwen", {"local/qwen": settings}, environment={}, variant="high")

    assert (info.window, info.window_assumed, info.output_limit) == (9_000, False, 1_000)
    assert (info.price.input, info.api_base) == (1.0, "http://127.0.0.1:1/v1")
    assert info.ref.variant == "high"


@pytest.mark.parametrize("settings", [{"window": "big"}, {"window": -1}, {"price": {"in": 1}}, 7])
def test_a_wrong_setting_is_named(settings: object) -> None:
    with pytest.raises(ConfigError, match=r"models\.local/qwen"):
        model_info("local/qwen", {"local/qwen": settings}, environment={})


def test_the_environment_names_servers() -> None:
    base = {"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1/", "OLLAMA_HOST": "0.0.0.0:1"}

    assert model_info("openai/qwen", environment=base).api_base == "http://127.0.0.1:8000/v1"
    assert local_servers.ollama_address(base) == "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("named", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        (" ", "http://127.0.0.1:11434"),
        ("gpu", "http://gpu:11434"),
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[::1]:99", "http://[::1]:99"),
        ("https://gpu.example/ollama/", "https://gpu.example/ollama"),
    ],
)
def test_the_address_of_ollama_is_read_as_ollama_reads_it(named: str, address: str) -> None:
    assert local_servers.ollama_address({"OLLAMA_HOST": named}) == address


def test_default_models_are_known_and_call_tools() -> None:
    for provider, name in DEFAULT_MODELS.items():
        info = model_info(f"{provider}/{name}", environment={})

        assert info.tools
        assert provider == "openrouter" or not info.window_assumed


FACTS = (
    "max_input_tokens", "max_output_tokens", "max_tokens", "input_cost_per_token", "output_cost_per_token",
    "cache_read_input_token_cost", "cache_creation_input_token_cost", "supports_vision", "supports_reasoning",
    "supports_prompt_caching", "supports_function_calling",
)  # fmt: skip


@pytest.mark.soak  # with each commit tests/model/catalog/test_price_list.py compares the shipped list with litellm's file; this adds what litellm itself says of each model
def test_facts_are_litellms_own_for_every_model_that_calls_tools() -> None:
    LOADER.wait_for_litellm()
    litellm = sys.modules["litellm"]
    whole: dict[str, dict[str, Any]] = json.loads(litellm_table.table_path().read_text("utf-8"))
    names = [
        ("bedrock" if value["litellm_provider"] == "bedrock_converse" else value["litellm_provider"].split("-")[0]
         if value["litellm_provider"].startswith("vertex_ai-") else value["litellm_provider"], key)
        for key, value in whole.items()
        if value.get("mode") in {"chat", "responses"} and value.get("supports_function_calling")
    ]  # fmt: skip
    differ = {}
    for provider, key in names:
        if provider in {"ollama", "lemonade"}:
            continue  # litellm would ask their servers, and knows nothing of one that does not run
        name = key.removeprefix(f"{provider}/")
        try:
            theirs = litellm.get_model_info(f"{provider}/{name}")
        except litellm.exceptions.BadRequestError:
            continue
        except Exception as error:
            if type(error).__name__ != "ModelNotMappedError":
                raise
            continue
        ours = litellm_table.find_model(ModelRef(provider=provider, name=name)) or {}
        wrong = [
            field for field in FACTS if (ours.get(field) or None) != (theirs.get(field) or None)
        ]
        if wrong:
            differ[f"{provider}/{name}"] = wrong

    assert differ == {}
    assert len(names) > 2_000


def test_a_model_of_bedrock_and_of_vertex_is_known_by_its_usual_name() -> None:
    bedrock = model_info("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", environment={})
    vertex = model_info("vertex_ai/claude-sonnet-4-5", environment={})

    assert (bedrock.window_assumed, bedrock.vision, bedrock.reasoning) == (False, True, True)
    assert bedrock.price.input == 3.3
    assert (vertex.window_assumed, vertex.price.output) == (False, 15.0)


def test_the_table_leaves_dated_copies_out() -> None:
    names = litellm_table.model_names("anthropic")

    assert "claude-sonnet-4-5" in names
    assert "claude-sonnet-4-5-20250929" not in names

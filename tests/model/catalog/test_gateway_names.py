"""A model's name behind a gateway finds the one model of litellm's list that is meant, or none."""

import pytest

from palimpsest.model.catalog import litellm_table
from palimpsest.model.catalog.gateway_names import MAKERS, meant_model, source_remark
from palimpsest.model.catalog.model_info import model_info, parse_model
from palimpsest.review.prices.offline_prices import offline_price, offline_window
from palimpsest.review.prices.prices import profile_of
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import ModelRef, Price

MEANT = {
    "inf-codex/gpt-5.4": "gpt-5.4",
    "a/b/c/gpt-5.4": "gpt-5.4",
    "litellm_proxy/GPT-4o": "gpt-4o",
    "litellm_proxy/gpt-5.1-codex": "gpt-5.1-codex",
    "openai/azure-gpt-4o": "azure/gpt-4o",
    "gw/azure/eu/gpt-4o": "azure/eu/gpt-4o",
    "gw/github/gpt-4o": "gpt-4o",
    "gw/gpt-5.4@20260305": "gpt-5.4",
    "my-gateway/anthropic/claude-sonnet-4-5": "claude-sonnet-4-5",
    "my-gateway/claude-sonnet-4.5": "claude-sonnet-4-5",
    "openrouter/anthropic/claude-sonnet-4.5": "claude-sonnet-4-5",
    "gw/bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0": (
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    ),
    "gw/us.anthropic.claude-sonnet-4-5-20250929-v1:0": (
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    ),
    "gw/vertex_ai/claude-sonnet-4-5@20250929": "vertex_ai/claude-sonnet-4-5@20250929",
    "gw/claude-sonnet-4-5@20250929": "claude-sonnet-4-5-20250929",
    "gw/models/gemini-2.5-pro": "gemini-2.5-pro",
    "gw/google/gemini-2.5-pro": "gemini/gemini-2.5-pro",
    "gw/x-ai/grok-4.3": "xai/grok-4.3",
    "gw/kimi-k2.5": "moonshot/kimi-k2.5",
    "gw/perplexity-sonar": "perplexity/sonar",
}

NOT_KNOWN = {
    "gw/gpt-oss-120b": "whoever runs it sets the price",
    "gw/openai/gpt-oss-120b": "its maker does not sell it",
    "gw/qwen3-32b": "several servers have it",
    "gw/llama-3.3-70b-versatile": "one server has it, and nobody said that it is this one",
    "gw/gpt-5.4-ultra": "the name of another model begins like it",
    "gw/gpt": "a beginning",
    "gw/chat": "the end of other names",
    "gw/latest": "no name",
    "gw/prod-gpt-4o": "no provider's name stands before it",
    "openrouter/openai/gpt-5.4:free": "the word behind the colon changes the price",
    "gw/text-embedding-3-large": "it does not chat",
    "rehearsal/rules": "it is ours",
}


@pytest.mark.parametrize(("name", "key"), MEANT.items())
def test_the_one_model_that_is_meant_is_found_for_window_price_and_abilities(
    name: str, key: str
) -> None:
    info = model_info(name, environment={})
    meant = litellm_table.find_model(parse_model(key)) or litellm_table.entry(key)
    assert meant is not None

    assert info.listed_as == key
    assert info.price == litellm_table.price(meant) == offline_price(name)
    assert not info.window_assumed
    assert offline_window(name) == meant["max_input_tokens"] <= info.window
    assert info.vision == bool(meant.get("supports_vision"))
    assert f"by the name {key} of litellm's list" in source_remark(info)
    assert "(~)" in source_remark(info)


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_a_name_that_means_none_or_several_has_no_price(name: str) -> None:
    assert meant_model(parse_model(name)).key is None
    assert offline_price(name) is None
    assert name.startswith("rehearsal/") or model_info(name, environment={}).price == Price()


def test_a_name_that_could_be_several_is_said_to_be() -> None:
    told = source_remark(model_info("gw/gpt-oss-120b", environment={}))

    assert "not known" in told
    assert '[models."gw/gpt-oss-120b"]' in told


@pytest.mark.parametrize("name", ["gw/gpt-5.4-ultra", "anthropic/claude-sonnet-4-5"])
def test_nothing_is_remarked_where_there_is_nothing_to_say(name: str) -> None:
    assert source_remark(model_info(name, environment={})) == ""


@pytest.mark.soak  # with each commit twenty names are found, above; this adds every name of the list
def test_every_model_of_a_maker_is_found_behind_a_gateway_or_nothing_is() -> None:
    """What is found has the price and the window of the maker's own entry."""
    wrong = {}
    found = 0
    for key, provider in litellm_table.chat_models():
        name = key.rpartition("/")[2]
        if provider not in MAKERS or key.count("/") > 1:
            continue
        own = litellm_table.entry(key) or {}
        meant = meant_model(ModelRef(provider="gw", name=name))
        if meant.key is None:
            continue
        found += 1
        theirs = (litellm_table.price(meant.facts), meant.facts.get("max_input_tokens"))
        if theirs != (litellm_table.price(own), own.get("max_input_tokens")):
            wrong[key] = meant.key

    assert found > 200
    # Two makers sell these under one name; the bare name in the list is one of them.
    assert {key for key in wrong if litellm_table.entry(key.rpartition("/")[2]) is None} == set()


def test_a_server_of_this_machine_is_a_gateway_only_for_models_that_nobody_else_runs() -> None:
    def known(name: str) -> str | None:
        settings = {name: {"api_base": "http://127.0.0.1:8000/v1"}}
        return model_info(name, settings, environment={}).listed_as

    assert known("openai/azure-gpt-5.4-proxy") is None
    assert known("gw/gpt-5.4") == "gpt-5.4"
    assert known("gw/kimi-k2.5") is None
    assert model_info("hosted_vllm/kimi-k2.5", environment={}).price == Price()


def test_the_prices_of_a_review_name_the_name_they_were_found_by() -> None:
    found = profile_of(Timeline(session="s"), "inf-codex/gpt-5.4", offline_price)

    assert found.input == 2.5
    assert found.source.startswith("the name gpt-5.4 of litellm ")


def test_a_setting_is_the_persons_own_price() -> None:
    settings = {"gw/gpt-5.4": {"price": {"input": 1.0, "output": 2.0}}}

    info = model_info("gw/gpt-5.4", settings, environment={})

    assert (info.price.input, info.listed_as) == (1.0, None)

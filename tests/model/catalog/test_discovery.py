"""Available models are discovered, and one is chosen when none is configured."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping

import pytest
from tests.model.model_list_server import listing_server
from tests.model.raw_server import answer, serving

from palimpsest.model.catalog import local_servers
from palimpsest.model.catalog.discovery import (
    choose_model,
    expected_model,
    known_models,
    unresponsive_servers,
)
from palimpsest.model.catalog.local_servers import LocalModel, LocalModels
from palimpsest.model.catalog.model_info import model_info
from palimpsest.model.providers import DEFAULT_MODELS, KEY_VARIABLES
from palimpsest.session.config.settings import ModelSettings
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.values import ModelRef

GONE = "http://127.0.0.1:9"


def having(*models: LocalModel) -> Callable[[Mapping[str, str]], LocalModels]:
    return lambda _: LocalModels(models)


nothing = having()


def test_a_key_chooses_its_provider() -> None:
    for provider, name in DEFAULT_MODELS.items():
        key = {KEY_VARIABLES[provider][0]: "secret"}

        assert choose_model(key, nothing) == ModelRef(provider=provider, name=name)


def test_a_local_model_needs_a_window_and_tools() -> None:
    small = LocalModel("small", 8_192, calls_tools=True)
    mute = LocalModel("mute", 32_768, calls_tools=False)
    good = LocalModel("good", 32_768, calls_tools=True)

    assert choose_model({}, having(small, mute, good)).id == "ollama/good"
    assert choose_model({}, having(small, mute)).id == "rehearsal/rehearsal"
    assert choose_model({"OPENAI_API_KEY": " "}, nothing).id == "rehearsal/rehearsal"


def test_lists_what_is_available_and_why() -> None:
    local = LocalModel("good", 32_768, calls_tools=True)
    found = known_models({"ANTHROPIC_API_KEY": "x"}, {"my/model": {"window": 5_000}}, having(local))

    names = [item.info.ref.id for item in found]
    assert names[:2] == ["my/model", f"anthropic/{DEFAULT_MODELS['anthropic']}"]
    assert names[-2:] == ["ollama/good", "rehearsal/rehearsal"]
    assert found[0].reason == "configured"
    assert all(name.startswith("anthropic/") for name in names[1:-2])


@pytest.fixture
def local_server() -> Iterator[str]:
    with listing_server() as url:
        yield url


def test_asks_a_local_ollama_for_its_models(local_server: str) -> None:
    environment = {"OLLAMA_HOST": local_server}

    info = model_info("ollama/qwen", environment=environment)

    assert local_servers.ollama_models(environment).models == (
        LocalModel("qwen:latest", 32_768, calls_tools=True),
    )
    assert choose_model(environment).id == "ollama/qwen:latest"
    assert (info.window, info.window_assumed, info.price.input) == (32_768, False, 0.0)


def test_a_server_of_ones_own_is_asked_for_its_model(local_server: str) -> None:
    named = {"OPENAI_BASE_URL": "https://example.org/v1", "OPENAI_MODEL": "mine"}

    assert choose_model({"OPENAI_BASE_URL": local_server}, nothing).id == "openai/served"
    assert choose_model(named, nothing).id == "openai/mine"


def test_an_ollama_that_nobody_named_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_servers, "DEFAULT_BASE", GONE)

    assert local_servers.ollama_models({}) == LocalModels(missing_reason="silent")
    assert choose_model({}).id == "rehearsal/rehearsal"
    assert list(unresponsive_servers({})) == []


@pytest.mark.parametrize("variable", ["OLLAMA_HOST", "OLLAMA_API_BASE"])
def test_an_ollama_that_is_named_and_down_is_never_replaced_by_the_rehearsal(variable: str) -> None:
    gone = {variable: GONE}
    told = (
        f"The Ollama server at {GONE}, which {variable} names, does not answer. Start it, unset {variable}, "
        "or choose another model with --model."
    )

    with pytest.raises(ConfigError) as caught:
        choose_model(gone)
    assert str(caught.value) == told
    assert list(unresponsive_servers(gone)) == [told]


def test_a_server_that_is_down_is_named_and_never_replaced() -> None:
    gone = {"OPENAI_BASE_URL": f"{GONE}/v1", "ANTHROPIC_API_KEY": "x"}
    told = (
        f"The server at {GONE}/v1, which OPENAI_BASE_URL names, does not answer. Start it, set OPENAI_MODEL to the "
        "name of a model, or choose another model with --model."
    )

    with pytest.raises(ConfigError) as caught:
        choose_model(gone, nothing)
    assert str(caught.value) == told
    assert list(unresponsive_servers(gone, nothing)) == [told]
    assert list(unresponsive_servers({**gone, "OPENAI_MODEL": "mine"}, nothing)) == []


OLLAMA_ANSWERS = [
    (answer("404 page not found", status=404, kind="text/plain"), "does not list its models. Check the address"),
    (answer("<html>Sign in</html>", kind="text/html"), "does not list its models. Check the address"),
    (answer('{"data": []}'), "does not list its models. Check the address"),
    (answer("{}", status=401), "wants a key, or another one. Set the key it wants"),
    (answer('{"models": []}'), "has no model that calls tools and reads more than 16,000 tokens. Pull one"),
    (b"", "does not answer. Start it"),
    (b"SSH-2.0-OpenSSH_9.6\r\n", "does not list its models. Check the address"),
]  # fmt: skip
SERVED_ANSWERS = [
    (answer("404 page not found", status=404, kind="text/plain"), "does not list its models. Check the address"),
    (answer("{}", status=401), "wants a key, or another one. Set OPENAI_API_KEY to its key"),
    (answer("{}", status=403), "wants a key, or another one. Set OPENAI_API_KEY to its key"),
    (answer("<html>Sign in</html>", kind="text/html"), "does not list its models. Check the address"),
    (answer('{"data": [{"id": "whisper-1"}]}'), "lists no model that can chat. Start it"),
    (answer('{"data": [7]}'), "does not list its models. Check the address"),
    (b"", "does not answer. Start it"),
]  # fmt: skip


async def chosen_from(sent: bytes, variable: str, path: str) -> str:
    async with serving(sent) as host:
        with pytest.raises(ConfigError) as caught:
            await asyncio.to_thread(choose_model, {variable: f"http://{host}{path}"})
        told = str(caught.value)
        assert f"http://{host}{path}, which {variable} names" in told
    return told


@pytest.mark.parametrize(("sent", "told"), OLLAMA_ANSWERS)
async def test_what_a_named_ollama_does_instead_of_listing_models_is_said(
    sent: bytes, told: str
) -> None:
    assert told in await chosen_from(sent, "OLLAMA_HOST", "")


@pytest.mark.parametrize(("sent", "told"), SERVED_ANSWERS)
async def test_what_a_named_server_does_instead_of_listing_models_is_said(
    sent: bytes, told: str
) -> None:
    assert told in await chosen_from(sent, "OPENAI_BASE_URL", "/v1")


async def test_a_model_of_which_ollama_says_nothing_leaves_the_others() -> None:
    listed = answer('{"models": [{"name": "broken"}, {"name": "good"}]}')
    facts = {"model_info": {"x.context_length": 32_768}, "capabilities": ["tools"]}
    async with serving(listed, answer("", status=500), answer(json.dumps(facts))) as host:
        chosen = await asyncio.to_thread(choose_model, {"OLLAMA_HOST": f"http://{host}"})

    assert chosen.id == "ollama/good"


async def test_a_length_of_nothing_is_not_taken_for_a_model_without_a_limit() -> None:
    listed = answer('{"models": [{"name": "odd"}]}')
    facts = {"model_info": {"x.context_length": 0}, "capabilities": ["tools"]}
    async with serving(listed, answer(json.dumps(facts))) as host:
        found = await asyncio.to_thread(model_info, "ollama/odd", environment={"OLLAMA_HOST": host})

    assert found.window == local_servers.DEFAULT_WINDOW


def test_a_server_of_the_settings_answers_before_the_rehearsal() -> None:
    settings = {
        "anthropic/claude-opus-4-5": ModelSettings(window=100_000),
        "mine/qwen3": ModelSettings(api_base=f"{GONE}/v1"),
        "openai/other": {"api_base": f"{GONE}/v1"},
    }

    assert choose_model({}, nothing, settings).id == "mine/qwen3"
    assert choose_model({"OPENAI_API_KEY": "x"}, nothing, settings).provider == "openai"
    assert choose_model({"OLLAMA_HOST": GONE}, nothing, settings).id == "mine/qwen3"
    unplaced = {"anthropic/claude-opus-4-5": ModelSettings(window=100_000)}
    assert expected_model({}, settings) == choose_model({}, nothing, settings)
    assert expected_model({}, unplaced) is None
    assert expected_model({"OPENAI_BASE_URL": GONE}, settings).provider == "openai"


def test_an_anthropic_server_without_a_key_answers_before_the_rehearsal() -> None:
    chosen = choose_model({"ANTHROPIC_BASE_URL": GONE}, nothing)

    assert chosen == ModelRef(provider="anthropic", name=DEFAULT_MODELS["anthropic"])
    assert (
        choose_model({"ANTHROPIC_BASE_URL": GONE, "OPENAI_API_KEY": "x"}, nothing).provider
        == "openai"
    )


def test_a_server_is_asked_with_its_key_and_what_cannot_chat_is_skipped(local_server: str) -> None:
    environment = {"OPENAI_BASE_URL": f"{local_server}/keyed", "OPENAI_API_KEY": "sk-right"}

    assert choose_model(environment, nothing).id == "openai/qwen3-8b"
    listed = [
        model for model in known_models(environment, None, nothing) if "listed by" in model.reason
    ]
    assert [model.info.ref.id for model in listed] == ["openai/qwen3-8b", "openai/llama-4"]
    with pytest.raises(ConfigError, match="does not list its models"):
        choose_model({**environment, "OPENAI_API_KEY": "sk-wrong"}, nothing)

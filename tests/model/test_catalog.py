"""A model's limits and price come from where they are known, and say when they are assumed."""

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from palimpsest.model import ollama, table
from palimpsest.model.catalog import choose, info, known
from palimpsest.model.litellm_model import wait
from palimpsest.model.ollama import LocalModel
from palimpsest.model.providers import DEFAULT_MODELS, KEY_VARIABLES
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.values import ModelRef, Price


def nothing(_: Mapping[str, str]) -> tuple[LocalModel, ...]:
    return ()


def test_knows_a_model_from_the_offline_table() -> None:
    found = info("anthropic/claude-sonnet-4-5", environment={})

    assert (found.window, found.window_assumed, found.output_limit) == (200_000, False, 64_000)
    assert (found.tools, found.vision, found.caching) == (True, True, True)
    assert (found.price.input, found.price.output, found.price.cache_read) == (3.0, 15.0, 0.3)
    assert found.price.cache_write == 3.75


def test_a_round_window_is_put_together_from_its_halves() -> None:
    found = info("openai/gpt-5.1", environment={})

    assert (found.window, found.input_limit, found.output_limit) == (400_000, 272_000, 128_000)


def test_long_prompts_may_cost_more() -> None:
    found = info("gemini/gemini-2.5-pro", environment={})

    assert [(tier.above, tier.price.input) for tier in found.price.tiers] == [(200_000, 2.5)]


def test_the_answer_never_takes_the_whole_window() -> None:
    found = info("mistral/mistral-large-latest", environment={})

    assert found.output_limit <= found.window // 2


def test_an_unknown_model_has_an_assumed_window_and_no_price() -> None:
    found = info("somewhere/new-model", environment={})

    assert (found.window, found.window_assumed, found.price) == (200_000, True, Price())


def test_a_bare_name_finds_its_provider() -> None:
    assert info("gpt-4o", environment={}).ref == ModelRef(provider="openai", name="gpt-4o")
    assert info("rehearsal", environment={}).price.input == 0.0


@pytest.mark.parametrize("name", ["", "gpt-nonsense", "/x", "openai/"])
def test_a_name_that_cannot_be_is_explained(name: str) -> None:
    with pytest.raises(ConfigError, match="Write it as provider/name"):
        info(name, environment={})


def test_configuration_wins() -> None:
    settings = {
        "window": 9_000,
        "output": 1_000,
        "price": {"input": 1.0, "output": 2.0},
        "api_base": "http://127.0.0.1:1/v1",
    }

    found = info("local/qwen", {"local/qwen": settings}, environment={}, variant="high")

    assert (found.window, found.window_assumed, found.output_limit) == (9_000, False, 1_000)
    assert (found.price.input, found.api_base) == (1.0, "http://127.0.0.1:1/v1")
    assert found.ref.variant == "high"


@pytest.mark.parametrize("settings", [{"window": "big"}, {"window": -1}, {"price": {"in": 1}}, 7])
def test_a_wrong_setting_is_named(settings: object) -> None:
    with pytest.raises(ConfigError, match=r"models\.local/qwen"):
        info("local/qwen", {"local/qwen": settings}, environment={})


def test_the_environment_names_servers() -> None:
    base = {"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1/", "OLLAMA_HOST": "0.0.0.0:1"}

    assert info("openai/qwen", environment=base).api_base == "http://127.0.0.1:8000/v1"
    assert ollama.base(base) == "http://127.0.0.1:1"


def test_a_key_chooses_its_provider() -> None:
    for provider, name in DEFAULT_MODELS.items():
        key = {KEY_VARIABLES[provider][0]: "secret"}

        assert choose(key, nothing) == ModelRef(provider=provider, name=name)


def test_default_models_are_known_and_call_tools() -> None:
    for provider, name in DEFAULT_MODELS.items():
        found = info(f"{provider}/{name}", environment={})

        assert found.tools
        assert provider == "openrouter" or not found.window_assumed


def test_a_local_model_needs_a_window_and_tools() -> None:
    small = LocalModel("small", 8_192, tools=True)
    mute = LocalModel("mute", 32_768, tools=False)
    good = LocalModel("good", 32_768, tools=True)

    assert choose({}, lambda _: (small, mute, good)).id == "ollama/good"
    assert choose({}, lambda _: (small, mute)).id == "rehearsal/rehearsal"
    assert choose({"OPENAI_API_KEY": " "}, nothing).id == "rehearsal/rehearsal"


def test_lists_what_is_available_and_why() -> None:
    local = LocalModel("good", 32_768, tools=True)
    found = known({"ANTHROPIC_API_KEY": "x"}, {"my/model": {"window": 5_000}}, lambda _: (local,))

    names = [item.info.ref.id for item in found]
    assert names[:2] == ["my/model", f"anthropic/{DEFAULT_MODELS['anthropic']}"]
    assert names[-2:] == ["ollama/good", "rehearsal/rehearsal"]
    assert found[0].because == "configured"
    assert all(name.startswith("anthropic/") for name in names[1:-2])


FACTS = (
    "max_input_tokens", "max_output_tokens", "max_tokens", "input_cost_per_token", "output_cost_per_token",
    "cache_read_input_token_cost", "cache_creation_input_token_cost", "supports_vision", "supports_reasoning",
    "supports_prompt_caching", "supports_function_calling",
)  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """A server that is an Ollama and an OpenAI-compatible one at once."""

    def do_GET(self) -> None:
        listed: dict[str, object] = {
            "models": [{"name": "qwen:latest"}],
            "data": [{"id": "served"}],
        }
        if self.path.startswith("/keyed"):
            listed = {
                "data": [
                    {"id": name}
                    for name in ("text-embedding-3", "qwen3-8b", "whisper-1", "llama-4")
                ]
            }
            if self.headers["authorization"] != "Bearer sk-right":
                listed = {"detail": "Unauthorized"}
        self.answer(listed)

    def do_POST(self) -> None:
        facts = {"qwen.context_length": 131_072}
        self.answer({"model_info": facts, "capabilities": ["tools"]})

    def answer(self, value: dict[str, object]) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def local_server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_asks_a_local_ollama_for_its_models(local_server: str) -> None:
    environment = {"OLLAMA_HOST": local_server}

    found = info("ollama/qwen", environment=environment)

    assert ollama.models(environment) == (LocalModel("qwen:latest", 32_768, tools=True),)
    assert choose(environment).id == "ollama/qwen:latest"
    assert (found.window, found.window_assumed, found.price.input) == (32_768, False, 0.0)


def test_a_server_of_ones_own_is_asked_for_its_model(local_server: str) -> None:
    named = {"OPENAI_BASE_URL": "https://example.org/v1", "OPENAI_MODEL": "mine"}

    assert choose({"OPENAI_BASE_URL": local_server}, nothing).id == "openai/served"
    assert choose(named, nothing).id == "openai/mine"


def test_no_ollama_is_no_model() -> None:
    gone = {"OLLAMA_HOST": "http://127.0.0.1:9"}

    assert ollama.models(gone) == ()
    assert choose(gone).id == "rehearsal/rehearsal"


def test_a_server_that_is_down_is_named_and_never_replaced() -> None:
    gone = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "ANTHROPIC_API_KEY": "x"}

    with pytest.raises(ConfigError, match=r"The server at http://127\.0\.0\.1:9/v1.*Start it"):
        choose(gone, nothing)


def test_a_server_is_asked_with_its_key_and_what_cannot_chat_is_skipped(local_server: str) -> None:
    environment = {"OPENAI_BASE_URL": f"{local_server}/keyed", "OPENAI_API_KEY": "sk-right"}

    assert choose(environment, nothing).id == "openai/qwen3-8b"
    listed = [one for one in known(environment, None, nothing) if "listed by" in one.because]
    assert [one.info.ref.id for one in listed] == ["openai/qwen3-8b", "openai/llama-4"]
    with pytest.raises(ConfigError, match="does not list its models"):
        choose({**environment, "OPENAI_API_KEY": "sk-wrong"}, nothing)


def test_facts_are_litellms_own_for_every_model_that_calls_tools() -> None:
    wait(60)
    litellm = sys.modules["litellm"]
    whole: dict[str, dict[str, Any]] = json.loads((table.path() or Path()).read_text("utf-8"))
    names = [
        ("bedrock" if value["litellm_provider"] == "bedrock_converse" else value["litellm_provider"].split("-")[0]
         if value["litellm_provider"].startswith("vertex_ai-") else value["litellm_provider"], key)
        for key, value in whole.items()
        if value.get("mode") in {"chat", "responses"} and value.get("supports_function_calling")
    ]  # fmt: skip
    differ = {}
    for provider, key in names:
        if provider in {"ollama", "lemonade"}:
            continue  # litellm asks their servers, and has nothing to say of one that does not run
        name = key.removeprefix(f"{provider}/")
        try:
            theirs = litellm.get_model_info(f"{provider}/{name}")
        except litellm.exceptions.BadRequestError:
            continue
        except Exception as error:
            if type(error).__name__ != "ModelNotMappedError":
                raise
            continue
        ours = table.find(ModelRef(provider=provider, name=name)) or {}
        wrong = [
            field for field in FACTS if (ours.get(field) or None) != (theirs.get(field) or None)
        ]
        if wrong:
            differ[f"{provider}/{name}"] = wrong

    assert differ == {}
    assert len(names) > 2_000


def test_a_model_of_bedrock_and_of_vertex_is_known_by_its_usual_name() -> None:
    bedrock = info("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", environment={})
    vertex = info("vertex_ai/claude-sonnet-4-5", environment={})

    assert (bedrock.window_assumed, bedrock.vision, bedrock.reasoning) == (False, True, True)
    assert bedrock.price.input == 3.3
    assert (vertex.window_assumed, vertex.price.output) == (False, 15.0)


def test_the_table_leaves_dated_copies_out() -> None:
    names = table.names("anthropic")

    assert "claude-sonnet-4-5" in names
    assert "claude-sonnet-4-5-20250929" not in names

"""Every OpenAI-compatible route of litellm tells the finish that its provider sent."""

import json

import pytest
from tests.model.adapter_requests import info, request, run
from tests.model.openai_chunks import END, HEAD, chunk
from tests.model.raw_server import answer, serving
from tests.sample_size import sample_size, sampled_cases

from palimpsest.model.interface import StepFinished, ToolCalled

pytestmark = pytest.mark.usefixtures("litellm", "both_ways")

ROUTES = """
ai21 ai21_chat aiml apertis assemblyai azure azure_ai baseten bedrock_mantle cerebras charity_engine chutes
cloudflare codestral cognition cometapi compactifai cortecs custom_openai darkbloom dashscope databricks
datarobot deepinfra deepseek docker_model_runner edenai empower featherless_ai fireworks_ai friendliai
galadriel github gradient_ai groq helicone heroku hosted_vllm huggingface hyperbolic inception lambda_ai
lemonade libertai litellm_proxy llamafile lm_studio meta meta_llama minimax mistral modelscope moonshot morph
nadir nano-gpt nebius neosantara novita nscale nvidia_nim openai openrouter ovhcloud parasail perplexity
pinstripes poe prism publicai qwen_ai_platform qwencloud reka sail sambanova scaleway scx-ai snowflake
synthetic tencent tensormesh together_ai v0 vercel_ai_gateway volcengine wandb xai xiaomi_mimo xinference zai
""".split()  # noqa: SIM905
"""The providers that litellm 1.106 asks in OpenAI's format at any address, without a key."""
FINISHES = {
    "length": ("length", "length"),
    "content_filter": ("content-filter", "content-filter"),
    "stop": ("stop", "tool-calls"),
    "tool_calls": ("stop", "tool-calls"),
    "eos": ("stop", "tool-calls"),
    "max_tokens": ("length", "length"),
    "insufficient_system_resource": ("unknown", "tool-calls"),
}
"""A provider's finish, and what it means without and with a tool call."""
CALL = {
    "index": 0,
    "id": "c1",
    "type": "function",
    "function": {"name": "python", "arguments": '{"code": "1"}'},
}
TRIED = list(FINISHES)[: sample_size(1, len(FINISHES))]


def _usage() -> str:
    used = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return f"data: {json.dumps({**HEAD, 'choices': [], 'usage': used})}\n\n"


@pytest.mark.slow
@pytest.mark.parametrize("calls", sampled_cases({"text": False, "call": True}, "call"))
@pytest.mark.parametrize("finish", TRIED)
async def test_the_finish_is_the_providers_own(*, finish: str, calls: bool) -> None:
    """The library ends most of these streams with a chunk of its own that says "stop"."""
    written = chunk(tool_calls=[CALL]) if calls else chunk(content=" there.")
    body = chunk(role="assistant", content="Hi") + written + chunk(finish) + _usage()
    told = {}
    async with serving(answer(body + END, kind="text/event-stream")) as host:
        for route in ROUTES:
            events, error = await run(request(info(route, api_base=f"http://{host}/v1")))
            ended = events[-1] if events else None
            assert isinstance(ended, StepFinished), (route, error)
            told[route] = ended.reason, (ended.metadata or {})["provider_finish"]

    assert told == dict.fromkeys(ROUTES, (FINISHES[finish][calls], finish))


@pytest.mark.parametrize("route", ["openai", "deepseek", "mistral", "xai"])
async def test_an_answer_without_any_finish_is_none(route: str) -> None:
    body = chunk(role="assistant", content="Hi")
    async with serving(answer(body, kind="text/event-stream")) as host:
        events, error = await run(request(info(route, api_base=f"http://{host}/v1")))

    assert error is not None
    assert "ended early" in error.message
    assert not any(isinstance(event, ToolCalled | StepFinished) for event in events)

"""The body of a request that is asked directly is the one that litellm sends for the same request."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from tests.sample_size import thinned

from palimpsest.model.adapter.litellm_model import LOADER, LitellmModel
from palimpsest.model.direct import anthropic_body, openai_body
from palimpsest.model.direct.direct_model import DirectModel
from palimpsest.model.direct.supported_models import litellm_reason
from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import says
from palimpsest.testing import FaultServer, ReceivedRequest
from palimpsest.transcript.errors import ModelFailed
from palimpsest.transcript.values import ModelInfo, ModelRef, ToolSpec

pytestmark = pytest.mark.usefixtures("litellm")

Body = dict[str, Any]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
MARK = {"cache_control": {"type": "ephemeral"}}
CODE = {"type": "string", "pattern": "^a(?<x>b)$", "description": "Of Python."}
PYTHON = ToolSpec(
    name="python",
    description="Run code.",
    parameters={
        "type": "object",
        "properties": {"code": CODE, "more": {"type": "object", "additionalProperties": False}},
        "required": ["code"],
        "additionalProperties": False,
        "title": "Code",
    },
)
ODD = ToolSpec(
    name="odd",
    description="",
    parameters={
        "anyOf": [{"required": ["a"]}],
        "properties": {"a": {"$ref": "#/$defs/q"}, "b": {"enum": [1, None]}},
        "patternProperties": {"^(?<y>c)": {}, "^d": {"pattern": "["}},
        "$defs": {"q": {"type": "string"}},
    },
)
SYSTEM = {"role": "system", "content": "Be brief.", **MARK}
SECOND = {"role": "system", "content": "Be kind."}
ASKED = {"role": "user", "content": "Hello 🐧"}
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
PDF = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0x"}}  # fmt: skip
SHOWN = {"role": "user", "content": [{"type": "text", "text": "Look"}, IMAGE, PDF, {"type": "text", "text": "at it", **MARK}]}  # fmt: skip


def call(identifier: str, arguments: str) -> Body:
    """Return a call in OpenAI's format."""
    return {"id": identifier, "type": "function", "function": {"name": "python", "arguments": arguments}}  # fmt: skip


THOUGHT = {
    "thinking_blocks": [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "redacted_thinking", "data": "sealed"},
    ]
}
CALLED = {"role": "assistant", "content": "I look. ", "tool_calls": [call("call_1", '{"code": "1"}'), call("call_2", "{}")], **THOUGHT}  # fmt: skip
SILENT = {**CALLED, "content": None}
SIGNED = {"role": "assistant", "content": "So.", "tool_calls": [call("c__thought__abc", "{}")]}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "one", **MARK}
EMPTY = {"role": "tool", "tool_call_id": "call_2", "content": ""}
LISTED = {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "two"}]}
DONE = {"role": "assistant", "content": "Done. "}

REQUESTS: dict[str, Body] = {
    "plain": {"messages": (SYSTEM, ASKED), "tools": ()},
    "two systems": {"messages": (SYSTEM, SECOND, ASKED, ASKED)},
    "tools": {"messages": (SYSTEM, ASKED), "tools": (PYTHON, ODD)},
    "files": {"messages": (SYSTEM, SHOWN)},
    "history": {"messages": (SYSTEM, ASKED, CALLED, RESULT, LISTED, DONE, ASKED)},
    "calls without a word": {"messages": (SYSTEM, ASKED, SILENT, RESULT, EMPTY)},
    "calls and no tools": {"messages": (SYSTEM, ASKED, SILENT, RESULT, EMPTY), "tools": ()},
    "an answer last": {"messages": (SYSTEM, ASKED, DONE)},
    "ids with a signature": {"messages": (ASKED, SIGNED, {**RESULT, "tool_call_id": "c__thought__abc"})},
    "parameters": {"messages": (SYSTEM, ASKED), "parameters": {"temperature": 0.3, "top_p": 0.5, "max_tokens": 77, "tool_choice": "required"}},
    "nothing set": {"messages": (SYSTEM, ASKED), "parameters": {"temperature": None, "tool_choice": None}},
    "a high effort": {"messages": (SYSTEM, ASKED), "variant": "high"},
    "no effort": {"messages": (SYSTEM, ASKED), "variant": "none", "tools": ()},
    "an effort in the parameters": {"messages": (SYSTEM, ASKED), "parameters": {"reasoning_effort": "low", "temperature": 0.3}},
    "an effort in the middle": {"messages": (SYSTEM, ASKED, CALLED, RESULT, EMPTY), "variant": "medium"},
    "an effort after calls without thinking": {"messages": (SYSTEM, ASKED, {**DONE, "tool_calls": [call("call_1", "{}")]}, RESULT), "variant": "high"},
    "no tool": {"messages": (SYSTEM, ASKED), "parameters": {"tool_choice": "none"}},
    "one tool": {"messages": (SYSTEM, ASKED), "parameters": {"tool_choice": {"type": "function", "function": {"name": "python"}}}},
    "a choice without tools": {"messages": (SYSTEM, ASKED), "tools": (), "parameters": {"tool_choice": "auto"}},
}  # fmt: skip
MODELS = (
    "openai/some-model", "openai/gpt-4o", "openai/gpt-5.1", "openai/gpt-5", "openai/o3-mini", "my-server/qwen",
    "hosted_vllm/qwen", "lm_studio/qwen", "llamafile/qwen", "openrouter/qwen/qwen3", "openrouter/anthropic/claude-sonnet-4.5",
    "deepseek/deepseek-chat", "groq/openai/gpt-oss-120b", "xai/grok-4.3", "cerebras/gpt-oss-120b", "cerebras/llama-9", "together_ai/zai-org/GLM-5", "anthropic/claude-sonnet-4-5",
    "anthropic/claude-sonnet-5", "anthropic/claude-mythos-5-1", "anthropic/scripted",
)  # fmt: skip
OTHER_HEADERS = {
    "accept": "litellm's own HTTP client asks for anything",
    "user-agent": "we are not OpenAI's library",
    "content-length": "litellm writes spaces into some bodies",
    "host": "another port",
    "http-referer": "litellm names its own page where nobody else is named",
    "x-title": "the same",
    "accept-encoding": "depends on which packages are there",
}
"""Headers that may differ, and why; the rest is equal but for those of OpenAI's library (``x-stainless-...``)."""


def request_of(model: str, name: str, server: FaultServer) -> ModelRequest:
    """Return a request of the table to a model on the fault server."""
    given = REQUESTS[name]
    provider, _, rest = model.partition("/")
    base = server.anthropic_base if provider == "anthropic" else server.openai_base
    ref = ModelRef(provider=provider, name=rest, variant=given.get("variant"))
    facts = ModelInfo(ref=ref, window=9_000, output_limit=4_000, api_base=base)
    return ModelRequest(
        model=facts,
        messages=given["messages"],
        tools=given.get("tools", (PYTHON,)),
        parameters=given.get("parameters", {}),
        session_id="ses_1",
    )


async def received(model: Any, asked: ModelRequest, server: FaultServer) -> ReceivedRequest | str:
    """Send a request; return what the server received, or the error before it was sent."""
    count = len(server.requests)
    try:
        async for _ in model.stream(asked):
            pass
    except ModelFailed as failed:
        if len(server.requests) == count:
            return str(failed.error)
    return server.requests[-1]


@pytest.mark.parametrize("model", thinned(MODELS, 9))
async def test_a_body_is_the_one_that_litellm_sends(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("GROQ", "XAI", "CEREBRAS", "DEEPSEEK", "OPENROUTER", "TOGETHERAI"):
        monkeypatch.setenv(f"{variable}_API_KEY", "sk-test-0123456789")
    litellm = LitellmModel(read_timeout_seconds=20.0)
    ours = DirectModel(litellm, read_timeout_seconds=20.0)
    direct = 0
    async with FaultServer(*[says("Hi.")] * len(REQUESTS) * 2) as server:
        for name in REQUESTS:
            asked = request_of(model, name, server)
            if ours.reason(asked) is not None:
                continue
            direct += 1
            sent, wanted = [await received(adapter, asked, server) for adapter in (ours, litellm)]
            assert isinstance(sent, ReceivedRequest), (name, sent)
            assert isinstance(wanted, ReceivedRequest), (name, wanted)
            assert (sent.path, sent.had_key) == (wanted.path, wanted.had_key), name
            assert sent.body == wanted.body, name
            assert headers(sent) == headers(wanted), name
    assert direct >= len(REQUESTS) / 2, "asked directly"


def headers(sent: ReceivedRequest) -> Body:
    """Return the headers that must be equal."""
    return {
        name: value
        for name, value in sent.headers.items()
        if name not in OTHER_HEADERS and not name.startswith("x-stainless")
    }


def parameters(efforts: tuple[str | None, ...]) -> Iterator[Body]:
    """Yield all combinations of parameters that have a value."""
    for effort, temperature, top_p in itertools.product(efforts, (None, 0.3, 1), (None, 0.5)):
        given = {"reasoning_effort": effort, "temperature": temperature, "top_p": top_p}
        yield {"max_tokens": 77} | {
            name: value for name, value in given.items() if value is not None
        }


EFFORTS = (None, "none", "minimal", "low", "medium", "high", "xhigh", "max")


@pytest.mark.slow
@pytest.mark.parametrize("provider", thinned(["openai", "anthropic"], 2))
def test_the_parameters_of_every_listed_model_are_those_that_litellm_sends(provider: str) -> None:
    litellm = LOADER.wait_for_litellm()
    listed = [
        name
        for name, facts in litellm.model_cost.items()
        if facts.get("litellm_provider") == provider and "/" not in name
    ]
    unlisted = ["some-model", "gpt-5.1-new", "gpt-6", "o9", "ft:gpt-4o:me", "claude-opus-9", "claude-opus-4-7-new", "claude-sonnet-5-20290101"]  # fmt: skip
    tools = [{"type": "function", "function": {"name": "python", "parameters": {}}}]
    compared = 0
    for name in (*listed, *unlisted):
        for given in parameters((*EFFORTS, "odd") if provider == "openai" else EFFORTS):
            ref = ModelRef(provider=provider, name=name, variant=given.get("reasoning_effort"))
            if litellm_reason(ref, "http://127.0.0.1:1/v1", environment={}) is not None:
                continue
            compared += 1
            choice = {"tool_choice": "required"}
            wanted = litellm.get_optional_params(model=name, custom_llm_provider=provider, drop_params=True, tools=tools, **given, **choice)  # fmt: skip
            for field in ("stream", "extra_body", "tools"):
                wanted.pop(field, None)
            taken = (
                openai_body.accepted_parameters(name, given | choice)
                if provider == "openai"
                else anthropic_body.accepted_parameters(ref, given | choice)
            )
            assert taken == wanted, (name, given)
    assert compared > 900

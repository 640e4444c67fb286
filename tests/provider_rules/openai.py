"""Validate a request body by the rules of OpenAI's chat completions: what it answers with a 400.

Where OpenAI's documentation is silent and compatible servers are not, the stricter rule is checked: empty
texts, and arguments that are not JSON.
"""

import re
from collections.abc import Mapping
from typing import Any

from tests.provider_rules.json_checks import (
    Check,
    among,
    anything,
    at,
    filled,
    flag,
    items,
    mapping,
    matching,
    nullable,
    number,
    record,
    sayable,
    spoken,
    tagged,
    text,
    whole,
    words_or,
)
from tests.provider_rules.media import url_problems
from tests.provider_rules.tool_messages import (
    NAME,
    NAME_SAYS,
    arguments,
    choice_needs_tools,
    names_once,
    pairs,
    schema,
)
from tests.provider_rules.tool_schemas import openai_problems

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
FILE_TYPES = frozenset({"application/pdf"})
MAX_TOOLS = 128
MAX_STOPS = 4
MAX_PAIRS = 16
MAX_ID_CHARS = 40
THINKING_MODELS = re.compile(r"(?:o\d|gpt-5)(?!.*chat)")
"""These refuse ``max_tokens``, and any temperature but the default."""
NEED_NOT_THINK = re.compile(r"gpt-5\.\d(?!.*(?:codex|pro))")
"""These accept a temperature while they do not think, which is their default."""

name = matching(NAME, NAME_SAYS)


def _image(value: Any, where: str) -> list[str]:
    return url_problems(value, where, IMAGE_TYPES)


def _document(value: Any, where: str) -> list[str]:
    return url_problems(value, where, FILE_TYPES)


def call_id(value: Any, where: str) -> list[str]:
    """Check the id of a tool call."""
    if not isinstance(value, str) or not value:
        return [f"{where} is empty."]
    if len(value) > MAX_ID_CHARS:
        return [f"{where} has {len(value)} characters and may have {MAX_ID_CHARS}."]
    return []


said = tagged({"text": record({"type": anything, "text": spoken})})
words: Check = words_or(items(said, least=1))
output: Check = words_or(
    items(tagged({"text": record({"type": anything, "text": text})}), least=1), text
)
asked = tagged(
    {
        "text": record({"type": anything, "text": spoken}),
        "image_url": record(
            {
                "type": anything,
                "image_url": record({"url": _image}, {"detail": among("auto", "low", "high")}),
            }
        ),
        "input_audio": record(
            {
                "type": anything,
                "input_audio": record({"data": filled, "format": among("wav", "mp3")}),
            }
        ),
        "file": record(
            {
                "type": anything,
                "file": record({}, {"filename": filled, "file_data": _document, "file_id": filled}),
            }
        ),
    }
)
answered = tagged(
    {
        "text": record({"type": anything, "text": spoken}),
        "refusal": record({"type": anything, "refusal": spoken}),
    }
)
call = record(
    {
        "id": call_id,
        "type": among("function"),
        "function": record({"name": name, "arguments": arguments}),
    }
)
MESSAGES: dict[str, Check] = {
    "system": record({"role": anything, "content": words}, {"name": name}),
    "developer": record({"role": anything, "content": words}, {"name": name}),
    "user": record({"role": anything, "content": words_or(items(asked, least=1))}, {"name": name}),
    "assistant": record(
        {"role": anything},
        {
            "content": nullable(words_or(items(answered, least=1))),
            "refusal": nullable(text),
            "name": name,
            "tool_calls": items(call, least=1),
        },
    ),
    "tool": record({"role": anything, "content": output, "tool_call_id": call_id}),
}
tool = record(
    {
        "type": among("function"),
        "function": record(
            {"name": filled}, {"description": text, "parameters": schema, "strict": nullable(flag)}
        ),
    }
)
FIELDS: Mapping[str, Check] = {
    "audio": mapping,
    "frequency_penalty": number(-2, 2),
    "logit_bias": mapping,
    "logprobs": flag,
    "max_completion_tokens": whole(1),
    "max_tokens": whole(1),
    "metadata": mapping,
    "modalities": items(among("text", "audio"), least=1),
    "n": whole(1, 128),
    "parallel_tool_calls": flag,
    "prediction": mapping,
    "presence_penalty": number(-2, 2),
    "prompt_cache_key": text,
    "prompt_cache_retention": among("in_memory", "24h"),
    "reasoning_effort": among("none", "minimal", "low", "medium", "high", "xhigh"),
    "response_format": tagged({"text": mapping, "json_object": mapping, "json_schema": mapping}),
    "safety_identifier": text,
    "seed": whole(-(2**63), 2**63 - 1),
    "service_tier": among("auto", "default", "flex", "priority", "scale"),
    "stop": nullable(words_or(items(filled, least=1, most=MAX_STOPS), filled)),
    "store": flag,
    "stream": flag,
    "stream_options": record({}, {"include_usage": flag, "include_obfuscation": flag}),
    "temperature": number(0, 2),
    "tool_choice": words_or(mapping, among("none", "auto", "required")),
    "tools": items(tool, least=1, most=MAX_TOOLS),
    "top_logprobs": whole(0, 20),
    "top_p": number(0, 1),
    "user": text,
    "verbosity": among("low", "medium", "high"),
    "web_search_options": mapping,
}
body_shape = record({"model": filled, "messages": items(tagged(MESSAGES, "role"), least=1)}, FIELDS)


def problems(body: Any) -> list[str]:
    """Return the problems for which OpenAI would refuse the body of a chat completion."""
    faults = sayable(body) + body_shape(body, "")
    if faults:
        return faults
    messages = body["messages"]
    return [
        *(one for i, message in enumerate(messages) for one in _speech(message, f"messages[{i}]")),
        *pairs(messages),
        *names_once(body.get("tools", []), name),
        *(
            problem
            for tool in body.get("tools", [])
            for problem in openai_problems(
                tool["function"]["name"], tool["function"].get("parameters") or {}
            )
        ),
        *_parameters(body),
    ]


def _speech(message: dict[str, Any], where: str) -> list[str]:
    if message["role"] == "assistant":
        silent = not any(message.get(one) for one in ("content", "tool_calls", "refusal"))
        return [f"{where} has neither content nor tool_calls."] if silent else []
    return [
        f"{at(where, 'content')}[{i}] needs file_data or file_id."
        for i, part in enumerate(message["content"])
        if isinstance(part, dict)
        and part["type"] == "file"
        and not {"file_data", "file_id"} & set(part["file"])
    ]


def _parameters(body: dict[str, Any]) -> list[str]:
    found = choice_needs_tools(body, "tool_choice", "parallel_tool_calls")
    if {"max_tokens", "max_completion_tokens"} <= set(body):
        found.append("max_tokens and max_completion_tokens cannot be set both.")
    if "stream_options" in body and not body.get("stream"):
        found.append("stream_options is only allowed when stream is true.")
    if len(body.get("metadata", {})) > MAX_PAIRS:
        found.append(f"metadata may have {MAX_PAIRS} entries.")
    if "top_logprobs" in body and not body.get("logprobs"):
        found.append("top_logprobs is only allowed when logprobs is true.")
    return found + _of_thinking_models(body) + _of_json(body)


def _of_thinking_models(body: dict[str, Any]) -> list[str]:
    if not THINKING_MODELS.match(body["model"]):
        return []
    faults = []
    if "max_tokens" in body:
        faults.append("max_tokens is refused by this model, which wants max_completion_tokens.")
    thinks = body.get("reasoning_effort", "none") != "none"
    own = thinks or not NEED_NOT_THINK.match(body["model"])
    if own and body.get("temperature", 1) != 1:
        faults.append("temperature is refused by this model.")
    return faults


def _of_json(body: dict[str, Any]) -> list[str]:
    if (body.get("response_format") or {}).get("type") != "json_object":
        return []
    told = any("json" in str(message.get("content")).lower() for message in body["messages"])
    return [] if told else ["response_format json_object wants the word 'json' in a message."]

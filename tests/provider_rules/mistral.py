"""Validate a request body by the rules of Mistral's chat completions: what it answers with a 400 or 422.

The format resembles OpenAI's and is stricter: ids of nine letters and digits, no user message right after a
tool result, no assistant message at the end, and no unknown field.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from tests.provider_rules.json_checks import (
    Check,
    among,
    anything,
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
MAY_FOLLOW: Mapping[str, frozenset[str]] = {
    "system": frozenset({"system", "user", "assistant"}),
    "user": frozenset({"system", "user", "assistant"}),
    "assistant": frozenset({"user", "assistant", "tool"}),
    "tool": frozenset({"assistant", "tool"}),
}
"""The roles that may follow a role."""

name = matching(NAME, NAME_SAYS)
call_id = matching(r"[a-zA-Z0-9]{9}", "exactly nine letters and digits")


def _image(value: Any, where: str) -> list[str]:
    return url_problems(value, where, IMAGE_TYPES)


def _arguments(value: Any, where: str) -> list[str]:
    return [] if isinstance(value, dict) else arguments(value, where)


said = tagged(
    {
        "text": record({"type": anything, "text": spoken}),
        "thinking": record({"type": anything, "thinking": items(mapping)}, {"closed": flag}),
    }
)
asked = tagged(
    {
        "text": record({"type": anything, "text": spoken}),
        "image_url": record(
            {
                "type": anything,
                "image_url": words_or(record({"url": _image}, {"detail": text}), _image),
            }
        ),
        "document_url": record(
            {"type": anything, "document_url": matching(r"https?://.+", "a web address")},
            {"document_name": nullable(text)},
        ),
        "file": record({"type": anything, "file_id": filled}),
        "input_audio": record({"type": anything, "input_audio": anything}),
        "reference": record({"type": anything, "reference_ids": items(anything)}),
    }
)
call = record(
    {
        "id": call_id,
        "function": record({"name": name, "arguments": _arguments}),
    },
    {"type": among("function"), "index": whole(0)},
)
words = words_or(items(said, least=1))


MESSAGES: dict[str, Check] = {
    "system": record({"role": anything, "content": words}),
    "user": record({"role": anything, "content": words_or(items(asked, least=1))}),
    "assistant": record(
        {"role": anything},
        {
            "content": nullable(words_or(items(said), text)),
            "tool_calls": nullable(items(call)),
            "prefix": flag,
        },
    ),
    "tool": record(
        {
            "role": anything,
            "tool_call_id": call_id,
            "content": nullable(words_or(items(asked), text)),
        },
        {"name": name},
    ),
}
tool = record(
    {
        "type": among("function"),
        "function": record(
            {"name": filled, "parameters": schema}, {"description": text, "strict": flag}
        ),
    }
)
FIELDS: Mapping[str, Check] = {
    "frequency_penalty": number(-2, 2),
    "guardrails": items(mapping),
    "max_tokens": nullable(whole(1)),
    "metadata": mapping,
    "n": whole(1),
    "parallel_tool_calls": flag,
    "prediction": mapping,
    "presence_penalty": number(-2, 2),
    "prompt_cache_key": text,
    "prompt_mode": among("reasoning"),
    "random_seed": whole(0),
    "reasoning_effort": among("none", "low", "medium", "high"),
    "response_format": tagged({"text": mapping, "json_object": mapping, "json_schema": mapping}),
    "safe_prompt": flag,
    "stop": words_or(items(filled), filled),
    "stream": flag,
    "temperature": number(0, 1.5),
    "tool_choice": words_or(mapping, among("none", "auto", "any", "required")),
    "tools": items(tool),
    "top_p": number(0, 1),
}
body_shape = record({"model": filled, "messages": items(tagged(MESSAGES, "role"), least=1)}, FIELDS)


def problems(body: Any) -> list[str]:
    """Return the problems for which Mistral would refuse the body of a chat completion."""
    faults = sayable(body) + body_shape(body, "")
    if faults:
        return faults
    messages = body["messages"]
    return [
        *_order(messages),
        *_answers(messages),
        *pairs(messages),
        *names_once(body.get("tools", []), name),
        *(
            problem
            for tool in body.get("tools", [])
            for problem in openai_problems(tool["function"]["name"], tool["function"]["parameters"])
        ),
        *choice_needs_tools(body, "tool_choice", "parallel_tool_calls"),
    ]


def _order(messages: list[dict[str, Any]]) -> list[str]:
    roles = [message["role"] for message in messages]
    faults = [
        f"messages[{i + 1}] has the role {after!r}, which may not follow {before!r}."
        for i, (before, after) in enumerate(pairwise(roles))
        if after not in MAY_FOLLOW[before]
    ]
    if roles[0] in {"assistant", "tool"}:
        faults.append("The user or the system must speak first.")
    if roles[-1] == "assistant" and not messages[-1].get("prefix"):
        faults.append("The last message must be a user's, a tool's, or an assistant's prefix.")
    if roles[-1] == "system" and len(roles) > 1:
        faults.append("The last message must not be the system's.")
    return faults


def _answers(messages: list[dict[str, Any]]) -> list[str]:
    faults: list[str] = []
    for i, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        if _silent(message.get("content")) and not message.get("tool_calls"):
            faults.append(f"messages[{i}] has neither content nor tool_calls.")
        if message.get("prefix") and i < len(messages) - 1:
            faults.append(f"messages[{i}] is a prefix and not the last message.")
    return faults


def _silent(content: Any) -> bool:
    return not (content.strip() if isinstance(content, str) else content)

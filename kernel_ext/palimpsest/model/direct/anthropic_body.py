"""Write the body of a request to a server with Anthropic's messages, from messages in OpenAI's shape.

Messages of one side become one, results of calls stand in the user's, the thinking and the provider's own blocks as
they came. A parameter that a model does not take is left out, as litellm does it with ``drop_params``;
``tests/model/direct`` compares each body with litellm's. Border: pure; facts about a model are read from litellm's table.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from palimpsest.model.direct.supported_models import is_denied, model_facts
from palimpsest.model.direct.tool_rules import anthropic_tool
from palimpsest.model.interface import ModelRequest
from palimpsest.model.wire.native_blocks import NATIVE_ITEM
from palimpsest.model.wire.provider_messages import MARK, can_think, sendable
from palimpsest.model.wire.tool_call_text import SIGNATURE
from palimpsest.model.wire.tool_schema import tool_definition
from palimpsest.transcript.provider_profile.profile import as_words, profile
from palimpsest.transcript.values import ModelRef

Body = dict[str, Any]

EMPTY = "[System: Empty message content sanitised to satisfy protocol]"
"""What stands for a text that is empty, which Anthropic refuses."""
UNUSED_TOOL: Body = {
    "name": "dummy_tool",
    "input_schema": {"type": "object", "properties": {}},
    "type": "custom",
    "description": "This is a dummy tool call",
}
"""A tool to offer where calls are sent back and none is offered, which Anthropic refuses."""
THINKING_TOKENS = {"minimal": 1_024, "low": 1_024, "medium": 2_048, "high": 4_096, "xhigh": 8_192, "max": 16_384}  # fmt: skip
"""Tokens of thinking by the effort, for the models that take no effort; litellm's numbers."""
EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max"}  # fmt: skip
WITHOUT_SAMPLING = ("fable", "opus-4-7", "opus_4_7", "opus-4.7", "opus-4-8", "opus_4_8", "opus-4.8")
"""Pieces of the names of models that take no temperature, where the table does not say so."""
CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def anthropic_body(request: ModelRequest) -> Body:
    """Return the body of a request, without what its model refuses."""
    ref = request.model.ref
    messages = sendable(request.messages, request.model)
    body: Body = {
        "model": ref.name,
        "messages": _merged([one for one in messages if one["role"] != "system"]),
        "stream": True,
    }
    system = list(_system(messages))
    if system:
        body["system"] = system
    target = profile(ref)
    tools = [anthropic_tool(tool_definition(spec, target)) for spec in request.tools]
    if not tools and any(one.get("tool_calls") or one["role"] == "tool" for one in messages):
        tools = [UNUSED_TOOL]
    if tools:
        body["tools"] = tools
    parameters = request.all_parameters
    if not can_think(request.messages, request.model):
        parameters.pop("reasoning_effort", None)
    return body | taken_parameters(ref, parameters)


def taken_parameters(ref: ModelRef, given: Body) -> Body:
    """Return the parameters that a model takes, in Anthropic's form; ``given`` are those of a request."""
    taken: Body = {"max_tokens": given["max_tokens"]}
    for name in ("temperature", "top_p"):
        value = given.get(name)
        is_free = not is_denied(ref.name, "supports_sampling_params")
        is_free = is_free and not any(one in ref.name.lower() for one in WITHOUT_SAMPLING)
        if value is not None and (is_free or (name == "temperature" and value == 1)):
            taken[name] = value
    choice = _choice(given.get("tool_choice"))
    if choice is not None:
        is_forced = choice["type"] in ("any", "tool")
        refused = is_forced and is_denied(ref.name, "supports_forced_tool_use")
        taken["tool_choice"] = {"type": "auto"} if refused else choice
    effort = given.get("reasoning_effort")
    if effort in EFFORTS:
        if model_facts(ref).get("supports_adaptive_thinking") is True:
            # Without it Anthropic leaves the thinking out of the answer.
            taken["thinking"] = {"type": "adaptive", "display": "summarized"}
            taken["output_config"] = {"effort": EFFORTS[effort]}
        else:
            taken["thinking"] = {"type": "enabled", "budget_tokens": THINKING_TOKENS[effort]}
    return taken


def _choice(choice: Any) -> Body | None:
    if isinstance(choice, dict):
        name = (choice.get("function") or {}).get("name")
        return {"type": "tool", "name": name} if name else None
    return {"type": CHOICES[choice]} if choice in CHOICES else None


def _system(messages: Sequence[Body]) -> Iterator[Body]:
    for message in messages:
        content = message["content"]
        if message["role"] != "system" or not content:
            continue
        if isinstance(content, str):
            yield _with_mark({"type": "text", "text": content}, message)
            continue
        for one in content:
            if one.get("text"):
                yield _with_mark({"type": "text", "text": one["text"]}, one)


def _merged(messages: Sequence[Body]) -> list[Body]:
    """Return messages whose sides alternate."""
    merged: list[Body] = []
    called: set[str] = set()
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        if not merged or merged[-1]["role"] != role:
            merged.append({"role": role, "content": []})
            called = set()
        merged[-1]["content"] += (
            _answer(message, called) if role == "assistant" else _question(message)
        )
    merged = [one for one in merged if one["content"]]
    if merged and merged[-1]["role"] == "assistant":
        merged[-1]["content"] = [
            {**one, "text": one["text"].rstrip()} if one["type"] == "text" else one
            for one in merged[-1]["content"]
        ]
    return merged


def _question(message: Body) -> Iterator[Body]:
    content = message.get("content")
    if message["role"] == "tool":
        result: Body = {
            "type": "tool_result",
            "tool_use_id": _id(message["tool_call_id"]),
            "content": [_block(one) for one in content] if isinstance(content, list) else content,
        }
        yield _with_mark(result, message)
    elif isinstance(content, list):
        for one in content:
            yield _block(
                {**one, "text": one["text"] if one["text"].strip() else EMPTY}
                if one["type"] == "text"
                else one
            )
    else:
        text = content if content and content.strip() else EMPTY
        yield _with_mark({"type": "text", "text": text}, message)


def _answer(message: Body, called: set[str]) -> Iterator[Body]:
    yield from message.get("thinking_blocks") or ()
    content = message.get("content")
    if isinstance(content, list):
        for one in content:
            if one["type"] == NATIVE_ITEM:
                yield one["block"]
            elif one.get("text"):
                yield _block(one)
    elif isinstance(content, str):
        text = content if content.strip() else EMPTY
        yield _with_mark({"type": "text", "text": text}, message)
    for call in message.get("tool_calls") or ():
        identifier = _id(call["id"])
        if identifier in called:
            continue
        called.add(identifier)
        function = call["function"]
        given = function.get("arguments")
        yield {
            "type": "tool_use",
            "id": identifier,
            "name": function["name"],
            "input": json.loads(given) if given and given.strip() else {},
        }


def _id(identifier: str) -> str:
    return as_words(identifier.partition(SIGNATURE)[0])


def _block(item: Body) -> Body:
    """Return a text, a picture or a document as a block of Anthropic's."""
    match item["type"]:
        case "image_url":
            kind, data = _opened(item["image_url"]["url"])
            is_document = not kind.startswith("image/")
            block = {"type": "document" if is_document else "image", "source": _source(kind, data)}
        case "file":
            block = {"type": "document", "source": _source(*_opened(item["file"]["file_data"]))}
        case _:
            block = {"type": "text", "text": item["text"]}
    return _with_mark(block, item)


def _opened(url: str) -> tuple[str, str]:
    head, _, data = url.partition(",")
    return head.removeprefix("data:").partition(";")[0], data


def _source(kind: str, data: str) -> Body:
    return {"type": "base64", "media_type": kind, "data": data}


def _with_mark(block: Body, item: Body) -> Body:
    mark = item.get(MARK)
    return {**block, MARK: mark} if isinstance(mark, dict) else block

"""Write the body of a request to a server with Anthropic's messages, from messages in OpenAI's shape.

Consecutive messages of one side are merged, results of calls become part of user messages, and thinking and the
provider's own blocks stay unchanged. Unsupported parameters are left out, as litellm does with ``drop_params``;
``tests/model/direct`` compares each body with litellm's. Border: pure; facts about a model come from litellm's table.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from palimpsest.model.direct.supported_models import is_denied, model_facts
from palimpsest.model.direct.tool_rules import anthropic_tool
from palimpsest.model.interface import ModelRequest
from palimpsest.model.wire.native_blocks import NATIVE_ITEM
from palimpsest.model.wire.provider_messages import CACHE_MARK_FIELD, can_think, sendable_messages
from palimpsest.model.wire.tool_call_text import SIGNATURE_SEPARATOR
from palimpsest.model.wire.tool_schema import tool_definition
from palimpsest.transcript.provider_profile.profile import profile, word_character_id
from palimpsest.transcript.values import ModelRef

Body = dict[str, Any]

EMPTY_TEXT = "[System: Empty message content sanitised to satisfy protocol]"
"""Replaces an empty text, which Anthropic refuses."""
UNUSED_TOOL: Body = {
    "name": "dummy_tool",
    "input_schema": {"type": "object", "properties": {}},
    "type": "custom",
    "description": "This is a dummy tool call",
}
"""A tool that is offered where calls are sent back but no tool is offered, which Anthropic refuses."""
THINKING_TOKENS = {"minimal": 1_024, "low": 1_024, "medium": 2_048, "high": 4_096, "xhigh": 8_192, "max": 16_384}  # fmt: skip
"""Tokens of thinking by effort, for models that accept no effort; litellm's numbers."""
EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max"}  # fmt: skip
WITHOUT_SAMPLING = ("fable", "opus-4-7", "opus_4_7", "opus-4.7", "opus-4-8", "opus_4_8", "opus-4.8")
"""Parts of the names of models that accept no temperature, where the table does not state it."""
TOOL_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def anthropic_body(request: ModelRequest) -> Body:
    """Return the body of a request, without parameters that its model refuses."""
    ref = request.model.ref
    messages = sendable_messages(request.messages, request.model)
    turns = _merged_messages([message for message in messages if message["role"] != "system"])
    body: Body = {"model": ref.name, "messages": turns, "stream": True}
    system_blocks = list(_system_blocks(messages))
    if system_blocks:
        body["system"] = system_blocks
    target_profile = profile(ref)
    tools = [anthropic_tool(tool_definition(spec, target_profile)) for spec in request.tools]
    has_calls = any(m.get("tool_calls") or m["role"] == "tool" for m in messages)
    if not tools and has_calls:
        tools = [UNUSED_TOOL]
    if tools:
        body["tools"] = tools
    parameters = request.all_parameters
    if not can_think(request.messages, request.model):
        parameters.pop("reasoning_effort", None)
    return body | accepted_parameters(ref, parameters)


def accepted_parameters(ref: ModelRef, parameters: Body) -> Body:
    """Return the request's parameters that a model accepts, in Anthropic's form."""
    accepted: Body = {"max_tokens": parameters["max_tokens"]}
    takes_sampling = not is_denied(ref.name, "supports_sampling_params")
    takes_sampling = takes_sampling and not any(
        series in ref.name.lower() for series in WITHOUT_SAMPLING
    )
    for name in ("temperature", "top_p"):
        value = parameters.get(name)
        if value is not None and (takes_sampling or (name == "temperature" and value == 1)):
            accepted[name] = value
    choice = _tool_choice(parameters.get("tool_choice"))
    if choice is not None:
        is_forced = choice["type"] in ("any", "tool")
        is_refused = is_forced and is_denied(ref.name, "supports_forced_tool_use")
        accepted["tool_choice"] = {"type": "auto"} if is_refused else choice
    effort = parameters.get("reasoning_effort")
    if effort in EFFORTS:
        if model_facts(ref).get("supports_adaptive_thinking") is True:
            # Without it Anthropic leaves the thinking out of the answer.
            accepted["thinking"] = {"type": "adaptive", "display": "summarized"}
            accepted["output_config"] = {"effort": EFFORTS[effort]}
        else:
            accepted["thinking"] = {"type": "enabled", "budget_tokens": THINKING_TOKENS[effort]}
    return accepted


def _tool_choice(choice: Any) -> Body | None:
    if isinstance(choice, dict):
        name = (choice.get("function") or {}).get("name")
        return {"type": "tool", "name": name} if name else None
    return {"type": TOOL_CHOICES[choice]} if choice in TOOL_CHOICES else None


def _system_blocks(messages: Sequence[Body]) -> Iterator[Body]:
    for message in messages:
        content = message["content"]
        if message["role"] != "system" or not content:
            continue
        if isinstance(content, str):
            yield _with_mark({"type": "text", "text": content}, message)
            continue
        for block in content:
            if block.get("text"):
                yield _with_mark({"type": "text", "text": block["text"]}, block)


def _merged_messages(messages: Sequence[Body]) -> list[Body]:
    """Merge consecutive messages of one side, so that the sides alternate."""
    turns: list[Body] = []
    called_ids: set[str] = set()
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        if not turns or turns[-1]["role"] != role:
            turns.append({"role": role, "content": []})
            called_ids = set()
        is_answer = role == "assistant"
        blocks = _answer_blocks(message, called_ids) if is_answer else _user_blocks(message)
        turns[-1]["content"] += blocks
    turns = [turn for turn in turns if turn["content"]]
    if turns and turns[-1]["role"] == "assistant":
        turns[-1]["content"] = [
            {**block, "text": block["text"].rstrip()} if block["type"] == "text" else block
            for block in turns[-1]["content"]
        ]
    return turns


def _user_blocks(message: Body) -> Iterator[Body]:
    content = message.get("content")
    if message["role"] == "tool":
        if isinstance(content, list):
            content = [_block(block) for block in content]
        call_id = _call_id(message["tool_call_id"])
        result: Body = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        yield _with_mark(result, message)
    elif isinstance(content, list):
        for block in content:
            is_empty = block["type"] == "text" and not block["text"].strip()
            yield _block({**block, "text": EMPTY_TEXT} if is_empty else block)
    else:
        text = content if content and content.strip() else EMPTY_TEXT
        yield _with_mark({"type": "text", "text": text}, message)


def _answer_blocks(message: Body, called_ids: set[str]) -> Iterator[Body]:
    yield from message.get("thinking_blocks") or ()
    content = message.get("content")
    if isinstance(content, list):
        for block in content:
            if block["type"] == NATIVE_ITEM:
                yield block["block"]
            elif block.get("text"):
                yield _block(block)
    elif isinstance(content, str):
        text = content if content.strip() else EMPTY_TEXT
        yield _with_mark({"type": "text", "text": text}, message)
    for call in message.get("tool_calls") or ():
        call_id = _call_id(call["id"])
        if call_id in called_ids:
            continue
        called_ids.add(call_id)
        function = call["function"]
        arguments = function.get("arguments")
        yield {
            "type": "tool_use",
            "id": call_id,
            "name": function["name"],
            "input": json.loads(arguments) if arguments and arguments.strip() else {},
        }


def _call_id(call_id: str) -> str:
    return word_character_id(call_id.partition(SIGNATURE_SEPARATOR)[0])


def _block(item: Body) -> Body:
    """Return a text, a picture or a document as a block of Anthropic's."""
    match item["type"]:
        case "image_url":
            media_type, data = _data_url(item["image_url"]["url"])
            is_document = not media_type.startswith("image/")
            block = {
                "type": "document" if is_document else "image",
                "source": _source(media_type, data),
            }
        case "file":
            block = {"type": "document", "source": _source(*_data_url(item["file"]["file_data"]))}
        case _:
            block = {"type": "text", "text": item["text"]}
    return _with_mark(block, item)


def _data_url(url: str) -> tuple[str, str]:
    head, _, data = url.partition(",")
    return head.removeprefix("data:").partition(";")[0], data


def _source(media_type: str, data: str) -> Body:
    return {"type": "base64", "media_type": media_type, "data": data}


def _with_mark(block: Body, item: Body) -> Body:
    mark = item.get(CACHE_MARK_FIELD)
    return {**block, CACHE_MARK_FIELD: mark} if isinstance(mark, dict) else block

"""Write the body of a request to a server with OpenAI's chat completions.

The messages have that shape already (``model/wire``). Changes depend on the model and the server: the parameters of
OpenAI's thinking models, cache marks, unsupported tool schemas. Unsupported parameters are left out, as litellm does
with ``drop_params``; ``tests/model/direct`` compares each body with litellm's. Border: pure; facts about a model come
from litellm's table.
"""

from collections.abc import Mapping
from typing import Any

from palimpsest.model.catalog import litellm_table
from palimpsest.model.direct.supported_models import (
    DIRECT_PROVIDERS,
    DirectProvider,
    direct_provider,
    model_facts,
)
from palimpsest.model.direct.tool_rules import (
    with_parameters,
    without_closed_objects,
    without_invalid_patterns,
)
from palimpsest.model.interface import ModelRequest
from palimpsest.model.wire.provider_messages import (
    CACHE_MARK_FIELD,
    can_think,
    sendable_messages,
    without_marks,
)
from palimpsest.model.wire.tool_call_text import SIGNATURE_SEPARATOR
from palimpsest.model.wire.tool_schema import tool_definition
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.values import ModelRef

Body = dict[str, Any]

MARKED_MODELS = ("claude", "gemini", "minimax", "glm", "z-ai")
"""Parts of the names of models for which OpenRouter accepts cache marks in the content."""
THINKING_SERIES = ("gpt-5", "gpt-6")
OPT_IN_EFFORTS = frozenset({"xhigh"})
"""Efforts that a model accepts only where the table states it; other efforts unless the table denies them."""
FINE_TUNED = "ft:"
"""Prefix of the name of a fine-tuned model."""
ALWAYS_ACCEPTED_EFFORTS = frozenset({"max"})


def openai_body(request: ModelRequest) -> Body:
    """Return the body of a request, without parameters and fields that its model or server refuses."""
    ref = request.model.ref
    provider = direct_provider(ref.provider) or DirectProvider()
    is_openai_form = ref.provider == "openai" or ref.provider not in DIRECT_PROVIDERS
    messages = [_message(m, ref) for m in sendable_messages(request.messages, request.model)]
    body: Body = {"model": ref.name, "messages": messages, "stream": True}
    if provider.asks_usage:
        body["stream_options"] = {"include_usage": True}
    target_profile = profile(ref)
    definitions = [tool_definition(spec, target_profile) for spec in request.tools]
    tools = [_tool(tool, ref.provider, is_openai_form) for tool in definitions]
    if tools:
        body["tools"] = tools
    parameters = request.all_parameters
    if not can_think(request.messages, request.model) or not provider.takes_effort:
        parameters.pop("reasoning_effort", None)
    given_parameters = {name: value for name, value in parameters.items() if value is not None}
    if not tools:
        given_parameters.pop("tool_choice", None)
    body |= accepted_parameters(ref.name, given_parameters) if is_openai_form else given_parameters
    if ref.provider == "openrouter":
        if body.get("reasoning_effort") == "max":
            body["reasoning_effort"] = "xhigh"
        # OpenRouter reports an answer's cost only on request.
        body["usage"] = {"include": True}
    is_o_series = is_openai_form and _is_o_series(ref.name)
    if is_o_series and _facts(ref.name).get("supports_system_messages") is not True:
        body["messages"] = [
            {"content": message["content"], "role": "user"}
            if message["role"] == "system"
            else message
            for message in messages
        ]
    if target_profile.caches_by_session and request.model.api_base is None and request.session_id:
        body["prompt_cache_key"] = request.session_id
    return body


def accepted_parameters(name: str, parameters: Mapping[str, Any]) -> Body:
    """Return the parameters that an OpenAI model accepts, under its names for them.

    ``name`` is the model's, of OpenAI or of a server with its interface, and ``parameters`` are parameters with values.
    """
    if is_thinking_series(name):
        return _series_parameters(name, parameters)
    accepted = dict(parameters)
    if _is_o_series(name):
        accepted["max_completion_tokens"] = accepted.pop("max_tokens")
        accepted.pop("top_p", None)
        if accepted.get("temperature") != 1:
            accepted.pop("temperature", None)
    elif is_listed(name):
        accepted.pop("reasoning_effort", None)
    return accepted


def is_thinking_series(name: str) -> bool:
    """Return whether a model belongs to an OpenAI series that always thinks."""
    is_in_series = any(series in name for series in THINKING_SERIES)
    return is_in_series and "gpt-5-chat" not in name.split("/")[-1]


def is_listed(name: str) -> bool:
    """Return whether litellm's table lists a model as one of OpenAI's own."""
    facts = litellm_table.entry(name) or {}
    return facts.get("litellm_provider") == "openai" and not name.startswith(FINE_TUNED)


def _is_o_series(name: str) -> bool:
    last_name_part = name.split("/")[-1]
    return (
        len(last_name_part) > 1
        and last_name_part[0] == "o"
        and last_name_part[1].isdigit()
        and is_listed(last_name_part)
    )


def _facts(name: str) -> dict[str, Any]:
    return model_facts(ModelRef(provider="openai", name=name))


def _series_parameters(name: str, parameters: Mapping[str, Any]) -> Body:
    facts, accepted = _facts(name), dict(parameters)
    accepted["max_completion_tokens"] = accepted.pop("max_tokens")
    if facts.get("supports_tool_choice") is not True:
        accepted.pop("tool_choice", None)
    effort = accepted.get("reasoning_effort")
    if effort is not None and _is_refused(facts, str(effort)):
        accepted.pop("reasoning_effort")
        effort = None
    can_be_off = facts.get("supports_none_reasoning_effort") is True
    thinks = (effort or facts.get("default_reasoning_effort")) != "none"
    if not can_be_off or thinks:
        accepted.pop("top_p", None)
        if accepted.get("temperature") != 1:
            accepted.pop("temperature", None)
    return accepted


def _is_refused(facts: Mapping[str, Any], effort: str) -> bool:
    if effort in ALWAYS_ACCEPTED_EFFORTS:
        return False
    support = facts.get(f"supports_{effort}_reasoning_effort")
    return support is not True if effort in OPT_IN_EFFORTS else support is False


def _message(message: Body, ref: ModelRef) -> Body:
    """Return a message with cache marks where its server accepts them, and plain ids of calls."""
    if CACHE_MARK_FIELD in message or isinstance(message.get("content"), list):
        is_marked_model = any(series in ref.name.lower() for series in MARKED_MODELS)
        takes_marks = ref.provider == "openrouter" and is_marked_model
        message = _marked_inside(message) if takes_marks else without_marks(message)
    if message["role"] == "assistant":
        return _answer_message(message)
    call_id = message.get("tool_call_id")
    if isinstance(call_id, str) and SIGNATURE_SEPARATOR in call_id:
        return {**message, "tool_call_id": call_id.partition(SIGNATURE_SEPARATOR)[0]}
    return message


def _answer_message(message: Body) -> Body:
    calls = message.get("tool_calls")
    if calls and any(SIGNATURE_SEPARATOR in call["id"] for call in calls):
        unsigned_calls = [
            {**call, "id": call["id"].partition(SIGNATURE_SEPARATOR)[0]} for call in calls
        ]
        message = {**message, "tool_calls": unsigned_calls}
    # Some servers refuse a field that is null.
    return {name: value for name, value in message.items() if value is not None}


def _marked_inside(message: Body) -> Body:
    cache_mark = message.get(CACHE_MARK_FIELD)
    if cache_mark is None:
        return message
    unmarked = {name: value for name, value in message.items() if name != CACHE_MARK_FIELD}
    content = unmarked.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    if blocks:
        blocks = [*blocks[:-1], {**blocks[-1], CACHE_MARK_FIELD: cache_mark}]
    return {**unmarked, "content": blocks}


def _tool(tool: Body, provider: str, is_openai_form: bool) -> Body:  # noqa: FBT001 - one of two forms
    if is_openai_form:
        return with_parameters(tool, without_invalid_patterns)
    return with_parameters(tool, without_closed_objects) if provider == "hosted_vllm" else tool

"""Write the body of a request to a server with OpenAI's chat completions.

The messages have that shape already (``model/wire``). What differs is what models and servers refuse: the parameters
of OpenAI's thinking models, marks of caches, tools that a grammar does not know. A parameter that a model does not
take is left out, as litellm does it with ``drop_params``; ``tests/model/direct`` compares each body with litellm's.
Border: pure; facts about a model are read from litellm's table.
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
    without_odd_patterns,
)
from palimpsest.model.interface import ModelRequest
from palimpsest.model.wire.provider_messages import MARK, can_think, sendable, without_marks
from palimpsest.model.wire.tool_call_text import SIGNATURE
from palimpsest.model.wire.tool_schema import tool_definition
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.values import ModelRef

Body = dict[str, Any]

MARKED_MODELS = ("claude", "gemini", "minimax", "glm", "z-ai")
"""Pieces of the names of models for which OpenRouter takes marks of caches in the content."""
THINKING_SERIES = ("gpt-5", "gpt-6")
OPT_IN_EFFORTS = frozenset({"xhigh"})
"""Efforts that a model takes only where the table says so; others, unless the table denies them."""
FINE_TUNED = "ft:"
"""How the name of a customer's own copy of a model begins."""
ANY_EFFORT = frozenset({"max"})


def openai_body(request: ModelRequest) -> Body:
    """Return the body of a request, without what its model or server refuses."""
    ref = request.model.ref
    row = direct_provider(ref.provider) or DirectProvider()
    is_openai_form = ref.provider == "openai" or ref.provider not in DIRECT_PROVIDERS
    body: Body = {
        "model": ref.name,
        "messages": [_message(one, ref) for one in sendable(request.messages, request.model)],
        "stream": True,
    }
    if row.asks_usage:
        body["stream_options"] = {"include_usage": True}
    target = profile(ref)
    tools = [
        _tool(tool_definition(spec, target), ref.provider, is_openai_form) for spec in request.tools
    ]
    if tools:
        body["tools"] = tools
    parameters = request.all_parameters
    if not can_think(request.messages, request.model) or not row.takes_effort:
        parameters.pop("reasoning_effort", None)
    given = {name: value for name, value in parameters.items() if value is not None}
    if not tools:
        given.pop("tool_choice", None)
    body |= taken_parameters(ref.name, given) if is_openai_form else given
    if ref.provider == "openrouter":
        if body.get("reasoning_effort") == "max":
            body["reasoning_effort"] = "xhigh"
        # OpenRouter tells what an answer cost only where it is asked.
        body["usage"] = {"include": True}
    if is_openai_form:
        _demote(body, ref.name)
    if target.caches_by_session and request.model.api_base is None and request.session_id:
        body["prompt_cache_key"] = request.session_id
    return body


def taken_parameters(name: str, given: Mapping[str, Any]) -> Body:
    """Return the parameters that a model of OpenAI's takes, under the names that it takes them by.

    ``name`` is the model's, of OpenAI or of a server with its interface, and ``given`` are parameters with values.
    """
    if is_thinking_series(name):
        return _series_parameters(name, given)
    taken = dict(given)
    if _is_o_series(name):
        taken["max_completion_tokens"] = taken.pop("max_tokens")
        taken.pop("top_p", None)
        if taken.get("temperature") != 1:
            taken.pop("temperature", None)
    elif is_listed(name):
        taken.pop("reasoning_effort", None)
    return taken


def is_thinking_series(name: str) -> bool:
    """Tell whether a model is of the series of OpenAI's that always thinks."""
    return any(one in name for one in THINKING_SERIES) and "gpt-5-chat" not in name.split("/")[-1]


def is_listed(name: str) -> bool:
    """Tell whether litellm's table lists a model as one of OpenAI's own."""
    found = litellm_table.entry(name) or {}
    return found.get("litellm_provider") == "openai" and not name.startswith(FINE_TUNED)


def _is_o_series(name: str) -> bool:
    last = name.split("/")[-1]
    return len(last) > 1 and last[0] == "o" and last[1].isdigit() and is_listed(last)


def _facts(name: str) -> dict[str, Any]:
    return model_facts(ModelRef(provider="openai", name=name))


def _series_parameters(name: str, given: Mapping[str, Any]) -> Body:
    facts, taken = _facts(name), dict(given)
    taken["max_completion_tokens"] = taken.pop("max_tokens")
    if facts.get("supports_tool_choice") is not True:
        taken.pop("tool_choice", None)
    effort = taken.get("reasoning_effort")
    if effort is not None and _is_refused(facts, str(effort)):
        taken.pop("reasoning_effort")
        effort = None
    off = facts.get("supports_none_reasoning_effort") is True
    thinks = (effort or facts.get("default_reasoning_effort")) != "none"
    if not off or thinks:
        taken.pop("top_p", None)
        if taken.get("temperature") != 1:
            taken.pop("temperature", None)
    return taken


def _is_refused(facts: Mapping[str, Any], effort: str) -> bool:
    if effort in ANY_EFFORT:
        return False
    said = facts.get(f"supports_{effort}_reasoning_effort")
    return said is not True if effort in OPT_IN_EFFORTS else said is False


def _demote(body: Body, name: str) -> None:
    """Send what is for the system as a user's words to the models that take no other."""
    if _is_o_series(name) and _facts(name).get("supports_system_messages") is not True:
        body["messages"] = [
            {"content": one["content"], "role": "user"} if one["role"] == "system" else one
            for one in body["messages"]
        ]


def _message(message: Body, ref: ModelRef) -> Body:
    """Return a message with the marks of caches where its server takes them, and plain ids of calls."""
    if MARK in message or isinstance(message.get("content"), list):
        takes_marks = ref.provider == "openrouter" and any(
            one in ref.name.lower() for one in MARKED_MODELS
        )
        message = _marked_inside(message) if takes_marks else without_marks(message)
    if message["role"] == "assistant":
        return _answer(message)
    identifier = message.get("tool_call_id")
    if isinstance(identifier, str) and SIGNATURE in identifier:
        return {**message, "tool_call_id": identifier.partition(SIGNATURE)[0]}
    return message


def _answer(message: Body) -> Body:
    calls = message.get("tool_calls")
    if calls and any(SIGNATURE in one["id"] for one in calls):
        plain = [{**one, "id": one["id"].partition(SIGNATURE)[0]} for one in calls]
        message = {**message, "tool_calls": plain}
    # Some servers refuse a field that is null.
    return {name: value for name, value in message.items() if value is not None}


def _marked_inside(message: Body) -> Body:
    mark = message.get(MARK)
    if mark is None:
        return message
    bare = {name: value for name, value in message.items() if name != MARK}
    content = bare.get("content")
    if isinstance(content, list):
        blocks = [*content[:-1], {**content[-1], MARK: mark}] if content else content
    else:
        blocks = [{"type": "text", "text": content, MARK: mark}]
    return {**bare, "content": blocks}


def _tool(tool: Body, provider: str, is_openai_form: bool) -> Body:  # noqa: FBT001 - one of two forms
    if is_openai_form:
        return with_parameters(tool, without_odd_patterns)
    return with_parameters(tool, without_closed_objects) if provider == "hosted_vllm" else tool

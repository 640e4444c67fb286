"""Rules about calls and results in formats with tool messages (OpenAI's and Mistral's).

Every call has exactly one result, directly after its message, and no result lacks a call. The shape of the
messages must have been checked before.
"""

import json
from typing import Any

from tests.provider_rules.json_checks import Check, text

NAME = r"[a-zA-Z0-9_-]{1,64}"
NAME_SAYS = "1 to 64 letters, digits, underscores and dashes"


def arguments(value: Any, where: str) -> list[str]:
    """Check a string that must be a JSON object."""
    found = text(value, where)
    if found:
        return found
    try:
        # NaN and Infinity are accepted by Python, not by JSON.
        parsed = json.loads(value, parse_constant=_refuse)
    except ValueError:
        return [f"{where} is no JSON."]
    return [] if isinstance(parsed, dict) else [f"{where} is JSON, but no object."]


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def schema(value: Any, where: str) -> list[str]:
    """Check the JSON schema of an object."""
    if not isinstance(value, dict):
        return [f"{where} must be an object."]
    if value and value.get("type") != "object":
        return [f"{where}.type must be 'object'."]
    return []


def choice_needs_tools(body: dict[str, Any], *fields: str) -> list[str]:
    """Return the fields about tools that are set although no tools are offered."""
    if body.get("tools"):
        return []
    return [f"{name} is only allowed together with tools." for name in fields if name in body]


def names_once(tools: list[Any], name: Check) -> list[str]:
    """Return the tools that have the name of another one."""
    seen: set[str] = set()
    faults: list[str] = []
    for i, tool in enumerate(tools):
        called = str(tool["function"]["name"])
        faults += name(called, f"tools[{i}].function.name")
        if called in seen:
            faults.append(f"tools[{i}] has the name {called!r} of another tool.")
        seen.add(called)
    return faults


def pairs(messages: list[dict[str, Any]]) -> list[str]:
    """Return the calls and results that do not form pairs."""
    faults: list[str] = []
    open_calls: list[str] = []
    caller = -1
    for i, message in enumerate(messages):
        if message["role"] == "tool":
            faults += _answer(message["tool_call_id"], open_calls, i)
            continue
        faults += _unanswered(open_calls, caller)
        open_calls, caller = _calls(message), i
        faults += [
            f"messages[{i}] has two calls with the id {one!r}."
            for one in sorted({call for call in open_calls if open_calls.count(call) > 1})
        ]
    return faults + _unanswered(open_calls, caller)


def _calls(message: dict[str, Any]) -> list[str]:
    return [call["id"] for call in message.get("tool_calls") or ()]


def _answer(identifier: str, open_calls: list[str], i: int) -> list[str]:
    if identifier in open_calls:
        open_calls.remove(identifier)
        return []
    return [f"messages[{i}] answers {identifier!r}, which no call directly before it has."]


def _unanswered(open_calls: list[str], caller: int) -> list[str]:
    return [f"messages[{caller}] has a call {call!r} without a result." for call in open_calls]

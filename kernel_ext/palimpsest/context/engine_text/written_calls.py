"""Recognise a tool call that a model wrote as text, so that nothing ran.

Pure. Local models and gateways without a parser for a model's own form of calls return them as text. A call counts only
at the end of an answer, and only for an offered tool: text about calls is an ordinary answer.
"""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

WRITE_AGAIN_TEXT = (
    "You wrote a call of the tool {tool} as text, and text is not run. Make the call now as a real tool call, or answer "
    "without it."
)
NOT_RUN = (
    "The model wrote a call of the tool {tool} as text, so it was not run. Its server may lack a parser for the "
    "calls of this model: switch that on there, or choose another model with --model."
)

MAX_SEARCHED_CHARS = 200_000
"""Maximum characters at an answer's end that are searched."""
_OPENING_TAG = re.compile(
    r"<(?:invoke|function|tool)(?:\s+name\s*=\s*[\"']|=)([\w.-]{1,64})[\"']?\s*>"
)
"""``<invoke name="python">``, ``<function=python>``."""
_CLOSING_TAG = re.compile(
    r"</(?:invoke|function|tool|function_calls|tool_call|tool_calls|antml:invoke|antml:function_calls)>\s*\Z"
)
_OPENING_MARK = re.compile(
    r"<\|?(?:tool_calls?|function_calls?|plugin|action_start)(?:_begin|_section_begin)?\|?>|\[TOOL_CALLS\]"
)
"""Marks before calls in JSON, in the forms of Qwen, Hermes, Mistral, GLM and Kimi."""
_CLOSING_MARK = re.compile(r"(?:<[|/]*\w+\|?>|```)\Z")
MAX_MARKS, MAX_MARK_CHARS = 6, 60
"""Maximum number of marks that may close a call, and the maximum characters of each."""
_FENCE = re.compile(r"\A\s*```\w*\n(.*)\n```\s*\Z", re.DOTALL)
_NAME_KEYS = ("name", "tool", "tool_name", "function", "recipient_name")
_INPUT_KEYS = ("arguments", "parameters", "input", "args", "tool_input")


def written_call(text: str, tools: Collection[str]) -> str | None:
    """Return the offered tool of a call at the end of an answer's text; None where there is none.

    >>> written_call('<tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>', ["read"])
    'read'
    >>> written_call("Models write <invoke name='read'> for a call.", ["read"]) is None
    True
    """
    ending = text[-MAX_SEARCHED_CHARS:].replace("antml:", "").rstrip()
    tagged_tools = [match[1] for match in _OPENING_TAG.finditer(ending)]
    if tagged_tools and _CLOSING_TAG.search(ending) and tagged_tools[-1] in tools:
        return tagged_tools[-1]
    fenced_text = _FENCE.match(ending)
    mark_ends = [match.end() for match in _OPENING_MARK.finditer(ending)]
    call_text = ending[mark_ends[-1] :] if mark_ends else fenced_text[1] if fenced_text else ending
    return next((name for name in _call_names(call_text) if name in tools), None)


def _call_names(text: str) -> Iterator[str]:
    """Yield the names of the calls in a text that is only JSON, apart from closing marks."""
    call_text = text.strip()
    for _ in range(MAX_MARKS):
        mark = _CLOSING_MARK.search(call_text[-MAX_MARK_CHARS:])
        if mark is None:
            break
        call_text = call_text[: -len(mark[0])].rstrip()
    try:
        value = json.loads(call_text)
    except (ValueError, RecursionError):
        return
    for call in value if isinstance(value, list) else [value]:
        name = _tool_name(call)
        if name is not None:
            yield name


def _tool_name(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    function_call = value.get("function")
    if isinstance(function_call, dict):
        return _tool_name(function_call)
    if not any(isinstance(value.get(key), dict | str) for key in _INPUT_KEYS):
        return None
    names = (value.get(key) for key in _NAME_KEYS)
    return next((name for name in names if isinstance(name, str)), None)

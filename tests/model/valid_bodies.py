"""Valid request bodies for each format, and ways to break one of their fields."""

import copy
from collections.abc import Callable
from typing import Any

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
JPEG = "/9j/4AAQSkZJRgABAQ=="
PDF = "JVBERi0xLjQKJcOkw7zDtsOfCg=="

Body = dict[str, Any]
Break = Callable[[Body], Any]

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
FUNCTION = {"name": "read", "description": "Read a file.", "parameters": SCHEMA}


def call(identifier: str, arguments: str = '{"path": "a"}', name: str = "read") -> Body:
    """Return a call in OpenAI's format."""
    function = {"name": name, "arguments": arguments}
    return {"id": identifier, "type": "function", "function": function}


OPENAI: Body = {
    "model": "gpt-4o",
    "messages": [
        {"role": "system", "content": "Be kind."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look: 企鹅 🐧"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                {
                    "type": "file",
                    "file": {
                        "filename": "a.pdf",
                        "file_data": f"data:application/pdf;base64,{PDF}",
                    },
                },
            ],
        },
        {"role": "assistant", "content": None, "tool_calls": [call("call_1"), call("call_2")]},
        {"role": "tool", "tool_call_id": "call_2", "content": ""},
        {"role": "tool", "tool_call_id": "call_1", "content": "one"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "More."},
    ],
    "tools": [{"type": "function", "function": FUNCTION}],
    "tool_choice": "auto",
    "max_tokens": 1000,
    "stream": True,
    "stream_options": {"include_usage": True},
}

MISTRAL: Body = {
    "model": "mistral-large-latest",
    "messages": [
        {"role": "system", "content": "Be kind."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look: 企鹅 🐧"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
            ],
        },
        {"role": "assistant", "content": "", "tool_calls": [call("abcdefgh1"), call("abcdefgh2")]},
        {"role": "tool", "tool_call_id": "abcdefgh1", "content": "one", "name": "read"},
        {"role": "tool", "tool_call_id": "abcdefgh2", "content": "", "name": "read"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "More."},
        {"role": "user", "content": "And more."},
    ],
    "tools": [{"type": "function", "function": FUNCTION}],
    "tool_choice": "any",
    "max_tokens": 1000,
    "stream": True,
}

ANTHROPIC: Body = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 4000,
    "system": [
        {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    ],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look: 企鹅 🐧"},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": PNG},
                },
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
                },
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                {"type": "redacted_thinking", "data": "sealed"},
                {"type": "text", "text": "I read."},
                {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_2",
                    "content": [{"type": "text", "text": "No path."}],
                    "is_error": True,
                },
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": ""},
                {"type": "text", "text": "Go on.", "cache_control": {"type": "ephemeral"}},
            ],
        },
        {"role": "user", "content": "Please."},
    ],
    "tools": [{"name": "read", "description": "Read a file.", "input_schema": SCHEMA}],
    "thinking": {"type": "enabled", "budget_tokens": 2000},
    "stream": True,
}

GEMINI: Body = {
    "systemInstruction": {"parts": [{"text": "Be kind."}]},
    "contents": [
        {
            "role": "user",
            "parts": [
                {"text": "Look: 企鹅 🐧"},
                {"inlineData": {"mimeType": "image/png", "data": PNG}},
                {"inline_data": {"mime_type": "application/pdf", "data": PDF}},
            ],
        },
        {
            "role": "model",
            "parts": [
                {"text": "I read."},
                {
                    "functionCall": {"name": "read", "args": {"path": "a"}},
                    "thoughtSignature": "c2ln",
                },
                {"functionCall": {"name": "read", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "read", "response": {"content": "one"}}},
                {"function_response": {"name": "read", "response": {"content": ""}}},
            ],
        },
        {"role": "model", "parts": [{"text": "Done."}]},
        {"role": "user", "parts": [{"text": "More."}]},
    ],
    "tools": [{"functionDeclarations": [FUNCTION]}],
    "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    "generationConfig": {"maxOutputTokens": 1000, "temperature": 1.0},
}


def broken(body: Body, change: Break) -> Body:
    """Return a copy of a body with one change."""
    copied = copy.deepcopy(body)
    change(copied)
    return copied


def sets(*path: str | int, to: Any) -> Break:
    """Return a change that sets the value at a path."""
    return lambda body: _at(body, path[:-1]).__setitem__(path[-1], to)


def drops(*path: str | int) -> Break:
    """Return a change that removes the value at a path."""
    return lambda body: _at(body, path[:-1]).__delitem__(path[-1])


def adds(*path: str | int, one: Any) -> Break:
    """Return a change that appends a value to the list at a path."""
    return lambda body: _at(body, path).append(one)


def puts(*path: str | int, one: Any) -> Break:
    """Return a change that inserts a value before an index of a list."""
    return lambda body: _at(body, path[:-1]).insert(path[-1], one)


def _at(body: Body, path: tuple[str | int, ...]) -> Any:
    place: Any = body
    for step in path:
        place = place[step]
    return place

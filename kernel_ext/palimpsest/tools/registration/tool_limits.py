"""Limit the offered tools to the number that a model's provider accepts; the newest are left out first.

Border: pure. Built-in tools stay, since the system prompt mentions them; then the user's functions, then tools of MCP
servers. A sentence names the omitted tools, and the others keep their order, so that the prompt stays cached.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.tools.registration.builtin_tools import RESERVED_NAMES
from palimpsest.tools.registration.function_tools import FunctionTool
from palimpsest.tools.tool import Tool
from palimpsest.transcript.values import ToolSpec

MAX_NAMED_TOOLS = 8
NAME_KEYED_FIELDS = {"properties", "$defs", "definitions"}
"""Fields of a schema whose keys are names of properties or of definitions."""
VALUE_FIELDS = {"enum", "const"}
"""Fields of a schema that hold enumerated or constant values."""
TOO_MANY_TOOLS = (
    "{model} takes {most:,} tools at most in one request, and {count:,} are offered. Left out: {names}. Name those that "
    "are needed with --tools, take an MCP server out of palimpsest.toml, or choose another model with --model."
)
TOO_LONG_SCHEMAS = (
    "{model} takes {most:,} characters at most of names and enumerated values in the schema of a tool. Left out, since "
    "theirs has more: {names}."
)


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """The limits of a provider for tools; None where no limit is known."""

    model: str
    """The model's full id, for the sentences."""
    tools: int | None = None
    """Maximum number of tools in one request."""
    schema_chars: int | None = None
    """Maximum characters of all names, enumerated and constant values in the schema of one tool."""


def tools_within(
    tools: Sequence[Tool],
    spec: Callable[[Tool], ToolSpec],
    positions_by_name: Mapping[str, int],
    limits: ToolLimits,
) -> tuple[tuple[Tool, ...], str]:
    """Return the tools within the limits, in their order, and a sentence about the omitted tools, if any.

    ``positions_by_name`` is the position of each tool, by name, in the order in which they were added.
    """
    max_chars, max_tools = limits.schema_chars, limits.tools
    sentences = []
    remaining_tools = list(tools)
    if max_chars is not None:
        tools_too_long = [
            tool
            for tool in remaining_tools
            if not _is_builtin(tool) and _schema_chars(spec(tool)) > max_chars
        ]
        remaining_tools = [tool for tool in remaining_tools if tool not in tools_too_long]
        if tools_too_long:
            names = _names_text(tools_too_long)
            sentences.append(
                TOO_LONG_SCHEMAS.format(model=limits.model, most=max_chars, names=names)
            )
    if max_tools is not None and len(remaining_tools) > max_tools:
        omission_order = sorted(
            (tool for tool in remaining_tools if not _is_builtin(tool)),
            key=lambda tool: (isinstance(tool, FunctionTool), -positions_by_name.get(tool.name, 0)),
        )
        omitted_tools = omission_order[: len(remaining_tools) - max_tools]
        if omitted_tools:
            names, count = _names_text(omitted_tools[::-1]), len(remaining_tools)
            sentences.append(
                TOO_MANY_TOOLS.format(model=limits.model, most=max_tools, count=count, names=names)
            )
        remaining_tools = [tool for tool in remaining_tools if tool not in omitted_tools]
    return tuple(remaining_tools), " ".join(sentences)


def _is_builtin(tool: Tool) -> bool:
    return tool.name in RESERVED_NAMES


def _schema_chars(spec: ToolSpec) -> int:
    """Return the number of characters of names and values in a tool's schema, without descriptions."""
    chars = 0
    unvisited: list[tuple[str, Any]] = [("", spec.parameters)]
    while unvisited:
        key, value = unvisited.pop()
        if key in VALUE_FIELDS:
            for item in value if isinstance(value, list) else [value]:
                chars += len(
                    item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
                )
        elif isinstance(value, Mapping):
            has_names = key in NAME_KEYED_FIELDS
            chars += sum(map(len, value)) if has_names else 0
            unvisited += (("" if has_names else name, item) for name, item in value.items())
        elif isinstance(value, list):
            unvisited += (("", item) for item in value)
    return chars


def _names_text(tools: Sequence[Tool]) -> str:
    names = ", ".join(tool.name for tool in tools[:MAX_NAMED_TOOLS])
    unnamed_count = len(tools) - MAX_NAMED_TOOLS
    return f"{names} and {unnamed_count:,} more" if unnamed_count > 0 else names

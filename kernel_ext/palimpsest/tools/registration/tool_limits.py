"""Offer a model no more tools than its provider takes in a request: the ones that came last are left out first.

Pure. Built-in tools stay, since the system prompt speaks of them; then the person's own functions, then what MCP servers
offer. What is left out is said in a sentence, and the others keep their order, so that the prompt stays cached.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.tools.registration.builtin_tools import RESERVED_NAMES
from palimpsest.tools.registration.function_tools import FunctionTool
from palimpsest.tools.tool import Tool
from palimpsest.transcript.values import ToolSpec

MOST_NAMED = 8
NAMED = {"properties", "$defs", "definitions"}
"""Fields of a schema whose keys are names."""
VALUES = {"enum", "const"}
TOO_MANY = (
    "{model} takes {most:,} tools at most in one request, and {count:,} are offered. Left out: {names}. Name those that "
    "are needed with --tools, take an MCP server out of palimpsest.toml, or choose another model with --model."
)
TOO_LONG = (
    "{model} takes {most:,} characters at most of names and enumerated values in the schema of a tool. Left out, since "
    "theirs has more: {names}."
)


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """The most that a provider takes; None where no limit is known."""

    model: str
    """The model's full id, for the sentences."""
    tools: int | None = None
    schema_chars: int | None = None
    """Characters of all names, enumerated and constant values in the schema of one tool."""


def tools_within(
    tools: Sequence[Tool],
    spec: Callable[[Tool], ToolSpec],
    registered: Mapping[str, int],
    limits: ToolLimits,
) -> tuple[tuple[Tool, ...], str]:
    """Return the tools that may be offered, in their order, and a sentence about those left out; empty where none is.

    ``registered`` holds the place of each tool, by name, in the order in which they were added.
    """
    longest, most = limits.schema_chars, limits.tools
    words = []
    kept = list(tools)
    if longest is not None:
        long = [one for one in kept if not _is_builtin(one) and _chars(spec(one)) > longest]
        kept = [one for one in kept if one not in long]
        if long:
            words.append(TOO_LONG.format(model=limits.model, most=longest, names=_names(long)))
    if most is not None and len(kept) > most:
        order = sorted(
            (one for one in kept if not _is_builtin(one)),
            key=lambda one: (isinstance(one, FunctionTool), -registered.get(one.name, 0)),
        )
        out = order[: len(kept) - most]
        names = _names(list(reversed(out)))
        words.append(
            TOO_MANY.format(model=limits.model, most=most, count=len(kept), names=names)
            if out
            else ""
        )
        kept = [one for one in kept if one not in out]
    return tuple(kept), " ".join(filter(None, words))


def _is_builtin(tool: Tool) -> bool:
    return tool.name in RESERVED_NAMES


def _chars(spec: ToolSpec) -> int:
    """Return the characters that count: descriptions do not."""
    count = 0
    pending: list[tuple[str, Any]] = [("", spec.parameters)]
    while pending:
        key, value = pending.pop()
        if key in VALUES:
            count += sum(len(one) for one in _texts(value))
        elif isinstance(value, Mapping):
            count += sum(map(len, value)) if key in NAMED else 0
            inner = value.items() if key not in NAMED else (("", one) for one in value.values())
            pending += inner
        elif isinstance(value, list):
            pending += (("", one) for one in value)
    return count


def _texts(value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        yield one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)


def _names(tools: Sequence[Tool]) -> str:
    names = ", ".join(one.name for one in tools[:MOST_NAMED])
    more = len(tools) - MOST_NAMED
    return f"{names} and {more:,} more" if more > 0 else names

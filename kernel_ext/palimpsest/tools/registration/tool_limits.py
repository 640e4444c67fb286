"""Offer a model no more tools than its provider takes in a request: the ones that came last are left out first.

Pure. Built-in tools stay, since the system prompt speaks of them; then the person's own functions, then what MCP servers
offer. What is left out is said in a sentence, and the others keep their order, so that the prompt stays cached.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from palimpsest.tools.registration.builtin_tools import RESERVED_NAMES
from palimpsest.tools.registration.function_tools import FunctionTool
from palimpsest.tools.tool import Tool
from palimpsest.transcript.values import ToolSpec

MOST_NAMED = 8
TOO_MANY = (
    "{model} takes {most:,} tools at most in one request, and {count:,} are offered. Left out: {names}. Name those that "
    "are needed with --tools, take an MCP server out of palimpsest.toml, or choose another model with --model."
)
TOO_LONG = "{model} takes a schema of {most:,} characters at most for a tool. Left out, since theirs is longer: {names}."


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """The most that a provider takes; None where no limit is known."""

    model: str
    """The model's full id, for the sentences."""
    tools: int | None = None
    schema_chars: int | None = None
    """Characters of the schema of one tool, as JSON."""


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
    return len(json.dumps(spec.parameters, ensure_ascii=False))


def _names(tools: Sequence[Tool]) -> str:
    names = ", ".join(one.name for one in tools[:MOST_NAMED])
    more = len(tools) - MOST_NAMED
    return f"{names} and {more:,} more" if more > 0 else names

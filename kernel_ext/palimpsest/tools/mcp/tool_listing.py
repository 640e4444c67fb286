"""Decide which tools of a server's list are offered and under which names, and describe each for its approval.

A list is untrusted: its names may collide, its schemas may be designed to be slow. A tool that cannot be
offered is left out with a sentence. Names do not depend on the order of the list, so that
recorded calls and rules apply to the same tool after a restart.

Border: pure. Names of other servers and of the agent's own tools are compared in ``tools/mcp/servers.py``.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.tools.calls.json_schema import SchemaTooLargeError, shown_schema
from palimpsest.tools.mcp.values import RemoteTool, sanitize, untrusted_line

MAX_NAME_CHARS = 64
"""Maximum characters of a tool's name; providers reject longer ones."""
DIGEST_DIGITS = 8
MAX_TOOLS = 500
MAX_SCHEMA_CHARS = 2_000_000
"""Maximum characters of all schemas of one server; each one that is too large counts as ``OVERSIZED_SCHEMA_CHARS``."""
OVERSIZED_SCHEMA_CHARS = 50_000
MAX_NAMED_TOOLS = 5
MAX_SHOWN_NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of a server under the name by which the model calls it."""

    name: str
    permission: str
    """The permission for its calls: its name without a digest, so that tools with equal names share it."""
    remote: RemoteTool


@dataclass(frozen=True, slots=True)
class ToolListing:
    """The tools of a server that can be offered, and one sentence about each that is left out."""

    offered_tools: tuple[OfferedTool, ...] = ()
    left_out: tuple[str, ...] = ()


def list_offered_tools(server: str, tools: Sequence[RemoteTool]) -> ToolListing:
    """Return the offered tools of a server in the order of their names, and sentences about the others."""
    problems: list[tuple[str, str]] = []
    accepted_tools: dict[str, RemoteTool] = {}
    remaining_chars = MAX_SCHEMA_CHARS
    for tool in tools[:MAX_TOOLS]:
        reason, chars = _refusal_reason(tool, accepted_tools, remaining_chars)
        remaining_chars -= chars
        if reason:
            problems.append((tool.name, reason))
        else:
            accepted_tools[tool.name] = tool
    names, taken_names = offered_names(server, list(accepted_tools))
    problems += [
        (name, f"its name would be that of {_shown_name(other)}") for name, other in taken_names
    ]
    offered_tools = [
        OfferedTool(names[name], tool_name(server, name), accepted_tools[name])
        for name in sorted(names)
    ]
    left_out = left_out_texts(server, problems)
    if len(tools) > MAX_TOOLS:
        left_out += (
            f"The MCP server {server!r} lists {len(tools):,} tools; those after the first {MAX_TOOLS} are left out.",
        )
    return ToolListing(tuple(offered_tools), left_out)


def _refusal_reason(
    tool: RemoteTool, accepted_tools: Mapping[str, RemoteTool], remaining_chars: int
) -> tuple[str, int]:
    """Return the reason why a tool cannot be offered (empty if it can), and the size of its schema."""
    if not tool.name:
        return "it has no name", 0
    if tool.name in accepted_tools:
        return "the list has two tools of this name", 0
    if remaining_chars <= 0:
        return f"the schemas of the server have more than {MAX_SCHEMA_CHARS:,} characters", 0
    try:
        return "", len(json.dumps(shown_schema(tool.schema)))
    except SchemaTooLargeError as problem:
        return f"its schema {problem}", OVERSIZED_SCHEMA_CHARS


def left_out_texts(server: str, problems: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return sentences about tools that are not offered, given as name and reason; of many, about the first."""
    sentences = [
        f"The tool {_shown_name(name)} of the MCP server {server!r} is left out, because {reason}."
        for name, reason in problems[:MAX_NAMED_TOOLS]
    ]
    unnamed_count = len(problems) - MAX_NAMED_TOOLS
    if unnamed_count > 0:
        sentences.append(
            f"{unnamed_count} more tools of the MCP server {server!r} are left out for such reasons."
        )
    return tuple(sentences)


def _shown_name(name: str) -> str:
    return repr(untrusted_line(name, MAX_SHOWN_NAME_CHARS))


def tool_name(server: str, tool: str) -> str:
    """Return the name of a server's tool, in characters and length that providers accept."""
    name = f"{sanitize(server)}_{sanitize(tool)}"
    return name if len(name) <= MAX_NAME_CHARS else _name_with_digest(server, tool)


def _name_with_digest(server: str, tool: str) -> str:
    """Return the name with a digest of the server's and the tool's exact names."""
    exact_names = f"{server}\n{tool}".encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(exact_names).hexdigest()[:DIGEST_DIGITS]
    name = f"{sanitize(server)}_{sanitize(tool)}"
    return f"{name[: MAX_NAME_CHARS - DIGEST_DIGITS - 1]}_{digest}"


def offered_names(
    server: str, tools: Sequence[str]
) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """Return the names under which tools are offered, and pairs of an omitted tool and the one with its name.

    Tools whose names would be equal except for case each get a digest, independent of their order.
    """
    groups: dict[str, list[str]] = {}
    for tool in sorted(tools):
        groups.setdefault(tool_name(server, tool).casefold(), []).append(tool)
    candidates = [
        (len(group) > 1, tool, (_name_with_digest if len(group) > 1 else tool_name)(server, tool))
        for group in groups.values()
        for tool in group
    ]
    names: dict[str, str] = {}
    owners: dict[str, str] = {}
    taken_names: list[tuple[str, str]] = []
    for _, tool, name in sorted(candidates):
        owner_tool = owners.setdefault(name.casefold(), tool)
        if owner_tool == tool:
            names[tool] = name
        else:
            taken_names.append((tool, owner_tool))
    return names, tuple(taken_names)


def approval_text(server: str, address: str, tool: RemoteTool) -> str:
    """Return the description to which a tool's approval is bound, one fact per line, with invisible characters escaped."""
    facts = [
        f"tool {json.dumps(tool.name)} of {json.dumps(server)}",
        f"server: {address}",
        *([f"title: {tool.title}"] if tool.title else []),
        "description:",
        *(f"  {line}" for line in tool.description.split("\n")),
        *(["annotations:", *_indented_json(tool.annotations)] if tool.annotations else []),
        "input:",
        *_indented_json(tool.schema),
    ]
    return "\n".join(_escaped(fact) for fact in facts)


def _indented_json(value: Mapping[str, Any]) -> list[str]:
    try:
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return [f"  {line}" for line in text.split("\n")]


def _escaped(line: str) -> str:
    """Return a line with unprintable characters as escapes."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in line
    )

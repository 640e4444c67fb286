"""Decide which tools of a server's list are offered, under which names, and describe what is approved of each.

A list is the word of a stranger: its names may collide, its schemas may be made to cost. A tool that cannot be
offered is left out with a sentence, and the others stay. Names do not depend on the order of the list, so that
a recorded call and a rule mean the same tool after a restart.

Border: pure. Names of other servers and of the agent's own tools are compared in ``tools/mcp/servers.py``.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.tools.calls.json_schema import SchemaTooLargeError, shown_schema
from palimpsest.tools.mcp.values import RemoteTool, in_one_line, sanitize

LONGEST_NAME = 64
"""Maximum characters of a tool's name; providers reject longer ones."""
MARK_DIGITS = 8
MOST_TOOLS = 500
MOST_CHARS = 2_000_000
"""Maximum characters of all schemas of one server; each that is too large costs ``REFUSED_CHARS`` of them."""
REFUSED_CHARS = 50_000
MOST_NAMED = 5
LONGEST_SHOWN_NAME = 80


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of a server under the name by which the model calls it."""

    name: str
    permission: str
    """The permission that it asks for; of tools whose names would be the same, the name that they would have."""
    remote: RemoteTool


@dataclass(frozen=True, slots=True)
class ToolListing:
    """The tools of a server that can be offered, and sentences about those that are left out."""

    offered: tuple[OfferedTool, ...] = ()
    left_out: tuple[str, ...] = ()


def listing_of(server: str, tools: Sequence[RemoteTool]) -> ToolListing:
    """Return which tools of a server are offered, in the order of their names."""
    problems: list[tuple[str, str]] = []
    known: dict[str, RemoteTool] = {}
    left = MOST_CHARS
    for tool in tools[:MOST_TOOLS]:
        why, chars = _fault(tool, known, left)
        left -= chars
        if why:
            problems.append((tool.name, why))
        else:
            known[tool.name] = tool
    names, taken = offered_names(server, list(known))
    problems += [(name, f"its name would be that of {_shown(other)}") for name, other in taken]
    offered = [
        OfferedTool(names[name], tool_name(server, name), known[name]) for name in sorted(names)
    ]
    said = left_out_texts(server, problems)
    if len(tools) > MOST_TOOLS:
        said += (
            f"The MCP server {server!r} lists {len(tools):,} tools; those after the first {MOST_TOOLS} are left out.",
        )
    return ToolListing(tuple(offered), said)


def _fault(tool: RemoteTool, known: Mapping[str, RemoteTool], left: int) -> tuple[str, int]:
    """Return why a tool cannot be offered, empty if it can, and what its schema costs of the bound."""
    if not tool.name:
        return "it has no name", 0
    if tool.name in known:
        return "the list has two tools of this name", 0
    if left <= 0:
        return f"the schemas of the server have more than {MOST_CHARS:,} characters", 0
    try:
        return "", len(json.dumps(shown_schema(tool.schema)))
    except SchemaTooLargeError as problem:
        return f"its schema {problem}", REFUSED_CHARS


def left_out_texts(server: str, problems: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return sentences about tools that are not offered, given by name and reason; of many, about the first ones."""
    said = [
        f"The tool {_shown(name)} of the MCP server {server!r} is left out, because {why}."
        for name, why in problems[:MOST_NAMED]
    ]
    more = len(problems) - MOST_NAMED
    if more > 0:
        said.append(
            f"{more} more tools of the MCP server {server!r} are left out for such reasons."
        )
    return tuple(said)


def _shown(name: str) -> str:
    return repr(in_one_line(name, LONGEST_SHOWN_NAME))


def tool_name(server: str, tool: str) -> str:
    """Return the name of a server's tool in the characters and the length that providers accept."""
    key = f"{sanitize(server)}_{sanitize(tool)}"
    return key if len(key) <= LONGEST_NAME else _marked(server, tool)


def _marked(server: str, tool: str) -> str:
    """Return the name with a mark of what the tool is really called."""
    exact = f"{server}\n{tool}".encode("utf-8", "surrogatepass")
    mark = hashlib.sha256(exact).hexdigest()[:MARK_DIGITS]
    key = f"{sanitize(server)}_{sanitize(tool)}"
    return f"{key[: LONGEST_NAME - MARK_DIGITS - 1]}_{mark}"


def offered_names(
    server: str, tools: Sequence[str]
) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """Return the names under which tools are offered, and pairs of a tool left out and the one in its place.

    Tools whose names would be the same, but for case, each get a mark, whatever their order.
    """
    alike: dict[str, list[str]] = {}
    for tool in sorted(tools):
        alike.setdefault(tool_name(server, tool).casefold(), []).append(tool)
    wanted = [
        (len(group) > 1, tool, (_marked if len(group) > 1 else tool_name)(server, tool))
        for group in alike.values()
        for tool in group
    ]
    names: dict[str, str] = {}
    owners: dict[str, str] = {}
    taken: list[tuple[str, str]] = []
    for _, tool, name in sorted(wanted):
        owner = owners.setdefault(name.casefold(), tool)
        if owner == tool:
            names[tool] = name
        else:
            taken.append((tool, owner))
    return names, tuple(taken)


def description_of(server: str, address: str, tool: RemoteTool) -> str:
    """Return what an approval of a tool is bound to, one fact a line; invisible characters are written out."""
    facts = [
        f"tool {json.dumps(tool.name)} of {json.dumps(server)}",
        f"server: {address}",
        *([f"title: {tool.title}"] if tool.title else []),
        "description:",
        *(f"  {line}" for line in tool.description.split("\n")),
        *(["annotations:", *_indented(tool.annotations)] if tool.annotations else []),
        "input:",
        *_indented(tool.schema),
    ]
    return "\n".join(_visible(one) for one in facts)


def _indented(value: Mapping[str, Any]) -> list[str]:
    try:
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return [f"  {line}" for line in text.split("\n")]


def _visible(line: str) -> str:
    """Return a line with all that draws nothing, or draws elsewhere, as an escape."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in line
    )

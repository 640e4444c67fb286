"""The tool definitions of a request one by one, each with its name and its share of the tokens.

A session's log holds the offered tools as one text, the JSON that was sent or that the engine stored; a text that cannot be
read as a list of definitions stays one item.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal, NamedTuple

from palimpsest.store.bounded_json import json_value
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.visible_text import visible_line

MAX_NAME_CHARS = 80
MAX_DESCRIPTION_CHARS = 80
MAX_DEFINITIONS = 5_000
"""Maximum definitions of one session that are listed: a client that changes its tools at each request repeats them all."""
DefinitionChange = Literal["", "new", "changed"]
"""Whether a definition is new or changed since the previous tools; empty where it is the same, and in the first tools."""


class ToolDefinition(NamedTuple):
    """One definition of a tool."""

    name: str
    words: str
    """The first characters of the description."""
    text: str
    """The definition as JSON."""


class ItemDefinition(NamedTuple):
    """A definition in the item that holds it."""

    item: int
    name: str
    tokens: int
    """The definition's share of the item's tokens, by length; the shares of all definitions add up to them."""
    change: DefinitionChange


def tool_definitions(text: str) -> tuple[ToolDefinition, ...]:
    """Return the definitions in a text of tools, in their order; none where the text is not a list of definitions."""
    try:
        tools = json_value(text)
    except ValueError:
        return ()
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        return ()
    return tuple(_parsed_definition(tool) for tool in _declared_functions(tools))


def item_definitions(timeline: Timeline, weights: Sequence[int]) -> tuple[ItemDefinition, ...]:
    """Return the definitions of a session's items of tools, item by item; ``weights`` are the items' tokens."""
    definitions_by_hash: dict[str, tuple[ToolDefinition, ...]]
    definitions_by_hash = timeline.earlier.setdefault("tool definitions", {})
    rows: list[ItemDefinition] = []
    previous_texts: Mapping[str, str] | None = None
    for item in timeline.items:
        if item.kind != "tools":
            continue
        definitions = definitions_by_hash.get(item.hash)
        if definitions is None:
            definitions = definitions_by_hash[item.hash] = tool_definitions(
                timeline.read(item.index)
            )
        if len(rows) + len(definitions) > MAX_DEFINITIONS:
            break
        token_shares = shared_by_length(
            weights[item.index], [len(tool.text) for tool in definitions]
        )
        rows.extend(
            ItemDefinition(item.index, tool.name, share, _definition_change(tool, previous_texts))
            for tool, share in zip(definitions, token_shares, strict=True)
        )
        previous_texts = {tool.name: tool.text for tool in definitions}
    return tuple(rows)


def shared_by_length(tokens: int, lengths: Sequence[int]) -> tuple[int, ...]:
    """Return whole tokens shared by length; their sum is ``tokens``; one more character counts for the separator."""
    ends = [*accumulate(length + 1 for length in lengths)]
    rounded_ends = [round(tokens * end / ends[-1]) for end in ends]
    return tuple(
        rounded_end - previous_end
        for previous_end, rounded_end in zip([0, *rounded_ends], rounded_ends, strict=False)
    )


def _declared_functions(tools: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield each definition; Gemini sends its functions as a list within one tool."""
    for tool in tools:
        functions = tool.get("functionDeclarations") or tool.get("function_declarations")
        if isinstance(functions, list) and all(
            isinstance(function, dict) for function in functions
        ):
            yield from functions
        else:
            yield tool


def _parsed_definition(tool: Mapping[str, Any]) -> ToolDefinition:
    function = tool.get("function")
    declaration = function if isinstance(function, dict) else tool
    # Gemini's own tools are named by their only key.
    name_candidates = (
        *map(declaration.get, ("name", "server_label", "type")),
        next(iter(tool), ""),
    )
    name = next((text for text in name_candidates if isinstance(text, str) and text), "")
    description = declaration.get("description")
    return ToolDefinition(
        visible_line(name)[:MAX_NAME_CHARS],
        visible_line(description)[:MAX_DESCRIPTION_CHARS] if isinstance(description, str) else "",
        json.dumps(tool, ensure_ascii=False, separators=(",", ":")),
    )


def _definition_change(
    tool: ToolDefinition, previous_texts: Mapping[str, str] | None
) -> DefinitionChange:
    if previous_texts is None or previous_texts.get(tool.name) == tool.text:
        return ""
    return "changed" if tool.name in previous_texts else "new"

"""Make each tool in a server's list readable, since one that breaks the protocol would cost all others.

The package ``mcp`` refuses a whole list for one tool with ``inputSchema: true`` or a title that is a number. What it
would refuse is left away here before; a schema that is no object becomes that of any input, and a tool without a name
is left out later, with a sentence.

Border: raw JSON in, raw JSON out; ``tools/mcp/client.py`` puts it before the package's own check.
"""

from collections.abc import Mapping
from typing import Any

ANY_INPUT: Mapping[str, Any] = {"type": "object"}
HINTS = frozenset({"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"})


def with_readable_tools(result: Any) -> Any:
    """Return the result of ``tools/list`` with tools that the package accepts; anything else as it is."""
    tools = result.get("tools") if isinstance(result, dict) else None
    if not isinstance(tools, list):
        return result
    listed = [_readable(one) for one in tools]
    cursor = result.get("nextCursor")
    readable = {**result, "tools": listed}
    if not isinstance(cursor, str):
        readable.pop("nextCursor", None)
    return readable


def _readable(tool: Any) -> dict[str, Any]:
    given = tool if isinstance(tool, dict) else {}
    found: dict[str, Any] = {"name": _text(given.get("name")), "inputSchema": _schema(given)}
    for key in ("title", "description"):
        if _text(given.get(key)):
            found[key] = given[key]
    annotations = given.get("annotations")
    if isinstance(annotations, dict):
        found["annotations"] = {
            key: value
            for key, value in annotations.items()
            if (isinstance(value, bool) if key in HINTS else key != "title" or _text(value))
        }
    return found


def _schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict):
        return dict(ANY_INPUT)
    # The protocol wants ``type``; without it the schema of an input means the same.
    found = {**schema, "type": "object"}
    if not isinstance(found.get("$schema", ""), str):
        del found["$schema"]
    if "properties" in found:
        found["properties"] = _properties(found["properties"])
    if "required" in found:
        named = found["required"] if isinstance(found["required"], list) else []
        found["required"] = [one for one in named if isinstance(one, str)]
    return found


def _properties(given: Any) -> dict[str, Any]:
    """Return properties whose schemas are objects: ``false`` forbids one, a word is its type, the rest is anything."""
    named = given if isinstance(given, dict) else {}
    return {
        name: one if isinstance(one, dict) else {"type": one} if isinstance(one, str) else {}
        for name, one in named.items()
        if one is not False
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

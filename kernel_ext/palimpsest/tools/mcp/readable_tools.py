"""Repair the tools in a server's list, since the package ``mcp`` rejects the complete list for one invalid tool.

For example, it rejects a list for one tool with ``inputSchema: true`` or a title that is a number. Invalid
fields are removed; a schema that is no object becomes that of any input, and a tool without a name
is left out later, with a sentence.

Border: works on raw JSON, before the package's own validation.
"""

from collections.abc import Mapping
from typing import Any

ANY_INPUT: Mapping[str, Any] = {"type": "object"}
BOOLEAN_HINTS = frozenset({"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"})


def with_readable_tools(result: Any) -> Any:
    """Return the result of ``tools/list`` with every tool repaired for the package ``mcp``; any other value unchanged."""
    tools = result.get("tools") if isinstance(result, dict) else None
    if not isinstance(tools, list):
        return result
    repaired_result = {**result, "tools": [_repaired_tool(tool) for tool in tools]}
    if not isinstance(result.get("nextCursor"), str):
        repaired_result.pop("nextCursor", None)
    return repaired_result


def _repaired_tool(tool: Any) -> dict[str, Any]:
    fields = tool if isinstance(tool, dict) else {}
    repaired_fields: dict[str, Any] = {
        "name": _text_or_empty(fields.get("name")),
        "inputSchema": _repaired_schema(fields),
    }
    for key in ("title", "description"):
        if _text_or_empty(fields.get(key)):
            repaired_fields[key] = fields[key]
    annotations = fields.get("annotations")
    if isinstance(annotations, dict):
        repaired_fields["annotations"] = {
            key: value
            for key, value in annotations.items()
            if (
                isinstance(value, bool)
                if key in BOOLEAN_HINTS
                else key != "title" or _text_or_empty(value)
            )
        }
    return repaired_fields


def _repaired_schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict):
        return dict(ANY_INPUT)
    # The protocol requires ``type``; adding it does not change the meaning.
    repaired_schema = {**schema, "type": "object"}
    if not isinstance(repaired_schema.get("$schema", ""), str):
        del repaired_schema["$schema"]
    if "properties" in repaired_schema:
        repaired_schema["properties"] = _repaired_properties(repaired_schema["properties"])
    if "required" in repaired_schema:
        required = repaired_schema["required"]
        names = required if isinstance(required, list) else []
        repaired_schema["required"] = [name for name in names if isinstance(name, str)]
    return repaired_schema


def _repaired_properties(value: Any) -> dict[str, Any]:
    """Return properties whose schemas are objects: ``false`` removes a property, a text becomes its type, other values allow any input."""
    properties = value if isinstance(value, dict) else {}
    return {
        name: schema
        if isinstance(schema, dict)
        else {"type": schema}
        if isinstance(schema, str)
        else {}
        for name, schema in properties.items()
        if schema is not False
    }


def _text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""

"""What a server of OpenAI's or Anthropic's format does not take in the definition of a tool.

Border: pure; definitions in OpenAI's format in, as ``wire/tool_schema`` writes them, the changed ones out.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from palimpsest.model.wire.schema_repair import LISTS, NAMED, ONE_SCHEMA

Json = dict[str, Any]

NAMED_SCHEMAS = NAMED | {"$defs", "definitions"}
SCHEMAS = ONE_SCHEMA | LISTS
"""Where a schema holds schemas, one or a list of them."""
ANTHROPIC_FIELDS = ("type", "properties", "additionalProperties", "required", "$defs", "strict")
"""The fields of the schema of a whole input that Anthropic takes."""


def with_parameters(tool: Json, change: Callable[[Any], Any]) -> Json:
    """Return the definition of a tool with its schema changed."""
    function = tool["function"]
    return {**tool, "function": {**function, "parameters": change(function["parameters"])}}


def without_odd_patterns(schema: Any) -> Any:
    """Return a schema without the regular expressions that Python cannot compile, for which OpenAI refuses a request."""
    if isinstance(schema, list):
        return [without_odd_patterns(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found: Json = {}
    for key, value in schema.items():
        if key == "pattern" and isinstance(value, str) and not _compiles(value):
            continue
        if key in NAMED_SCHEMAS and isinstance(value, dict):
            names = key == "patternProperties"
            found[key] = {
                name: without_odd_patterns(one)
                for name, one in value.items()
                if not names or _compiles(name)
            }
        else:
            found[key] = without_odd_patterns(value) if key in SCHEMAS else value
    return found


@lru_cache(maxsize=512)
def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def without_closed_objects(schema: Any) -> Any:
    """Return a schema without ``additionalProperties: false``, which some servers' grammars do not know."""
    if isinstance(schema, list):
        return [without_closed_objects(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: without_closed_objects(value)
        for key, value in schema.items()
        if not (key == "additionalProperties" and value is False)
    }


def anthropic_tool(tool: Json) -> Json:
    """Return the definition of a tool in Anthropic's format."""
    function = tool["function"]
    schema = {key: one for key, one in function["parameters"].items() if key in ANTHROPIC_FIELDS}
    return {
        "name": function["name"],
        "input_schema": schema,
        "type": "custom",
        "description": function["description"],
    }

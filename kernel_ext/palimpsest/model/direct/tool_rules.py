"""Remove from tool definitions what servers of OpenAI's or Anthropic's format reject.

Border: pure; definitions in OpenAI's format in, as ``wire/tool_schema`` writes them, changed definitions out.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from palimpsest.model.wire.schema_repair import SCHEMA_KEYWORDS, SCHEMA_LISTS, SCHEMA_MAPS

Json = dict[str, Any]

SCHEMA_MAP_KEYWORDS = SCHEMA_MAPS | {"$defs", "definitions"}
"""Keywords whose value is an object with a schema under each name."""
SCHEMA_VALUE_KEYWORDS = SCHEMA_KEYWORDS | SCHEMA_LISTS
"""Keywords whose value is a schema or a list of schemas."""
ANTHROPIC_FIELDS = ("type", "properties", "additionalProperties", "required", "$defs", "strict")
"""The fields that Anthropic accepts at the top of an input's schema."""


def with_parameters(tool: Json, change: Callable[[Any], Any]) -> Json:
    """Return the definition of a tool with its schema changed."""
    function = tool["function"]
    return {**tool, "function": {**function, "parameters": change(function["parameters"])}}


def without_invalid_patterns(schema: Any) -> Any:
    """Return a schema without the regular expressions that Python cannot compile; OpenAI would refuse the request."""
    if isinstance(schema, list):
        return [without_invalid_patterns(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    changed_schema: Json = {}
    for key, value in schema.items():
        if key == "pattern" and isinstance(value, str) and not _is_valid_pattern(value):
            continue
        if key in SCHEMA_MAP_KEYWORDS and isinstance(value, dict):
            is_pattern_map = key == "patternProperties"
            changed_schema[key] = {
                name: without_invalid_patterns(inner)
                for name, inner in value.items()
                if not is_pattern_map or _is_valid_pattern(name)
            }
        else:
            changed_schema[key] = (
                without_invalid_patterns(value) if key in SCHEMA_VALUE_KEYWORDS else value
            )
    return changed_schema


@lru_cache(maxsize=512)
def _is_valid_pattern(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def without_closed_objects(schema: Any) -> Any:
    """Return a schema without ``additionalProperties: false``, which some servers' grammars lack."""
    if isinstance(schema, list):
        return [without_closed_objects(item) for item in schema]
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
    parameters = function["parameters"]
    schema = {key: value for key, value in parameters.items() if key in ANTHROPIC_FIELDS}
    return {
        "name": function["name"],
        "input_schema": schema,
        "type": "custom",
        "description": function["description"],
    }

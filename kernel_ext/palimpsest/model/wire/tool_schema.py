"""Write the schema of a tool's input in the subset of JSON Schema that a provider knows.

Pure. Some models are given functions in the words of OpenAPI 3.0: there are fewer fields, choices stand
alone and only words are enumerated. Their own interface is translated to by the adapter; behind a
gateway with another interface nobody does it for us. What the subset cannot say is left out, and the
tool itself still checks what it is called with.
"""

from collections.abc import Mapping
from typing import Any, assert_never

from palimpsest.transcript.provider_profile.provider_table import SchemaSubset

OPENAPI_FIELDS = frozenset(
    {"type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems"}
    | {"properties", "required", "minProperties", "maxProperties", "minLength", "maxLength"}
    | {"pattern", "example", "anyOf", "propertyOrdering", "default", "items", "minimum", "maximum"}
)


def in_subset(schema: dict[str, Any], subset: SchemaSubset) -> dict[str, Any]:
    """Return the schema of an input as far as the subset can say it."""
    match subset:
        case "json_schema":
            return schema
        case "openapi":
            return _openapi(schema)
        case _:
            assert_never(subset)


def _openapi(schema: Mapping[str, Any]) -> dict[str, Any]:
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return {"anyOf": [_openapi(one) for one in choices if isinstance(one, Mapping)]}
    found = {name: value for name, value in schema.items() if name in OPENAPI_FIELDS}
    found |= _typed(schema)
    found |= _with_inner(found)
    if "const" in schema:
        found["enum"] = [schema["const"]]
    if found.get("type") != "string" or not all(
        isinstance(one, str) for one in found.get("enum", ())
    ):
        found.pop("enum", None)
    if not found.get("properties"):
        found.pop("properties", None)
    if "required" in found:
        known = found.get("properties", {})
        found["required"] = [name for name in found["required"] if name in known]
    return found


def _typed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the one type of a value; of several the first, and that it may be null."""
    kind = schema.get("type")
    if not isinstance(kind, list):
        return {}
    named = [one for one in kind if one != "null"]
    null = {"nullable": True} if len(named) < len(kind) else {}
    return {"type": named[0] if named else "string"} | null


def _with_inner(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schemas inside of one, each in the subset."""
    inner: dict[str, Any] = {}
    properties = found.get("properties")
    if isinstance(properties, Mapping):
        inner["properties"] = {
            name: _openapi(one) for name, one in properties.items() if isinstance(one, Mapping)
        }
    if found.get("type") == "array":
        items = found.get("items")
        inner["items"] = _openapi(items) if isinstance(items, Mapping) else {"type": "string"}
    return inner

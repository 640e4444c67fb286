"""Write the schema of a tool's input in the subset of JSON Schema that a provider supports.

Pure. Some models require function schemas in OpenAPI 3.0, which has fewer fields, ``anyOf`` only without other fields,
and enumerations only of strings. The adapter translates them for the provider's own interface, but not behind a gateway
with another interface. What the subset cannot express is left out; the tool itself still validates its input.
"""

import copy
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, assert_never

from palimpsest.model.wire.schema_repair import repaired_schema, with_plain_names
from palimpsest.model.wire.tool_call_text import tool_name
from palimpsest.transcript.provider_profile.profile import ProviderProfile
from palimpsest.transcript.provider_profile.provider_table import SchemaSubset
from palimpsest.transcript.values import ToolSpec

OPENAPI_FIELDS = frozenset(
    {"type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems"}
    | {"properties", "required", "minProperties", "maxProperties", "minLength", "maxLength"}
    | {"pattern", "example", "anyOf", "propertyOrdering", "default", "items", "minimum", "maximum"}
)
STRING_FORMATS = frozenset({"enum", "date-time"})
"""The values of ``format`` that the subset knows for strings."""
PLAIN_NAMES = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""The names of properties that Anthropic accepts."""
ANY_NAMES = re.compile(r"(?!\$).*", re.DOTALL)
"""Property names without a leading ``$``: one named like a keyword, such as ``$ref``, would be taken for it."""


def tool_definition(spec: ToolSpec, target_profile: ProviderProfile) -> dict[str, Any]:
    """Return the definition of a tool in OpenAI's format, as far as this provider accepts it.

    Its parameters are cached for the next request with the same spec, so callers must not change them.
    """
    subset, plain_names = target_profile.schema_subset, target_profile.restricted_property_names
    parameters = _parameters(SpecCacheKey(spec), subset, plain_names)
    name, description = tool_name(spec.name, target_profile), spec.description
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


class SpecCacheKey:
    """A cache key for a spec, by identity, since its schema has no hash and is slow to compare."""

    __slots__ = ("spec",)

    def __init__(self, spec: ToolSpec) -> None:
        self.spec = spec

    def __hash__(self) -> int:
        return id(self.spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SpecCacheKey) and other.spec is self.spec


@lru_cache(maxsize=512)
def _parameters(spec: SpecCacheKey, subset: SchemaSubset, plain_names: bool) -> dict[str, Any]:  # noqa: FBT001
    return in_subset(copy.deepcopy(spec.spec.parameters), subset, plain_names=plain_names)


def in_subset(
    schema: dict[str, Any], subset: SchemaSubset, *, plain_names: bool = False
) -> dict[str, Any]:
    """Return the repaired schema of an input, as far as the subset can express it.

    With ``plain_names`` the provider accepts only letters, digits, dots, dashes and underscores in the names of
    properties.
    """
    accepted_name = PLAIN_NAMES if plain_names else ANY_NAMES
    reduced_schema: dict[str, Any] = with_plain_names(repaired_schema(schema), accepted_name)
    match subset:
        case "json_schema":
            return reduced_schema
        case "openapi":
            return _openapi(reduced_schema)
        case _:
            assert_never(subset)


def _openapi(schema: Mapping[str, Any]) -> dict[str, Any]:
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return {"anyOf": [_openapi(choice) for choice in choices if isinstance(choice, Mapping)]}
    known_fields = {name: value for name, value in schema.items() if name in OPENAPI_FIELDS}
    known_fields |= _single_type(schema)
    known_fields |= _with_inner(known_fields)
    if not isinstance(known_fields.get("items", {}), Mapping):
        del known_fields["items"]
    if "const" in schema:
        known_fields["enum"] = [schema["const"]]
    if known_fields.get("type") != "string" or not all(
        isinstance(choice, str) for choice in known_fields.get("enum", ())
    ):
        known_fields.pop("enum", None)
    if known_fields.get("type") == "string" and known_fields.get("format") not in STRING_FORMATS:
        known_fields.pop("format", None)
    if not known_fields.get("properties"):
        known_fields.pop("properties", None)
    if "required" in known_fields:
        properties = known_fields.get("properties", {})
        known_fields["required"] = [name for name in known_fields["required"] if name in properties]
    return known_fields


def _single_type(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first type of a list of types, with ``nullable`` where null is among them."""
    stated_type = schema.get("type")
    if not isinstance(stated_type, list):
        return {}
    types = [name for name in stated_type if name != "null"]
    nullable = {"nullable": True} if len(types) < len(stated_type) else {}
    return {"type": types[0] if types else "string"} | nullable


def _with_inner(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inner schemas of a schema, each in the subset."""
    inner_schemas: dict[str, Any] = {}
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        inner_schemas["properties"] = {
            name: _openapi(inner_schema)
            for name, inner_schema in properties.items()
            if isinstance(inner_schema, Mapping)
        }
    items = schema.get("items")
    if isinstance(items, Mapping):
        inner_schemas["items"] = _openapi(items)
    elif schema.get("type") == "array":
        inner_schemas["items"] = {"type": "string"}
    return inner_schemas

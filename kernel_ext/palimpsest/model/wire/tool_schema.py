"""Write the schema of a tool's input in the subset of JSON Schema that a provider supports.

Pure. Some models take function schemas in OpenAPI 3.0: there are fewer fields, ``anyOf`` stands
alone and only strings are enumerated. For the provider's own interface the adapter translates them; behind
a gateway with another interface it does not. What the subset cannot express is left out, and the
tool itself still validates its input.
"""

import copy
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, assert_never

from palimpsest.model.wire.schema_repair import repaired, with_plain_names
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
PLAIN_NAMES = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""The names of properties that Anthropic accepts."""
ANY_NAMES = re.compile(r"(?!\$).*", re.DOTALL)
"""A property that is called like a keyword, such as ``$ref``, is taken for it on the way."""


def tool_definition(spec: ToolSpec, target: ProviderProfile) -> dict[str, Any]:
    """Return the definition of a tool in OpenAI's format, as far as this provider accepts it.

    Its parameters are kept for the next request with the same spec, so they must not be changed.
    """
    function = {
        "name": tool_name(spec.name, target),
        "description": spec.description,
        "parameters": _parameters(SameSpec(spec), target.schema_subset, target.plain_properties),
    }
    return {"type": "function", "function": function}


class SameSpec:
    """A spec that is equal to itself alone: its schema has no hash, and comparing it is slow."""

    __slots__ = ("spec",)

    def __init__(self, spec: ToolSpec) -> None:
        self.spec = spec

    def __hash__(self) -> int:
        return id(self.spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameSpec) and other.spec is self.spec


@lru_cache(maxsize=512)
def _parameters(same: SameSpec, subset: SchemaSubset, plain_names: bool) -> dict[str, Any]:  # noqa: FBT001
    return in_subset(copy.deepcopy(same.spec.parameters), subset, plain_names=plain_names)


def in_subset(
    schema: dict[str, Any], subset: SchemaSubset, *, plain_names: bool = False
) -> dict[str, Any]:
    """Return the schema of an input as far as the subset can express it, with what is clearly wrong repaired.

    With ``plain_names`` the provider accepts only letters, digits, dots, dashes and underscores in the names of
    properties.
    """
    whole: dict[str, Any] = with_plain_names(
        repaired(schema), PLAIN_NAMES if plain_names else ANY_NAMES
    )
    match subset:
        case "json_schema":
            return whole
        case "openapi":
            return _openapi(whole)
        case _:
            assert_never(subset)


def _openapi(schema: Mapping[str, Any]) -> dict[str, Any]:
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return {"anyOf": [_openapi(one) for one in choices if isinstance(one, Mapping)]}
    found = {name: value for name, value in schema.items() if name in OPENAPI_FIELDS}
    found |= _typed(schema)
    found |= _with_inner(found)
    if not isinstance(found.get("items", {}), Mapping):
        del found["items"]
    if "const" in schema:
        found["enum"] = [schema["const"]]
    if found.get("type") != "string" or not all(
        isinstance(one, str) for one in found.get("enum", ())
    ):
        found.pop("enum", None)
    if found.get("type") == "string" and found.get("format") not in STRING_FORMATS:
        found.pop("format", None)
    if not found.get("properties"):
        found.pop("properties", None)
    if "required" in found:
        known = found.get("properties", {})
        found["required"] = [name for name in found["required"] if name in known]
    return found


def _typed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a single type in place of a list: the first one, with ``nullable`` where null is among them."""
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
    elif isinstance(found.get("items"), Mapping):
        inner["items"] = _openapi(found["items"])
    return inner

"""Repair the JSON schemas of tool inputs that every provider would reject.

MCP servers write schemas in older drafts, with types of programming languages, or only in part, and providers refuse a
whole request because of one such schema, although its meaning is mostly clear. The repair only affects what the model
sees; a call's input is validated against the server's own schema.
Border: pure and total; a valid schema is returned unchanged.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from palimpsest.transcript.values import ToolSpec

Schema = dict[str, Any]

JSON_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
TYPE_ALIASES: Mapping[str, str] = {
    "str": "string", "text": "string", "char": "string", "date": "string", "datetime": "string", "file": "string",
    "int": "integer", "int32": "integer", "int64": "integer", "long": "integer",
    "float": "number", "double": "number", "decimal": "number",
    "bool": "boolean", "dict": "object", "map": "object", "struct": "object",
    "list": "array", "tuple": "array", "set": "array", "none": "null", "nil": "null",
}  # fmt: skip
"""Type names of programming languages, with the JSON type that each means."""
TEXT_KEYWORDS = frozenset({"title", "description", "format", "pattern", "$comment"})
NUMBER_KEYWORDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
COUNT_KEYWORDS = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
    | {"minContains", "maxContains"}
)
FLAG_KEYWORDS = frozenset({"uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable"})
SCHEMA_KEYWORDS = frozenset(
    {"additionalProperties", "unevaluatedProperties", "unevaluatedItems", "not", "if", "then"}
    | {"else", "contains", "propertyNames", "items", "additionalItems"}
)
SCHEMA_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
SCHEMA_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
NOT_AT_TOP = ("anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else")
"""Keywords that no provider accepts at the top of an input's schema, beside ``type: object``."""
DROPPED_KEYWORDS = frozenset({
    "$ref", "$schema", "$id", "id", "$anchor", "$defs", "definitions", "$dynamicRef",
    "$vocabulary",
})  # fmt: skip
"""Keywords without meaning for a model; references were replaced by their targets before."""
MAX_CHOICES = 500
"""Maximum values of one enumeration; providers' limits are between this number and a thousand."""
MAX_CHOICES_CHARS = 15_000
"""Maximum characters of all values of one enumeration, as OpenAI documents."""
MAX_EXAMPLE_CHARS = 80
"""Maximum characters of a value that a description mentions."""
MAX_CHOICES_NAMED = 5
"""Maximum values of a longer enumeration that its description mentions."""


def repaired_schema(schema: Mapping[str, Any]) -> Schema:
    """Return the schema of a whole input as one object, which all providers accept."""
    repaired = _repaired_value(dict(schema))
    top = repaired if isinstance(repaired, dict) else {}
    branches = [branch for key in ("allOf", "anyOf", "oneOf") for branch in top.get(key, ())]
    if any(key in top for key in NOT_AT_TOP):
        top = _one_object(top, branches)
    if top.get("type") != "object" or not isinstance(top.get("properties"), dict):
        top = {**top, "type": "object", "properties": top.get("properties") or {}}
    return top


def is_repaired(spec: ToolSpec) -> bool:
    """Return whether the schema for a model differs from that of the tool's author."""
    return repaired_schema(spec.parameters) != spec.parameters


def with_plain_names(schema: Any, accepted_name: re.Pattern[str]) -> Any:
    """Return a schema without the properties whose names do not match ``accepted_name``; its description mentions them.

    A provider would refuse them as keys of the schema, and a model may still write them in an input.
    """
    if isinstance(schema, list):
        return [with_plain_names(item, accepted_name) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # The keys of these mappings are names of properties, which must not be read as keywords.
    accepted_fields: Schema = {}
    for key, value in schema.items():
        if key in SCHEMA_MAPS and isinstance(value, dict):
            accepted_fields[key] = {
                name: with_plain_names(inner, accepted_name) for name, inner in value.items()
            }
        elif key in ("enum", "const", "default", "examples"):
            accepted_fields[key] = value
        else:
            accepted_fields[key] = with_plain_names(value, accepted_name)
    properties = accepted_fields.get("properties")
    names = list(properties) if isinstance(properties, dict) else []
    refused_names = [name for name in names if not accepted_name.fullmatch(name)]
    if refused_names:
        for name in refused_names:
            del accepted_fields["properties"][name]
        required = accepted_fields.get("required")
        if isinstance(required, list):
            required = [name for name in required if name in accepted_fields["properties"]]
            accepted_fields["required"] = required
        if not isinstance(required, list) or not required:
            accepted_fields.pop("required", None)
        names_text = ", ".join(json.dumps(name, ensure_ascii=False) for name in refused_names)
        description = f"{accepted_fields.get('description', '')} It also takes {names_text}."
        accepted_fields["description"] = description.strip()
    return accepted_fields


def _one_object(schema: Schema, branches: list[Any]) -> Schema:
    """Return an object schema with the properties of all alternatives.

    A property is required if every alternative requires it.
    """
    properties = dict(schema.get("properties") or {})
    for branch in branches:
        for name, property_schema in _properties(branch).items():
            properties.setdefault(name, property_schema)
    required_names = set(_required_names(schema)) | {
        name for branch in schema.get("allOf", ()) for name in _required_names(branch)
    }
    for key in ("anyOf", "oneOf"):
        choices = [set(_required_names(branch)) for branch in schema.get(key, ())]
        required_names |= set.intersection(*choices) if choices else set()
    merged_schema = {key: value for key, value in schema.items() if key not in NOT_AT_TOP}
    merged_schema |= {"type": "object", "properties": properties}
    merged_schema.pop("required", None)
    required = [name for name in properties if name in required_names]
    return merged_schema | ({"required": required} if required else {})


def _properties(schema: Any) -> Schema:
    if not isinstance(schema, dict):
        return {}
    properties = dict(schema.get("properties") or {})
    for key in ("allOf", "anyOf", "oneOf"):
        for branch in schema.get(key, ()):
            properties = _properties(branch) | properties
    return properties


def _required_names(schema: Any) -> list[str]:
    return list(schema.get("required", ())) if isinstance(schema, dict) else []


def _repaired_value(value: Any) -> Any:
    """Return a repaired schema for a value in the place of one: a mapping or a boolean; empty for any other value."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, Mapping):
        # Some servers write only the name of a type.
        json_type = _known_type(value) if isinstance(value, str) else ""
        return _repaired_value({"type": json_type}) if json_type else {}
    repaired: Schema = {}
    for key, inner in value.items():
        if not isinstance(key, str) or key in DROPPED_KEYWORDS:
            continue
        keyword_value = _repaired_keyword(key, inner)
        if keyword_value is not None:
            repaired[key] = keyword_value
    _convert_exclusive_limits(value, repaired)
    _shorten_enumeration(repaired)
    if "required" in repaired and "properties" in repaired:
        names, properties = repaired["required"], repaired["properties"]
        repaired["required"] = [name for name in names if name in properties]
        if not repaired["required"]:
            del repaired["required"]
    _add_item_schema(value, repaired)
    return repaired


def _repaired_keyword(key: str, value: Any) -> Any:
    """Return the repaired value of a keyword; None to remove the keyword."""
    if key == "type":
        return _repaired_type(value)
    if key in SCHEMA_KEYWORDS:
        return _repaired_value(value) if isinstance(value, bool | Mapping) else None
    if key in SCHEMA_LISTS:
        branches = value if isinstance(value, list) else []
        return [_repaired_branch(branch) for branch in branches] or None
    if key in SCHEMA_MAPS:
        return _repaired_properties(value)
    if key == "required":
        names = [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
        return list(dict.fromkeys(names)) or None
    if key == "enum":
        return _distinct_values(value) or None if isinstance(value, list) else None
    return value if _is_valid_keyword(key, value) else None


def _repaired_branch(value: Any) -> Any:
    # Some providers read every alternative as an object and refuse a boolean.
    return {} if value is True else _repaired_value(value)


def _repaired_properties(value: Any) -> Schema | None:
    """Return the repaired schemas of properties, without forbidden ones (the schema ``false``)."""
    if not isinstance(value, Mapping):
        return None
    return {
        str(name): {} if inner is True else _repaired_value(inner)
        for name, inner in value.items()
        if inner is not False
    }


def _repaired_type(value: Any) -> Any:
    """Return the JSON type or types that the value of ``type`` means; None where it means none."""
    names = value if isinstance(value, list) else [value]
    types = [_known_type(name) for name in names if isinstance(name, str)]
    known_types = list(dict.fromkeys(json_type for json_type in types if json_type))
    if isinstance(value, list):
        return known_types or None
    return known_types[0] if known_types else None


def _known_type(name: str) -> str:
    """Return the JSON type that a type's name means; empty for an unknown name."""
    lower = name.strip().lower()
    return lower if lower in JSON_TYPES else TYPE_ALIASES.get(lower, "")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list_of_names(value: Any) -> bool:
    is_list_of_texts = isinstance(value, list) and all(isinstance(name, str) for name in value)
    return is_list_of_texts and len(set(value)) == len(value)


_KEYWORD_CHECKS: tuple[tuple[Iterable[str], Callable[[Any], bool]], ...] = (
    (TEXT_KEYWORDS, lambda value: isinstance(value, str)),
    (NUMBER_KEYWORDS, lambda value: _is_number(value)),
    (COUNT_KEYWORDS, lambda value: type(value) is int and value >= 0),
    (FLAG_KEYWORDS, lambda value: isinstance(value, bool)),
    (("examples",), lambda value: isinstance(value, list)),
    (("multipleOf",), lambda value: _is_number(value) and value > 0),
    (
        ("dependentRequired",),
        lambda value: isinstance(value, Mapping) and all(map(_is_list_of_names, value.values())),
    ),
)


def _is_valid_keyword(key: str, value: Any) -> bool:
    """Return whether a keyword without a schema as value is valid; unknown keywords pass."""
    if not all(check(value) for keys, check in _KEYWORD_CHECKS if key in keys):
        return False
    return value is not None or key in ("const", "default")


def _convert_exclusive_limits(schema: Mapping[str, Any], repaired: Schema) -> None:
    """Convert draft 4's exclusive limits, which are flags beside the limit, to numbers."""
    for flag, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if schema.get(flag) is True and limit in repaired:
            repaired[flag] = repaired.pop(limit)


def _shorten_enumeration(repaired: Schema) -> None:
    """Replace an enumeration that is too long by a sentence, and drop a default of the wrong type."""
    choices = repaired.get("enum", [])
    texts = [c if isinstance(c, str) else json.dumps(c, default=str) for c in choices]
    if len(texts) > MAX_CHOICES or sum(map(len, texts)) > MAX_CHOICES_CHARS:
        del repaired["enum"]
        examples = ", ".join(text[:MAX_EXAMPLE_CHARS] for text in texts[:MAX_CHOICES_NAMED])
        sentence = f"One of {len(texts):,} values, such as {examples}."
        repaired["description"] = f"{repaired.get('description', '')} {sentence}".strip()
        if "type" not in repaired and all(isinstance(choice, str) for choice in choices):
            repaired["type"] = "string"
    if "default" in repaired and not _has_json_type(repaired["default"], repaired.get("type")):
        del repaired["default"]


def _has_json_type(value: Any, type_value: Any) -> bool:
    type_names = type_value if isinstance(type_value, list) else [type_value]
    if type_value is None or value is None:
        return True
    python_types: dict[str, Any] = {
        "object": dict, "array": list, "string": str, "number": int | float, "integer": int, "boolean": bool,
        "null": type(None),
    }  # fmt: skip
    return any(
        isinstance(value, python_types[name]) and (name == "boolean" or not isinstance(value, bool))
        for name in type_names
    )


def _add_item_schema(schema: Mapping[str, Any], repaired: Schema) -> None:
    """Add a missing type, and a schema for an array's items; draft 4 has a list with a schema for each position."""
    types = repaired.get("type")
    items = schema.get("items")
    if isinstance(items, list):
        item_schemas = [_repaired_branch(item) for item in items]
        repaired.setdefault("prefixItems", item_schemas)
        repaired["items"] = {"anyOf": item_schemas} if item_schemas else {}
    if repaired.get("prefixItems") == []:
        del repaired["prefixItems"]
    if types is None and SCHEMA_LISTS.isdisjoint(repaired):
        if "properties" in repaired:
            types = repaired["type"] = "object"
        elif "items" in repaired:
            types = repaired["type"] = "array"
    is_array = "array" in (types if isinstance(types, list) else [types])
    if is_array and not isinstance(repaired.get("items"), dict):
        # Several providers accept only objects as schemas, not ``true`` and ``false``.
        item_schemas = repaired.get("prefixItems", [])
        repaired["items"] = {"anyOf": item_schemas} if item_schemas else {}


def _distinct_values(values: list[Any]) -> list[Any]:
    by_json = {json.dumps(value, sort_keys=True, default=str): value for value in values}
    return list(by_json.values())

"""Repair the JSON schema of a tool's input, where every provider would refuse the request for it.

MCP servers write schemas in older drafts, in the words of programming languages, or only in part, and providers
answer a request that holds one such schema with an error for all tools. What is meant is clear in most of them. What
is repaired here is only what the model sees; a call's input is validated against the schema as the server wrote it.

Border: pure and total; a schema in which nothing is wrong is returned unchanged.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from palimpsest.transcript.values import ToolSpec

Schema = dict[str, Any]

TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
MEANT: Mapping[str, str] = {
    "str": "string", "text": "string", "char": "string", "date": "string", "datetime": "string", "file": "string",
    "int": "integer", "int32": "integer", "int64": "integer", "long": "integer",
    "float": "number", "double": "number", "decimal": "number",
    "bool": "boolean", "dict": "object", "map": "object", "struct": "object",
    "list": "array", "tuple": "array", "set": "array", "none": "null", "nil": "null",
}  # fmt: skip
"""Types as programming languages call them."""
TEXTS = frozenset({"title", "description", "format", "pattern", "$comment"})
NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
COUNTS = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
    | {"minContains", "maxContains"}
)
FLAGS = frozenset({"uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable"})
ONE_SCHEMA = frozenset(
    {"additionalProperties", "unevaluatedProperties", "unevaluatedItems", "not", "if", "then"}
    | {"else", "contains", "propertyNames", "items", "additionalItems"}
)
LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
NOT_AT_TOP = ("anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else")
"""What no provider accepts beside ``type: object`` of a whole input."""
DROPPED = frozenset(
    {
        "$ref",
        "$schema",
        "$id",
        "id",
        "$anchor",
        "$defs",
        "definitions",
        "$dynamicRef",
        "$vocabulary",
    }
)
"""A reference was replaced before by what it names; the rest says nothing to a model."""
MOST_CHOICES = 500
"""Values of one enumeration; providers refuse more, at a number between this one and a thousand."""
LONGEST_CHOICES = 15_000
"""Characters of all values of one enumeration, as OpenAI documents."""
NAMED_CHOICES = 5


def repaired(schema: Mapping[str, Any]) -> Schema:
    """Return the schema of a whole input in a form that all providers accept: one object."""
    found = _schema(dict(schema))
    top = found if isinstance(found, dict) else {}
    branches = [one for key in ("allOf", "anyOf", "oneOf") for one in top.get(key, ())]
    if any(key in top for key in NOT_AT_TOP):
        top = _one_object(top, branches)
    if top.get("type") != "object" or not isinstance(top.get("properties"), dict):
        top = {**top, "type": "object", "properties": top.get("properties") or {}}
    return top


def is_repaired(spec: ToolSpec) -> bool:
    """Return whether a model is shown another schema of a tool than the one that was written."""
    return repaired(spec.parameters) != spec.parameters


def with_plain_names(schema: Any, names: re.Pattern[str]) -> Any:
    """Return a schema in which the properties of other ``names`` are only mentioned in its description.

    A provider would refuse them as keys of the schema, and a model may still write them in an input.
    """
    if isinstance(schema, list):
        return [with_plain_names(one, names) for one in schema]
    if not isinstance(schema, dict):
        return schema
    # A keyword that nobody knows holds anything, also what looks like a schema and is none.
    named = {key: one for key, one in schema.items() if key in NAMED and isinstance(one, dict)}
    found = {
        key: one
        if key in ("enum", "const", "default", "examples")
        else with_plain_names(one, names)
        for key, one in schema.items()
        if key not in named
    }
    for key, each in named.items():
        found[key] = {name: with_plain_names(one, names) for name, one in each.items()}
    odd = [one for one in named.get("properties", ()) if not names.fullmatch(one)]
    if odd:
        for one in odd:
            del found["properties"][one]
        needed = found.pop("required", ())
        kept = (
            [one for one in needed if one in found["properties"]]
            if isinstance(needed, list)
            else []
        )
        found |= {"required": kept} if kept else {}
        told = ", ".join(json.dumps(one, ensure_ascii=False) for one in odd)
        found["description"] = f"{found.get('description', '')} It also takes {told}.".strip()
    return {key: found[key] for key in sorted(found, key=[*schema, *found].index)}


def _one_object(top: Schema, branches: list[Any]) -> Schema:
    """Return an object with the properties of all alternatives; required is what each of them requires."""
    properties = dict(top.get("properties") or {})
    for name, each in ((n, e) for one in branches for n, e in _properties(one).items()):
        properties.setdefault(name, each)
    needed = set(_required(top)) | {name for one in top.get("allOf", ()) for name in _required(one)}
    for key in ("anyOf", "oneOf"):
        choices = [set(_required(one)) for one in top.get(key, ())]
        needed |= set.intersection(*choices) if choices else set()
    merged = {key: value for key, value in top.items() if key not in NOT_AT_TOP}
    merged |= {"type": "object", "properties": properties}
    merged.pop("required", None)
    required = [name for name in properties if name in needed]
    return merged | ({"required": required} if required else {})


def _properties(schema: Any) -> Schema:
    if not isinstance(schema, dict):
        return {}
    found = dict(schema.get("properties") or {})
    for key in ("allOf", "anyOf", "oneOf"):
        for one in schema.get(key, ()):
            found = _properties(one) | found
    return found


def _required(schema: Any) -> list[str]:
    return list(schema.get("required", ())) if isinstance(schema, dict) else []


def _schema(value: Any) -> Any:
    """Return one schema repaired: a mapping or a boolean; anything else says nothing."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, Mapping):
        # Some servers write only the name of a type.
        kind = _known(value) if isinstance(value, str) else ""
        return _schema({"type": kind}) if kind else {}
    found: Schema = {}
    for key, one in value.items():
        if not isinstance(key, str) or key in DROPPED:
            continue
        kept = _keyword(key, one)
        if kept is not None:
            found[key] = kept
    _limits(value, found)
    _choices(found)
    if "required" in found and "properties" in found:
        found["required"] = [one for one in found["required"] if one in found["properties"]]
        if not found["required"]:
            del found["required"]
    _array(value, found)
    return found


def _keyword(key: str, value: Any) -> Any:
    """Return the value of a keyword, repaired; None where it has to go."""
    if key == "type":
        return _type(value)
    if key in ONE_SCHEMA:
        return _schema(value) if isinstance(value, bool | Mapping) else None
    if key in LISTS:
        return [_branch(one) for one in value] if isinstance(value, list) and value else None
    if key in NAMED:
        return _each(value)
    if key == "required":
        named = [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
        return list(dict.fromkeys(named)) or None
    if key == "enum":
        return _distinct(value) or None if isinstance(value, list) else None
    return value if _is_plain(key, value) else None


def _branch(value: Any) -> Any:
    # An alternative that is a boolean is refused by those that read it as an object.
    return {} if value is True else _schema(value)


def _each(value: Any) -> Schema | None:
    """Return the schemas of properties. ``false`` forbids one, so that it is left out; ``true`` allows anything."""
    if not isinstance(value, Mapping):
        return None
    return {
        str(name): {} if one is True else _schema(one)
        for name, one in value.items()
        if one is not False
    }


def _type(value: Any) -> Any:
    given = value if isinstance(value, list) else [value]
    known = [_known(one) for one in given if isinstance(one, str)]
    named = list(dict.fromkeys(one for one in known if one))
    if isinstance(value, list):
        return named or None
    return named[0] if named else None


def _known(name: str) -> str:
    lower = name.strip().lower()
    return lower if lower in TYPES else MEANT.get(lower, "")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_names(value: Any) -> bool:
    texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return texts and len(set(value)) == len(value)


_CHECKS: tuple[tuple[Iterable[str], Callable[[Any], bool]], ...] = (
    (TEXTS, lambda value: isinstance(value, str)),
    (NUMBERS, lambda value: _is_number(value)),
    (COUNTS, lambda value: type(value) is int and value >= 0),
    (FLAGS, lambda value: isinstance(value, bool)),
    (("examples",), lambda value: isinstance(value, list)),
    (("multipleOf",), lambda value: _is_number(value) and value > 0),
    (
        ("dependentRequired",),
        lambda value: isinstance(value, Mapping) and all(map(_are_names, value.values())),
    ),
)


def _is_plain(key: str, value: Any) -> bool:
    """Tell whether a keyword that holds no schema has a value of its kind; unknown ones are left alone."""
    if not all(check(value) for keys, check in _CHECKS if key in keys):
        return False
    return value is not None or key in ("const", "default")


def _limits(given: Mapping[str, Any], found: Schema) -> None:
    """Write the exclusive limits of draft 4, which are flags beside the limit, as numbers."""
    for flag, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if given.get(flag) is True and limit in found:
            found[flag] = found.pop(limit)


def _choices(found: Schema) -> None:
    """Replace an enumeration that is too long by words, and drop a default that is none of its type."""
    choices = found.get("enum", [])
    texts = [one if isinstance(one, str) else json.dumps(one, default=str) for one in choices]
    if len(texts) > MOST_CHOICES or sum(map(len, texts)) > LONGEST_CHOICES:
        del found["enum"]
        named = ", ".join(one[:80] for one in texts[:NAMED_CHOICES])
        words = f"One of {len(texts):,} values, such as {named}."
        found["description"] = f"{found.get('description', '')} {words}".strip()
        if "type" not in found and all(isinstance(one, str) for one in choices):
            found["type"] = "string"
    if "default" in found and not _is_of(found["default"], found.get("type")):
        del found["default"]


def _is_of(value: Any, kind: Any) -> bool:
    kinds = kind if isinstance(kind, list) else [kind]
    if kind is None or value is None:
        return True
    wanted: dict[str, Any] = {
        "object": dict, "array": list, "string": str, "number": int | float, "integer": int, "boolean": bool,
        "null": type(None),
    }  # fmt: skip
    return any(
        isinstance(value, wanted[one]) and (one == "boolean" or not isinstance(value, bool))
        for one in kinds
    )


def _array(given: Mapping[str, Any], found: Schema) -> None:
    """Give an array the schema of its items; a list of them, as in draft 4, is one for each place."""
    kinds = found.get("type")
    items = given.get("items")
    if isinstance(items, list):
        places = [_branch(one) for one in items]
        found.setdefault("prefixItems", places)
        found["items"] = {"anyOf": places} if places else {}
    if found.get("prefixItems") == []:
        del found["prefixItems"]
    if "properties" in found and kinds is None and not any(key in found for key in LISTS):
        kinds = found["type"] = "object"
    elif "items" in found and kinds is None and not any(key in found for key in LISTS):
        kinds = found["type"] = "array"
    if "array" in (kinds if isinstance(kinds, list) else [kinds]) and not isinstance(
        found.get("items"), dict
    ):
        # ``true`` and ``false`` are schemas, and those of several providers are objects only.
        places = found.get("prefixItems", [])
        found["items"] = {"anyOf": places} if places else {}


def _distinct(values: list[Any]) -> list[Any]:
    """Return the values of an enumeration once each."""
    return list({json.dumps(one, sort_keys=True, default=str): one for one in values}.values())

"""Validate the schemas of tools by the rules that providers document, or name in their refusals.

It shares no code with the modules that repair schemas. A problem is worded as the provider words it, since the
product reads from it which tool was refused.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator

NOT_AT_TOP = ("oneOf", "anyOf", "allOf", "enum", "not")
PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
MAX_ENUM_VALUES = 1_000


def openai_problems(name: str, schema: Mapping[str, Any]) -> list[str]:
    """Return why OpenAI would refuse the schema of a function, in its words."""
    head = f"Invalid schema for function '{name}':"
    faults = [f"{head} {words}" for words in _draft_2020(schema)]
    if schema and schema.get("type") != "object":
        faults.append(f"{head} schema must be a JSON Schema of 'type: \"object\"'.")
    if any(one in schema for one in NOT_AT_TOP):
        faults.append(
            f"{head} schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
        )
    for where, one in _schemas(schema):
        kinds = one.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if "array" in kinds and "items" not in one:
            faults.append(f"{head} In context={where!r}, array schema missing items.")
        if len(one.get("enum", ())) > MAX_ENUM_VALUES:
            faults.append(f"{head} In context={where!r}, the enum has too many values.")
        if not isinstance(one.get("default"), str | None) and one.get("type") == "string":
            faults.append(f"{head} In context={where!r}, the default is no string.")
    return faults


def anthropic_problems(index: int, schema: Mapping[str, Any]) -> list[str]:
    """Return why Anthropic would refuse the schema of a tool, in its words."""
    head = f"tools.{index}.custom.input_schema:"
    faults = []
    if list(_draft_2020(schema)):
        faults.append(
            f"{head} JSON schema is invalid. It must match JSON Schema draft 2020-12 "
            "(https://json-schema.org/draft/2020-12)."
        )
    if any(one in schema for one in NOT_AT_TOP[:3]):
        faults.append(
            f"{head} input_schema does not support oneOf, allOf, or anyOf at the top level"
        )
    odd = [one for one in schema.get("properties", ()) if not PROPERTY.fullmatch(one)]
    if odd:
        faults.append(
            f"tools.{index}.custom.input_schema.properties: Property keys should match pattern "
            f"'^[a-zA-Z0-9_.-]{{1,64}}$'"
        )
    return faults


def _draft_2020(schema: Mapping[str, Any]) -> Iterator[str]:
    checker = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    for error in checker.iter_errors(schema):
        yield error.message[:200]


def _schemas(
    schema: Any, where: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Yield each schema in one, with the names on the way to it."""
    if not isinstance(schema, Mapping):
        return
    yield where, schema
    for key in ("properties", "patternProperties"):
        for name, one in schema.get(key, {}).items():
            yield from _schemas(one, (*where, key, name))
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for i, one in enumerate(schema.get(key, ())):
            yield from _schemas(one, (*where, key, str(i)))
    for key in ("items", "additionalProperties", "not"):
        yield from _schemas(schema.get(key), (*where, key))

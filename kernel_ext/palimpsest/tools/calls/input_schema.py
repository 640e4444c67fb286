"""The JSON schema of a tool's input, as short as it can be said.

Border: pure. Pydantic's schemas carry titles, references and null unions that cost tokens in
every request and that some providers refuse.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

DROPPED = frozenset({"title", "$defs"})


def clean_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return an object schema without titles, references and optional-null unions."""
    return cleaned(model.model_json_schema())


def cleaned(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of anybody's in the same form; raises KeyError for a reference that leads nowhere."""
    found: dict[str, Any] = _clean(dict(schema), schema.get("$defs", {}), ())
    found.pop("description", None)
    found.setdefault("properties", {})
    return found


def _clean(schema: Any, definitions: Mapping[str, Any], open_: tuple[str, ...]) -> Any:
    if isinstance(schema, list):
        return [_clean(item, definitions, open_) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(schema, definitions, open_)
    if "anyOf" in schema:
        schema = _without_null(schema)
    cleaned: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            # Names of properties are data; one may well be called "title".
            cleaned[key] = {name: _clean(each, definitions, open_) for name, each in value.items()}
        elif key in ("default", "enum", "const", "examples"):
            if key != "default" or value is not None:
                cleaned[key] = value
        elif key not in DROPPED:
            cleaned[key] = _clean(value, definitions, open_)
    return cleaned


def _inlined(schema: dict[str, Any], definitions: Mapping[str, Any], open_: tuple[str, ...]) -> Any:
    name = schema["$ref"].rpartition("/")[2]
    if name in open_:
        # A type that contains itself has no end; its inside is left to the description.
        return {"type": "object"}
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    target = _clean(definitions[name], definitions, (*open_, name))
    if "description" not in beside:
        target.pop("description", None)
    return target | _clean(beside, definitions, open_)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    choices = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return choices[0] | rest if len(choices) == 1 else {"anyOf": choices} | rest

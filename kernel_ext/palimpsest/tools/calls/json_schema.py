"""Simplify the JSON schema of a tool's input for the model, and validate inputs against foreign schemas.

Border: references in a schema are never fetched. The schema sent to the model is as short as possible:
pydantic's schemas have titles, references and null unions that cost tokens in every request and that
some providers reject.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, create_model, model_validator

DROPPED = frozenset({"title", "$defs"})
_SCHEMAS: WeakKeyDictionary[type[BaseModel], dict[str, Any]] = WeakKeyDictionary()
"""The schemas that were asked for: making one takes milliseconds, and every session asks for each."""


def clean_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return a pydantic model's schema without titles, references and unions with null."""
    known = _SCHEMAS.get(model)
    if known is None:
        known = _SCHEMAS[model] = cleaned(model.model_json_schema())
    return deepcopy(known)


def cleaned(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return any object schema in the same form; raises KeyError for an unresolvable reference."""
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
        # A recursive type cannot be inlined; the description has to explain its content.
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


def schema_arguments(name: str, schema: Mapping[str, Any]) -> type[BaseModel]:
    """Return a pydantic model that validates by a JSON schema and returns that as its own schema."""
    shown = shown_schema(schema)
    validate = validator(shown)

    class SchemaArguments(BaseModel):
        """Arguments that are validated by the given schema."""

        model_config = ConfigDict(extra="allow")

        @model_validator(mode="before")
        @classmethod
        def _check(cls, given: Any) -> Any:
            problem = validate(given)
            if problem:
                raise ValueError(problem)
            return given

        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            """Return the schema itself."""
            return shown

    return create_model(name, __base__=SchemaArguments)


def shown_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema in the form sent to models; an empty object schema if it is invalid."""
    try:
        properties = dict(schema.get("properties") or {})
        required = [one for one in schema.get("required") or () if one in properties]
        shown = {**schema, "type": "object", "properties": properties, "required": required}
        if not required:
            del shown["required"]
        return cleaned(shown)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return {"type": "object", "properties": {}}


def validator(schema: Mapping[str, Any]) -> Callable[[Any], str]:
    """Return a function that returns what is wrong with an input, empty if it is valid."""
    from jsonschema import Draft202012Validator
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    # An empty registry, so that references are never fetched.
    checker = Draft202012Validator(schema, registry=Registry())

    def problem(given: Any) -> str:
        try:
            first = next(iter(checker.iter_errors(given)), None)
        except (Unresolvable, ValueError, TypeError, RecursionError):
            return ""  # an unusable schema; its server checks the input itself
        if first is None:
            return ""
        where = ".".join(str(one) for one in first.absolute_path)
        return f"{where}: {first.message}"[:500] if where else first.message[:500]

    return problem


def schema_problem(schema: Mapping[str, Any]) -> str:
    """Return what is wrong with a schema; empty if it is valid."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
        cleaned(schema)
    except SchemaError as error:
        where = ".".join(str(one) for one in error.absolute_path)
        return f"{where}: {error.message}"[:500] if where else error.message[:500]
    except KeyError as error:
        return f"it refers to {error}, which is not in it"
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        return str(error)[:500] or type(error).__name__
    return ""

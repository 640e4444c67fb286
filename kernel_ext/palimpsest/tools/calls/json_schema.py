"""Simplify the JSON schema of a tool's input for the model, within a bound on what is built.

Border: references in a schema are never fetched. The schema sent to the model is as short as possible:
pydantic's schemas have titles, references and null unions that cost tokens in every request and that
some providers reject. References are replaced by what they name, so that 2 kB can stand for gigabytes: what is
built is counted. Validation is ``tools/calls/schema_validation.py``.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any
from weakref import WeakKeyDictionary

from pydantic import BaseModel

DEFINITIONS = ("$defs", "definitions")
"""Where a schema holds what its references name; the second is the name in older drafts."""
DROPPED = frozenset({"title", *DEFINITIONS})
RECURSIVE = {"type": "object"}
"""Stands for a recursive type inside itself."""
DEEPEST = 60
"""Schemas in schemas; deeper ones could not be copied and written everywhere without a recursion error."""
MOST_VALUES = 20_000
LONGEST_SCHEMA = 200_000
"""Characters; the largest schemas of public servers have about a quarter of it."""

_SCHEMAS: WeakKeyDictionary[type[BaseModel], dict[str, Any]] = WeakKeyDictionary()
"""The schemas that were asked for: making one takes milliseconds, and every session asks for each."""


def clean_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return a pydantic model's schema without titles, references and unions with null."""
    known = _SCHEMAS.get(model)
    if known is None:
        known = _SCHEMAS[model] = cleaned(model.model_json_schema())
    return deepcopy(known)


class SchemaTooLargeError(ValueError):
    """A schema is larger than the bounds allow; the message ends a sentence that begins with the schema."""


def cleaned(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return any object schema in the same form.

    Raises KeyError for an unresolvable reference, and SchemaTooLargeError.
    """
    definitions = {
        name: one for place in DEFINITIONS for name, one in (schema.get(place) or {}).items()
    }
    found: dict[str, Any] = _Cleaning(definitions).of(dict(schema))
    found.pop("description", None)
    found.setdefault("properties", {})
    return found


class _Cleaning:
    """Writes out one schema, and counts what it writes."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._open: tuple[str, ...] = ()
        """The definitions that are being written out, outermost first."""
        self._depth = 0
        self._values = 0
        self._chars = 0

    def of(self, schema: Any) -> Any:
        """Return a schema, or a list in one, without what models do not need."""
        self._count(schema)
        self._depth += 1
        try:
            if isinstance(schema, list):
                return [self.of(item) for item in schema]
            return self._object(schema) if isinstance(schema, dict) else schema
        finally:
            self._depth -= 1

    def _object(self, schema: dict[str, Any]) -> Any:
        if "anyOf" in schema and not self._ends_by_null(schema["anyOf"]):
            schema = _without_null(schema)
        if "$ref" in schema:
            return self._inlined(schema)
        found: dict[str, Any] = {}
        for key, value in schema.items():
            self._chars += len(key)
            if key == "properties":
                # Names of properties are data; one may well be called "title".
                self._chars += sum(map(len, value))
                found[key] = {name: self.of(each) for name, each in value.items()}
            elif key in ("default", "enum", "const", "examples"):
                if key != "default" or value is not None:
                    found[key] = value
                    self._count_all(value)
            elif key not in DROPPED:
                found[key] = self.of(value)
        return found

    def _ends_by_null(self, choices: Any) -> bool:
        """Return whether a recursive type may end here by null, which a model must be told."""
        return any(
            one == RECURSIVE
            or (isinstance(one, dict) and str(one.get("$ref")).rpartition("/")[2] in self._open)
            for one in choices
        )

    def _inlined(self, schema: dict[str, Any]) -> Any:
        name = schema["$ref"].rpartition("/")[2]
        if name in self._open:
            # A recursive type cannot be inlined; the description has to explain its content.
            return dict(RECURSIVE)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        before, self._open = self._open, (*self._open, name)
        target = self.of(self._definitions[name])
        self._open = before
        if "description" not in beside:
            target.pop("description", None)
        return target | self.of(beside)

    def _count(self, value: Any) -> None:
        self._values += 1
        self._chars += len(value) if isinstance(value, str) else 4
        if self._depth > DEEPEST:
            raise SchemaTooLargeError(f"is nested deeper than {DEEPEST}")
        if self._values > MOST_VALUES:
            raise SchemaTooLargeError(f"has more than {MOST_VALUES:,} values when written out")
        if self._chars > LONGEST_SCHEMA:
            raise SchemaTooLargeError(
                f"is longer than {LONGEST_SCHEMA:,} characters when written out"
            )

    def _count_all(self, value: Any) -> None:
        """Count plain data, such as the values of an enumeration."""
        self._count(value)
        self._depth += 1
        if isinstance(value, dict):
            self._chars += sum(map(len, value))
            value = list(value.values())
        for one in value if isinstance(value, list) else ():
            self._count_all(one)
        self._depth -= 1


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    choices = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return choices[0] | rest if len(choices) == 1 else {"anyOf": choices} | rest


def shown_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema in the form sent to models; an empty object schema if it is invalid.

    Raises SchemaTooLargeError.
    """
    try:
        properties = dict(schema.get("properties") or {})
        required = [one for one in schema.get("required") or () if one in properties]
        shown = {**schema, "type": "object", "properties": properties, "required": required}
        if not required:
            del shown["required"]
        return cleaned(shown)
    except SchemaTooLargeError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError):
        return {"type": "object", "properties": {}}

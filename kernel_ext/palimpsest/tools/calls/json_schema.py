"""Simplify the JSON schema of a tool's input for the model, within a bound on what is built.

Border: references in a schema are never fetched. The schema sent to the model is as short as possible:
pydantic's schemas have titles, references and null unions that cost tokens in every request and that
some providers reject. References are replaced by what they name, so that 2 kB can stand for gigabytes: what is
built is counted. Validation is ``tools/calls/schema_validation.py``.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from pydantic import BaseModel

DROPPED = frozenset({"title", "$defs", "definitions"})
RECURSIVE = {"type": "object"}
"""Stands for a recursive type inside itself."""
WHOLE = "#"
"""The reference to a whole schema, with which those to its parts begin."""
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


def clean_schemas(models: Sequence[type[BaseModel]]) -> list[dict[str, Any]]:
    """Return the schemas of several models."""
    return [clean_schema(model) for model in models]


class SchemaTooLargeError(ValueError):
    """A schema is larger than the bounds allow; the message ends a sentence that begins with the schema."""


def cleaned(schema: Mapping[str, Any], *, is_lenient: bool = False) -> dict[str, Any]:
    """Return any object schema in the same form.

    Raises KeyError for an unresolvable reference, which with ``is_lenient`` allows anything, and SchemaTooLargeError.
    """
    found: dict[str, Any] = _Cleaning(schema, is_lenient=is_lenient).of(dict(schema))
    found.pop("description", None)
    found.setdefault("properties", {})
    return found


class _Cleaning:
    """Writes out one schema, and counts what it writes."""

    def __init__(
        self, root: Mapping[str, Any], *, is_lenient: bool, keeps_references: bool = False
    ) -> None:
        self._root = root
        self._is_lenient = is_lenient
        self._keeps_references = keeps_references
        self.is_recursive = False
        """A type that holds itself was met."""
        self._open: tuple[str, ...] = (WHOLE,)
        """The references whose targets are being written out, outermost first."""
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
        choices = schema.get("anyOf")
        if isinstance(choices, list) and not self._ends_by_null(choices):
            schema = _without_null(schema)
        if isinstance(schema.get("$ref"), str):
            return self._inlined(schema)
        found: dict[str, Any] = {}
        for key, value in schema.items():
            self._chars += len(key)
            if key == "properties" and isinstance(value, dict):
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

    def _ends_by_null(self, choices: list[Any]) -> bool:
        """Return whether a recursive type may end here by null, which a model must be told."""
        return any(
            one == RECURSIVE
            or (isinstance(one, dict) and "$ref" in one and self._keeps_references)
            or (isinstance(one, dict) and one.get("$ref") in self._open)
            for one in choices
        )

    def _inlined(self, schema: dict[str, Any]) -> Any:
        reference = schema["$ref"]
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        if self._keeps_references:
            return {"$ref": reference} | self.of(beside)
        if reference in self._open:
            # A recursive type cannot be inlined; the description has to explain its content.
            self.is_recursive = True
            return dict(RECURSIVE)
        try:
            named = _target(self._root, reference)
        except KeyError:
            if not self._is_lenient:
                raise
            return self.of(beside)
        before, self._open = self._open, (*self._open, reference)
        target = self.of(named)
        self._open = before
        if not isinstance(target, dict):
            return self.of(beside) if beside else target
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


class RecursiveSchema:
    """A schema with types that hold themselves: their references stay, and each is looked up when an input needs it."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._parts: dict[str, Any] = {}
        self.whole: dict[str, Any] = self.part(WHOLE)

    def part(self, reference: str) -> Any:
        """Return what a reference names, in the form of ``cleaned``; what names nothing allows anything.

        Raises SchemaTooLargeError.
        """
        if reference not in self._parts:
            self._parts[reference] = self._cleaned(reference)
        return self._parts[reference]

    def _cleaned(self, reference: str) -> Any:
        try:
            named = self._root if reference == WHOLE else _target(self._root, reference)
        except KeyError:
            return {}
        writing = _Cleaning(self._root, is_lenient=True, keeps_references=True)
        return writing.of(dict(named) if isinstance(named, Mapping) else named)


def recursive_schema(schema: object) -> RecursiveSchema | None:
    """Return a schema that somebody else wrote with its recursive types; None where it has none.

    Raises SchemaTooLargeError.
    """
    root = schema if isinstance(schema, Mapping) else {}
    writing = _Cleaning(root, is_lenient=True)
    writing.of(dict(root))
    return RecursiveSchema(root) if writing.is_recursive else None


def _target(root: Mapping[str, Any], reference: str) -> Any:
    """Return what a reference names: a place in the same schema, or a definition by its name; raises KeyError."""
    found: Any = root
    try:
        for step in reference.removeprefix(WHOLE).split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            found = found[int(name)] if isinstance(found, list) else found[name]
    except (KeyError, IndexError, TypeError, ValueError):
        found = None
    if found is None or not reference.startswith(WHOLE):
        name = reference.rpartition("/")[2]
        places = (root.get(place) for place in ("$defs", "definitions"))
        found = next((one[name] for one in places if isinstance(one, dict) and name in one), None)
    if found is None:
        raise KeyError(reference.rpartition("/")[2])
    return found


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    choices = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    only = choices[0] if len(choices) == 1 else None
    return only | rest if isinstance(only, dict) else {"anyOf": choices} | rest


def shown_schema(schema: object) -> dict[str, Any]:
    """Return a schema that somebody else wrote in the form sent to models.

    What cannot be read in it allows anything, so that the rest stays. Raises SchemaTooLargeError.
    """
    found = cleaned(schema if isinstance(schema, Mapping) else {}, is_lenient=True)
    properties = found["properties"] if isinstance(found["properties"], dict) else {}
    shown = {**found, "type": "object", "properties": properties}
    named = shown.pop("required", None)
    required = [one for one in named if one in properties] if _are_texts(named) else []
    return shown | ({"required": required} if required else {})


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)

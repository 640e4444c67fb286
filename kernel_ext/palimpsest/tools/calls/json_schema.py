"""Simplify the JSON schema of a tool's input for the model, within a bound on what is built.

Border: references in a schema are never fetched. The schema sent to the model is as short as possible:
pydantic's schemas have titles, references and null unions that cost tokens in every request and that
some providers reject. References are replaced by their targets, by which a schema of 2 kB could grow to gigabytes, so
the values that are built are counted. Validation is in ``tools/calls/schema_validation.py``.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from pydantic import BaseModel

DROPPED_KEYS = frozenset({"title", "$defs", "definitions"})
RECURSIVE_TYPE_SCHEMA = {"type": "object"}
"""Replaces a recursive type inside itself."""
ROOT_REFERENCE = "#"
"""The reference to the complete schema, with which references to its parts begin."""
MAX_DEPTH = 60
"""Maximum levels of nested schemas; deeper ones would raise recursion errors when copied or written."""
MAX_VALUES = 20_000
MIN_VALUE_CHARS = 4
"""Characters that a value counts which is no text."""
MAX_SCHEMA_CHARS = 200_000
"""Maximum characters of a schema; the largest of public servers have about a quarter."""

_SCHEMA_CACHE: WeakKeyDictionary[type[BaseModel], dict[str, Any]] = WeakKeyDictionary()
"""Cache of schemas by model, since building one takes milliseconds."""


def model_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return a pydantic model's schema without titles, references and unions with null."""
    schema = _SCHEMA_CACHE.get(model)
    if schema is None:
        schema = _SCHEMA_CACHE[model] = cleaned_schema(model.model_json_schema())
    return deepcopy(schema)


class SchemaTooLargeError(ValueError):
    """A schema exceeds the bounds; the message completes a sentence whose subject is the schema."""


def cleaned_schema(schema: Mapping[str, Any], *, is_lenient: bool = False) -> dict[str, Any]:
    """Return an object schema without titles, references and unions with null.

    Raises KeyError for an unresolvable reference (with ``is_lenient`` it becomes a schema that allows anything) and
    SchemaTooLargeError.
    """
    cleaned: dict[str, Any] = _SchemaCleaner(schema, is_lenient=is_lenient).clean(dict(schema))
    cleaned.pop("description", None)
    cleaned.setdefault("properties", {})
    return cleaned


class _SchemaCleaner:
    """Cleans one schema with its references written out, and counts its values and characters."""

    def __init__(
        self, root: Mapping[str, Any], *, is_lenient: bool, keeps_references: bool = False
    ) -> None:
        self._root = root
        self._is_lenient = is_lenient
        self._keeps_references = keeps_references
        self.is_recursive = False
        """Whether the schema has a recursive type."""
        self._open_references: tuple[str, ...] = (ROOT_REFERENCE,)
        """The references whose targets are being written out, outermost first."""
        self._depth = 0
        self._value_count = 0
        self._char_count = 0

    def clean(self, schema: Any) -> Any:
        """Return a schema, or a list inside one, without the parts that models do not need."""
        self._count_value(schema)
        self._depth += 1
        try:
            if isinstance(schema, list):
                return [self.clean(item) for item in schema]
            return self._cleaned_object(schema) if isinstance(schema, dict) else schema
        finally:
            self._depth -= 1

    def _cleaned_object(self, schema: dict[str, Any]) -> Any:
        choices = schema.get("anyOf")
        if isinstance(choices, list) and not self._ends_recursion(choices):
            schema = _without_null(schema)
        if isinstance(schema.get("$ref"), str):
            return self._inline_reference(schema)
        cleaned_object: dict[str, Any] = {}
        for key, value in schema.items():
            self._char_count += len(key)
            if key == "properties" and isinstance(value, dict):
                # Names of properties are data; one may well be called "title".
                self._char_count += sum(map(len, value))
                cleaned_object[key] = {name: self.clean(child) for name, child in value.items()}
            elif key in ("default", "enum", "const", "examples"):
                if key != "default" or value is not None:
                    cleaned_object[key] = value
                    self._count_all(value)
            elif key not in DROPPED_KEYS:
                cleaned_object[key] = self.clean(value)
        return cleaned_object

    def _ends_recursion(self, choices: list[Any]) -> bool:
        """Return whether null ends a recursive type here, so that the union with null must stay."""
        return any(
            choice == RECURSIVE_TYPE_SCHEMA
            or (isinstance(choice, dict) and "$ref" in choice and self._keeps_references)
            or (isinstance(choice, dict) and choice.get("$ref") in self._open_references)
            for choice in choices
        )

    def _inline_reference(self, schema: dict[str, Any]) -> Any:
        reference = schema["$ref"]
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        if self._keeps_references:
            return {"$ref": reference} | self.clean(siblings)
        if reference in self._open_references:
            # A recursive type cannot be inlined; the description has to explain its content.
            self.is_recursive = True
            return dict(RECURSIVE_TYPE_SCHEMA)
        try:
            definition = _reference_target(self._root, reference)
        except KeyError:
            if not self._is_lenient:
                raise
            return self.clean(siblings)
        outer_references = self._open_references
        self._open_references = (*self._open_references, reference)
        target = self.clean(definition)
        self._open_references = outer_references
        if not isinstance(target, dict):
            return self.clean(siblings) if siblings else target
        if "description" not in siblings:
            target.pop("description", None)
        return target | self.clean(siblings)

    def _count_value(self, value: Any) -> None:
        self._value_count += 1
        self._char_count += len(value) if isinstance(value, str) else MIN_VALUE_CHARS
        if self._depth > MAX_DEPTH:
            raise SchemaTooLargeError(f"is nested deeper than {MAX_DEPTH}")
        if self._value_count > MAX_VALUES:
            raise SchemaTooLargeError(f"has more than {MAX_VALUES:,} values when written out")
        if self._char_count > MAX_SCHEMA_CHARS:
            raise SchemaTooLargeError(
                f"is longer than {MAX_SCHEMA_CHARS:,} characters when written out"
            )

    def _count_all(self, value: Any) -> None:
        """Count plain data, such as the values of an enumeration."""
        self._count_value(value)
        self._depth += 1
        if isinstance(value, dict):
            self._char_count += sum(map(len, value))
            value = list(value.values())
        for item in value if isinstance(value, list) else ():
            self._count_all(item)
        self._depth -= 1


class RecursiveSchema:
    """A schema with recursive types, whose references are resolved during validation."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._schemas_by_reference: dict[str, Any] = {}
        self.root_schema: dict[str, Any] = self.schema_at(ROOT_REFERENCE)

    def schema_at(self, reference: str) -> Any:
        """Return the cleaned target of a reference; without a target, a schema that allows any value.

        Raises SchemaTooLargeError.
        """
        if reference not in self._schemas_by_reference:
            self._schemas_by_reference[reference] = self._clean_reference(reference)
        return self._schemas_by_reference[reference]

    def _clean_reference(self, reference: str) -> Any:
        try:
            definition = _reference_target(self._root, reference)
        except KeyError:
            return {}
        cleaner = _SchemaCleaner(self._root, is_lenient=True, keeps_references=True)
        return cleaner.clean(dict(definition) if isinstance(definition, Mapping) else definition)


def recursive_schema(schema: object) -> RecursiveSchema | None:
    """Return the recursive schema for an external schema with recursive types; None for others.

    Raises SchemaTooLargeError.
    """
    root = schema if isinstance(schema, Mapping) else {}
    cleaner = _SchemaCleaner(root, is_lenient=True)
    cleaner.clean(dict(root))
    return RecursiveSchema(root) if cleaner.is_recursive else None


def _reference_target(root: Mapping[str, Any], reference: str) -> Any:
    """Return the target of a reference: a place in the same schema, or a definition by its name; raises KeyError."""
    target: Any = root
    try:
        for step in reference.removeprefix(ROOT_REFERENCE).split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            target = target[int(name)] if isinstance(target, list) else target[name]
    except (KeyError, IndexError, TypeError, ValueError):
        target = None
    if target is None or not reference.startswith(ROOT_REFERENCE):
        name = reference.rpartition("/")[2]
        definition_tables = (root.get(key) for key in ("$defs", "definitions"))
        matching_schemas = (
            definitions[name]
            for definitions in definition_tables
            if isinstance(definitions, dict) and name in definitions
        )
        target = next(matching_schemas, None)
    if target is None:
        raise KeyError(reference.rpartition("/")[2])
    return target


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    choices = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
    other_fields = {key: value for key, value in schema.items() if key != "anyOf"}
    only_choice = choices[0] if len(choices) == 1 else None
    return (
        only_choice | other_fields
        if isinstance(only_choice, dict)
        else {"anyOf": choices} | other_fields
    )


def shown_schema(schema: object) -> dict[str, Any]:
    """Return an external schema in the form sent to models.

    An unreadable part becomes a schema that allows anything. Raises SchemaTooLargeError.
    """
    cleaned = cleaned_schema(schema if isinstance(schema, Mapping) else {}, is_lenient=True)
    properties = cleaned["properties"] if isinstance(cleaned["properties"], dict) else {}
    schema_for_model = {**cleaned, "type": "object", "properties": properties}
    required_names = schema_for_model.pop("required", None)
    are_texts = isinstance(required_names, list) and all(
        isinstance(name, str) for name in required_names
    )
    known_names = [name for name in required_names if name in properties] if are_texts else []
    return schema_for_model | ({"required": known_names} if known_names else {})

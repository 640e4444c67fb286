"""Fill the JSON schema that a prompt asks for from the text of an answer.

A string gets the answer's text, a number the next fitting number in it, a date the first date, an enumeration the first
choice that occurs in it. A list gets the entries that the answer lists; an integer, without a number in the text, how
many entries there are. A field for which the answer has no value is left out; a required one gets a plain value that
the schema allows, such as 0, an empty list or the first choice, so that every schema can be tried.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.rehearsal.plainest_values import (
    DATE_PATTERN,
    fitting_text,
    is_fitting_number,
    plain_number,
    plain_text,
)

_BLOCK = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w])")
_YES = re.compile(r"\b(?:yes|true)\b", re.IGNORECASE)
_NO = re.compile(r"\b(?:no|false)\b", re.IGNORECASE)
MAX_ITEMS = 10**6
"""Maximum items of a list where the schema has no limit."""
_MAX_LEVELS = 24
"""Maximum depth to which a schema is filled that refers to itself in required fields."""
_MAX_REPEATS = 2
"""Maximum number of times that a schema that refers to itself is entered for optional fields."""

_NO_VALUE: Any = object()
"""Stands for no value; None is the value null."""


def filled_schema(schema: Mapping[str, Any], answer: str) -> dict[str, Any] | None:
    """Return an object that fits a schema, filled from an answer; None where no value fits a required field."""
    numbers = [
        float(text.replace(",", "")) for text in _NUMBER.findall(DATE_PATTERN.sub("", answer))
    ]
    value = _Filler(schema, numbers, answer.strip()).value(schema)
    return value if isinstance(value, dict) else None


@dataclass(frozen=True)
class _Filler:
    """Fills one place of a schema."""

    root: Mapping[str, Any]
    numbers: list[float]
    """The numbers of the answer that are left; each is used once."""
    answer: str
    """The text from which the place is filled."""
    path: tuple[str, ...] = ()
    is_required: bool = True

    def _filler_inside(self, step: str, **changes: Any) -> "_Filler":
        return replace(self, path=(*self.path, step), **changes)

    def value(self, schema: Any) -> Any:
        """Return the value for a schema; ``_NO_VALUE`` where the answer has none and, if needed, no plain one fits."""
        if not isinstance(schema, Mapping) or len(self.path) > _MAX_LEVELS:
            return self._any_value() if schema is True else _NO_VALUE
        if isinstance(reference := schema.get("$ref"), str):
            if not self.is_required and self.path.count(reference) >= _MAX_REPEATS:
                return _NO_VALUE
            return self._filler_inside(reference).value(self._referenced_schema(reference))
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list):
            return self._choice_value(schema["enum"])
        options = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(options, list):
            return self._option_value(options)
        if isinstance(schema.get("allOf"), list):
            return self._filler_inside("allOf").value(self._merged_schema(schema))
        schema_type = schema.get("type")
        if isinstance(schema_type, list):
            return self._option_value([{**schema, "type": type_name} for type_name in schema_type])
        return self._value_of_type(schema_type, schema)

    def _any_value(self) -> Any:
        return self.answer if self.is_required else _NO_VALUE

    def _value_of_type(self, schema_type: Any, schema: Mapping[str, Any]) -> Any:
        match schema_type:
            case "string":
                text = fitting_text(schema, self.answer)
                if text is None and self.is_required:
                    text = plain_text(schema, self.answer)
                return _NO_VALUE if text is None else text
            case "number" | "integer":
                return self._number_value(schema, is_integer=schema_type == "integer")
            case "boolean":
                if _YES.search(self.answer):
                    return True
                return False if self.is_required or _NO.search(self.answer) else _NO_VALUE
            case "null":
                return None if self.is_required else _NO_VALUE
            case "array":
                return self._list_value(schema)
            case _ if schema_type == "object" or "properties" in schema:
                if not self.is_required and not schema.get("properties"):
                    return _NO_VALUE
                return self._object_value(schema)
            case _:
                return self._any_value()

    def _choice_value(self, choices: list[Any]) -> Any:
        lowercase_answer = self.answer.lower()
        texts = (choice for choice in choices if isinstance(choice, str) and choice)
        default = choices[0] if self.is_required and choices else _NO_VALUE
        return next((text for text in texts if text.lower() in lowercase_answer), default)

    def _number_value(self, schema: Mapping[str, Any], *, is_integer: bool) -> Any:
        for number in self.numbers:
            if is_fitting_number(schema, number) and not (is_integer and number % 1):
                self.numbers.remove(number)
                return int(number) if is_integer else number
        entry_count = len(_listed_entries(self.answer))
        if is_integer and entry_count and is_fitting_number(schema, entry_count):
            return entry_count
        plain_value = plain_number(schema, is_integer=is_integer) if self.is_required else None
        return _NO_VALUE if plain_value is None else plain_value

    def _option_value(self, options: Sequence[Any]) -> Any:
        """Return the value of the first option that the answer fills, else a plain value: null, if allowed."""
        schema_types = [option.get("type") for option in options if isinstance(option, Mapping)]
        is_decimal = schema_types[:2] == ["number", "string"]
        optional_filler = self._filler_inside("option", is_required=False)
        # A decimal may be written as text, but not every text is a decimal.
        for option in options[:1] if is_decimal else options:
            value = optional_filler.value(option)
            if value is not _NO_VALUE:
                return value
        if not self.is_required:
            return _NO_VALUE
        if "null" in schema_types:
            return None
        values = map(self._filler_inside("option").value, options)
        return next((value for value in values if value is not _NO_VALUE), _NO_VALUE)

    def _object_value(self, schema: Mapping[str, Any]) -> Any:
        fields: dict[str, Any] = {}
        required_names = schema.get("required") or ()
        for name, field in (schema.get("properties") or {}).items():
            is_required = name in required_names
            value = self._filler_inside(name, is_required=is_required).value(field)
            if value is not _NO_VALUE:
                fields[name] = value
            elif is_required:
                return _NO_VALUE
        for name in required_names:
            fields.setdefault(name, self.answer)
        inner_schema, filler = (
            schema.get("additionalProperties"),
            self._filler_inside("*", is_required=True),
        )
        for index in range(len(fields), int(schema.get("minProperties") or 0)):
            fields[f"key{index + 1}"] = filler.value(inner_schema)
        return fields

    def _list_value(self, schema: Mapping[str, Any]) -> Any:
        first_schemas, item_schema = schema.get("prefixItems"), schema.get("items")
        filler, items = self._filler_inside("item", is_required=True), []
        if isinstance(first_schemas, list):
            items = [filler.value(item) for item in first_schemas]
            if _NO_VALUE in items:
                return _NO_VALUE
        is_closed = item_schema is None and first_schemas
        max_items = int(schema.get("maxItems", len(items) if is_closed else MAX_ITEMS))
        if isinstance(item_schema, Mapping):
            schema_type = self._resolved_schema(item_schema).get("type")
            texts = (_listed_entries(self.answer) if schema_type == "string" else []) or [
                self.answer
            ]
            fillers = (
                self._filler_inside("item", is_required=False, answer=text) for text in texts
            )
            values = (item_filler.value(item_schema) for item_filler in fillers)
            items += [value for value in values if value is not _NO_VALUE]
        if schema.get("uniqueItems"):
            items = [item for index, item in enumerate(items) if item not in items[:index]]
        while len(items) < int(schema.get("minItems") or 0):
            numbered_answer = f"{self.answer} {len(items) + 1}"
            next_item = replace(filler, answer=numbered_answer).value(item_schema)
            if next_item is _NO_VALUE or (schema.get("uniqueItems") and next_item in items):
                return _NO_VALUE
            items.append(next_item)
        if not items and not self.is_required:
            return _NO_VALUE
        return items[:max_items]

    def _referenced_schema(self, reference: str) -> Any:
        """Return the schema that a ``$ref`` inside this schema points to."""
        schema: Any = self.root
        for step in filter(None, reference.removeprefix("#").split("/")):
            name = step.replace("~1", "/").replace("~0", "~")
            schema = schema.get(name) if isinstance(schema, Mapping) else None
        return schema

    def _merged_schema(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        merged: dict[str, Any] = {}
        for part in schema["allOf"]:
            merged |= self._resolved_schema(part)
        return merged | {name: value for name, value in schema.items() if name != "allOf"}

    def _resolved_schema(self, schema: Any) -> Mapping[str, Any]:
        followed_references: set[str] = set()
        while isinstance(schema, Mapping) and isinstance(reference := schema.get("$ref"), str):
            if reference in followed_references:
                return {}
            followed_references.add(reference)
            schema = self._referenced_schema(reference)
        return schema if isinstance(schema, Mapping) else {}


def _listed_entries(answer: str) -> list[str]:
    """Return the entries that an answer lists: the lines of its text blocks, without folders and remarks."""
    lines = (line.strip() for block in _BLOCK.findall(answer) for line in block.splitlines())
    return [line for line in lines if line and not line.startswith("(") and not line.endswith("/")]

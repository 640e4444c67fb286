"""Fill the JSON schema that a prompt asks for from the text of an answer.

A string gets the answer's text, a number the next fitting number in it, a date the first date, an enumeration the first
choice that occurs in it. A list gets the entries that the answer lists; an integer, without a number in the text, how
many entries there are. A field for which the answer has no value is left out; a required one gets a simple value that
the schema allows, such as 0, an empty list or the first choice, so that every schema can be tried.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from palimpsest.rehearsal.plainest_values import (
    DATE,
    fitting_text,
    is_fitting_number,
    plain_number,
    plain_text,
)

_BLOCK = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w])")
_YES = re.compile(r"\b(?:yes|true)\b", re.IGNORECASE)
_NO = re.compile(r"\b(?:no|false)\b", re.IGNORECASE)
_MAX_LEVELS = 24
"""The nesting limit: a schema that refers to itself is filled as deep as its required fields need, up to this."""
_REPEATS = 2
"""Maximum number of times that a schema that refers to itself is entered for optional fields."""


_NO_VALUE: Any = object()
"""Means that a field gets no value; None is the value null."""


def filled_schema(schema: Mapping[str, Any], answer: str) -> dict[str, Any] | None:
    """Return an object that fits a schema, filled from an answer; None where no value fits a required field."""
    value = _Filler(schema, answer).value(schema, answer.strip(), (), is_required=True)
    return value if isinstance(value, dict) else None


class _Filler:
    """Fills one schema. Each number of the answer is used once."""

    def __init__(self, root: Mapping[str, Any], answer: str) -> None:
        self._root = root
        self._numbers = [
            float(number.replace(",", "")) for number in _NUMBER.findall(DATE.sub("", answer))
        ]

    def value(self, schema: Any, answer: str, path: tuple[str, ...], *, is_required: bool) -> Any:
        """Return the value for a schema; ``_NO_VALUE`` where the answer has none and, if needed, no simple one fits."""
        if not isinstance(schema, Mapping) or len(path) > _MAX_LEVELS:
            return (
                _NO_VALUE if schema is not True else _or_no_value(answer if is_required else None)
            )
        if isinstance(name := schema.get("$ref"), str):
            if not is_required and path.count(name) >= _REPEATS:
                return _NO_VALUE
            return self.value(self._target(name), answer, (*path, name), is_required=is_required)
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list):
            return _choice(schema["enum"], answer, is_required=is_required)
        options = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(options, list):
            return self._one_of(options, answer, path, is_required=is_required)
        if isinstance(schema.get("allOf"), list):
            return self.value(
                self._merged(schema), answer, (*path, "allOf"), is_required=is_required
            )
        kind = schema.get("type")
        if isinstance(kind, list):
            options = [{**schema, "type": name} for name in kind]
            return self._one_of(options, answer, path, is_required=is_required)
        return self._of_type(kind, schema, answer, path, is_required=is_required)

    def _of_type(
        self,
        kind: Any,
        schema: Mapping[str, Any],
        answer: str,
        path: tuple[str, ...],
        *,
        is_required: bool,
    ) -> Any:
        match kind:
            case "string":
                text = fitting_text(schema, answer)
                if text is None and is_required:
                    text = plain_text(schema, answer)
                return _or_no_value(text)
            case "number" | "integer":
                return self._number(
                    schema, answer, is_integer=kind == "integer", is_required=is_required
                )
            case "boolean":
                if _YES.search(answer):
                    return True
                return False if is_required or _NO.search(answer) else _NO_VALUE
            case "null":
                return None if is_required else _NO_VALUE
            case "array":
                return self._list(schema, answer, path, is_required=is_required)
            case _ if kind == "object" or "properties" in schema:
                if not is_required and not schema.get("properties"):
                    return _NO_VALUE
                return self._object(schema, answer, path)
            case _:
                return _or_no_value(answer if is_required else None)

    def _number(
        self, schema: Mapping[str, Any], answer: str, *, is_integer: bool, is_required: bool
    ) -> Any:
        for number in self._numbers:
            if is_fitting_number(schema, number) and not (is_integer and number % 1):
                self._numbers.remove(number)
                return int(number) if is_integer else number
        entry_count = len(_entries(answer))
        if is_integer and entry_count and is_fitting_number(schema, entry_count):
            return entry_count
        return _or_no_value(plain_number(schema, is_integer=is_integer) if is_required else None)

    def _one_of(
        self, options: Sequence[Any], answer: str, path: tuple[str, ...], *, is_required: bool
    ) -> Any:
        """Return the value of the first option that the answer fills, else a simple value: null, if allowed."""
        kinds = [option.get("type") for option in options if isinstance(option, Mapping)]
        is_decimal = kinds[:2] == ["number", "string"]
        for option in options[:1] if is_decimal else options:
            # A decimal may be written as text, but not every text is a decimal.
            value = self.value(option, answer, (*path, "option"), is_required=False)
            if value is not _NO_VALUE:
                return value
        if not is_required:
            return _NO_VALUE
        if "null" in kinds:
            return None
        values = (
            self.value(option, answer, (*path, "option"), is_required=True) for option in options
        )
        return next((value for value in values if value is not _NO_VALUE), _NO_VALUE)

    def _object(self, schema: Mapping[str, Any], answer: str, path: tuple[str, ...]) -> Any:
        fields: dict[str, Any] = {}
        required_names = schema.get("required") or ()
        for name, field in (schema.get("properties") or {}).items():
            value = self.value(field, answer, (*path, name), is_required=name in required_names)
            if value is not _NO_VALUE:
                fields[name] = value
            elif name in required_names:
                return _NO_VALUE
        for name in required_names:
            if name not in fields:
                fields[name] = answer
        inner = schema.get("additionalProperties")
        for number in range(len(fields), int(schema.get("minProperties") or 0)):
            fields[f"key{number + 1}"] = self.value(inner, answer, (*path, "*"), is_required=True)
        return fields

    def _list(
        self, schema: Mapping[str, Any], answer: str, path: tuple[str, ...], *, is_required: bool
    ) -> Any:
        first_schemas = schema.get("prefixItems")
        items: list[Any] = []
        if isinstance(first_schemas, list):
            items = [
                self.value(item, answer, (*path, "item"), is_required=True)
                for item in first_schemas
            ]
            if _NO_VALUE in items:
                return _NO_VALUE
        item_schema = schema.get("items")
        max_items = int(
            schema.get("maxItems", len(items) if item_schema is None and first_schemas else 10**6)
        )
        if isinstance(item_schema, Mapping):
            kind = self._resolved(item_schema).get("type")
            texts = (_entries(answer) if kind == "string" else []) or [answer]
            values = (
                self.value(item_schema, text, (*path, "item"), is_required=False) for text in texts
            )
            items += [value for value in values if value is not _NO_VALUE]
        if schema.get("uniqueItems"):
            items = [item for index, item in enumerate(items) if item not in items[:index]]
        while len(items) < int(schema.get("minItems") or 0):
            more = self.value(
                item_schema, f"{answer} {len(items) + 1}", (*path, "item"), is_required=True
            )
            if more is _NO_VALUE or (schema.get("uniqueItems") and more in items):
                return _NO_VALUE
            items.append(more)
        if not items and not is_required:
            return _NO_VALUE
        return items[:max_items]

    def _target(self, reference: str) -> Any:
        """Return the schema that a ``$ref`` inside this schema points to."""
        target: Any = self._root
        for step in filter(None, reference.removeprefix("#").split("/")):
            name = step.replace("~1", "/").replace("~0", "~")
            target = target.get(name) if isinstance(target, Mapping) else None
        return target

    def _merged(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        merged: dict[str, Any] = {}
        for part in schema["allOf"]:
            merged |= self._resolved(part)
        return merged | {name: value for name, value in schema.items() if name != "allOf"}

    def _resolved(self, schema: Any) -> Mapping[str, Any]:
        followed: set[str] = set()
        while isinstance(schema, Mapping) and isinstance(reference := schema.get("$ref"), str):
            if reference in followed:
                return {}
            followed.add(reference)
            schema = self._target(reference)
        return schema if isinstance(schema, Mapping) else {}


def _or_no_value(value: Any) -> Any:
    return _NO_VALUE if value is None else value


def _choice(choices: list[Any], answer: str, *, is_required: bool) -> Any:
    for choice in choices:
        if isinstance(choice, str) and choice and choice.lower() in answer.lower():
            return choice
    return choices[0] if is_required and choices else _NO_VALUE


def _entries(answer: str) -> list[str]:
    """Return the entries that an answer lists: the lines of its text blocks, without folders and remarks."""
    lines = (line.strip() for block in _BLOCK.findall(answer) for line in block.splitlines())
    return [line for line in lines if line and not line.startswith("(") and not line.endswith("/")]

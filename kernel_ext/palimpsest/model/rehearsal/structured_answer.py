"""Fill the JSON schema that a prompt asks for from the text of an answer.

A string takes the answer's text, a number the next number in it that fits, a date the first date, an enumeration the first
choice that it names. A list takes what the answer lists, a whole number without one in the text how many entries that are.
A field for which the answer holds nothing is left out; where the form requires it, it takes the plainest value that the
schema allows, such as 0, an empty list or the first choice, so that every form of any shape can be tried.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from palimpsest.model.rehearsal.plainest_values import (
    DATE,
    fitting_number,
    fitting_text,
    plain_number,
    plain_text,
)

_BLOCK = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w])")
_YES = re.compile(r"\b(?:yes|true)\b", re.IGNORECASE)
_NO = re.compile(r"\b(?:no|false)\b", re.IGNORECASE)
_DEEPEST = 24
"""Levels of a form; one that refers to itself is filled as deep as it must be, and no deeper than this."""
_REPEATS = 2
"""How often a schema that refers to itself is entered for what the form does not require."""


_NOTHING: Any = object()
"""Stands for a value that there is not; None is the value null."""


def filled_schema(schema: Mapping[str, Any], answer: str) -> dict[str, Any] | None:
    """Return an object for a schema, filled from an answer; None where no value fits a required field."""
    found = _Filler(schema, answer).value(schema, answer.strip(), (), needed=True)
    return found if isinstance(found, dict) else None


class _Filler:
    """Fills one form. Each number of the answer is used once."""

    def __init__(self, root: Mapping[str, Any], answer: str) -> None:
        self._root = root
        self._numbers = [
            float(one.replace(",", "")) for one in _NUMBER.findall(DATE.sub("", answer))
        ]

    def value(self, schema: Any, answer: str, path: tuple[str, ...], *, needed: bool) -> Any:
        """Return the value for a schema; nothing where the answer holds none, and, if needed, none fits."""
        if not isinstance(schema, Mapping) or len(path) > _DEEPEST:
            return _NOTHING if schema is not True else _or_nothing(answer if needed else None)
        if isinstance(name := schema.get("$ref"), str):
            if not needed and path.count(name) >= _REPEATS:
                return _NOTHING
            return self.value(self._target(name), answer, (*path, name), needed=needed)
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list):
            return _choice(schema["enum"], answer, needed=needed)
        options = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(options, list):
            return self._one_of(options, answer, path, needed=needed)
        if isinstance(schema.get("allOf"), list):
            return self.value(self._merged(schema), answer, (*path, "allOf"), needed=needed)
        kind = schema.get("type")
        if isinstance(kind, list):
            kinds = [{**schema, "type": one} for one in kind]
            return self._one_of(kinds, answer, path, needed=needed)
        return self._of_type(kind, schema, answer, path, needed=needed)

    def _of_type(
        self,
        kind: Any,
        schema: Mapping[str, Any],
        answer: str,
        path: tuple[str, ...],
        *,
        needed: bool,
    ) -> Any:
        match kind:
            case "string":
                told = fitting_text(schema, answer)
                if told is None and needed:
                    told = plain_text(schema, answer)
                return _or_nothing(told)
            case "number" | "integer":
                return self._number(schema, answer, whole=kind == "integer", needed=needed)
            case "boolean":
                said = True if _YES.search(answer) else _NOTHING
                return False if said is _NOTHING and (needed or _NO.search(answer)) else said
            case "null":
                return None if needed else _NOTHING
            case "array":
                return self._list(schema, answer, path, needed=needed)
            case _ if kind == "object" or "properties" in schema:
                if not needed and not schema.get("properties"):
                    return _NOTHING
                return self._object(schema, answer, path)
            case _:
                return _or_nothing(answer if needed else None)

    def _number(self, schema: Mapping[str, Any], answer: str, *, whole: bool, needed: bool) -> Any:
        for number in self._numbers:
            if fitting_number(schema, number) and not (whole and number % 1):
                self._numbers.remove(number)
                return int(number) if whole else number
        counted = len(_entries(answer))
        if whole and counted and fitting_number(schema, counted):
            return counted
        found = plain_number(schema, whole=whole) if needed else None
        return _or_nothing(found)

    def _one_of(
        self, options: Sequence[Any], answer: str, path: tuple[str, ...], *, needed: bool
    ) -> Any:
        """Return what the first option takes from the answer, else the plainest: null before all others."""
        kinds = [one.get("type") for one in options if isinstance(one, Mapping)]
        decimal = kinds[:2] == ["number", "string"]
        for option in options[:1] if decimal else options:
            # A decimal may be written as text, but not in any words.
            found = self.value(option, answer, (*path, "option"), needed=False)
            if found is not _NOTHING:
                return found
        if not needed:
            return _NOTHING
        if "null" in kinds:
            return None
        found = (self.value(one, answer, (*path, "option"), needed=True) for one in options)
        return next((one for one in found if one is not _NOTHING), _NOTHING)

    def _object(self, schema: Mapping[str, Any], answer: str, path: tuple[str, ...]) -> Any:
        made: dict[str, Any] = {}
        required = schema.get("required") or ()
        for name, field in (schema.get("properties") or {}).items():
            value = self.value(field, answer, (*path, name), needed=name in required)
            if value is not _NOTHING:
                made[name] = value
            elif name in required:
                return _NOTHING
        for name in required:
            if name not in made:
                made[name] = answer
        inner = schema.get("additionalProperties")
        for number in range(len(made), int(schema.get("minProperties") or 0)):
            made[f"key{number + 1}"] = self.value(inner, answer, (*path, "*"), needed=True)
        return made

    def _list(
        self, schema: Mapping[str, Any], answer: str, path: tuple[str, ...], *, needed: bool
    ) -> Any:
        first = schema.get("prefixItems")
        made: list[Any] = []
        if isinstance(first, list):
            made = [self.value(one, answer, (*path, "item"), needed=True) for one in first]
            if _NOTHING in made:
                return _NOTHING
        inner = schema.get("items")
        most = int(schema.get("maxItems", len(made) if inner is None and first else 10**6))
        if isinstance(inner, Mapping):
            kind = self._resolved(inner).get("type")
            texts = (_entries(answer) if kind == "string" else []) or [answer]
            told = (self.value(inner, text, (*path, "item"), needed=False) for text in texts)
            made += [one for one in told if one is not _NOTHING]
        if schema.get("uniqueItems"):
            made = [one for at, one in enumerate(made) if one not in made[:at]]
        while len(made) < int(schema.get("minItems") or 0):
            more = self.value(inner, f"{answer} {len(made) + 1}", (*path, "item"), needed=True)
            if more is _NOTHING or (schema.get("uniqueItems") and more in made):
                return _NOTHING
            made.append(more)
        if not made and not needed:
            return _NOTHING
        return made[:most]

    def _target(self, reference: str) -> Any:
        """Return the schema that a reference inside the form names."""
        found: Any = self._root
        for step in filter(None, reference.removeprefix("#").split("/")):
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    def _merged(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        made: dict[str, Any] = {}
        for part in schema["allOf"]:
            made |= self._resolved(part)
        return made | {name: one for name, one in schema.items() if name != "allOf"}

    def _resolved(self, schema: Any) -> Mapping[str, Any]:
        seen: set[str] = set()
        while isinstance(schema, Mapping) and isinstance(reference := schema.get("$ref"), str):
            if reference in seen:
                return {}
            seen.add(reference)
            schema = self._target(reference)
        return schema if isinstance(schema, Mapping) else {}


def _or_nothing(value: Any) -> Any:
    return _NOTHING if value is None else value


def _choice(choices: list[Any], answer: str, *, needed: bool) -> Any:
    for one in choices:
        if isinstance(one, str) and one and one.lower() in answer.lower():
            return one
    return choices[0] if needed and choices else _NOTHING


def _entries(answer: str) -> list[str]:
    """Return what an answer lists: the lines of its blocks of text, without folders and remarks."""
    lines = (line.strip() for block in _BLOCK.findall(answer) for line in block.splitlines())
    return [line for line in lines if line and not line.startswith("(") and not line.endswith("/")]

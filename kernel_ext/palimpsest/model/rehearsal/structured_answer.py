"""Fill the JSON schema that a prompt asks for from the text of an answer; nothing is invented.

A string takes the answer's text, a number the next number in it, an enumeration the first choice that it
names. A list takes what the answer lists, a whole number without one in the text how many entries that are.
A field for which the answer holds nothing is left out.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_BLOCK = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w])")


def filled_schema(schema: Mapping[str, Any], answer: str) -> dict[str, Any] | None:
    """Return an object for a schema, filled from an answer; None where a required field cannot be filled."""
    numbers = iter([one.replace(",", "") for one in _NUMBER.findall(answer)])
    found = _object(schema, answer.strip(), numbers)
    return found if isinstance(found, dict) else None


def _object(schema: Mapping[str, Any], answer: str, numbers: Iterator[str]) -> Any:
    made: dict[str, Any] = {}
    for name, field in (schema.get("properties") or {}).items():
        value = _value(field, answer, numbers) if isinstance(field, Mapping) else None
        if value is not None:
            made[name] = value
        elif name in (schema.get("required") or ()):
            return None
    return made


def _value(schema: Mapping[str, Any], answer: str, numbers: Iterator[str]) -> Any:
    choices = schema.get("enum")
    if isinstance(choices, list):
        named = (one for one in choices if isinstance(one, str) and one.lower() in answer.lower())
        return next(named, None)
    match schema.get("type"):
        case "string":
            return answer or None
        case "number":
            return next((float(one) for one in numbers), None)
        case "integer":
            told = next((int(one) for one in numbers if "." not in one), None)
            return told if told is not None else len(_entries(answer)) or None
        case "array":
            inner = schema.get("items")
            if not isinstance(inner, Mapping):
                return []
            texts = (_entries(answer) if inner.get("type") == "string" else []) or [answer]
            found = (_value(inner, text, numbers) for text in texts)
            return [one for one in found if one is not None]
        case "object":
            return _object(schema, answer, numbers)
        case _:
            return None


def _entries(answer: str) -> list[str]:
    """Return what an answer lists: the lines of its blocks of text, without folders and remarks."""
    lines = (line.strip() for block in _BLOCK.findall(answer) for line in block.splitlines())
    return [line for line in lines if line and not line.startswith("(") and not line.endswith("/")]

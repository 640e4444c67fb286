"""Validate inputs against JSON schemas that strangers wrote, in bounded time.

A schema of a server may be made to cost: patterns that never end, thousands of alternatives for each item of a
list. Every keyword that is applied counts, and so does each member that it has; patterns go through an engine
without backtracking (``tools/calls/linear_patterns.py``). A reference is followed within its own schema only, so that
nothing is fetched, and a type that holds itself is checked as deep as an input goes.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model, model_validator

from palimpsest.tools.calls.json_schema import (
    RecursiveSchema,
    SchemaTooLargeError,
    cleaned,
    recursive_schema,
    shown_schema,
)
from palimpsest.tools.calls.linear_patterns import is_matched, pattern_problem

MOST_STEPS = 200_000
"""Applied keywords and their members for one input: about a second of processor time."""
UNSEEN = {
    "unevaluatedProperties": frozenset({"patternProperties", "$dynamicRef"}),
    "unevaluatedItems": frozenset({"$dynamicRef"}),
}
"""Keywords that are not checked beside others: these would match by Python's engine, or are not followed."""
TOO_MUCH = "it is too large to be checked against its schema; make it smaller"
LONGEST_PROBLEM = 500

Keyword = Callable[[Any, Any, Any, Any], Iterator[Any] | None]


class _TooMuchWork(Exception):
    """The bound of one validation is used up."""


class _Work(threading.local):
    """What one validation may still do, in the thread that does it."""

    left = 0
    is_strict = False
    recursive: RecursiveSchema | None = None
    """Where references are looked up."""
    following: set[tuple[str, int]]
    """References that are being followed, each with the value it is about."""

    def __init__(self) -> None:
        self.following = set()

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise _TooMuchWork

    def matched(self, pattern: str, text: str) -> bool | None:
        self.spend(1 + len(text) // 1_000)
        found = is_matched(pattern, text)
        if found is None and self.is_strict:
            raise _TooMuchWork
        return found


_WORK = _Work()


def schema_arguments(
    name: str, schema: Mapping[str, Any], *, is_strict: bool = False
) -> type[BaseModel]:
    """Return a pydantic model that validates by a JSON schema and returns that as its own schema.

    Raises SchemaTooLargeError; ``is_strict`` as for ``validator``.
    """
    shown = shown_schema(schema)
    validate = validator(shown, is_strict=is_strict, recursive=recursive_schema(schema))

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


def validator(
    schema: Mapping[str, Any],
    *,
    is_strict: bool = False,
    recursive: RecursiveSchema | None = None,
) -> Callable[[Any], str]:
    """Return a function that returns what is wrong with an input, empty if it is valid.

    ``recursive`` is the same schema where it has types that hold themselves. What cannot be checked in bounded time counts as valid, since a server checks its input itself; with
    ``is_strict`` it counts as wrong.
    """
    names = frozenset(_names(schema))
    # A whole input is an object, whatever else its schema says.
    whole = schema if recursive is None else {**recursive.whole, "type": "object"}
    checker = _checked_keywords(_unchecked(names))(whole)

    def problem(given: Any) -> str:
        _WORK.left, _WORK.is_strict = MOST_STEPS, is_strict
        _WORK.recursive, _WORK.following = recursive, set()
        try:
            first = next(iter(checker.iter_errors(given)), None)
            return _told(first) if first is not None else ""
        except (_TooMuchWork, RecursionError, SchemaTooLargeError):
            return TOO_MUCH if is_strict else ""
        except Exception:  # noqa: BLE001  an unusable schema raises anything; its server checks the input itself
            return ""

    return problem


def schema_problem(schema: Mapping[str, Any]) -> str:
    """Return what is wrong with a schema of the user; empty if it is valid and can be checked whole."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        whole = cleaned(schema)
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return _told(error)
    except SchemaTooLargeError as error:
        return f"it {error}"
    except KeyError as error:
        return f"it refers to {error}, which is not in it"
    except (TypeError, ValueError, AttributeError, RecursionError, OverflowError) as error:
        return str(error)[:LONGEST_PROBLEM] or type(error).__name__
    names = frozenset(_names(whole))
    if "$dynamicRef" in names or not names.isdisjoint(_unchecked(names)):
        return "it has $dynamicRef, or unevaluatedProperties beside patternProperties, which cannot be checked"
    for pattern in _patterns(whole):
        if words := pattern_problem(pattern):
            return f"the pattern {pattern!r:.80} cannot be checked in bounded time, because {words}"
    return ""


def _unchecked(names: frozenset[str]) -> frozenset[str]:
    """Return the keywords that are not checked in a schema with these names."""
    return frozenset(one for one, beside in UNSEEN.items() if beside & names)


def _told(error: Any) -> str:
    where = ".".join(str(one) for one in error.absolute_path)
    words = str(error.message)
    return (f"{where}: {words}" if where else words)[:LONGEST_PROBLEM]


def _patterns(schema: Any) -> Iterator[str]:
    """Yield the patterns of a schema; a property that is called ``pattern`` is none."""
    if isinstance(schema, list):
        for one in schema:
            yield from _patterns(one)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "pattern" and isinstance(value, str):
                yield value
            elif key in ("properties", "patternProperties") and isinstance(value, dict):
                yield from value if key == "patternProperties" else ()
                yield from _patterns(list(value.values()))
            elif key not in ("default", "enum", "const", "examples"):
                yield from _patterns(value)


def _names(schema: Any) -> Iterator[str]:
    """Yield all keys in a schema, also those that are no keywords."""
    if isinstance(schema, dict):
        yield from schema
    if isinstance(schema, list | dict):
        for one in schema if isinstance(schema, list) else schema.values():
            yield from _names(one)


@lru_cache(maxsize=4)
def _checked_keywords(unchecked: frozenset[str]) -> Any:
    """Return the validator class of the newest draft with bounded keywords."""
    from jsonschema import Draft202012Validator, validators

    own: dict[str, Keyword] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
        "$ref": _reference,
        "$dynamicRef": _nothing,
    }
    own |= dict.fromkeys(unchecked, _nothing)
    every = {**Draft202012Validator.VALIDATORS, **own}
    counted = {name: _counted(keyword) for name, keyword in every.items()}
    return validators.extend(Draft202012Validator, counted)


def _counted(keyword: Keyword) -> Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        _WORK.spend(1 + (len(value) if isinstance(value, list | dict) else 0))
        yield from keyword(validator, value, instance, schema) or ()

    return check


def _nothing(*_: Any) -> Iterator[Any]:
    return iter(())


def _reference(validator: Any, reference: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """Check a value against the type that a reference names; one that only leads back to itself says nothing."""
    step = (str(reference), id(instance))
    if _WORK.recursive is None or step in _WORK.following:
        return
    _WORK.following.add(step)
    try:
        yield from validator.descend(instance, _WORK.recursive.part(str(reference)))
    finally:
        _WORK.following.discard(step)


def _error(words: str) -> Any:
    from jsonschema import ValidationError

    return ValidationError(words)


def _pattern(_validator: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and _WORK.matched(pattern, instance) is False:
        yield _error(f"{instance[:200]!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, value: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    for pattern, inner in value.items():
        for name, one in instance.items():
            if _WORK.matched(pattern, name):
                yield from validator.descend(one, inner, path=name, schema_path=pattern)


def _additional_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    more = [
        name
        for name in instance
        # A name of which a pattern cannot tell whether it is meant counts as meant.
        if name not in known and all(_WORK.matched(one, name) is False for one in patterns)
    ]
    if isinstance(value, dict):
        for name in more:
            yield from validator.descend(instance[name], value, path=name)
    elif value is False and more:
        named = ", ".join(repr(name)[:100] for name in more[:5])
        yield _error(f"Additional properties are not allowed ({named} unexpected)")


def _unique_items(_validator: Any, value: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not value or not isinstance(instance, list):
        return
    seen: set[str] = set()
    for item in instance:
        text = json.dumps(_plain(item), sort_keys=True)
        _WORK.spend(1 + len(text) // 100)
        if text in seen:
            yield _error(f"{repr(instance)[:200]} has non-unique elements")
            return
        seen.add(text)


def _plain(value: Any) -> Any:
    """Return a value in which equal numbers are written alike: 1.0 is 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value

"""Validate inputs against JSON schemas from untrusted servers, in bounded time.

A server's schema may be designed to be slow: patterns that never end, thousands of alternatives for each item of a
list. Every applied keyword counts, with each of its members; patterns are matched by an engine
without backtracking (``tools/calls/linear_patterns.py``). A reference is resolved within its own schema only, so that
nothing is fetched, and a recursive type is checked as deep as the input goes.
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
    cleaned_schema,
    recursive_schema,
    shown_schema,
)
from palimpsest.tools.calls.linear_patterns import is_matched, pattern_problem

MAX_STEPS = 200_000
"""Maximum applied keywords and their members for one input: about a second of processor time."""
UNCHECKED_BESIDE = {
    "unevaluatedProperties": frozenset({"patternProperties", "$dynamicRef"}),
    "unevaluatedItems": frozenset({"$dynamicRef"}),
}
"""Keywords that are not checked in a schema that also has one of the keywords listed for them: that would need
Python's regular expressions or dynamic references."""
TOO_LARGE_INPUT = "it is too large to be checked against its schema; make it smaller"
MAX_PROBLEM_CHARS = 500
MAX_QUOTED_CHARS = 200
"""Maximum characters of a value that a sentence about a problem quotes."""
MAX_NAMED_PROPERTIES = 5
MAX_PROPERTY_NAME_CHARS = 100
CHARS_PER_MATCH_STEP = 1_000
CHARS_PER_ITEM_STEP = 100
"""Characters of a compared item that count as one step; those of a text that is matched count less."""

Keyword = Callable[[Any, Any, Any, Any], Iterator[Any] | None]


class _TooMuchWork(Exception):
    """A validation has reached its bound."""


class _ValidationState(threading.local):
    """The state of one validation in its thread: remaining work, and open references."""

    remaining = 0
    is_strict = False
    root_schema: RecursiveSchema | None = None
    """The schema in which references are resolved."""
    open_references: set[tuple[str, int]]
    """References that are being resolved, each with the id of its value."""

    def __init__(self) -> None:
        self.open_references = set()

    def count_steps(self, steps: int) -> None:
        self.remaining -= steps
        if self.remaining < 0:
            raise _TooMuchWork

    def is_match(self, pattern: str, text: str) -> bool | None:
        self.count_steps(1 + len(text) // CHARS_PER_MATCH_STEP)
        result = is_matched(pattern, text)
        if result is None and self.is_strict:
            raise _TooMuchWork
        return result


_STATE = _ValidationState()


def schema_arguments(
    name: str, schema: Mapping[str, Any], *, is_strict: bool = False
) -> type[BaseModel]:
    """Return a pydantic model that validates by a JSON schema, and whose own schema it is, as models are shown it.

    Raises SchemaTooLargeError; ``is_strict`` as for ``input_check``.
    """
    schema_for_model = shown_schema(schema)
    validate = input_check(
        schema_for_model, is_strict=is_strict, recursive=recursive_schema(schema)
    )

    class SchemaArguments(BaseModel):
        """Arguments that are validated by the given schema."""

        model_config = ConfigDict(extra="allow")

        @model_validator(mode="before")
        @classmethod
        def _check(cls, arguments: Any) -> Any:
            problem = validate(arguments)
            if problem:
                raise ValueError(problem)
            return arguments

        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            """Return the schema itself."""
            return schema_for_model

    return create_model(name, __base__=SchemaArguments)


def input_check(
    schema: Mapping[str, Any], *, is_strict: bool = False, recursive: RecursiveSchema | None = None
) -> Callable[[Any], str]:
    """Return a function that returns the first problem of an input as a sentence, empty if it is valid.

    ``recursive`` is the same schema if it has recursive types. An input that cannot be checked in bounded time counts as
    valid, since a server checks its input itself; with ``is_strict`` it counts as wrong.
    """
    keys = frozenset(_all_keys(schema))
    # A whole input is an object, whatever else its schema says.
    root_schema = schema if recursive is None else {**recursive.root_schema, "type": "object"}
    checker = _bounded_validator_class(_unchecked_keywords(keys))(root_schema)

    def find_problem(arguments: Any) -> str:
        _STATE.remaining, _STATE.is_strict = MAX_STEPS, is_strict
        _STATE.root_schema, _STATE.open_references = recursive, set()
        try:
            first_error = next(iter(checker.iter_errors(arguments)), None)
            return _error_text(first_error) if first_error is not None else ""
        except (_TooMuchWork, RecursionError, SchemaTooLargeError):
            return TOO_LARGE_INPUT if is_strict else ""
        except Exception:  # noqa: BLE001  an unusable schema raises anything; its server checks the input itself
            return ""

    return find_problem


def schema_problem(schema: Mapping[str, Any]) -> str:
    """Return a sentence on what is wrong with a user's schema; empty if it is valid and can be checked completely."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        plain_schema = cleaned_schema(schema)
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return _error_text(error)
    except SchemaTooLargeError as error:
        return f"it {error}"
    except KeyError as error:
        return f"it refers to {error}, which is not in it"
    except (TypeError, ValueError, AttributeError, RecursionError, OverflowError) as error:
        return str(error)[:MAX_PROBLEM_CHARS] or type(error).__name__
    keys = frozenset(_all_keys(plain_schema))
    if "$dynamicRef" in keys or not keys.isdisjoint(_unchecked_keywords(keys)):
        return "it has $dynamicRef, or unevaluatedProperties beside patternProperties, which cannot be checked"
    for pattern in _patterns(plain_schema):
        if reason := pattern_problem(pattern):
            return (
                f"the pattern {pattern!r:.80} cannot be checked in bounded time, because {reason}"
            )
    return ""


def _unchecked_keywords(keys: frozenset[str]) -> frozenset[str]:
    """Return the keywords that are not checked in a schema with these keys."""
    return frozenset(
        keyword for keyword, other_keys in UNCHECKED_BESIDE.items() if other_keys & keys
    )


def _error_text(error: Any) -> str:
    where = ".".join(str(step) for step in error.absolute_path)
    message = str(error.message)
    return (f"{where}: {message}" if where else message)[:MAX_PROBLEM_CHARS]


def _patterns(schema: Any) -> Iterator[str]:
    """Yield the patterns of a schema, but not a property named ``pattern``."""
    if isinstance(schema, list):
        for child in schema:
            yield from _patterns(child)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "pattern" and isinstance(value, str):
                yield value
            elif key in ("properties", "patternProperties") and isinstance(value, dict):
                yield from value if key == "patternProperties" else ()
                yield from _patterns(list(value.values()))
            elif key not in ("default", "enum", "const", "examples"):
                yield from _patterns(value)


def _all_keys(schema: Any) -> Iterator[str]:
    """Yield all keys in a schema, also those that are no keywords."""
    if isinstance(schema, dict):
        yield from schema
    if isinstance(schema, list | dict):
        for child in schema if isinstance(schema, list) else schema.values():
            yield from _all_keys(child)


@lru_cache(maxsize=4)
def _bounded_validator_class(unchecked_names: frozenset[str]) -> Any:
    """Return the validator class of the newest draft with bounded keywords."""
    from jsonschema import Draft202012Validator, validators

    bounded_keywords: dict[str, Keyword] = {
        "pattern": _check_pattern,
        "patternProperties": _check_pattern_properties,
        "additionalProperties": _check_additional_properties,
        "uniqueItems": _check_unique_items,
        "$ref": _check_reference,
        "$dynamicRef": _no_errors,
    }
    bounded_keywords |= dict.fromkeys(unchecked_names, _no_errors)
    keywords = {**Draft202012Validator.VALIDATORS, **bounded_keywords}
    counted_keywords = {name: _counting_keyword(keyword) for name, keyword in keywords.items()}
    return validators.extend(Draft202012Validator, counted_keywords)


def _counting_keyword(keyword: Keyword) -> Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        _STATE.count_steps(1 + (len(value) if isinstance(value, list | dict) else 0))
        yield from keyword(validator, value, instance, schema) or ()

    return check


def _no_errors(*_: Any) -> Iterator[Any]:
    return iter(())


def _check_reference(validator: Any, reference: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """Check a value against the target of a reference; a reference that leads back to itself allows any value."""
    resolved_use = (str(reference), id(instance))
    if _STATE.root_schema is None or resolved_use in _STATE.open_references:
        return
    _STATE.open_references.add(resolved_use)
    try:
        yield from validator.descend(instance, _STATE.root_schema.schema_at(str(reference)))
    finally:
        _STATE.open_references.discard(resolved_use)


def _validation_error(message: str) -> Any:
    from jsonschema import ValidationError

    return ValidationError(message)


def _check_pattern(_validator: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and _STATE.is_match(pattern, instance) is False:
        yield _validation_error(f"{instance[:MAX_QUOTED_CHARS]!r} does not match {pattern!r}")


def _check_pattern_properties(
    validator: Any, value: Any, instance: Any, _schema: Any
) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    for pattern, child_schema in value.items():
        for name, child_value in instance.items():
            if _STATE.is_match(pattern, name):
                yield from validator.descend(
                    child_value, child_schema, path=name, schema_path=pattern
                )


def _check_additional_properties(
    validator: Any, value: Any, instance: Any, schema: Any
) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    known_properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    additional_names = [
        name
        for name in instance
        # A name counts as known where a pattern cannot be matched.
        if name not in known_properties
        and all(_STATE.is_match(pattern, name) is False for pattern in patterns)
    ]
    if isinstance(value, dict):
        for name in additional_names:
            yield from validator.descend(instance[name], value, path=name)
    elif value is False and additional_names:
        names = ", ".join(
            repr(name)[:MAX_PROPERTY_NAME_CHARS] for name in additional_names[:MAX_NAMED_PROPERTIES]
        )
        yield _validation_error(f"Additional properties are not allowed ({names} unexpected)")


def _check_unique_items(_validator: Any, value: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not value or not isinstance(instance, list):
        return
    seen_items: set[str] = set()
    for item in instance:
        text = json.dumps(_with_plain_numbers(item), sort_keys=True)
        _STATE.count_steps(1 + len(text) // CHARS_PER_ITEM_STEP)
        if text in seen_items:
            yield _validation_error(f"{repr(instance)[:MAX_QUOTED_CHARS]} has non-unique elements")
            return
        seen_items.add(text)


def _with_plain_numbers(value: Any) -> Any:
    """Return a value with equal numbers in the same form: 1.0 becomes 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_with_plain_numbers(item) for item in value]
    if isinstance(value, dict):
        return {name: _with_plain_numbers(item) for name, item in value.items()}
    return value

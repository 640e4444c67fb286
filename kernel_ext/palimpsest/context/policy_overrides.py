"""Change single numbers of a policy by their dotted names, and describe each of these numbers.

Border: pure. A user's policy is a preset and the values that differ from it, as ``policy_differences`` and
``policy_choice`` return them. The descriptions are the docstrings of
``transcript/context_values/policies.py``, so that they are written once.
"""

import ast
import difflib
import functools
import inspect
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from palimpsest.context.presets import PRESETS
from palimpsest.transcript.context_values.policies import Policy, PolicyChoice
from palimpsest.transcript.errors import ConfigError

IDENTITY_FIELDS = frozenset({"name", "version"})
"""Fields that identify a policy; they cannot be changed."""
NO_NUMBER = "none"
"""The user's word for a number that is not set."""
_SHARE_ENDINGS = ("share", "_ratio", "max_share_after")
_AT_LEAST_ONE = frozenset({"truncate.max_lines", "truncate.max_bytes", "overflow.output_cap"})
_MAX_SHOWN_CHARS = 60
MIN_SIMILARITY = 0.6
"""Similarity of two names, from 0 to 1, from which on the known one is suggested."""


def policy_numbers(policy: Policy) -> dict[str, Any]:
    """Return every number and choice of a policy by its dotted name."""
    values: dict[str, Any] = {}
    for name in Policy.model_fields:
        value = getattr(policy, name)
        if isinstance(value, BaseModel):
            inner_names = type(value).model_fields
            values |= {f"{name}.{inner}": getattr(value, inner) for inner in inner_names}
        elif name not in IDENTITY_FIELDS:
            values[name] = value
    return values


def number_names() -> tuple[str, ...]:
    """Return the dotted names of all values that can be changed."""
    return tuple(policy_numbers(Policy()))


def preset_policy(name: str) -> Policy:
    """Return the policy of that name; raises ConfigError that suggests the nearest known name."""
    if name in PRESETS:
        return PRESETS[name]
    nearest_name = _nearest_name(name, tuple(PRESETS))
    sentence = _with_suggestion(f"There is no context policy {name!r}", nearest_name)
    raise ConfigError(f"{sentence} Known policies: {', '.join(sorted(PRESETS))}.")


def policy_with_changes(policy: Policy, changes: Mapping[str, Any]) -> Policy:
    """Return the policy with some numbers changed; raises ConfigError with one sentence."""
    data = policy.model_dump()
    for key, value in changes.items():
        checked_value = check_number(key, value)
        section, _, name = key.rpartition(".")
        (data[section] if section else data)[name] = checked_value
    return Policy.model_validate(data)


def check_number(key: str, value: Any) -> Any:
    """Return a valid value for this number; raises ConfigError with one sentence."""
    annotation = _annotation(key)
    if value == NO_NUMBER and type(None) in get_args(annotation):
        value = None
    if isinstance(value, list):
        value = tuple(value)
    try:
        checked_value = TypeAdapter(annotation).validate_python(value, strict=True)
    except ValidationError:
        raise ConfigError(_error_message(key, annotation, value)) from None
    low, high = number_bounds(key)
    is_number = isinstance(checked_value, int | float) and not isinstance(checked_value, bool)
    if is_number and not (math.isfinite(checked_value) and low <= checked_value <= high):
        raise ConfigError(_error_message(key, annotation, value))
    return checked_value


def number_bounds(key: str) -> tuple[float, float]:
    """Return the least and the greatest value of a number."""
    if key.rpartition(".")[2].endswith(_SHARE_ENDINGS):
        return 0.0, 1.0
    return (1.0 if key in _AT_LEAST_ONE else 0.0), math.inf


def read_number(text: str) -> tuple[str, Any]:
    """Read ``name=value`` as the user writes it; raises ConfigError with one sentence."""
    key, equals, literal = text.partition("=")
    key, literal = key.strip(), literal.strip()
    annotation = _annotation(key)
    if not equals:
        example = value_text(policy_numbers(Policy())[key])
        raise ConfigError(f"{key} needs a value, such as {key}={example}.")
    return key, check_number(key, _parse_value(literal, annotation))


def policy_differences(policy: Policy) -> dict[str, tuple[Any, Any]]:
    """Return the numbers that differ from the policy's preset: the preset's value, and the policy's."""
    preset_numbers = policy_numbers(preset_policy(policy.name))
    return {
        key: (preset_numbers[key], value)
        for key, value in policy_numbers(policy).items()
        if value != preset_numbers[key]
    }


def policy_choice(policy: Policy) -> PolicyChoice:
    """Return a policy as its preset and the values that differ from it."""
    differences = policy_differences(policy).items()
    changes = {key: NO_NUMBER if value is None else value for key, (_, value) in differences}
    return PolicyChoice(base=policy.name, changes=changes)


def chosen_policy(policy: PolicyChoice) -> Policy:
    """Return the policy that was chosen; raises ConfigError where this version lacks a preset or number."""
    return policy_with_changes(preset_policy(policy.base), policy.changes)


def value_text(value: Any) -> str:
    """Return a value as the user writes it."""
    match value:
        case None:
            return NO_NUMBER
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            return ",".join(str(item) for item in value) or '""'
        case str() if value != value.strip() or not value or "\n" in value:
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)


def possible_values(key: str) -> tuple[str, ...]:
    """Return the values that a choice may have; empty for a number."""
    values: list[str] = []
    for member in _alternatives(_annotation(key)):
        if get_origin(member) is Literal:
            values += [str(word) for word in get_args(member)]
        elif member is bool:
            values += ["true", "false"]
        elif member is type(None):
            values.append(NO_NUMBER)
    return tuple(values)


@functools.cache
def number_meanings() -> dict[str, str]:
    """Return a line about each number; empty where the source code is not available."""
    meanings = {
        key: text for key, text in _field_docs(Policy).items() if key not in IDENTITY_FIELDS
    }
    for section, field in Policy.model_fields.items():
        if isinstance(field.default, BaseModel):
            section_docs = _field_docs(type(field.default))
            meanings |= {f"{section}.{name}": text for name, text in section_docs.items()}
    return meanings


@functools.cache
def section_meanings() -> dict[str, str]:
    """Return the docstring of each group of numbers in one line."""
    return {
        name: " ".join((type(field.default).__doc__ or "").split())
        for name, field in Policy.model_fields.items()
        if isinstance(field.default, BaseModel)
    }


def _annotation(key: str) -> Any:
    section, _, name = key.rpartition(".")
    if key not in policy_numbers(Policy()):
        sentence = f"There is no number {key!r} in a context policy"
        sentence = _with_suggestion(sentence, _nearest_name(key, number_names()))
        raise ConfigError(f"{sentence} %agent policy lists them all.")
    owner = type(getattr(Policy(), section)) if section else Policy
    return owner.model_fields[name].annotation


def _parse_value(literal: str, annotation: Any) -> Any:
    """Parse a value that the user wrote as its type; ``check_number`` rejects a wrong value."""
    if get_origin(annotation) is tuple:
        pieces = (piece.strip() for piece in literal.strip("\"'[]").split(","))
        return tuple(piece.strip("\"'") for piece in pieces if piece.strip("\"'"))
    if any(member is str for member in _alternatives(annotation)):
        return _unquoted(literal)
    if literal.lower() in {"true", "yes", "on", "false", "no", "off"}:
        return literal.lower() in {"true", "yes", "on"}
    digits = literal.replace("_", "").replace(",", "")
    for number_type in (int, float):
        try:
            return number_type(digits)
        except ValueError:
            continue
    return _unquoted(literal)


def _unquoted(literal: str) -> str:
    if len(literal) >= 2 and literal[0] == literal[-1] and literal[0] in "\"'":
        return literal[1:-1]
    return literal


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    inner = get_args(annotation)
    if get_origin(annotation) in (Literal, tuple) or not inner:
        return (annotation,)
    return inner


def _error_message(key: str, annotation: Any, value: Any) -> str:
    """Return the error message for a wrong value: what is allowed, what was given, the nearest choice."""
    minimum, maximum = number_bounds(key)
    allowed_values = []
    for member in _alternatives(annotation):
        if get_origin(member) is Literal:
            allowed_values.append("one of " + ", ".join(get_args(member)))
        elif get_origin(member) is tuple:
            allowed_values.append("a list of names")
        elif member in (int, float):
            kind_text = "a whole number" if member is int else "a number"
            has_maximum = maximum < math.inf
            range_text = (
                f"from {minimum:g} to {maximum:g}" if has_maximum else f"of at least {minimum:g}"
            )
            allowed_values.append(f"{kind_text} {range_text}")
        else:
            type_names = {bool: "true or false", str: "text", type(None): NO_NUMBER}
            allowed_values.append(type_names[member])
    shown_value = value_text(value)
    if len(shown_value) > _MAX_SHOWN_CHARS:
        shown_value = shown_value[: _MAX_SHOWN_CHARS - 1] + "…"
    message = f"{key} is {' or '.join(allowed_values)}, not {shown_value}"
    return _with_suggestion(message, _nearest_name(str(value), possible_values(key)))


def _nearest_name(wrong_name: str, known_names: Sequence[str]) -> str:
    """Return the known name closest to a given one; empty where none is near."""
    close_names = difflib.get_close_matches(wrong_name, known_names, 1, MIN_SIMILARITY)
    if close_names:
        return close_names[0]
    last_piece = wrong_name.rpartition(".")[2]
    return next((name for name in known_names if name.rpartition(".")[2] == last_piece), "")


def _with_suggestion(sentence: str, suggestion: str) -> str:
    return f"{sentence}; did you mean {suggestion}?" if suggestion else f"{sentence}."


def _field_docs(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstrings of a model's fields, each as one line."""
    try:
        source = ast.parse(inspect.getsource(model).lstrip())
    except (OSError, TypeError):
        return {}
    body = source.body[0].body if isinstance(source.body[0], ast.ClassDef) else []
    docs = {}
    for statement, next_statement in itertools.pairwise(body):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        if isinstance(next_statement, ast.Expr) and isinstance(next_statement.value, ast.Constant):
            sentence = str(next_statement.value.value).replace("``", "").replace("None", NO_NUMBER)
            docs[statement.target.id] = " ".join(sentence.split())
    return docs

"""Read a policy's name and numbers as users write them: ``opencode.prune@31e22f65 protect=20_000``.

Wrong names and values are refused in one sentence with the most likely correction.
"""

import difflib
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin

from palimpsest.context_policies.interface.settings import Preset, version_of
from palimpsest.model.tokenizer import counter
from palimpsest.transcript.errors import ConfigError, UserError

MAX_POLICY_CHARS = 2_000
"""Maximum characters of a policy's text; the longest known one has a few hundred."""
MAX_STAGES = 8
"""Maximum policies of one pipeline; known ones have at most three."""
MAX_SUGGESTED_NAMES = 3
"""Maximum names that a refusal suggests."""
MIN_SIMILARITY = 0.5
"""Share of equal letters from which a name is suggested."""
BOOLEAN_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class UnknownPolicy(UserError):
    """The policy, version or number does not exist, or the number does not take this value."""


def preset_named(
    name: str, presets: Sequence[type[Preset]], own_names: Iterable[str] = ()
) -> type[Preset]:
    """Return the preset of a name, with or without ``@version``; raises UnknownPolicy.

    The error suggests the most similar names, among them those of one's own policies.
    """
    bare_name, mark, version = name.partition("@")
    same_named_presets = [preset for preset in presets if preset.preset == bare_name]
    if not same_named_presets:
        raise UnknownPolicy(
            f"There is no policy {bare_name!r}{nearest_names_text(bare_name, [*(preset.preset for preset in presets), *own_names])}"
        )
    if not mark:
        return same_named_presets[-1]
    for preset in same_named_presets:
        own_version = version_of(preset)
        begins_alike = own_version.startswith(version) or version.startswith(own_version)
        if version and own_version and begins_alike:
            return preset
    versions = " and ".join(version_of(preset) or "no version" for preset in same_named_presets)
    raise UnknownPolicy(f"The policy {bare_name!r} is known in {versions}, not in {version!r}.")


def split_policies(text: str) -> list[tuple[str, dict[str, str]]]:
    """Split a text into the name and the written numbers of each policy; raises UnknownPolicy."""
    if len(text) > MAX_POLICY_CHARS:
        raise UnknownPolicy(f"The text of a policy has at most {MAX_POLICY_CHARS:,} characters.")
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|")
    lexer.whitespace_split, lexer.commenters = True, ""
    policies: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word == "|":
                policies.append([])
            else:
                policies[-1].append(word)
    except ValueError:
        policies = []
    if not policies or len(policies) > MAX_STAGES or not all(policies):
        raise UnknownPolicy(
            f"{text!r} is no policy: write a name, then numbers such as protect=20000, and '|' between policies, of "
            f"which there are at most {MAX_STAGES}."
        )
    return [(name, _written_numbers(name, numbers)) for name, *numbers in policies]


def _written_numbers(name: str, written_numbers: Sequence[str]) -> dict[str, str]:
    numbers: dict[str, str] = {}
    for word in written_numbers:
        key, equal, value = word.partition("=")
        if not equal:
            raise UnknownPolicy(f"Write {word!r} behind {name!r} as number=value.")
        if key in numbers:
            raise UnknownPolicy(f"The number {key!r} is given twice behind {name!r}.")
        numbers[key] = value
    return numbers


def build_preset(preset: Preset, numbers: Mapping[str, Any]) -> Preset:
    """Return a preset with other numbers, as values or as written; raises UnknownPolicy."""
    defaults, other_numbers = preset.own_numbers(), preset.other_numbers()
    fields_by_name = {field.name: field for field in fields(preset) if field.name in defaults}
    values = {}
    for key, given_value in numbers.items():
        field = fields_by_name.get(key)
        if key in other_numbers:
            continue
        if field is None:
            raise unknown_number(preset.preset, key, [*fields_by_name, *other_numbers])
        value = field_value(given_value, field.type)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is None or (is_number and value < preset.smallest_values.get(key, 0)):
            expected_words = _expected_words(preset, key, field.type)
            raise refused_number(preset.preset, key, expected_words, given_value)
        values[key] = value
    if "estimator" in values:
        counter(values["estimator"])
    try:
        other_values = {key: number for key, number in numbers.items() if key in other_numbers}
        return preset.with_numbers(values, other_values)
    except ConfigError as error:
        raise UnknownPolicy(str(error)) from error


def unknown_number(policy: str, key: str, known_names: Iterable[str]) -> UnknownPolicy:
    """Return the error for a number that a policy does not have, with the most similar of those that it has."""
    names = [*known_names]
    suggestion = nearest_names_text(key, names) if names else ", and no other."
    return UnknownPolicy(f"The policy {policy!r} has no number {key!r}{suggestion}")


def refused_number(policy: str, key: str, expected_words: str, given_value: Any) -> UnknownPolicy:
    """Return the error for a value that a policy's number does not take; ``expected_words`` say what it takes."""
    return UnknownPolicy(
        f"The number {key!r} of {policy!r} takes {expected_words}, not {given_value!r:.80}."
    )


def nearest_names_text(value: str, known_names: Iterable[str]) -> str:
    """Return the end of a sentence that refuses a name: the most similar names, else all names."""
    names = sorted(set(known_names))
    similar_names = difflib.get_close_matches(value, names, MAX_SUGGESTED_NAMES, MIN_SIMILARITY)
    last_name_part = value.rpartition(".")[2]
    if len(last_name_part) > 2:  # a letter or two are in too many names
        similar_names += [
            name for name in names if last_name_part in name and name not in similar_names
        ][:MAX_SUGGESTED_NAMES]
    if similar_names:
        return f"; did you mean {' or '.join(map(repr, similar_names[:MAX_SUGGESTED_NAMES]))}?"
    return f". There are: {', '.join(names)}."


def field_value(value: Any, field_type: Any) -> Any:
    """Return a given value as a value of a field's type; None where it does not fit the type."""
    if get_origin(field_type) is tuple:
        return _word_list(value)
    if get_origin(field_type) is Literal:
        return value if value in get_args(field_type) else None
    if field_type is str:
        return value if isinstance(value, str) else None
    if field_type is bool:
        value = BOOLEAN_WORDS.get(value.casefold()) if isinstance(value, str) else value
        return value if isinstance(value, bool) else None
    return _number(value, field_type)


def _word_list(value: Any) -> tuple[str, ...] | None:
    """Return a list of words, given as a sequence or separated by commas; None where it is neither."""
    words = value.split(",") if isinstance(value, str) else value
    is_sequence = isinstance(words, list | tuple | set | frozenset)
    if not is_sequence or not all(isinstance(word, str) for word in words):
        return None
    return tuple(word.strip() for word in words if word.strip())


def _number(value: Any, number_type: Any) -> int | float | None:
    if isinstance(value, str):
        digits = value.strip().replace("_", "")
        if not re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?(e[+-]?\d{1,3})?", digits):
            return None
        value = float(digits)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    if number_type is int:
        return int(value) if value == int(value) else None
    return float(value)


def _expected_words(preset: Preset, key: str, field_type: Any) -> str:
    """Return the values that a field takes, in words."""
    if get_origin(field_type) is tuple:
        return "names separated by commas"
    if get_origin(field_type) is Literal:
        return " or ".join(map(repr, get_args(field_type)))
    if field_type is str:
        return "text"
    if field_type is bool:
        return "true or false"
    number_kind = "a whole number" if field_type is int else "a number"
    return f"{number_kind} from {preset.smallest_values.get(key, 0):g}"

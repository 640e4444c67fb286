"""Read a policy's name and numbers as people write them: ``opencode.prune@31e22f65 protect=20_000``.

Wrong names and values are refused in one sentence that says what was probably meant.
"""

import difflib
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin

from palimpsest.model.tokenizer import counter
from palimpsest.review.policies.settings import Preset, version_of
from palimpsest.transcript.errors import ConfigError, UserError

LONGEST = 2_000
"""Characters of a policy's text; the longest real one has some hundred."""
STAGES = 8
"""Policies of one pipeline; nobody has more than three."""
NAMED = 3
"""Names that a refusal mentions."""
WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class UnknownPolicy(UserError):
    """There is no such policy, version or number, or the number does not take this value."""


def chosen(name: str, presets: Sequence[type[Preset]]) -> type[Preset]:
    """Return the preset of a name, with or without ``@version``; raises UnknownPolicy."""
    plain, at, version = name.partition("@")
    those = [one for one in presets if one.preset == plain]
    if not those:
        raise UnknownPolicy(
            f"There is no policy {plain!r}{meant(plain, (one.preset for one in presets))}"
        )
    if not at:
        return those[-1]
    for one in those:
        known = version_of(one)
        if version and known and (known.startswith(version) or version.startswith(known)):
            return one
    versions = " and ".join(version_of(one) or "no version" for one in those)
    raise UnknownPolicy(f"The policy {plain!r} is known in {versions}, not in {version!r}.")


def split(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return the policies in a text, each its name and its numbers as written; raises UnknownPolicy."""
    if len(text) > LONGEST:
        raise UnknownPolicy(f"The text of a policy has at most {LONGEST:,} characters.")
    words = shlex.shlex(text, posix=True, punctuation_chars="|")
    words.whitespace_split, words.commenters = True, ""
    stages: list[list[str]] = [[]]
    try:
        for word in words:
            if word == "|":
                stages.append([])
            else:
                stages[-1].append(word)
    except ValueError:
        stages = []
    if not stages or len(stages) > STAGES or not all(stages):
        raise UnknownPolicy(
            f"{text!r} is no policy: write a name, then numbers such as protect=20000, and '|' between policies, of "
            f"which there are at most {STAGES}."
        )
    return [(name, _written(name, numbers)) for name, *numbers in stages]


def _written(name: str, words: Sequence[str]) -> dict[str, str]:
    numbers: dict[str, str] = {}
    for word in words:
        key, equal, value = word.partition("=")
        if not equal:
            raise UnknownPolicy(f"Write {word!r} behind {name!r} as number=value.")
        if key in numbers:
            raise UnknownPolicy(f"The number {key!r} is given twice behind {name!r}.")
        numbers[key] = value
    return numbers


def built(preset: Preset, numbers: Mapping[str, Any]) -> Preset:
    """Return a preset with other numbers, as values or as written; raises UnknownPolicy."""
    own, more = preset.own_numbers(), preset.more_numbers()
    known = {one.name: one for one in fields(preset) if one.name in own}
    values = {}
    for key, given in numbers.items():
        field = known.get(key)
        if key in more:
            continue
        if field is None:
            raise UnknownPolicy(
                f"The policy {preset.preset!r} has no number {key!r}{meant(key, [*known, *more])}"
            )
        value = _value(given, field.type)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is None or (is_number and value < preset.smallest.get(key, 0)):
            raise UnknownPolicy(
                f"The number {key!r} of {preset.preset!r} takes {_kind(preset, key, field.type)}, not {given!r}."
            )
        values[key] = value
    if "estimator" in values:
        counter(values["estimator"])
    try:
        return preset.with_numbers(
            values, {key: one for key, one in numbers.items() if key in more}
        )
    except ConfigError as error:
        raise UnknownPolicy(str(error)) from error


def meant(given: str, known: Iterable[str]) -> str:
    """Return the end of a sentence that refuses a name: the nearest ones, else all."""
    names = sorted(set(known))
    close = difflib.get_close_matches(given, names, NAMED, 0.5)
    last = given.rpartition(".")[2]
    close += [one for one in names if last and last in one and one not in close][:NAMED]
    if close:
        return f"; did you mean {' or '.join(map(repr, close[:NAMED]))}?"
    return f". There are: {', '.join(names)}."


def _value(given: Any, kind: Any) -> Any:
    """Return a value of a field's type; None where it is none."""
    if get_origin(kind) is tuple:
        return _words(given)
    if get_origin(kind) is Literal:
        return given if given in get_args(kind) else None
    if kind is str:
        return given if isinstance(given, str) else None
    if kind is bool:
        given = WORDS.get(given.casefold()) if isinstance(given, str) else given
        return given if isinstance(given, bool) else None
    return _number(given, kind)


def _words(given: Any) -> tuple[str, ...] | None:
    """Return words; None where they are none."""
    words = given.split(",") if isinstance(given, str) else given
    is_many = isinstance(words, list | tuple | set | frozenset)
    if not is_many or not all(isinstance(word, str) for word in words):
        return None
    return tuple(word.strip() for word in words if word.strip())


def _number(given: Any, kind: Any) -> int | float | None:
    if isinstance(given, str):
        written = given.strip().replace("_", "")
        if not re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?(e\d)?", written):
            return None
        given = float(written)
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        return None
    if kind is int:
        return int(given) if given == int(given) else None
    return float(given)


def _kind(preset: Preset, key: str, kind: Any) -> str:
    """Return what a field takes, in words."""
    if get_origin(kind) is tuple:
        return "names separated by commas"
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    if kind is str:
        return "text"
    if kind is bool:
        return "true or false"
    whole = "a whole number" if kind is int else "a number"
    return f"{whole} from {preset.smallest.get(key, 0):g}"

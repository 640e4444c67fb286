"""Read an operation's arguments from what stands behind its name: flags, keywords and words, as its fields say.

Border: text to values; whether a line that cannot be read is a prompt or a mistake is the caller's question.
"""

import re
from collections.abc import Mapping
from typing import Any, get_args

from palimpsest.frontends.operations.operation import Form, OneWord, Operation
from palimpsest.transcript.errors import UserError

SESSION = OneWord(r"ses_\w+", "session")
"""A session's whole id; no prompt holds one."""
PART = OneWord(completed_by="part")
WHICH = "Which session? Write %agent {name} ID; %agent sessions lists them."


class OptionError(Exception):
    """Wrong input after the magic; its message is one sentence, shown without a traceback."""


def read_form(form: Form, operation: type[Operation], rest: str) -> Operation | None:
    """Return the operation that a form's name and the rest of its line are; None where the line is a prompt.

    Raises OptionError, with one sentence.
    """
    if form.missing and not rest:
        raise OptionError(form.missing)
    given = form.read(rest) if form.read is not None else _by_fields(form, operation, rest)
    if given is None or isinstance(given, Operation):
        return given
    try:
        return operation.of(**{**form.fixed, **given})
    except UserError as error:
        raise OptionError(f"%agent {form.name}: {error}") from None


def keywords(form: Form, operation: type[Operation]) -> tuple[str, ...]:
    """Return the words that may follow a form's name."""
    listed = (word for name in form.takes for word in _values(operation, name))
    return form.keywords or tuple(word for word in listed if word)


def flags(form: Form, operation: type[Operation]) -> tuple[str, ...]:
    """Return the flags and options that may follow a form's name."""
    fields = operation.model_fields
    return tuple(
        _flag(name)
        for name in form.takes
        if fields[name].is_required() is False
        and _word(operation, name) is None
        and not _values(operation, name)
    )


def words(form: Form, operation: type[Operation]) -> tuple[OneWord, ...]:
    """Return how the words that may follow are written, such as a session's id."""
    found = (_word(operation, name) for name in form.takes)
    return tuple(one for one in found if one is not None)


def _by_fields(form: Form, operation: type[Operation], rest: str) -> Mapping[str, Any] | None:
    values: dict[str, Any] = {}
    left = rest.split()
    for name in form.takes:
        if _flag(name) in left and operation.model_fields[name].annotation is bool:
            values[name] = True
            left.remove(_flag(name))
    for name in form.takes:
        word = _word(operation, name)
        if (left and word is not None and re.fullmatch(word.pattern, left[0])) or (
            left and left[0] in _values(operation, name)
        ):
            values[name] = left.pop(0)
    return values if not left else None


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _word(operation: type[Operation], name: str) -> OneWord | None:
    found = (one for one in operation.model_fields[name].metadata if isinstance(one, OneWord))
    return next(found, None)


def _values(operation: type[Operation], name: str) -> tuple[str, ...]:
    """Return the fixed values of a field."""
    return tuple(
        one for one in get_args(operation.model_fields[name].annotation) if isinstance(one, str)
    )


def option_value(name: str, text: str, written: str) -> tuple[str, str]:
    """Return the value of an option, quoted or up to the next blank, and what follows it; raises OptionError.

    ``written`` says how a value is written, such as ``NAME``.
    """
    text = text.lstrip()
    if text[:1] in {"'", '"'}:
        value, quote, rest = text[1:].partition(text[0])
        if not quote:
            raise OptionError(f"The value of {name} begins with {text[0]} but never ends with it.")
        return value, rest.lstrip()
    match = re.match(r"\S+", text)
    if match is None:
        raise OptionError(f"{name} needs a value: {name} {written}.")
    return match.group(), text[match.end() :].lstrip()

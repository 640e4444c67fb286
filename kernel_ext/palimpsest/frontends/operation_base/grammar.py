"""Parse an operation's arguments from the text after its name: flags, keywords and words, by its fields.

Border: text to values; the caller decides whether a line that cannot be parsed is a prompt or a mistake.
"""

import re
from collections.abc import Mapping
from typing import Any, get_args

from palimpsest.frontends.operation_base.operation import Form, OneWord, Operation
from palimpsest.transcript.errors import UserError

SESSION_WORD = OneWord(r"ses_\w+", "session")
"""Annotation of a field that is written as a session's complete id, which is unlikely in a prompt."""
PART_WORD = OneWord(completed_by="part")
WHICH_SESSION = "Which session? Write %agent {name} ID; %agent sessions lists them."


class OptionError(Exception):
    """Wrong input after the magic; its message is one sentence, shown without a traceback."""


def parse_form(form: Form, operation: type[Operation], argument_text: str) -> Operation | None:
    """Return the operation for a form and the rest of its line; None where the line is a prompt.

    Raises OptionError, with one sentence.
    """
    if form.missing_message and not argument_text:
        raise OptionError(form.missing_message)
    if form.parse_rest is not None:
        arguments = form.parse_rest(argument_text)
    else:
        arguments = _parse_by_fields(form, operation, argument_text)
    if arguments is None or isinstance(arguments, Operation):
        return arguments
    try:
        return operation.with_arguments(**{**form.fixed_values, **arguments})
    except UserError as error:
        raise OptionError(f"%agent {form.name}: {error}") from None


def keywords(form: Form, operation: type[Operation]) -> tuple[str, ...]:
    """Return the words that may follow a form's name."""
    words = (word for name in form.fields for word in _literal_values(operation, name))
    return form.keywords or tuple(word for word in words if word)


def flags(form: Form, operation: type[Operation]) -> tuple[str, ...]:
    """Return the flags and options that may follow a form's name."""
    fields = operation.model_fields
    return tuple(
        _flag_text(name)
        for name in form.fields
        if fields[name].is_required() is False
        and _word_argument(operation, name) is None
        and not _literal_values(operation, name)
    )


def word_arguments(form: Form, operation: type[Operation]) -> tuple[OneWord, ...]:
    """Return the patterns of the words that may follow a form's name, such as a session's id."""
    words = (_word_argument(operation, name) for name in form.fields)
    return tuple(word for word in words if word is not None)


def _parse_by_fields(
    form: Form, operation: type[Operation], argument_text: str
) -> Mapping[str, Any] | None:
    values: dict[str, Any] = {}
    remaining_words = argument_text.split()
    for name in form.fields:
        if _flag_text(name) in remaining_words and operation.model_fields[name].annotation is bool:
            values[name] = True
            remaining_words.remove(_flag_text(name))
    for name in form.fields:
        if not remaining_words:
            break
        word = _word_argument(operation, name)
        is_word = word is not None and re.fullmatch(word.pattern, remaining_words[0])
        if is_word or remaining_words[0] in _literal_values(operation, name):
            values[name] = remaining_words.pop(0)
    return values if not remaining_words else None


def _flag_text(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _word_argument(operation: type[Operation], name: str) -> OneWord | None:
    metadata = operation.model_fields[name].metadata
    return next((value for value in metadata if isinstance(value, OneWord)), None)


def _literal_values(operation: type[Operation], name: str) -> tuple[str, ...]:
    choices = get_args(operation.model_fields[name].annotation)
    return tuple(choice for choice in choices if isinstance(choice, str))


def option_value(name: str, text: str, placeholder: str) -> tuple[str, str]:
    """Return the value of an option, quoted or up to the next blank, and the text after it; raises OptionError.

    ``placeholder`` is the placeholder of the value in the error message, such as ``NAME``.
    """
    text = text.lstrip()
    if text[:1] in {"'", '"'}:
        value, quote, rest = text[1:].partition(text[0])
        if not quote:
            raise OptionError(f"The value of {name} begins with {text[0]} but never ends with it.")
        return value, rest.lstrip()
    match = re.match(r"\S+", text)
    if match is None:
        raise OptionError(f"{name} needs a value: {name} {placeholder}.")
    return match.group(), text[match.end() :].lstrip()

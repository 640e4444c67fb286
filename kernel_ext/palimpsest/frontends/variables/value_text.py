"""Write values as text without running user code: no ``__repr__``, ``__len__``, property or comparison of their classes.

Border: runs on any thread. Built-in containers, and classes derived from them, are written from their stored items;
values of Python, NumPy, pandas and the standard library by their ``repr``; of other values only the type.
"""

import inspect
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from palimpsest.frontends.variables.held_values import (
    ROUTINES,
    attributes_of,
    container_of,
    items_of,
    length_of,
)
from palimpsest.frontends.variables.kernel_objects import KernelObjects
from palimpsest.frontends.variables.plain_values import is_of_library, is_plain
from palimpsest.frontends.variables.reachable_values import KERNEL_PART
from palimpsest.frontends.variables.variable_types import (
    MAX_SUMMARY_CHARS,
    is_array,
    is_frame,
    is_module,
    is_series,
    shape_of,
    type_name_of,
)
from palimpsest.transcript.redaction.secret_patterns import REDACTED, is_secret_variable

MAX_DEPTH = 6
"""Maximum levels of nested containers that are written."""
MAX_ITEMS = 200
"""Maximum items of a container that are read; a text has room for fewer."""
MAX_NUMBER_DIGITS = 400
"""Maximum digits of an integer that are written; Python refuses to write very large ones."""
BITS_PER_DIGIT = 3
MIN_TEXT_CHARS = 40
"""Characters of a text that are written at least, also where no room is left."""
EXTRA_CHARS = 200
"""Characters that are written beyond twice the wanted ones, since blanks are joined and the end is cut later."""
MAX_COUNT_CHARS = 20
"""Characters that the number of a container's items takes."""
_TEXT_TYPES = (str, bytes, bytearray)
_ATOM_TYPES = (*_TEXT_TYPES, bool, int, float, complex)
_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
}
_MRO = type.__dict__["__mro__"]
_MEMBERS = type.__dict__["__dict__"]
_NAME = type.__dict__["__name__"]
IsHiddenFile = Callable[[str], bool]
"""Returns whether a file name is that of a hidden cell's code."""


class ValueText:
    """Writes values as text.

    ``kernel_objects`` are the objects that are not written; ``is_hidden_file`` returns whether a file name is that of a hidden cell.

    Responsibilities: limit the number of characters; write only the type where a value's text would run code.
    """

    def __init__(
        self, kernel_objects: KernelObjects, is_hidden_file: IsHiddenFile = lambda _: False
    ) -> None:
        self._kernel_objects = kernel_objects
        self._is_hidden_file = is_hidden_file
        self._remaining_chars = 0

    def short_text(self, value: Any, max_chars: int = MAX_SUMMARY_CHARS) -> str:
        """Return a value as one line of at most ``max_chars`` characters."""
        return cut_text(" ".join(self.long_text(value, max_chars).split()), max_chars)

    def long_text(self, value: Any, max_chars: int) -> str:
        """Return a value as text of about ``max_chars`` characters."""
        self._remaining_chars = 2 * max_chars + EXTRA_CHARS
        return self._value_text(value, MAX_DEPTH)

    def summary_line(self, value: Any, max_chars: int = MAX_SUMMARY_CHARS) -> str:
        """Return one line about a value: its shape, its number of items and the first ones, or its text."""
        if value in self._kernel_objects:
            return KERNEL_PART
        if is_routine(value) or is_class(value):
            return cut_text(self.signature_text(value), max_chars)
        if is_frame(value) or is_series(value) or is_array(value):
            return shape_of(value)[:max_chars]
        if container_of(value) is not None:
            length = length_of(value)
            return (
                f"{length} items: {self.short_text(value, max_chars - MAX_COUNT_CHARS)}"
                if length
                else "empty"
            )
        return self.short_text(value, max_chars)

    def signature_text(self, value: Any) -> str:
        """Return the name and parameters of a function or class, with plain defaults."""
        if is_class(value):
            function = _class_member(value, "__init__")
            return f"{_NAME.__get__(value)}{_parameters_text(function, self._is_hidden_file, is_bound=True)}"
        is_bound = type(value) is MethodType
        function = value.__func__ if is_bound else value
        if type(function) is not FunctionType:
            return _builtin_signature_text(function)
        parameters = _parameters_text(function, self._is_hidden_file, is_bound=is_bound)
        return f"{function.__name__}{parameters}"

    def documentation(self, value: Any) -> str:
        """Return the documentation of a function, class or module; empty where a hidden cell defines it."""
        if is_class(value):
            documentation_text = _MEMBERS.__get__(value).get("__doc__")
            function = _class_member(value, "__init__")
        elif is_module(value):
            # Read its dictionary, so that no lazy module is loaded and no ``__getattr__`` runs.
            documentation_text, function = (attributes_of(value) or {}).get("__doc__"), None
        else:
            function = value.__func__ if type(value) is MethodType else value
            documentation_text = function.__doc__ if type(function) in ROUTINES else None
        if type(function) is FunctionType and self._is_hidden_file(function.__code__.co_filename):
            return ""
        return inspect.cleandoc(documentation_text) if type(documentation_text) is str else ""

    def _value_text(self, value: Any, depth: int) -> str:
        if value in self._kernel_objects:
            return self._count_chars(KERNEL_PART)
        value_type = type(value)
        base_type = next((base for base in _MRO.__get__(value_type) if base in _ATOM_TYPES), None)
        if base_type is not None and not (base_type is not value_type and is_of_library(value)):
            text = _atom_text(value, value_type, base_type, self._remaining_chars)
            return self._count_chars(text)
        if container_of(value) is not None:
            return self._container_text(value, value_type, depth)
        if is_of_library(value) or value_type in (type(None), type(Ellipsis), range):
            return self._count_chars(repr(value))
        if is_routine(value) or is_class(value):
            kind_text = "class" if is_class(value) else "function"
            return self._count_chars(
                f"<{kind_text} {self.signature_text(value).partition('(')[0]}>"
            )
        if is_module(value):
            return self._count_chars("<module>")
        shape = shape_of(value)
        return self._count_chars(f"<{type_name_of(value)}{', ' if shape else ''}{shape}>")

    def _container_text(self, value: Any, value_type: type, depth: int) -> str:
        base_type = container_of(value) or list
        opening, ending = _BRACKETS.get(base_type, ("[", "]"))
        pieces: list[str] = []
        is_cut = length_of(value) > MAX_ITEMS
        for item in items_of(value, MAX_ITEMS):
            if self._remaining_chars <= 0 or depth == 0:
                is_cut = True
                break
            is_pair = base_type is dict
            pieces.append((self._pair_text if is_pair else self._value_text)(item, depth - 1))
        items_text = ", ".join([*pieces, "..."] if is_cut else pieces)
        if base_type is tuple and len(pieces) == 1 and not is_cut:
            items_text += ","
        if base_type in (set, frozenset) and not items_text:
            opening, ending = f"{base_type.__name__}(", ")"
        text = f"{opening}{items_text}{ending}"
        is_literal = value_type is base_type and value_type in _BRACKETS
        return text if is_literal else f"{type_name_of(value)}({text})"

    def _pair_text(self, pair: tuple[Any, Any], depth: int) -> str:
        key, value = pair
        key_text = self._value_text(key, depth)
        if type(key) is str and is_secret_variable(key):
            return f"{key_text}: {REDACTED!r}"
        return f"{key_text}: {self._value_text(value, depth)}"

    def _count_chars(self, text: str) -> str:
        self._remaining_chars -= len(text)
        return text


def is_routine(value: Any) -> bool:
    """Return whether a value is a function or method, by its type only."""
    return type(value) in ROUTINES


def is_class(value: Any) -> bool:
    """Return whether a value is a class, including one with a metaclass of the user's."""
    return type in _MRO.__get__(type(value))


def is_writable(value: Any) -> bool:
    """Return whether a value can be written without its class's ``__repr__``."""
    value_type = type(value)
    is_library_object = is_frame(value) or is_series(value) or is_array(value) or is_module(value)
    return (
        is_library_object
        or container_of(value) is not None
        or is_of_library(value)
        or value_type in (type(None), type(Ellipsis), range)
        or is_routine(value)
        or is_class(value)
        or any(base_type in _ATOM_TYPES for base_type in _MRO.__get__(value_type))
    )


def cut_text(text: str, max_chars: int) -> str:
    """Return a text cut to at most ``max_chars`` characters."""
    return text if len(text) <= max_chars else text[: max_chars - 3] + "..."


def _atom_text(value: Any, value_type: type, base_type: Any, max_chars: int) -> str:
    """Return a text or number as written by its built-in base class; of a long text only the beginning."""
    if base_type in _TEXT_TYPES:
        start = base_type.__getitem__(value, slice(0, max(max_chars, MIN_TEXT_CHARS)))
        text = base_type.__repr__(start)
    elif base_type is int and int.bit_length(value) > BITS_PER_DIGIT * MAX_NUMBER_DIGITS:
        text = f"<a number of {int.bit_length(value)} bits>"
    else:
        text = base_type.__repr__(value)
    return text if value_type is base_type else f"{type_name_of(value)}({text})"


def _class_member(value_type: Any, name: str) -> Any:
    dictionaries = (_MEMBERS.__get__(base_type) for base_type in _MRO.__get__(value_type))
    return next((members[name] for members in dictionaries if name in members), None)


def _parameters_text(function: Any, is_hidden_file: IsHiddenFile, *, is_bound: bool) -> str:
    """Return a function's parameters in brackets, with defaults and annotations where that runs no code."""
    if type(function) is not FunctionType:
        return "(...)"
    if is_hidden_file(function.__code__.co_filename) or not is_plain(function):
        text = shape_of(function)
        if not is_bound:
            return text
        return f"({text.partition(', ')[2]}" if ", " in text else "()"
    signature = inspect.signature(function)
    if is_bound:
        signature = signature.replace(parameters=list(signature.parameters.values())[1:])
    return str(signature)


def _builtin_signature_text(value: Any) -> str:
    """Return a builtin function's name, with its parameters where they are known."""
    name = getattr(value, "__name__", "")
    if type(value) is not BuiltinFunctionType:
        return f"{name}(...)"
    try:
        return f"{name}{inspect.signature(value)}"
    except (TypeError, ValueError):
        return f"{name}(...)"

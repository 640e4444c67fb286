"""Write values as text without running code of the user: no ``__repr__``, no ``__len__``, no property, no comparison.

Border: runs on any thread. Python's own containers are written as they keep their items, also where a class derived
from them says something else; values of Python, NumPy, pandas and the standard library as Python writes them; of
everything else its type stands there.
"""

import inspect
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from palimpsest.frontends.kernel.held_values import (
    ROUTINES,
    attributes_of,
    container_of,
    items_of,
    length_of,
)
from palimpsest.frontends.kernel.kernel_objects import KernelObjects
from palimpsest.frontends.kernel.plain_values import is_of_library, is_plain
from palimpsest.frontends.kernel.reachable_values import KERNELS_OWN
from palimpsest.frontends.kernel.variable_types import (
    SUMMARY_CHARS,
    is_array,
    is_frame,
    is_module,
    is_series,
    kind_of,
    shape_of,
)
from palimpsest.transcript.redaction.secret_patterns import REDACTED, is_secret_variable

DEPTH = 6
"""How deep containers within containers are written."""
MOST_ITEMS = 200
"""Items of one container that are written; a text is shorter than that anyway."""
NUMBER_DIGITS = 400
"""Digits of a whole number that are written; Python refuses to write those of very large ones."""
_TEXTS = (str, bytes, bytearray)
_NUMBERS = (bool, int, float, complex)
_SIGNS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
}
_MRO = type.__dict__["__mro__"]
_MEMBERS = type.__dict__["__dict__"]
_NAME = type.__dict__["__name__"]
HiddenSource = Callable[[str], bool]
"""Tells whether a file name is that of a cell that is kept from the agent."""


class ValueText:
    """Writes values; ``kernels`` are the objects that are not looked at, ``hides`` tells files of hidden cells.

    Responsibilities: stay within a number of characters, and say a type where the text of a value would run code.
    """

    def __init__(self, kernels: KernelObjects, hides: HiddenSource = lambda _: False) -> None:
        self._kernels = kernels
        self._hides = hides
        self._left = 0

    def short(self, value: Any, chars: int = SUMMARY_CHARS) -> str:
        """Return a value on one line of at most so many characters."""
        return cut(" ".join(self.whole(value, chars).split()), chars)

    def whole(self, value: Any, chars: int) -> str:
        """Return a value as text of about so many characters."""
        self._left = 2 * chars + 200
        return self._text(value, DEPTH)

    def line(self, value: Any, chars: int = SUMMARY_CHARS) -> str:
        """Return one line about a value: a shape, how many items there are and the first, or the value."""
        if value in self._kernels:
            return KERNELS_OWN
        if is_routine(value) or is_class(value):
            return cut(self.signature(value), chars)
        if is_frame(value) or is_series(value) or is_array(value):
            return shape_of(value)[:chars]
        if container_of(value) is not None:
            length = length_of(value)
            return f"{length} items: {self.short(value, chars - 20)}" if length else "empty"
        return self.short(value, chars)

    def signature(self, value: Any) -> str:
        """Return the name of a function or class with its parameters; their defaults only where they are plain."""
        if is_class(value):
            function = _member(value, "__init__")
            return f"{_NAME.__get__(value)}{_parameters(function, self._hides, bound=True)}"
        bound = type(value) is MethodType
        function = value.__func__ if bound else value
        if type(function) is not FunctionType:
            return _builtin(function)
        return f"{function.__name__}{_parameters(function, self._hides, bound=bound)}"

    def documentation(self, value: Any) -> str:
        """Return the documentation of a function, class or module; empty for what a hidden cell defines."""
        if is_class(value):
            found, function = _MEMBERS.__get__(value).get("__doc__"), _member(value, "__init__")
        elif is_module(value):
            # Its own dictionary: no lazy module is loaded and no ``__getattr__`` runs.
            found, function = (attributes_of(value) or {}).get("__doc__"), None
        else:
            function = value.__func__ if type(value) is MethodType else value
            found = function.__doc__ if type(function) in ROUTINES else None
        if type(function) is FunctionType and self._hides(function.__code__.co_filename):
            return ""
        return inspect.cleandoc(found) if type(found) is str else ""

    def _text(self, value: Any, depth: int) -> str:
        if value in self._kernels:
            return self._spent(KERNELS_OWN)
        kind = type(value)
        base = next((one for one in _MRO.__get__(kind) if one in (*_TEXTS, *_NUMBERS)), None)
        if base is not None and not (base is not kind and is_of_library(value)):
            return self._spent(_atom(value, kind, base, self._left))
        if container_of(value) is not None:
            return self._container(value, kind, depth)
        if is_of_library(value) or kind in (type(None), type(Ellipsis), range):
            return self._spent(repr(value))
        if is_routine(value) or is_class(value):
            return self._spent(
                f"<{'class' if is_class(value) else 'function'} {self.signature(value).partition('(')[0]}>"
            )
        if is_module(value):
            return self._spent("<module>")
        shape = shape_of(value)
        return self._spent(f"<{kind_of(value)}{', ' if shape else ''}{shape}>")

    def _container(self, value: Any, kind: type, depth: int) -> str:
        base = container_of(value) or list
        before, after = _SIGNS.get(base, ("[", "]"))
        pieces: list[str] = []
        more = length_of(value) > MOST_ITEMS
        for one in items_of(value, MOST_ITEMS):
            if self._left <= 0 or depth == 0:
                more = True
                break
            pieces.append(self._pair(one, depth) if base is dict else self._text(one, depth - 1))
        inner = ", ".join([*pieces, "..."] if more else pieces)
        if base is tuple and len(pieces) == 1 and not more:
            inner += ","
        if base in (set, frozenset) and not inner:
            before, after = f"{base.__name__}(", ")"
        text = f"{before}{inner}{after}"
        return text if kind is base and kind in _SIGNS else f"{kind_of(value)}({text})"

    def _pair(self, pair: tuple[Any, Any], depth: int) -> str:
        key, value = pair
        told = self._text(key, depth - 1)
        if type(key) is str and is_secret_variable(key):
            return f"{told}: {REDACTED!r}"
        return f"{told}: {self._text(value, depth - 1)}"

    def _spent(self, text: str) -> str:
        self._left -= len(text)
        return text


def is_routine(value: Any) -> bool:
    """Tell whether a value is a function or method, by its type alone."""
    return type(value) in ROUTINES


def is_class(value: Any) -> bool:
    """Tell whether a value is a class, also one whose class of classes is the user's."""
    return type in _MRO.__get__(type(value))


def is_written(value: Any) -> bool:
    """Tell whether a value has a text of its own without its class's ``__repr__``."""
    kind = type(value)
    known = is_frame(value) or is_series(value) or is_array(value) or is_module(value)
    bases = (*_TEXTS, *_NUMBERS)
    return (
        known
        or container_of(value) is not None
        or is_of_library(value)
        or kind in (type(None), type(Ellipsis), range)
        or is_routine(value)
        or is_class(value)
        or any(one in bases for one in _MRO.__get__(kind))
    )


def cut(text: str, chars: int) -> str:
    """Return a text of at most so many characters, the end left out."""
    return text if len(text) <= chars else text[: chars - 3] + "..."


def _atom(value: Any, kind: type, base: Any, chars: int) -> str:
    """Return a text or number as its base class writes it, of a long text the beginning."""
    if base in _TEXTS:
        start = base.__getitem__(value, slice(0, max(chars, 40)))
        text = base.__repr__(start)
    elif base is int and int.bit_length(value) > 3 * NUMBER_DIGITS:
        text = f"<a number of {int.bit_length(value)} bits>"
    else:
        text = base.__repr__(value)
    return text if kind is base else f"{kind_of(value)}({text})"


def _member(kind: Any, name: str) -> Any:
    every = (_MEMBERS.__get__(one) for one in _MRO.__get__(kind))
    return next((members[name] for members in every if name in members), None)


def _parameters(function: Any, hides: HiddenSource, *, bound: bool) -> str:
    """Return a function's parameters in brackets, with defaults and types where writing them runs no code."""
    if type(function) is not FunctionType:
        return "(...)"
    if hides(function.__code__.co_filename) or not is_plain(function):
        text = shape_of(function)
        if not bound:
            return text
        return f"({text.partition(', ')[2]}" if ", " in text else "()"
    signature = inspect.signature(function)
    if bound:
        signature = signature.replace(parameters=list(signature.parameters.values())[1:])
    return str(signature)


def _builtin(value: Any) -> str:
    """Return a builtin function's name with its parameters where it tells them."""
    name = getattr(value, "__name__", "")
    if type(value) is not BuiltinFunctionType:
        return f"{name}(...)"
    try:
        return f"{name}{inspect.signature(value)}"
    except (TypeError, ValueError):
        return f"{name}(...)"

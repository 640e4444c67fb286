"""Tell which values can be described without running code of the user, and in a moment.

Border: runs on the main thread. Only exact types of Python, NumPy and pandas are looked into; of what is long, the
part that a description shows is returned in its place. Everything else is not described before a prompt is sent.
"""

import sys
from types import BuiltinFunctionType, FunctionType
from typing import Any

from palimpsest.frontends.kernel.variable_types import is_array, is_frame, is_series, kind_of
from palimpsest.session.interfaces.prompt_mentions import NotCounted

MOST_VALUES = 20_000
"""Values within one value that are looked at; about 10 ms."""
MOST_ROWS = 1_000
"""Rows of a frame that are described: the numbers of the others are about as long."""
MOST_COLUMNS = 1_000
TEXT_CHARS = 20_000
"""A description shows less of a text."""
DEPTH = 20

_ATOMS = frozenset({int, float, complex, bool, str, bytes, type(None), range, type(Ellipsis)})
_TIMES = ("Timestamp", "Timedelta", "Period")
_ZONES = frozenset({"datetime", "zoneinfo", "pytz", "dateutil"})
_LIBRARY = ("datetime", "decimal", "fractions", "uuid", "pathlib")


class _PlainCheck:
    """One look into a value, which ends when it has met too much."""

    def __init__(self) -> None:
        self._left = MOST_VALUES

    def at(self, value: Any, depth: int = DEPTH) -> None:
        """Return if a value is plain; raises NotCounted."""
        self._left -= 1
        kind = type(value)
        if self._left < 0 or depth == 0:
            raise NotCounted
        if kind in _ATOMS:
            self._left -= len(value) // 1_000 if kind in (str, bytes) else 0
        elif kind is dict:
            for key, held in list(value.items()):
                self.at(key, depth - 1)
                self.at(held, depth - 1)
        elif kind in (list, tuple, set, frozenset):
            for one in list(value):
                self.at(one, depth - 1)
        else:
            self._other(value, kind, depth)

    def _other(self, value: Any, kind: type, depth: int) -> None:
        if kind is FunctionType:
            self._function(value, depth)
        elif is_array(value):
            self._array(value, depth)
        elif is_frame(value) or is_series(value):
            self._frame(value, depth)
        elif kind is not BuiltinFunctionType and not is_of_library(value):
            raise NotCounted

    def top(self, value: Any) -> Any:
        """Return what to describe in the place of a value; of a long list only the beginning is shown."""
        kind = type(value)
        if kind in (str, bytes):
            return value[:TEXT_CHARS]
        if kind in (list, tuple):
            self.at(value[:MOST_ROWS])
            return value if len(value) <= MOST_ROWS else value[:MOST_ROWS]
        if is_frame(value) or is_series(value):
            value = value.head(MOST_ROWS) if len(value.index) > MOST_ROWS else value
        self.at(value)
        return value

    def _function(self, value: Any, depth: int) -> None:
        """A signature shows defaults and annotations by their ``repr``."""
        self.at([*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()], depth - 1)
        # From Python 3.14 on annotations are code, which runs when they are looked at.
        if vars(value) or getattr(value, "__annotate__", None) is not None:
            raise NotCounted
        if any(type(one) not in (str, type, type(None)) for one in value.__annotations__.values()):
            raise NotCounted

    def _array(self, value: Any, depth: int) -> None:
        if value.dtype.hasobject:
            if value.size > MOST_ROWS:
                raise NotCounted
            self.at(value.ravel().tolist(), depth - 1)

    def _frame(self, value: Any, depth: int) -> None:
        if len(value.index) > MOST_ROWS or (is_frame(value) and len(value.columns) > MOST_COLUMNS):
            raise NotCounted
        for axis in value.axes:
            self._labels(axis, depth)
        columns = (
            [value.iloc[:, at] for at in range(value.shape[1])] if is_frame(value) else [value]
        )
        if is_series(value):
            self.at(value.name, depth - 1)
        for column in columns:
            self._column(column.dtype, column, depth)

    def _column(self, dtype: Any, values: Any, depth: int) -> None:
        if not kind_of(dtype).startswith(("numpy.", "pandas.")):
            raise NotCounted
        categories = getattr(dtype, "categories", None)
        if categories is not None:
            self._labels(categories, depth)
        elif getattr(dtype, "hasobject", False) and dtype.kind == "O":
            self._objects(values.tolist(), depth)

    def _labels(self, index: Any, depth: int) -> None:
        if not kind_of(index).startswith("pandas.") or len(index) > max(MOST_ROWS, MOST_COLUMNS):
            raise NotCounted
        self._objects(index.tolist(), depth)

    def _objects(self, values: list[Any], depth: int) -> None:
        # Mostly texts: their types are compared at once.
        if not set(map(type, values)) <= _ATOMS:
            self.at(values, depth - 1)


def describable(value: Any) -> Any:
    """Return what to describe in the place of a value; raises NotCounted where that runs code of the user.

    Of a long text, list or frame that is its beginning, so that the description has about the same length.
    """
    return _PlainCheck().top(value)


def is_plain(value: Any) -> bool:
    """Tell whether a value, with all that it holds, can be described without running code of the user."""
    try:
        _PlainCheck().at(value)
    except NotCounted:
        return False
    return True


def is_of_library(value: Any) -> bool:
    """Tell whether a value is one of the standard library's, NumPy's or pandas', and holds nothing of the user's classes."""
    if not is_library_kind(type(value)):
        return False
    name = type.__dict__["__name__"].__get__(type(value))
    if name == "Fraction":
        return type(value.numerator) is int and type(value.denominator) is int
    zone = value.tzinfo if name in ("datetime", "time", "Timestamp") else None
    return zone is None or kind_of(zone).partition(".")[0] in _ZONES


def is_library_kind(kind: type) -> bool:
    """Tell whether a class is one of the standard library's values, or a number of NumPy or a time of pandas."""
    name = type.__dict__["__name__"].__get__(kind)
    if any(_member(module, name) is kind for module in _LIBRARY):
        return True
    if _member("numpy", name) is kind:
        generic = getattr(sys.modules["numpy"], "generic", None)
        return name != "void" and generic in type.__dict__["__mro__"].__get__(kind)
    return name in _TIMES and _member("pandas", name) is kind


def _member(module: str, name: str) -> Any:
    """Return what a module that is imported has under a name, without its ``__getattr__``."""
    found = sys.modules.get(module)
    return None if found is None else vars(found).get(name)

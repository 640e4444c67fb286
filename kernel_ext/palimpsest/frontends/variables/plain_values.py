"""Decide which values can be described quickly and without running user code.

Border: runs on the main thread. Only exact types of Python, NumPy and pandas are read; of a long value, the
part that a description shows is returned. Other values are not described before a prompt is sent.
"""

import sys
from types import BuiltinFunctionType, FunctionType
from typing import Any

from palimpsest.frontends.variables.variable_types import (
    is_array,
    is_frame,
    is_series,
    type_name_of,
)
from palimpsest.session.interfaces.prompt_mentions import NotCounted

MAX_VALUES = 20_000
"""Maximum values within one value that are checked; about 10 ms."""
MAX_ROWS = 1_000
"""Maximum rows of a frame that are described; its description has about the same length with more."""
MAX_COLUMNS = 1_000
MAX_TEXT_CHARS = 20_000
"""Maximum characters of a text that is described; a description shows fewer."""
MAX_DEPTH = 20
CHARS_PER_VALUE = 1_000
"""Characters of a text that count as one more value."""

_ATOMS = frozenset({int, float, complex, bool, str, bytes, type(None), range, type(Ellipsis)})
_PANDAS_TIME_NAMES = ("Timestamp", "Timedelta", "Period")
_TIME_ZONE_MODULES = frozenset({"datetime", "zoneinfo", "pytz", "dateutil"})
_VALUE_MODULES = ("datetime", "decimal", "fractions", "uuid", "pathlib")


class _PlainCheck:
    """The check of one value, which ends after ``MAX_VALUES`` values."""

    def __init__(self) -> None:
        self._remaining_values = MAX_VALUES

    def check(self, value: Any, depth: int = MAX_DEPTH) -> None:
        """Raise NotCounted unless a value is plain."""
        self._remaining_values -= 1
        value_type = type(value)
        if self._remaining_values < 0 or depth == 0:
            raise NotCounted
        if value_type in _ATOMS:
            self._remaining_values -= (
                len(value) // CHARS_PER_VALUE if value_type in (str, bytes) else 0
            )
        elif value_type is dict:
            for key, item in list(value.items()):
                self.check(key, depth - 1)
                self.check(item, depth - 1)
        elif value_type in (list, tuple, set, frozenset):
            for item in list(value):
                self.check(item, depth - 1)
        else:
            self._check_object(value, value_type, depth)

    def _check_object(self, value: Any, value_type: type, depth: int) -> None:
        if value_type is FunctionType:
            self._check_function(value, depth)
        elif is_array(value):
            self._check_array(value, depth)
        elif is_frame(value) or is_series(value):
            self._check_frame(value, depth)
        elif value_type is not BuiltinFunctionType and not is_of_library(value):
            raise NotCounted

    def describable_value(self, value: Any) -> Any:
        """Return the value, or the beginning of a long one; raises NotCounted unless it is plain."""
        value_type = type(value)
        if value_type in (str, bytes):
            return value[:MAX_TEXT_CHARS]
        if value_type in (list, tuple):
            self.check(value[:MAX_ROWS])
            return value if len(value) <= MAX_ROWS else value[:MAX_ROWS]
        if is_frame(value) or is_series(value):
            value = value.head(MAX_ROWS) if len(value.index) > MAX_ROWS else value
        self.check(value)
        return value

    def _check_function(self, value: Any, depth: int) -> None:
        """Check the defaults and annotations of a function, which a signature shows by their ``repr``."""
        self.check([*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()], depth - 1)
        # From Python 3.14 on, annotations are code that runs when they are read.
        if vars(value) or getattr(value, "__annotate__", None) is not None:
            raise NotCounted
        # Compared one by one: a set would hash the types, which runs the code of a metaclass.
        annotations = value.__annotations__.values()
        if any(type(annotation) not in (str, type, type(None)) for annotation in annotations):
            raise NotCounted

    def _check_array(self, value: Any, depth: int) -> None:
        if value.dtype.hasobject:
            if value.size > MAX_ROWS:
                raise NotCounted
            self.check(value.ravel().tolist(), depth - 1)

    def _check_frame(self, value: Any, depth: int) -> None:
        if len(value.index) > MAX_ROWS or (is_frame(value) and len(value.columns) > MAX_COLUMNS):
            raise NotCounted
        for axis in value.axes:
            self._check_labels(axis, depth)
        if is_frame(value):
            columns = [value.iloc[:, column_number] for column_number in range(value.shape[1])]
        else:
            columns = [value]
            self.check(value.name, depth - 1)
        for column in columns:
            self._check_column(column.dtype, column, depth)

    def _check_column(self, dtype: Any, values: Any, depth: int) -> None:
        if not type_name_of(dtype).startswith(("numpy.", "pandas.")):
            raise NotCounted
        categories = getattr(dtype, "categories", None)
        if categories is not None:
            self._check_labels(categories, depth)
        elif getattr(dtype, "hasobject", False) and dtype.kind == "O":
            self._check_objects(values.tolist(), depth)

    def _check_labels(self, index: Any, depth: int) -> None:
        if not type_name_of(index).startswith("pandas.") or len(index) > max(MAX_ROWS, MAX_COLUMNS):
            raise NotCounted
        self._check_objects(index.tolist(), depth)

    def _check_objects(self, values: list[Any], depth: int) -> None:
        # Compare all types at once, since most columns hold texts.
        if not set(map(type, values)) <= _ATOMS:
            self.check(values, depth - 1)


def describable_value(value: Any) -> Any:
    """Return the value to describe in place of the given one; raises NotCounted if that needs user code.

    For a long text, list or frame this is its beginning, whose description has about the same length.
    """
    return _PlainCheck().describable_value(value)


def is_plain(value: Any) -> bool:
    """Return whether a value with all its contents can be described without running user code."""
    try:
        _PlainCheck().check(value)
    except NotCounted:
        return False
    return True


def is_of_library(value: Any) -> bool:
    """Return whether a value is of the standard library, NumPy or pandas, without parts of the user's classes."""
    if not is_library_type(type(value)):
        return False
    name = type.__dict__["__name__"].__get__(type(value))
    if name == "Fraction":
        return type(value.numerator) is int and type(value.denominator) is int
    zone = value.tzinfo if name in ("datetime", "time", "Timestamp") else None
    return zone is None or type_name_of(zone).partition(".")[0] in _TIME_ZONE_MODULES


def is_library_type(value_type: type) -> bool:
    """Return whether a class is a value type of the standard library, a number of NumPy or a time of pandas."""
    name = type.__dict__["__name__"].__get__(value_type)
    if any(_module_attribute(module, name) is value_type for module in _VALUE_MODULES):
        return True
    if _module_attribute("numpy", name) is value_type:
        generic = getattr(sys.modules["numpy"], "generic", None)
        return name != "void" and generic in type.__dict__["__mro__"].__get__(value_type)
    return name in _PANDAS_TIME_NAMES and _module_attribute("pandas", name) is value_type


def _module_attribute(module_name: str, name: str) -> Any:
    """Return an attribute of an imported module, without calling its ``__getattr__``."""
    imported_module = sys.modules.get(module_name)
    return None if imported_module is None else vars(imported_module).get(name)

"""Describe a variable without its value: its type, shape, column names, parameters.

Border: runs no user code. Attributes that a class of the user may have replaced (``__len__``,
``__class__``, a property) are not used, only exact types of Python and base attributes of pandas and
NumPy. Column names may be shown; categories, defaults and contents are values, which are not.
"""

import inspect
import sys
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

from palimpsest.transcript.redaction.secret_patterns import scrub

MAX_SUMMARY_CHARS = 120
MAX_COLUMNS = 8
MAX_PARAMETERS = 8
MAX_NAME_CHARS = 60
SIZED_TYPES = (list, tuple, dict, set, frozenset)
_QUALIFIED = type.__dict__["__qualname__"]
_MODULE = type.__dict__["__module__"]
_MRO = type.__dict__["__mro__"]
_MEMBERS = type.__dict__["__dict__"]


def type_name_of(value: Any) -> str:
    """Return the qualified type name; for pandas types the public one, such as ``pandas.DataFrame``."""
    value_type = type(value)
    name, module = _QUALIFIED.__get__(value_type), _MODULE.__get__(value_type)
    if not isinstance(module, str) or module == "builtins":
        return str(name)
    if module.startswith("pandas.core."):
        module = "pandas"
    return f"{module}.{name}"


def llm_repr(value: Any) -> FunctionType | None:
    """Return the function ``_repr_llm_`` of a value's class; None where it is missing or no plain function."""
    for base_class in _MRO.__get__(type(value)):
        members = _MEMBERS.__get__(base_class)
        if "_repr_llm_" in members:
            method = members["_repr_llm_"]
            return method if type(method) is FunctionType else None
    return None


def shape_of(value: Any) -> str:
    """Return one line about the shape; empty for types without one."""
    value_type = type(value)
    if is_frame(value):
        return _frame_shape(value)
    if is_series(value):
        return f"{len(value.index)} values{_dtype_suffix(value)}{_series_name(value.name)}"
    if is_array(value):
        shape = " x ".join(str(n) for n in value.shape) or "scalar"
        return f"{shape} of {_dtype_name(value.dtype)}"
    if value_type in SIZED_TYPES:
        count = len(value)
        return "empty" if not count else f"{count} item" if count == 1 else f"{count} items"
    if value_type is FunctionType:
        return _parameters_text(value)
    return ""


def short_description(value: Any) -> str:
    """Return type and shape in a few words, such as ``DataFrame 344x7``, for the completion of mentions."""
    type_name = type_name_of(value).rpartition(".")[2]
    if is_frame(value):
        return f"{type_name} {_shape_text([len(value.index), len(value.columns)])}"
    if is_array(value):
        return f"{type_name} {_shape_text(value.shape) or 'scalar'} {_dtype_name(value.dtype)}"
    if is_series(value):
        dtype_name = _dtype_suffix(value).removeprefix(" of ")
        return f"{type_name} {len(value.index)} {dtype_name}".rstrip()
    if type(value) is FunctionType:
        return f"{type_name}{_parameters_text(value)}"
    return ", ".join(word for word in (type_name, shape_of(value)) if word)


def _shape_text(shape: Iterable[int]) -> str:
    return "\N{MULTIPLICATION SIGN}".join(map(str, shape))


def is_frame(value: Any) -> bool:
    """Return whether a value is a pandas DataFrame, without importing pandas."""
    return is_of_type(value, "pandas", "DataFrame")


def is_series(value: Any) -> bool:
    """Return whether a value is a pandas Series."""
    return is_of_type(value, "pandas", "Series")


def is_array(value: Any) -> bool:
    """Return whether a value is a NumPy array."""
    return is_of_type(value, "numpy", "ndarray")


def foreign_columns(value: Any) -> frozenset[int]:
    """Return the positions of a frame's columns whose data is not an array of NumPy or pandas.

    For a series the position is 0. With an unknown data manager, all columns are foreign.
    """
    blocks = getattr(getattr(value, "_mgr", None), "blocks", None)
    if blocks is None:
        return frozenset(range(len(value.columns) if is_frame(value) else 1))
    return frozenset(
        int(position)
        for block in blocks
        if not type_name_of(block.values).startswith(("numpy.", "pandas"))
        for position in (block.mgr_locs.as_array if is_frame(value) else (0,))
    )


def is_module(value: Any) -> bool:
    """Return whether a value is a module, by its type only."""
    return issubclass(type(value), ModuleType)


def is_of_type(value: Any, module_name: str, name: str) -> bool:
    """Return whether a value has exactly a library's type; a derived class does not count, since it may run any code."""
    return type(value) is getattr(sys.modules.get(module_name), name, None)


def _frame_shape(value: Any) -> str:
    row_count, column_count = value.shape
    names = [
        column if type(column) is str else f"({type_name_of(column)})"
        for column in value.columns[:MAX_COLUMNS]
    ]
    ellipsis = ", ..." if column_count > MAX_COLUMNS else ""
    size_text = f"{row_count} rows x {column_count} columns"
    text = f"{size_text}: {', '.join(names)}{ellipsis}" if names else size_text
    return scrub(text)[:MAX_SUMMARY_CHARS]


def _series_name(name: Any) -> str:
    return f", named {scrub(repr(name))[:MAX_NAME_CHARS]}" if type(name) is str else ""


def _dtype_suffix(series: Any) -> str:
    return "" if foreign_columns(series) else f" of {_dtype_name(series.dtype)}"


def _dtype_name(dtype: Any) -> str:
    if not type_name_of(dtype).startswith(("numpy.", "pandas")):
        return type_name_of(dtype)
    return "records" if getattr(dtype, "names", None) else str(dtype)[:MAX_NAME_CHARS]


def _parameters_text(function: FunctionType) -> str:
    """Return the names of parameters in brackets, without defaults, which are values."""
    names, extra_name, keywords_name = inspect.getargs(function.__code__)
    names += [f"*{extra_name}"] if extra_name else []
    names += [f"**{keywords_name}"] if keywords_name else []
    shown_names = names[:MAX_PARAMETERS] + (["..."] if len(names) > MAX_PARAMETERS else [])
    return f"({', '.join(shown_names)})"

"""Describe a variable without its value: type, shape, column names, parameters.

Border: runs none of the user's code. Whatever a class of the user may have replaced (``__len__``,
``__class__``, a property) is not used; only exact types of Python and base attributes of pandas and
NumPy are. Column names are names; categories, defaults and contents are values.
"""

import inspect
import sys
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

from palimpsest.transcript.redaction.secret_patterns import scrub

SUMMARY_CHARS = 120
MOST_COLUMNS = 8
MOST_PARAMETERS = 8
COUNTED = (list, tuple, dict, set, frozenset)
_QUALIFIED = type.__dict__["__qualname__"]
_MODULE = type.__dict__["__module__"]
_MRO = type.__dict__["__mro__"]
_MEMBERS = type.__dict__["__dict__"]


def kind_of(value: Any) -> str:
    """Return the qualified type name; pandas types by the name people use."""
    kind = type(value)
    name, module = _QUALIFIED.__get__(kind), _MODULE.__get__(kind)
    if not isinstance(module, str) or module == "builtins":
        return str(name)
    if module.startswith("pandas.core."):
        module = "pandas"
    return f"{module}.{name}"


def llm_repr(value: Any) -> FunctionType | None:
    """Return the plain function ``_repr_llm_`` of a value's class; None where an instance or a property has it."""
    for one in _MRO.__get__(type(value)):
        members = _MEMBERS.__get__(one)
        if "_repr_llm_" in members:
            found = members["_repr_llm_"]
            return found if type(found) is FunctionType else None
    return None


def shape_of(value: Any) -> str:
    """Return one line about the shape; empty where the type is enough."""
    kind = type(value)
    if is_frame(value):
        return _frame_shape(value)
    if is_series(value):
        return f"{len(value.index)} values{_of_dtype(value)}{_series_name(value.name)}"
    if is_array(value):
        shape = " x ".join(str(n) for n in value.shape) or "scalar"
        return f"{shape} of {_dtype(value.dtype)}"
    if kind in COUNTED:
        count = len(value)
        return "empty" if not count else f"{count} item" if count == 1 else f"{count} items"
    if kind is FunctionType:
        return _parameters(value)
    return ""


def brief_of(value: Any) -> str:
    """Return type and shape in a few words, such as ``DataFrame 344x7``, for a person who looks for a variable."""
    kind = kind_of(value).rpartition(".")[2]
    if is_frame(value):
        return f"{kind} {_times([len(value.index), len(value.columns)])}"
    if is_array(value):
        return f"{kind} {_times(value.shape) or 'scalar'} {_dtype(value.dtype)}"
    if is_series(value):
        return f"{kind} {len(value.index)} {_of_dtype(value).removeprefix(' of ')}".rstrip()
    if type(value) is FunctionType:
        return f"{kind}{_parameters(value)}"
    return ", ".join(word for word in (kind, shape_of(value)) if word)


def _times(shape: Iterable[int]) -> str:
    return "\N{MULTIPLICATION SIGN}".join(map(str, shape))


def is_frame(value: Any) -> bool:
    """Tell whether a value is a pandas DataFrame, without importing pandas."""
    return is_a(value, "pandas", "DataFrame")


def is_series(value: Any) -> bool:
    """Tell whether a value is a pandas Series."""
    return is_a(value, "pandas", "Series")


def is_array(value: Any) -> bool:
    """Tell whether a value is a NumPy array."""
    return is_a(value, "numpy", "ndarray")


def foreign_columns(value: Any) -> frozenset[int]:
    """Return the positions of a frame's columns whose data is no array of NumPy or pandas, but may be of the user's class.

    Of a series that is position 0. A data manager that is not known makes all of them foreign.
    """
    blocks = getattr(getattr(value, "_mgr", None), "blocks", None)
    if blocks is None:
        return frozenset(range(len(value.columns) if is_frame(value) else 1))
    return frozenset(
        int(at)
        for block in blocks
        if not kind_of(block.values).startswith(("numpy.", "pandas"))
        for at in (block.mgr_locs.as_array if is_frame(value) else (0,))
    )


def is_module(value: Any) -> bool:
    """Tell whether a value is a module, by its type alone."""
    return issubclass(type(value), ModuleType)


def is_a(value: Any, module: str, name: str) -> bool:
    """Tell whether a value has exactly a library's type; a derived class may run any code, so not that."""
    return type(value) is getattr(sys.modules.get(module), name, None)


def _frame_shape(value: Any) -> str:
    rows, columns = value.shape
    names = [
        one if type(one) is str else f"({kind_of(one)})" for one in value.columns[:MOST_COLUMNS]
    ]
    more = ", ..." if columns > MOST_COLUMNS else ""
    head = f"{rows} rows x {columns} columns"
    return scrub(f"{head}: {', '.join(names)}{more}" if names else head)[:SUMMARY_CHARS]


def _series_name(name: Any) -> str:
    return f", named {scrub(repr(name))[:60]}" if type(name) is str else ""


def _of_dtype(series: Any) -> str:
    return "" if foreign_columns(series) else f" of {_dtype(series.dtype)}"


def _dtype(dtype: Any) -> str:
    if not kind_of(dtype).startswith(("numpy.", "pandas")):
        return kind_of(dtype)
    return "records" if getattr(dtype, "names", None) else str(dtype)[:60]


def _parameters(function: FunctionType) -> str:
    """Return the names of parameters, without defaults, which are values."""
    names, rest, options = inspect.getargs(function.__code__)
    names += [f"*{rest}"] if rest else []
    names += [f"**{options}"] if options else []
    shown = names[:MOST_PARAMETERS] + (["..."] if len(names) > MOST_PARAMETERS else [])
    return f"({', '.join(shown)})"

"""Read the items, attributes and pandas labels of a value without running code of its class.

Border: runs on any thread. Methods of Python's own types are called with the value, in place of those of a
derived class.
"""

import sys
from collections import deque, namedtuple
from collections.abc import Mapping
from itertools import islice
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any

from palimpsest.frontends.variables.variable_types import type_name_of

ROUTINES = (
    FunctionType,
    BuiltinFunctionType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
    type(str.join),
    type(dict.__dict__["fromkeys"]),
)
"""Types of functions and methods."""
_CONTAINERS = (dict, list, tuple, set, frozenset, deque)
PLAIN_LABEL_TYPES = frozenset({str, int, float, bool, complex, bytes, type(None)})
"""Types of labels, and of values in a column, that Python compares and prints without user code."""
_MRO = type.__dict__["__mro__"]
_MEMBERS = type.__dict__["__dict__"]
_NamedTupleField = type(vars(namedtuple("_Pair", "one other"))["one"])


def container_of(value: Any) -> type | None:
    """Return the built-in container from which a value's type derives; None for other values."""
    return next((base for base in _MRO.__get__(type(value)) if base in _CONTAINERS), None)


def items_of(value: Any, max_items: int) -> list[Any]:
    """Return the first items of a container, for a dict as pairs, without calling methods of its class."""
    base = container_of(value)
    if base is None:
        return []
    all_items = dict.items(value) if base is dict else base.__iter__(value)  # type: ignore[attr-defined]
    return list(islice(all_items, max_items))


def length_of(value: Any) -> int:
    """Return the number of items of a container; 0 for other values."""
    base = container_of(value)
    return 0 if base is None else int(base.__len__(value))  # type: ignore[attr-defined]


def attributes_of(value: Any) -> dict[str, Any] | None:
    """Return the dictionary of an object's own attributes, without running a property of its class; None without one."""
    value_type = type(value)
    for base_type in _MRO.__get__(value_type):
        descriptor = _MEMBERS.__get__(base_type).get("__dict__")
        if descriptor is None:
            continue
        if type(descriptor) is not GetSetDescriptorType and base_type is not SimpleNamespace:
            return None
        attributes = descriptor.__get__(value, value_type)
        return attributes if type(attributes) is dict else None
    return None


def is_slot(member: Any, members: Mapping[str, Any]) -> bool:
    """Return whether a member of a class is a slot or a field of a named tuple, which is read without running code."""
    if type(member) is MemberDescriptorType:
        return "__slots__" in members
    return type(member) is _NamedTupleField


def has_own_repr(value: Any) -> bool:
    """Return whether the class of an object, or a base class other than ``object``, defines ``__repr__``."""
    methods = (_MEMBERS.__get__(base) for base in _MRO.__get__(type(value)) if base is not object)
    return any("__repr__" in members for members in methods)


def is_index(value: Any) -> bool:
    """Return whether a value is one of pandas' own kinds of labels."""
    pandas, value_type = sys.modules.get("pandas"), type(value)
    index = getattr(pandas, "Index", type)
    name = type_name_of(value).rpartition(".")[2]
    return index in _MRO.__get__(value_type) and getattr(pandas, name, None) is value_type


def has_plain_labels(index: Any) -> bool:
    """Return whether labels are texts, numbers and times, so that comparing and printing them runs no user code."""
    if not is_index(index):
        return False
    if type_name_of(index) == "pandas.MultiIndex":
        return all(has_plain_labels(level) for level in index.levels)
    data = (attributes_of(index) or {}).get("_data")
    if data is not None and not type_name_of(data).startswith(("numpy.", "pandas")):
        return False
    categories = getattr(index.dtype, "categories", None)
    if categories is not None:
        return has_plain_labels(categories)
    return (
        getattr(index.dtype, "kind", "O") != "O"
        or set(map(type, index.tolist())) <= PLAIN_LABEL_TYPES
    )

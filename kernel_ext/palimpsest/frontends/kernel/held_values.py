"""Read what a value itself holds: items of Python's own containers, attributes, labels of pandas; running no code of its class.

Border: runs on any thread. The methods of Python's own types are called with the value, in the place of those that a class
derived from them defines.
"""

import sys
from collections import deque, namedtuple
from collections.abc import Callable, Mapping
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

from palimpsest.frontends.kernel.variable_types import kind_of

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
LABELS = frozenset({str, int, float, bool, complex, bytes, type(None)})
"""Types of labels and of values in a column that are compared and printed by Python itself."""
_MRO = type.__dict__["__mro__"]
_MEMBERS = type.__dict__["__dict__"]
_FIELD_OF_NAMED_TUPLE = type(vars(namedtuple("_Pair", "one other"))["one"])


def container_of(value: Any) -> type | None:
    """Return Python's own container from which a value's type derives; None for everything else."""
    for base in _MRO.__get__(type(value)):
        if base in _CONTAINERS:
            found: type = base
            return found
    return None


def items_of(value: Any, most: int) -> list[Any]:
    """Return the first items of a container as it keeps them; of a dict pairs. Methods of its class are not called."""
    base = container_of(value)
    if base is None:
        return []
    every = dict.items(value) if base is dict else base.__iter__(value)  # type: ignore[attr-defined]
    return list(islice(every, most))


def length_of(value: Any) -> int:
    """Return how many items a container keeps; 0 for what is none."""
    base = container_of(value)
    length: Callable[[Any], int] = base.__len__ if base is not None else lambda _: 0  # type: ignore[attr-defined]
    return length(value)


def attributes_of(value: Any) -> dict[str, Any] | None:
    """Return the dictionary of an object's own attributes, without running a property of its class; None without one."""
    kind = type(value)
    for base in _MRO.__get__(kind):
        found = _MEMBERS.__get__(base).get("__dict__")
        if found is None:
            continue
        if type(found) is not GetSetDescriptorType and base is not SimpleNamespace:
            return None
        held = found.__get__(value, kind)
        return held if type(held) is dict else None
    return None


def is_slot(member: Any, members: Mapping[str, Any]) -> bool:
    """Tell whether a member of a class is a slot of it, or a field of a named tuple: reading it runs no code."""
    if type(member) is MemberDescriptorType:
        return "__slots__" in members
    return type(member) is _FIELD_OF_NAMED_TUPLE


def has_own_repr(value: Any) -> bool:
    """Tell whether the class of an object, or a class above it, writes it in another way than Python does."""
    found = (_MEMBERS.__get__(base) for base in _MRO.__get__(type(value)) if base is not object)
    return any("__repr__" in members for members in found)


def is_index(value: Any) -> bool:
    """Tell whether a value is one of pandas' own kinds of labels."""
    pandas, kind = sys.modules.get("pandas"), type(value)
    index = getattr(pandas, "Index", type)
    name = kind_of(value).rpartition(".")[2]
    return index in _MRO.__get__(kind) and getattr(pandas, name, None) is kind


def has_plain_labels(index: Any) -> bool:
    """Tell whether labels are texts, numbers and times, so that comparing and printing them runs no code of the user."""
    if not is_index(index):
        return False
    if kind_of(index) == "pandas.MultiIndex":
        return all(has_plain_labels(level) for level in index.levels)
    data = (attributes_of(index) or {}).get("_data")
    if data is not None and not kind_of(data).startswith(("numpy.", "pandas")):
        return False
    categories = getattr(index.dtype, "categories", None)
    if categories is not None:
        return has_plain_labels(categories)
    return getattr(index.dtype, "kind", "O") != "O" or set(map(type, index.tolist())) <= LABELS

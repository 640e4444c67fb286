"""Tell which values of the user's namespace can be looked at, and follow a path from a variable to one of them.

Border: runs none of the user's code and changes nothing. The walk starts at the variables that the user made and takes
the steps whose meaning is known: items of Python's own containers, attributes that an object itself holds, and what is
known of pandas and NumPy. It never goes through modules, functions, classes, frames or the kernel: from there
everything can be reached, such as the sources of hidden cells and the key that signs the kernel's messages.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any

from palimpsest.frontends.kernel.held_values import (
    ROUTINES,
    attributes_of,
    container_of,
    has_plain_labels,
    is_index,
    is_slot,
    length_of,
)
from palimpsest.frontends.kernel.kernel_objects import KernelObjects, is_configurable
from palimpsest.frontends.kernel.variable_types import (
    foreign_columns,
    is_array,
    is_frame,
    is_module,
    is_series,
    kind_of,
)
from palimpsest.transcript.errors import NotFound

KERNELS_OWN = "<a part of the kernel>"
"""What stands in the place of a value that is not looked at."""
NO_VARIABLE = "There is no variable {name!r} here."
NOT_OFFERED = (
    "{name!r} is no variable of the user: a name that begins with an underscore, or a part of the kernel and its history "
    "of cells, is not looked at."
)
NO_PATH = "{path!r} is not a path of names. Write a name, a.b, a['key'] or a[0]; use the python tool to compute."
NOT_HELD = (
    "{before} has no {step} that can be looked at. Only what it holds itself is looked at, not what its class computes, "
    "what begins with an underscore, or what lies behind a module, a function or the kernel; use the python tool for that."
)

_LOOKED_UP: Mapping[type, frozenset[type]] = {
    str: frozenset({str}),
    int: frozenset({int, bool, float}),
}
_FRAME_ATTRIBUTES = frozenset(
    {"columns", "index", "shape", "dtypes", "size", "ndim", "empty", "axes"}
)
_SERIES_ATTRIBUTES = frozenset({"index", "shape", "dtype", "size", "ndim", "empty", "name"})
_ARRAY_ATTRIBUTES = frozenset({"shape", "dtype", "size", "ndim", "nbytes", "itemsize", "T"})
_INDEX_ATTRIBUTES = frozenset({"shape", "dtype", "size", "ndim", "name", "names"})
_MRO = type.__dict__["__mro__"]
_MEMBERS = type.__dict__["__dict__"]
_STEP = re.compile(
    r"\.(?P<attribute>[^\W\d]\w*)|\[(?P<quote>['\"])(?P<key>.*?)(?P=quote)\]|\[(?P<index>-?\d+)\]"
)
_NAME = re.compile(r"[^\W\d]\w*")


def user_variables(shell: Any) -> list[tuple[str, Any]]:
    """Return names and values of the user's variables, in the order in which they were made; from any thread."""
    return [one for one in _named(shell) if not is_module(one[1])]


def _named(shell: Any) -> Iterator[tuple[str, Any]]:
    """Yield what the user named: variables, and the modules that they imported."""
    hidden, kernels = shell.user_ns_hidden, KernelObjects(shell)
    for name, value in list(shell.user_ns.items()):
        if type(name) is not str or name.startswith("_"):
            continue
        if (name in hidden and hidden[name] is value) or value in kernels:
            continue
        yield name, value


def look_up(shell: Any, path: str) -> Any:
    """Return the value at a path of names, quoted keys and numbers; nothing is evaluated. Raises NotFound.

    ``path`` is such as ``df.columns``, ``config['paths'][0]``; it begins with the name of a variable or a module.
    """
    value, steps = _start(shell, path)
    kernels = KernelObjects(shell)
    for step in steps:
        before = path[: step.start()]
        try:
            value = _follow(value, step)
        except Exception:  # noqa: BLE001  # a container that another thread changes, pandas' own errors
            raise NotFound(NOT_HELD.format(before=before, step=step.group())) from None
        if value in kernels or is_module(value):
            raise NotFound(NOT_HELD.format(before=before, step=step.group()))
    return value


def named_at(shell: Any, path: str) -> tuple[Any, bool]:
    """Return the variable with which a path begins, and whether the path ends there; raises NotFound."""
    value, steps = _start(shell, path)
    return value, not steps


def _start(shell: Any, path: str) -> tuple[Any, "list[re.Match[str]]"]:
    match = _NAME.match(path)
    name = match.group() if match else path
    found = [value for one, value in _named(shell) if one == name]
    if match is None or not found:
        there = any(type(one) is str and one == name for one in list(shell.user_ns))
        raise NotFound((NOT_OFFERED if there else NO_VARIABLE).format(name=name))
    steps, end = [], match.end()
    while end < len(path):
        step = _STEP.match(path, end)
        if step is None:
            raise NotFound(NO_PATH.format(path=path))
        steps.append(step)
        end = step.end()
    return found[0], steps


class _NotHeld(Exception):
    """A step leads to nothing that a value itself holds."""


def _follow(value: Any, step: "re.Match[str]") -> Any:
    name = step["attribute"]
    if name:
        if name.startswith("_"):
            raise _NotHeld
        return _attribute(value, name)
    return _item(value, int(step["index"]) if step["index"] else step["key"])


def _attribute(value: Any, name: str) -> Any:
    for known, wanted in (
        (is_frame, _FRAME_ATTRIBUTES),
        (is_series, _SERIES_ATTRIBUTES),
        (is_array, _ARRAY_ATTRIBUTES),
        (is_index, _INDEX_ATTRIBUTES),
    ):
        if known(value):
            if name in wanted:
                return getattr(value, name)
            if known is is_frame or known is is_series:
                return _labelled(value, name)
            raise _NotHeld
    return own_attribute(value, name)


def own_attribute(value: Any, name: str) -> Any:
    """Return an attribute that an object itself holds, in its dictionary or a slot; raises an exception for others."""
    kind = type(value)
    if is_closed(value):
        raise _NotHeld
    for base in _MRO.__get__(kind):
        members = _MEMBERS.__get__(base)
        if name not in members:
            continue
        found = members[name]
        if is_slot(found, members):
            return found.__get__(value, kind)
        if "__set__" in _all_members(type(found)) or "__delete__" in _all_members(type(found)):
            raise _NotHeld  # a property comes before what the object holds
        break
    return _of_exact_keys(attributes_of(value) or {}, name)


def is_closed(value: Any) -> bool:
    """Tell whether nothing is looked at within a value: a module, a function, a class, or a part of a program."""
    kind = type(value)
    bases = _MRO.__get__(kind)
    if kind in ROUTINES or ModuleType in bases or type in bases or is_configurable(value):
        return True
    return kind_of(value).partition(".")[0] == "palimpsest"


def _all_members(kind: type) -> frozenset[str]:
    return frozenset(name for base in _MRO.__get__(kind) for name in _MEMBERS.__get__(base))


def _item(value: Any, key: str | int) -> Any:
    if is_frame(value) or is_series(value):
        return _labelled(value, key)
    if is_array(value):
        return value[key]
    if is_index(value) and type(key) is int:
        return value.tolist()[key] if len(value) <= 100_000 else value[key]
    base = container_of(value)
    if base is dict:
        return _of_exact_keys(value, key)
    if base in (list, tuple, deque) and type(key) is int:
        # A negative index would be counted by the class's own length.
        at = key if key >= 0 else key + length_of(value)
        if at >= 0:
            return base.__getitem__(value, at)
    raise _NotHeld


def _of_exact_keys(held: dict[Any, Any], key: str | int) -> Any:
    """Return the item of a plain key: other keys are passed over, since comparing them may run code."""
    wanted = _LOOKED_UP[type(key)]
    for one, value in dict.items(held):
        if type(one) in wanted and one == key:
            return value
    raise KeyError(key)


def _labelled(value: Any, key: str | int) -> Any:
    """Return a column of a frame or an item of a series, where its labels are plain and its data pandas' own."""
    foreign = foreign_columns(value)
    if not has_plain_labels(value.columns if is_frame(value) else value.index):
        raise _NotHeld
    if is_series(value):
        if foreign:
            raise _NotHeld
        return value[key]
    at = value.columns.get_loc(key)
    if foreign and (type(at) is not int or at in foreign):
        raise _NotHeld
    return value[key]


def own_attributes(value: Any, most: int) -> list[tuple[str, Any]]:
    """Return the first of an object's own attributes, by name; those that begin with an underscore are left out."""
    if is_closed(value):
        return []
    named = [one for one in dict.items(attributes_of(value) or {}) if type(one[0]) is str]
    for base in _MRO.__get__(type(value)):
        members = _MEMBERS.__get__(base)
        named += [(name, member) for name, member in members.items() if is_slot(member, members)]
    found: dict[str, Any] = {}
    for name, _ in named:
        if name not in found and not name.startswith("_") and len(found) < most:
            with suppress(
                Exception
            ):  # a slot that was not filled, or a property over the attribute
                found[name] = own_attribute(value, name)
    return list(found.items())

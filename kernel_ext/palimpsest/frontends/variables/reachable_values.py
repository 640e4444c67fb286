"""Find the user's variables, and follow a path from a variable to a value inside it.

Border: runs no user code and changes nothing. A path starts at a variable of the user and takes
steps that run no code: items of Python's own containers, attributes that an object itself holds, and parts of
pandas and NumPy objects. It never goes through modules, functions, classes, frames or the kernel: from there
every object can be reached, such as the sources of hidden cells and the key that signs the kernel's messages.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any

from palimpsest.frontends.variables.held_values import (
    ROUTINES,
    attributes_of,
    container_of,
    has_plain_labels,
    is_index,
    is_slot,
    length_of,
)
from palimpsest.frontends.variables.kernel_objects import KernelObjects, is_configurable
from palimpsest.frontends.variables.variable_types import (
    foreign_columns,
    is_array,
    is_frame,
    is_module,
    is_series,
    type_name_of,
)
from palimpsest.transcript.errors import NotFound

KERNEL_PART = "<a part of the kernel>"
"""The text in place of an object of the kernel."""
NO_VARIABLE = "There is no variable {name!r} here."
NOT_OFFERED = (
    "{name!r} is no variable of the user: a name that begins with an underscore, or a part of the kernel and its history "
    "of cells, is not looked at."
)
NO_PATH = "{path!r} is not a path of names. Write a name, a.b, a['key'] or a[0]; use the python tool to compute."
NO_SUCH_PART = (
    "{before} has no {step} that can be looked at. Only what it holds itself is looked at, not what its class computes, "
    "what begins with an underscore, or what lies behind a module, a function or the kernel; use the python tool for that."
)

_COMPARED_KEY_TYPES: Mapping[type, frozenset[type]] = {
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
MAX_LISTED_LABELS = 100_000
"""Length up to which an index of pandas is read as a list, whose items are plain values."""


def user_variables(shell: Any) -> list[tuple[str, Any]]:
    """Return names and values of the user's variables, in the order of their creation; from any thread."""
    return [pair for pair in _named_values(shell) if not is_module(pair[1])]


def _named_values(shell: Any) -> Iterator[tuple[str, Any]]:
    """Yield the user's names with their values: variables and imported modules."""
    hidden_names, kernel_objects = shell.user_ns_hidden, KernelObjects(shell)
    for name, value in list(shell.user_ns.items()):
        if type(name) is not str or name.startswith("_"):
            continue
        if (name in hidden_names and hidden_names[name] is value) or value in kernel_objects:
            continue
        yield name, value


def value_at(shell: Any, path: str) -> Any:
    """Return the value at a path of names, quoted keys and numbers, without evaluating it; raises NotFound.

    Paths are such as ``df.columns``, ``config['paths'][0]``; they begin with the name of a variable or a module.
    """
    value, steps = _parse_path(shell, path)
    kernel_objects = KernelObjects(shell)
    for step in steps:
        owner_path = path[: step.start()]
        try:
            value = _follow_step(value, step)
        except Exception:  # noqa: BLE001  # a container that another thread changes, or an error of pandas
            raise NotFound(NO_SUCH_PART.format(before=owner_path, step=step.group())) from None
        if value in kernel_objects or is_module(value):
            raise NotFound(NO_SUCH_PART.format(before=owner_path, step=step.group()))
    return value


def variable_of_path(shell: Any, path: str) -> tuple[Any, bool]:
    """Return the variable at the beginning of a path, and whether the path has no further step; raises NotFound."""
    value, steps = _parse_path(shell, path)
    return value, not steps


def _parse_path(shell: Any, path: str) -> tuple[Any, "list[re.Match[str]]"]:
    match = _NAME.match(path)
    name = match.group() if match else path
    values = [value for key, value in _named_values(shell) if key == name]
    if match is None or not values:
        is_known = any(type(key) is str and key == name for key in list(shell.user_ns))
        raise NotFound((NOT_OFFERED if is_known else NO_VARIABLE).format(name=name))
    steps, end = [], match.end()
    while end < len(path):
        step = _STEP.match(path, end)
        if step is None:
            raise NotFound(NO_PATH.format(path=path))
        steps.append(step)
        end = step.end()
    return values[0], steps


class _NoSuchPart(Exception):
    """A step does not lead to a part that the value itself holds."""


def _follow_step(value: Any, step: "re.Match[str]") -> Any:
    name = step["attribute"]
    if name:
        if name.startswith("_"):
            raise _NoSuchPart
        return _attribute(value, name)
    return _item_at(value, int(step["index"]) if step["index"] else step["key"])


def _attribute(value: Any, name: str) -> Any:
    for is_table_type, allowed_names in (
        (is_frame, _FRAME_ATTRIBUTES),
        (is_series, _SERIES_ATTRIBUTES),
        (is_array, _ARRAY_ATTRIBUTES),
        (is_index, _INDEX_ATTRIBUTES),
    ):
        if is_table_type(value):
            if name in allowed_names:
                return getattr(value, name)
            if is_table_type is is_frame or is_table_type is is_series:
                return _labelled_value(value, name)
            raise _NoSuchPart
    return own_attribute(value, name)


def own_attribute(value: Any, name: str) -> Any:
    """Return an attribute in an object's dictionary or slot; raises _NoSuchPart or KeyError for others."""
    value_type = type(value)
    if is_closed(value):
        raise _NoSuchPart
    for base in _MRO.__get__(value_type):
        members = _MEMBERS.__get__(base)
        if name not in members:
            continue
        member = members[name]
        if is_slot(member, members):
            return member.__get__(value, value_type)
        if "__set__" in _all_members(type(member)) or "__delete__" in _all_members(type(member)):
            raise _NoSuchPart  # a property has precedence over the object's attribute
        break
    return _item_of_plain_key(attributes_of(value) or {}, name)


def is_closed(value: Any) -> bool:
    """Return whether a value is never read: a module, function or class, or a part of the kernel or Palimpsest."""
    value_type = type(value)
    bases = _MRO.__get__(value_type)
    if value_type in ROUTINES or ModuleType in bases or type in bases or is_configurable(value):
        return True
    return type_name_of(value).partition(".")[0] == "palimpsest"


def _all_members(owner_class: type) -> frozenset[str]:
    return frozenset(name for base in _MRO.__get__(owner_class) for name in _MEMBERS.__get__(base))


def _item_at(value: Any, key: str | int) -> Any:
    if is_frame(value) or is_series(value):
        return _labelled_value(value, key)
    if is_array(value):
        return value[key]
    if is_index(value) and type(key) is int:
        return value.tolist()[key] if len(value) <= MAX_LISTED_LABELS else value[key]
    container_type = container_of(value)
    if container_type is dict:
        return _item_of_plain_key(value, key)
    if container_type in (list, tuple, deque) and type(key) is int:
        # A negative index would call the class's ``__len__``.
        position = key if key >= 0 else key + length_of(value)
        if position >= 0:
            return container_type.__getitem__(value, position)
    raise _NoSuchPart


def _item_of_plain_key(items: dict[Any, Any], key: str | int) -> Any:
    """Return the item of a key, comparing plain keys only, since comparing other keys may run code."""
    plain_types = _COMPARED_KEY_TYPES[type(key)]
    for name, value in dict.items(items):
        if type(name) in plain_types and name == key:
            return value
    raise KeyError(key)


def _labelled_value(value: Any, key: str | int) -> Any:
    """Return a column of a frame or an item of a series; raises _NoSuchPart unless labels and data are plain."""
    foreign_numbers = foreign_columns(value)
    if not has_plain_labels(value.columns if is_frame(value) else value.index):
        raise _NoSuchPart
    if is_series(value):
        if foreign_numbers:
            raise _NoSuchPart
        return value[key]
    position = value.columns.get_loc(key)
    if foreign_numbers and (type(position) is not int or position in foreign_numbers):
        raise _NoSuchPart
    return value[key]


def own_attributes(value: Any, max_attributes: int) -> list[tuple[str, Any]]:
    """Return the first of an object's own attributes, as pairs, except those that begin with an underscore."""
    if is_closed(value):
        return []
    candidates = [pair for pair in dict.items(attributes_of(value) or {}) if type(pair[0]) is str]
    for base in _MRO.__get__(type(value)):
        members = _MEMBERS.__get__(base)
        candidates += [
            (name, member) for name, member in members.items() if is_slot(member, members)
        ]
    attributes: dict[str, Any] = {}
    for name, _ in candidates:
        if name not in attributes and not name.startswith("_") and len(attributes) < max_attributes:
            with suppress(Exception):  # an empty slot, or a property that hides the attribute
                attributes[name] = own_attribute(value, name)
    return list(attributes.items())

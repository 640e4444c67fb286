"""Tell which values of the user's namespace can be looked at, and follow a path from a variable to one of them.

Border: runs none of the user's code and changes nothing. The walk starts at the variables that the user made and takes
the steps whose meaning is known: items of Python's own containers, attributes that an object itself holds, and what is
known of pandas and NumPy. It never goes through modules, functions, classes, frames or the kernel: from there
everything can be reached, such as the sources of hidden cells and the key that signs the kernel's messages.
"""

import gc
import re
import sys
from collections import deque, namedtuple
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any

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

ROUTINES = (
    FunctionType,
    BuiltinFunctionType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
    type(str.join),
    type(dict.__dict__["fromkeys"]),
)
_CONTAINERS = (dict, list, tuple, set, frozenset, deque)
_LOOKED_UP: Mapping[type, frozenset[type]] = {
    str: frozenset({str}),
    int: frozenset({int, bool, float}),
}
LABELS = frozenset({str, int, float, bool, complex, bytes, type(None)})
"""Types of labels and of values in a column that are compared and printed by Python itself."""
MOST_OBJECTS = 20_000
"""Objects within a value that are looked at before its class is asked to write it; about 10 ms."""
_ATOMS = (int, float, complex, bool, str, bytes, type(None), CodeType, FrameType)
_FRAME_ATTRIBUTES = frozenset(
    {"columns", "index", "shape", "dtypes", "size", "ndim", "empty", "axes"}
)
_SERIES_ATTRIBUTES = frozenset({"index", "shape", "dtype", "size", "ndim", "empty", "name"})
_ARRAY_ATTRIBUTES = frozenset({"shape", "dtype", "size", "ndim", "nbytes", "itemsize", "T"})
_INDEX_ATTRIBUTES = frozenset({"shape", "dtype", "size", "ndim", "name", "names"})
_HISTORIES = (
    "input_hist_parsed",
    "input_hist_raw",
    "output_hist",
    "output_hist_reprs",
    "dir_hist",
    "outputs",
    "exceptions",
)
_COPY_OF_NAMESPACE = frozenset({"_ih", "_oh", "_dh"})
_MRO = type.__dict__["__mro__"]
_MEMBERS = type.__dict__["__dict__"]
_FIELD_OF_NAMED_TUPLE = type(vars(namedtuple("_Pair", "one other"))["one"])
_STEP = re.compile(
    r"\.(?P<attribute>[^\W\d]\w*)|\[(?P<quote>['\"])(?P<key>.*?)(?P=quote)\]|\[(?P<index>-?\d+)\]"
)
_NAME = re.compile(r"[^\W\d]\w*")


class KernelObjects:
    """The objects of the kernel itself, which no variable of the user is, whatever its name.

    Responsibilities: know the shell, its namespace and its histories by which objects they are, and the parts of the
    kernel (application, session, managers) by their type.
    """

    def __init__(self, shell: Any) -> None:
        manager = getattr(shell, "history_manager", None)
        kernel = getattr(shell, "kernel", None)
        self._held = [
            shell,
            getattr(shell, "user_ns", None),
            getattr(shell, "user_global_ns", None),
            getattr(shell, "user_ns_hidden", None),
            kernel,
            getattr(kernel, "session", None),
            manager,
            *(getattr(manager, name, None) for name in _HISTORIES),
        ]
        self._ids = frozenset(id(one) for one in self._held if one is not None)
        self._namespace = _COPY_OF_NAMESPACE if manager is not None else frozenset()

    def __contains__(self, value: object) -> bool:
        if id(value) in self._ids or is_configurable(value):
            return True
        # A copy of the namespace, such as dict(globals()), names the histories and each cell by itself.
        return type(value) is dict and any(
            type(key) is str and key in self._namespace for key in islice(dict.keys(value), 200)
        )


def is_configurable(value: object) -> bool:
    """Tell whether a value is a part of IPython, of a kernel or of a Jupyter application, by its type alone."""
    module = sys.modules.get("traitlets.config.configurable")
    return getattr(module, "Configurable", module) in _MRO.__get__(type(value))


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


def is_slot(member: Any, members: Mapping[str, Any]) -> bool:
    """Tell whether a member of a class is a slot of it, or a field of a named tuple: reading it runs no code."""
    if type(member) is MemberDescriptorType:
        return "__slots__" in members
    return type(member) is _FIELD_OF_NAMED_TUPLE


def _all_members(kind: type) -> frozenset[str]:
    return frozenset(name for base in _MRO.__get__(kind) for name in _MEMBERS.__get__(base))


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


def _of_exact_keys(held: Mapping[Any, Any], key: str | int) -> Any:
    """Return the item of a plain key: other keys are passed over, since comparing them may run code."""
    wanted = _LOOKED_UP[type(key)]
    for one, value in dict.items(held):  # type: ignore[arg-type]  # of a dict or a class derived from it
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


def has_own_repr(value: Any) -> bool:
    """Tell whether the class of an object, or a class above it, writes it in another way than Python does."""
    found = (_MEMBERS.__get__(base) for base in _MRO.__get__(type(value)) if base is not object)
    return any("__repr__" in members for members in found)


def reaches_kernel(value: Any, kernels: KernelObjects) -> bool:
    """Tell whether an object of the kernel lies within a value, as far as a bounded look tells.

    Functions, modules and classes are not looked through: all of them lead to everything, and their text shows nothing.
    """
    waiting, seen = deque([value]), {id(value)}
    while waiting:
        for one in gc.get_referents(waiting.popleft()):
            if id(one) in seen:
                continue
            if one in kernels:
                return True
            seen.add(id(one))
            if len(seen) > MOST_OBJECTS:
                return False
            if not _ends_a_look(one):
                waiting.append(one)
    return False


def _ends_a_look(value: Any) -> bool:
    kind = type(value)
    bases = _MRO.__get__(kind)
    return kind in (*ROUTINES, *_ATOMS) or ModuleType in bases or type in bases

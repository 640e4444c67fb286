"""Identify the kernel's own objects: the shell, its namespace, its histories of cells, and the application's parts.

Border: runs no user code. These objects never count as the user's variables, since from them the sources of
hidden cells and the key that signs the kernel's messages can be read.
"""

import gc
import sys
from collections import deque
from itertools import islice
from types import CodeType, FrameType, ModuleType
from typing import Any

from palimpsest.frontends.variables.held_values import ROUTINES

MAX_SEARCHED_OBJECTS = 20_000
"""Maximum objects within a value that are searched before its class's ``__repr__`` is called; about 10 ms."""
MAX_SEARCHED_KEYS = 200
_ATOMS = (int, float, complex, bool, str, bytes, type(None), CodeType, FrameType)
_HISTORY_ATTRIBUTES = (
    "input_hist_parsed", "input_hist_raw", "output_hist", "output_hist_reprs", "dir_hist",
    "outputs", "exceptions",
)  # fmt: skip
_NAMESPACE_ATTRIBUTES = ("user_ns", "user_global_ns", "user_ns_hidden")
_HISTORY_NAMES = frozenset({"_ih", "_oh", "_dh"})
_MRO = type.__dict__["__mro__"]


class KernelObjects:
    """The objects of the kernel itself, which never count as variables of the user.

    Responsibilities: recognise the shell, its namespace and its histories by identity, and the parts of the
    kernel (application, session, managers) by their type.
    """

    def __init__(self, shell: Any) -> None:
        manager = getattr(shell, "history_manager", None)
        kernel = getattr(shell, "kernel", None)
        self._objects = [
            *(shell, kernel, getattr(kernel, "session", None), manager),
            *(getattr(shell, name, None) for name in _NAMESPACE_ATTRIBUTES),
            *(getattr(manager, name, None) for name in _HISTORY_ATTRIBUTES),
        ]
        self._ids = frozenset(id(value) for value in self._objects if value is not None)
        self._history_names = _HISTORY_NAMES if manager is not None else frozenset()

    def __contains__(self, value: object) -> bool:
        if id(value) in self._ids or is_configurable(value):
            return True
        # A copy of the namespace, such as dict(globals()), also holds the histories.
        return type(value) is dict and any(
            type(key) is str and key in self._history_names
            for key in islice(dict.keys(value), MAX_SEARCHED_KEYS)
        )


def is_configurable(value: object) -> bool:
    """Return whether the type of a value is a part of IPython, of a kernel or of a Jupyter application."""
    module = sys.modules.get("traitlets.config.configurable")
    return getattr(module, "Configurable", module) in _MRO.__get__(type(value))


def reaches_kernel(value: Any, kernel_objects: KernelObjects) -> bool:
    """Return whether a bounded search finds an object of the kernel in a value.

    Functions, modules and classes are not searched: all of them refer to every object, and their text shows none.
    """
    queue, visited_ids = deque([value]), {id(value)}
    while queue:
        for referent in gc.get_referents(queue.popleft()):
            if id(referent) in visited_ids:
                continue
            if referent in kernel_objects:
                return True
            visited_ids.add(id(referent))
            if len(visited_ids) > MAX_SEARCHED_OBJECTS:
                return False
            if not _is_not_searched(referent):
                queue.append(referent)
    return False


def _is_not_searched(value: Any) -> bool:
    value_type = type(value)
    bases = _MRO.__get__(value_type)
    return value_type in (*ROUTINES, *_ATOMS) or ModuleType in bases or type in bases

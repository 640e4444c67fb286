"""Know the kernel's own objects: the shell, its namespace, its histories of cells, and the parts of the application.

Border: runs none of the user's code. None of these is a variable of the user, whatever its name: from them the sources of
hidden cells and the key that signs the kernel's messages can be read.
"""

import gc
import sys
from collections import deque
from itertools import islice
from types import CodeType, FrameType, ModuleType
from typing import Any

from palimpsest.frontends.kernel.held_values import ROUTINES

MOST_OBJECTS = 20_000
"""Objects within a value that are looked at before its class is asked to write it; about 10 ms."""
_ATOMS = (int, float, complex, bool, str, bytes, type(None), CodeType, FrameType)
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

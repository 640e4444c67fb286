"""Give the libraries that run the kernel's loop and the turn their own references to the original builtins.

Code may replace a builtin for the whole process (``builtins.max = len``), which is reported. The loops of the kernel and of the
engine call ``max``, ``isinstance`` and others in every iteration and would fail, also between two lines of that
code. So the original builtins are added to their modules' globals before the agent's code runs.
Border: adds names to modules of the packages below and replaces none. The user's code and every other library
see the replacement; ``print``, ``open`` and others that reach files and users are replaced everywhere.
"""

import builtins
import sys
import types

PACKAGES = frozenset(
    {
        "asyncio",
        "concurrent",
        "contextlib",
        "functools",
        "ipykernel",
        "jupyter_client",
        "palimpsest",
    }
    | {"queue", "selectors", "threading", "tornado", "weakref", "zmq"}
)
"""Libraries that run the loops and the turn, or read and send messages."""
BUILTIN_NAMES = (
    *("abs", "all", "any", "bool", "bytes", "callable", "dict", "enumerate", "float", "frozenset"),
    *("getattr", "hasattr", "id", "int", "isinstance", "issubclass", "iter", "len", "list", "map"),
    *("max", "min", "next", "range", "repr", "reversed", "round", "set", "setattr", "sorted"),
    *("str", "sum", "super", "tuple", "type", "zip"),
)

_BUILTINS = {name: getattr(builtins, name) for name in BUILTIN_NAMES}
_completed_modules: set[str] = set()
"""The modules that were given the names."""


def add_builtins() -> None:
    """Add the builtins to each module of the packages, once; later imported modules get them at the next call."""
    for name, module in list(sys.modules.items()):
        if name in _completed_modules or name.partition(".")[0] not in PACKAGES:
            continue
        _completed_modules.add(name)
        if isinstance(module, types.ModuleType):
            module_globals = vars(module)
            for builtin_name, value in _BUILTINS.items():
                module_globals.setdefault(builtin_name, value)

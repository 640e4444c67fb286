"""Keep the libraries that run the kernel's loop and the turn on the builtins they were written for.

Code may replace a builtin for the whole process (``builtins.max = len``), and is told so. The loops of the kernel and of the
engine call ``max``, ``isinstance`` and others in every round and would end with it, also between two lines of that
code. So their modules get names of their own for the plain builtins before the agent's code runs.
Border: adds names to modules of the packages below and replaces none that is there. The user's code and every other library
see what was replaced; ``print``, ``open`` and what else reaches files and people is replaced everywhere.
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
"""What runs the loops, reads and sends messages, and runs the turn."""
NAMES = (
    *("abs", "all", "any", "bool", "bytes", "callable", "dict", "enumerate", "float", "frozenset"),
    *("getattr", "hasattr", "id", "int", "isinstance", "issubclass", "iter", "len", "list", "map"),
    *("max", "min", "next", "range", "repr", "reversed", "round", "set", "setattr", "sorted"),
    *("str", "sum", "super", "tuple", "type", "zip"),
)

_BUILTINS = {name: getattr(builtins, name) for name in NAMES}
_kept: set[str] = set()
"""The modules that have their names."""


def keep_builtins() -> None:
    """Give each module of the packages names of its own, once; modules that are imported later get them at the next call."""
    for name, module in list(sys.modules.items()):
        if name in _kept or name.partition(".")[0] not in PACKAGES:
            continue
        _kept.add(name)
        if isinstance(module, types.ModuleType):
            table = vars(module)
            for kept, value in _BUILTINS.items():
                table.setdefault(kept, value)

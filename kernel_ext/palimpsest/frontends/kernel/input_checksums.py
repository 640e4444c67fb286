"""Compute checksums of the variables that a piece of code reads, so that a later run can be compared.

Border: runs on the main thread and runs none of the user's code; a variable of which no lasting checksum can be
made (an object of a class, a module, data beyond a few megabytes) is left out.
"""

import ast
from collections.abc import Container, Mapping
from typing import Any

from palimpsest.frontends.kernel.variable_fingerprints import Fingerprints

MOST_NAMES = 40
SECONDS = 0.02
"""Time for all variables of one piece of code."""


def input_checksums(
    code: str,
    variables: Mapping[str, Any],
    kernels: Container[object] = (),
    *,
    seconds: float = SECONDS,
) -> dict[str, str]:
    """Return checksums of the variables that code reads and that exist, by name; not of the kernel's own objects.

    What is not looked at within ``seconds`` has none.

    >>> input_checksums("x + y", {"x": 1})
    {'x': 'f8a93d6b'}
    """
    look = Fingerprints(seconds, lasting=True, kernels=kernels)
    found: dict[str, str] = {}
    for name in _names(code)[:MOST_NAMES]:
        if name not in variables:
            continue
        mark = look.of(variables[name])
        if mark.whole:
            found[name] = f"{mark.mark & 0xFFFFFFFF:08x}"
    return found


def _names(code: str) -> list[str]:
    """Return the names that code reads, in order; empty where it is no plain Python."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    read = (n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return list(dict.fromkeys(read))

"""Compute checksums of the variables that code reads, to compare a later run.

Border: runs on the main thread without running user code. A variable without a lasting checksum
(an object of a class, a module, data beyond a few megabytes) is omitted.
"""

import ast
from collections.abc import Container, Mapping
from typing import Any

from palimpsest.frontends.variables.variable_fingerprints import Fingerprints

MAX_NAMES = 40
TIME_LIMIT_SECONDS = 0.02
"""Time for all variables of one piece of code."""


def input_checksums(
    code: str,
    variables: Mapping[str, Any],
    kernel_objects: Container[object] = (),
    *,
    seconds: float = TIME_LIMIT_SECONDS,
) -> dict[str, str]:
    """Return checksums of existing variables that code reads, by name, except the kernel's own objects.

    Variables that are not reached within ``seconds`` have none.

    >>> input_checksums("x + y", {"x": 1})
    {'x': 'f8a93d6b'}
    """
    fingerprints = Fingerprints(seconds, is_lasting=True, kernel_objects=kernel_objects)
    checksums: dict[str, str] = {}
    for name in _read_names(code)[:MAX_NAMES]:
        if name not in variables:
            continue
        fingerprint = fingerprints.fingerprint_of(variables[name])
        if fingerprint.is_complete:
            checksums[name] = f"{fingerprint.checksum & 0xFFFFFFFF:08x}"
    return checksums


def _read_names(code: str) -> list[str]:
    """Return the names that code reads, in order; empty where it is not plain Python."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = (
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    )
    return list(dict.fromkeys(names))

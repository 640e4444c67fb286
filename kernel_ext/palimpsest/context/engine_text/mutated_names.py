"""Find which variables a cell's source changes in place, such as ``df`` in ``df["x"] = 1``.

Border: pure; parses the source and runs nothing. It finds only what the source shows: a
function that changes its argument is not found.
"""

import ast
import re
from collections.abc import Iterator

_PURE_METHODS = frozenset([
    "head", "tail", "describe", "info", "plot", "hist", "show", "copy", "mean", "sum", "count",
    "keys", "values", "items", "get", "index", "join", "split", "format", "startswith",
    "endswith", "strip", "lower", "upper",
])  # fmt: skip
"""Methods whose call alone on a line changes nothing, whatever the object."""

MAGIC_OR_SHELL_LINE = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)
"""A line of a cell that is a magic or a shell command."""


def mutated_names(source: str) -> frozenset[str]:
    """Return the variables whose contents the source changes; empty where it is no Python."""
    tree = parsed_cell(source)
    return frozenset(_names_mutated_in(tree)) if tree is not None else frozenset()


def parsed_cell(source: str) -> ast.Module | None:
    """Parse a cell without its magics and shell lines; None where the rest is no Python."""
    try:
        return ast.parse(MAGIC_OR_SHELL_LINE.sub(r"\1pass", source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _names_mutated_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _mutated_by_call(node)
            continue
        match node:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                for target in targets:
                    yield from _mutated_by_assignment(target)
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
            case (
                ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.For(target=target)
            ):
                yield from _mutated_by_assignment(target)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=base, attr=method))):
                if method not in _PURE_METHODS:
                    yield from _base_names(base)
            case _:
                pass


def _mutated_by_call(node: ast.Call) -> Iterator[str]:
    """Yield the variable whose method is called with ``inplace=True``."""
    if isinstance(node.func, ast.Attribute) and any(
        keyword.arg == "inplace"
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is True
        for keyword in node.keywords
    ):
        yield from _base_names(node.func.value)


def _mutated_by_assignment(target: ast.expr) -> Iterator[str]:
    """Yield the variable that a target is a part of; a variable that is assigned as a whole is not changed."""
    match target:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _mutated_by_assignment(element)
        case ast.Starred(value=value):
            yield from _mutated_by_assignment(value)
        case ast.Subscript() | ast.Attribute():
            yield from _base_names(target)
        case _:
            return


def _base_names(node: ast.expr) -> Iterator[str]:
    """Yield the variable at the beginning of an expression, such as ``df`` of ``df.loc[0]``; nothing where there is none."""
    # A loop, since generated code may chain more calls than Python may nest.
    while True:
        match node:
            case ast.Subscript(value=value) | ast.Attribute(value=value):
                node = value
            case ast.Call(func=ast.Attribute(value=value)):
                node = value
            case ast.Name(id=name):
                yield name
                return
            case _:
                return

"""Correct a cell's source: the name of a column, or a missing import. Nothing is run."""

import ast

from palimpsest.rehearsal.parsing.cell_source import CellSource, root_name

IMPORT_BY_NAME = {
    "pd": "import pandas as pd", "np": "import numpy as np", "plt": "import matplotlib.pyplot as plt",
    "sns": "import seaborn as sns", "px": "import plotly.express as px", "pandas": "import pandas", "numpy": "import numpy",
    "Path": "from pathlib import Path", "Counter": "from collections import Counter",
    "defaultdict": "from collections import defaultdict", "sqrt": "from math import sqrt",
}  # fmt: skip
"""The import of each well-known name."""
MODULES = {
    "os", "sys", "re", "json", "math", "random", "time", "collections", "itertools", "functools", "pathlib", "statistics", "csv",
}  # fmt: skip
"""Modules of the standard library; their names are taken for modules only where an attribute is read."""
CLASS_METHODS = {"now", "today", "strptime", "fromisoformat", "fromtimestamp"}
"""Methods of the class ``datetime``, which the module of that name lacks."""


def replace_column(
    cell: CellSource, lines: range, wrong_name: str, right_name: str, table_name: str
) -> str | None:
    """Return the cell with a column's name replaced where the table ``table_name`` is read; None where it is not found.

    The name stays where it is printed, or where a column of that name is created.
    """
    literals = [node for node in cell.expressions() if cell.is_text(node, wrong_name)]
    first_made_line = min(
        (node.lineno for node in literals if _literal_role(cell, node) == "made"), default=None
    )
    read_nodes = [
        node
        for node in literals
        if (first_made_line is None or node.lineno <= first_made_line)
        and (
            (_literal_role(cell, node) == "item" and _owner_name(cell, node) == table_name)
            or (_literal_role(cell, node) in {"item", "argument"} and node.lineno in lines)
        )
    ]
    if not read_nodes and len(literals) == 1 and _literal_role(cell, literals[0]) == "":
        read_nodes = literals
    return cell.edited_text(
        [(node, _quoted_like(cell.segment(node), right_name)) for node in read_nodes]
    )


def column_owner(cell: CellSource, lines: range, wrong_name: str) -> str:
    """Return the name of the table whose column is read; empty where it is unknown."""
    for node in cell.expressions(lines):
        if cell.is_text(node, wrong_name) and _literal_role(cell, node) in {"item", "argument"}:
            return _owner_name(cell, node)
    roots = {root_name(n) for n in cell.expressions(lines) if isinstance(n, ast.Subscript)}
    return next(iter(roots)) if len(roots) == 1 else ""


def _literal_role(cell: CellSource, text: ast.expr) -> str:
    """Return the role of a literal text: a column that is read (``item``) or ``made``, an ``argument`` of a method, ``printed``, or empty."""
    inner_node: ast.AST = text
    for node in cell.ancestors(text):
        if isinstance(node, ast.Subscript) and node.slice is inner_node:
            parent_node = cell.parents.get(node)
            is_augmented = isinstance(parent_node, ast.AugAssign) and parent_node.target is node
            return "made" if isinstance(node.ctx, ast.Store) and not is_augmented else "item"
        if isinstance(node, ast.Call):
            return "argument" if isinstance(node.func, ast.Attribute) else "printed"
        if not isinstance(node, ast.List | ast.Tuple | ast.keyword):
            return ""
        inner_node = node
    return ""


def _owner_name(cell: CellSource, text: ast.expr) -> str:
    for node in cell.ancestors(text):
        if isinstance(node, ast.Subscript):
            return root_name(node.value)
        if isinstance(node, ast.Call):
            return root_name(node.func)
    return ""


def _quoted_like(segment: str, value: str) -> str:
    """Return a value as a string literal in the quotes of the literal ``segment``."""
    quote_char = "'" if segment.startswith("'") else '"'
    is_plain = value.isprintable() and not set(value) & {quote_char, "\\"}
    return f"{quote_char}{value}{quote_char}" if is_plain else repr(value)


def import_line(cell: CellSource, name: str) -> str | None:
    """Return the import line of a well-known name, if the cell does not define the name itself."""
    uses = [node for node in cell.expressions() if isinstance(node, ast.Name) and node.id == name]
    if any(isinstance(node.ctx, ast.Store) for node in uses):
        return None
    parent_nodes = [cell.parents.get(node) for node in uses]
    attributes = {node.attr for node in parent_nodes if isinstance(node, ast.Attribute)}
    if name == "datetime":
        is_called = any(isinstance(node, ast.Call) for node in parent_nodes)
        is_class = is_called or attributes & CLASS_METHODS
        return "from datetime import datetime" if is_class else "import datetime"
    if name in MODULES:
        return f"import {name}" if attributes else None
    return IMPORT_BY_NAME.get(name)


def with_import(cell: CellSource, line: str) -> str:
    """Return a cell's source with an import at the top: below magics, comments and ``from __future__``."""
    lines = cell.text.split("\n")
    insert_after = 0
    is_continued = False
    for line_number, text in enumerate(lines, 1):
        stripped_line = text.lstrip()
        if is_continued or stripped_line.startswith(("%", "!", "#")):
            is_continued = not stripped_line.startswith("#") and text.endswith("\\")
            insert_after = line_number
        elif stripped_line:
            break
    imports = [node for node in cell.walk() if isinstance(node, ast.ImportFrom)]
    future_lines = [node.end_lineno or 0 for node in imports if node.module == "__future__"]
    insert_after = max([insert_after, *future_lines])
    return "\n".join([*lines[:insert_after], line, *lines[insert_after:]])

"""Mend a cell's source: a column, an import, a name, a path. Nothing is run.

Each function returns the mended source, or None where the source does not show for certain what to change.
"""

import ast
import posixpath
import re
from collections.abc import Sequence

from palimpsest.model.rehearsal.parsing.cell_source import CellSource, Edit, root_name

IMPORTS = {
    "pd": "import pandas as pd", "np": "import numpy as np", "plt": "import matplotlib.pyplot as plt",
    "mpl": "import matplotlib as mpl", "sns": "import seaborn as sns", "px": "import plotly.express as px",
    "sp": "import scipy as sp", "tf": "import tensorflow as tf", "nx": "import networkx as nx",
    "pl": "import polars as pl", "xr": "import xarray as xr", "alt": "import altair as alt",
    "sm": "import statsmodels.api as sm", "pandas": "import pandas", "numpy": "import numpy",
    "scipy": "import scipy", "torch": "import torch", "sklearn": "import sklearn", "requests": "import requests",
    "Path": "from pathlib import Path", "Counter": "from collections import Counter",
    "defaultdict": "from collections import defaultdict", "deque": "from collections import deque",
    "namedtuple": "from collections import namedtuple", "OrderedDict": "from collections import OrderedDict",
    "timedelta": "from datetime import timedelta", "date": "from datetime import date",
    "partial": "from functools import partial", "reduce": "from functools import reduce",
    "lru_cache": "from functools import lru_cache", "deepcopy": "from copy import deepcopy",
    "dataclass": "from dataclasses import dataclass", "Decimal": "from decimal import Decimal",
    "Fraction": "from fractions import Fraction", "StringIO": "from io import StringIO",
    "BytesIO": "from io import BytesIO", "sqrt": "from math import sqrt", "sleep": "from time import sleep",
    "combinations": "from itertools import combinations", "permutations": "from itertools import permutations",
    "Optional": "from typing import Optional", "Any": "from typing import Any",
    "tqdm": "from tqdm.auto import tqdm", "pprint": "from pprint import pprint",
}  # fmt: skip
"""How a well-known name is imported."""
MODULES = {
    "os", "sys", "re", "json", "math", "random", "datetime", "time", "collections", "itertools", "functools", "pathlib",
    "statistics", "string", "csv", "glob", "shutil", "subprocess", "copy", "io", "pickle", "operator", "textwrap",
    "warnings", "logging", "urllib", "decimal", "fractions", "typing", "calendar", "zipfile", "sqlite3", "tempfile",
    "gzip", "hashlib", "base64", "uuid", "inspect", "platform", "difflib", "heapq", "bisect", "asyncio", "types",
}  # fmt: skip
"""Modules of the standard library, which are meant only where an attribute of theirs is read."""
CLASS_METHODS = {"now", "today", "utcnow", "strptime", "fromisoformat", "fromtimestamp", "combine"}
"""Methods of the class ``datetime``; the module of that name has none of them."""
WRITES = {"write_text", "write_bytes", "savefig", "mkdir", "to_csv", "to_excel", "to_json", "dump"}

MODE = re.compile(r"(?=.*[wax])[wabtx+]{1,3}")
"""With which ``open`` writes."""


def replace_column(
    cell: CellSource, lines: range, wrong: str, right: str, owner: str | None
) -> str | None:
    """Replace a column's name where a table is read, not where the name is printed or a column is made.

    Without an ``owner`` the name is read as an attribute.
    """
    named = [n for n in cell.nodes(lines) if isinstance(n, ast.Attribute) and n.attr == wrong]
    if owner is None:
        return cell.edited([(node, _read_as(cell, node, right)) for node in named])
    texts = [node for node in cell.nodes() if cell.is_text(node, wrong)]
    made = min((node.lineno for node in texts if _role(cell, node) == "made"), default=None)
    places = [
        node
        for node in texts
        if (made is None or node.lineno <= made)
        and (
            (_role(cell, node) == "item" and _owner(cell, node) == owner)
            or (_role(cell, node) in {"item", "argument"} and node.lineno in lines)
        )
    ]
    is_read = places or any(root_name(node) == owner for node in named)
    if not is_read and len(texts) == 1 and _role(cell, texts[0]) == "":
        places = texts
    return cell.edited([(node, _quoted(cell.segment(node), right)) for node in places])


def _read_as(cell: CellSource, node: ast.Attribute, right: str) -> str:
    plain = right.isidentifier() and not isinstance(node.ctx, ast.Store)
    return cell.segment(node.value) + (f".{right}" if plain else f"[{_quoted('', right)}]")


def column_owner(cell: CellSource, lines: range, wrong: str) -> str:
    """Return the name of the table of which a column is read, or nothing."""
    for node in cell.nodes(lines):
        if cell.is_text(node, wrong) and _role(cell, node) in {"item", "argument"}:
            return _owner(cell, node)
        if isinstance(node, ast.Attribute) and node.attr == wrong:
            return root_name(node)
    roots = {root_name(n) for n in cell.nodes(lines) if isinstance(n, ast.Subscript)}
    return next(iter(roots)) if len(roots) == 1 else ""


def _role(cell: CellSource, text: ast.expr) -> str:
    """Return what a literal text is: an ``item`` that is read, one that is ``made``, an ``argument``, or nothing."""
    below: ast.AST = text
    for node in cell.above(text):
        if isinstance(node, ast.Subscript) and node.slice is below:
            above = cell.parents.get(node)
            adds = isinstance(above, ast.AugAssign) and above.target is node
            return "made" if isinstance(node.ctx, ast.Store) and not adds else "item"
        if isinstance(node, ast.Call):
            return "argument" if isinstance(node.func, ast.Attribute) else "printed"
        if not isinstance(node, ast.List | ast.Tuple | ast.keyword):
            return ""
        below = node
    return ""


def _owner(cell: CellSource, text: ast.expr) -> str:
    for node in cell.above(text):
        if isinstance(node, ast.Subscript):
            return root_name(node.value)
        if isinstance(node, ast.Call):
            return root_name(node.func)
    return ""


def _quoted(segment: str, value: str) -> str:
    """Return a literal text in the quotes of another one."""
    quote = "'" if segment.startswith("'") else '"'
    plain = value.isprintable() and not set(value) & {quote, "\\"}
    return f"{quote}{value}{quote}" if plain else repr(value)


def import_line(cell: CellSource, name: str) -> str | None:
    """Return the line that imports a well-known name, if the cell uses it as such."""
    uses = [node for node in cell.nodes() if isinstance(node, ast.Name) and node.id == name]
    if any(isinstance(node.ctx, ast.Store) for node in uses):
        return None
    above = [cell.parents.get(node) for node in uses]
    attributes = {node.attr for node in above if isinstance(node, ast.Attribute)}
    if name == "datetime":
        called = any(isinstance(node, ast.Call) for node in above)
        return (
            "from datetime import datetime"
            if called or attributes & CLASS_METHODS
            else "import datetime"
        )
    if name in MODULES:
        return f"import {name}" if attributes else None
    return IMPORTS.get(name)


def with_import(cell: CellSource, line: str) -> str:
    """Put an import first: below magics, comments and ``from __future__``."""
    lines = cell.text.split("\n")
    after = 0
    goes_on = False
    for at, text in enumerate(lines, 1):
        start = text.lstrip()
        if goes_on or start.startswith(("%", "!", "#")):
            goes_on = not start.startswith("#") and text.endswith("\\")
            after = at
        elif start:
            break
    imports = [node for node in cell.walk() if isinstance(node, ast.ImportFrom)]
    future = [node.end_lineno or 0 for node in imports if node.module == "__future__"]
    after = max([after, *future])
    return "\n".join([*lines[:after], line, *lines[after:]])


def bound_names(cell: CellSource, line: int | None) -> dict[str, int]:
    """Return the names that a cell binds where a line can read them, each with its first line."""
    found: dict[str, int] = {}
    if cell.tree is not None:
        _bind(cell.tree.body, line, found)
    return found


def _bind(body: Sequence[ast.AST], line: int | None, found: dict[str, int]) -> None:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.setdefault(node.name, node.lineno)
                if line is None or node.lineno <= line <= (node.end_lineno or 0):
                    _bind(list(ast.iter_child_nodes(node)), line, found)
                continue
            case ast.Name(id=name, ctx=ast.Store()):
                found.setdefault(name, node.lineno)
            case ast.arg(arg=name):
                found.setdefault(name, node.lineno)
            case ast.alias(name=name, asname=asname):
                found.setdefault(asname or name.partition(".")[0], node.lineno)
            case (
                ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp()
            ):
                continue
            case _:
                pass
        _bind(list(ast.iter_child_nodes(node)), line, found)


def replace_name(cell: CellSource, lines: range, wrong: str, right: str) -> str | None:
    """Replace a name as a whole word in code; texts, comments, attributes and keywords stay."""
    names = [node for node in cell.nodes() if isinstance(node, ast.Name) and node.id == wrong]
    arguments = any(isinstance(node, ast.arg) and node.arg == wrong for node in cell.walk())
    stored = [node for node in names if isinstance(node.ctx, ast.Store)]
    bound = [node for node in stored if not isinstance(cell.parents.get(node), ast.AugAssign)]
    if bound or arguments:
        names = [node for node in names if node.lineno in lines and node not in bound]
    if not names or any(cell.segment(node) != wrong for node in names):
        return None
    return cell.edited([(node, right) for node in names])


def path_places(cell: CellSource, path: str) -> list[ast.Constant]:
    """Return the literal texts that are a path, else those that are the end of one."""
    found = [node for node in cell.nodes() if isinstance(node, ast.Constant)]
    texts = [one for one in found if isinstance(one.value, str) and cell.is_text(one, one.value)]
    whole = [node for node in texts if node.value == path]
    return whole or [node for node in texts if _ends(path, str(node.value))]


def _ends(path: str, part: str) -> bool:
    tail = part.replace("\\", "/").lstrip("~./")
    named = posixpath.basename(tail) == posixpath.basename(path.replace("\\", "/"))
    return bool(tail) and named and (path == tail or path.endswith(f"/{tail}"))


def replace_path(cell: CellSource, wrong: str, right: str, absolute: str = "") -> str | None:
    """Replace a path; one that is put together from pieces only where its folder stays the same.

    ``right`` is relative to the working directory, ``absolute`` is the same file, where it is known.
    """
    edits: list[Edit] = []
    target = absolute if wrong.startswith("/") and absolute else right
    same_folder = posixpath.dirname(posixpath.normpath(wrong)) == posixpath.dirname(target)
    for node in path_places(cell, wrong):
        written = str(node.value)
        if same_folder:
            new = written[: len(written) - len(posixpath.basename(written))]
            new += posixpath.basename(target)
        elif posixpath.normpath(written) == posixpath.normpath(wrong):
            new = right
        else:
            return None
        edits.append((node, _quoted(cell.segment(node).lstrip("rRuUbB"), new)))
    return cell.edited(edits)


def writes_file(cell: CellSource, lines: range) -> bool:
    """Tell whether a statement writes: then its folder is missing, not the file."""
    for node in (one for one in cell.nodes(lines) if isinstance(one, ast.Call)):
        if isinstance(node.func, ast.Attribute) and node.func.attr in WRITES:
            return True
        named = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        given = [*node.args[:2], *(word.value for word in node.keywords if word.arg == "mode")]
        modes = [str(one.value) for one in given if isinstance(one, ast.Constant)]
        if named == "open" and any(map(MODE.fullmatch, modes)):
            return True
    return False

"""Read the tables of a page in docs/, and find the tests that their rows name."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"

Row = list[str]


def table(page: Path, head: str, title: str = "") -> list[Row]:
    """Return the rows of the first table below a title whose first column has the given head."""
    lines = page.read_text(encoding="utf-8").splitlines()
    begin = lines.index(title) if title else 0
    start = next(i for i in range(begin, len(lines)) if lines[i].startswith(f"| {head} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def titles(page: Path, level: str) -> list[str]:
    """Return the titles of a page at one level, such as ``### ``."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith(f"{level} ")]


def names(cell: str) -> list[str]:
    """Return the code spans of a cell."""
    return re.findall(r"`([^`]+)`", cell)


def not_shown(cell: str) -> Iterator[str]:
    """Yield the tests named in a cell that do not exist, or are not tests."""
    shown = names(cell)
    if not shown:
        yield f"{cell!r} names no test"
    for name in shown:
        path, _, test = name.partition("::")
        if test not in tests_of(TESTS / path):
            yield name


@functools.cache
def tests_of(path: Path) -> frozenset[str]:
    """Return the tests of a file that pytest collects: functions, and methods of classes."""
    if not path.is_file() or not path.name.startswith("test_"):
        return frozenset()
    body = ast.parse(path.read_text(encoding="utf-8")).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    methods = {
        f"{node.name}::{name}"
        for node in classes
        if node.name.startswith("Test")
        for name in _functions(node.body)
    }
    return frozenset({*_functions(body), *methods})


def _functions(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function and node.name.startswith("test_"):
            yield node.name

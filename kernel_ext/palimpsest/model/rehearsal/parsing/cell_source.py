"""The source of a notebook cell as a syntax tree, whose magics are set aside, and edits to its text."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from palimpsest.model.rehearsal.parsing.tool_outputs import literal

PYTHON_MAGICS = {"time", "timeit", "capture", "prun", "memit", "mprun", "lprun", "snakeviz"}
"""Cell magics whose body is Python in the notebook's namespace."""
_ASSIGNED_MAGIC = re.compile(r"(\s*[\w, ]+=\s*)[%!].*")
_HELP = re.compile(r"\s*(?:\?{1,2}[\w.]+|[\w.]+\?{1,2})\s*")

Edit = tuple[ast.expr, str]
"""A node of the tree, and what stands in its place."""


@dataclass(frozen=True)
class CellSource:
    """Source text with its tree."""

    text: str

    @cached_property
    def tree(self) -> ast.Module | None:
        """The tree with the lines of the text; None where the text is no Python."""
        return parsed(self.text) or parsed(without_magics(self.text))

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self._lines:
            starts.append(starts[-1] + len(line) + 1)
        return starts

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node above each node."""
        return {child: node for node in self.walk() for child in ast.iter_child_nodes(node)}

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes above one, the nearest first."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def region(self, line: int | None) -> range:
        """Return the lines of the innermost statement at a line, for a block those of its head; else all."""
        everything = range(1, len(self._lines) + 1)
        if line is None or self.tree is None:
            return everything
        statements = [node for node in self.walk() if isinstance(node, ast.stmt)]
        around = [one for one in statements if one.lineno <= line <= (one.end_lineno or line)]
        if not around:
            return everything
        inner = min(around, key=lambda node: (node.end_lineno or 0) - node.lineno)
        body = getattr(inner, "body", None)
        end = inner.end_lineno or inner.lineno
        if isinstance(body, list) and body and body[0].lineno > inner.lineno:
            end = body[0].lineno - 1
        return range(inner.lineno, end + 1)

    def nodes(self, lines: range | None = None) -> list[ast.expr]:
        """Return the expressions that begin in these lines, in the order of the text."""
        found = [node for node in self.walk() if isinstance(node, ast.expr)]
        found = [node for node in found if lines is None or node.lineno in lines]
        return sorted(found, key=lambda node: (node.lineno, node.col_offset))

    def walk(self) -> Iterator[ast.AST]:
        """Yield all nodes; none where the text is no Python."""
        return ast.walk(self.tree) if self.tree else iter(())

    def segment(self, node: ast.expr) -> str:
        """Return the text of a node."""
        start, end = self._span(node)
        return self.text[start:end]

    def is_text(self, node: ast.AST, value: str) -> bool:
        """Tell whether a node is a literal text of this value, written as such in the source."""
        if not isinstance(node, ast.Constant) or node.value != value:
            return False
        return literal(self.segment(node)) == value

    def _span(self, node: ast.expr) -> tuple[int, int]:
        last = node.end_lineno or node.lineno
        return self._at(node.lineno, node.col_offset), self._at(last, node.end_col_offset or 0)

    def _at(self, line: int, column: int) -> int:
        before = self._lines[line - 1].encode("utf-8", "surrogatepass")[:column]
        return self._starts[line - 1] + len(before.decode("utf-8", "ignore"))

    def edited(self, edits: Sequence[Edit]) -> str | None:
        """Return the text with these nodes replaced; None without any."""
        if not edits:
            return None
        text = self.text
        places = sorted({(*self._span(node), new) for node, new in edits}, reverse=True)
        for start, end, new in places:
            text = text[:start] + new + text[end:]
        return text


def parsed(text: str) -> ast.Module | None:
    """Return the tree of a text, or None."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def without_magics(text: str) -> str:
    """Return the text with statements that do nothing in the lines of magics, as many lines as before."""
    lines = text.split("\n")
    goes_on = False
    for at, line in enumerate(lines):
        is_magic = goes_on or line.lstrip().startswith(("%", "!"))
        goes_on = is_magic and line.endswith("\\")
        if is_magic or _HELP.fullmatch(line):
            indent = line[: len(line) - len(line.lstrip())]
            lines[at] = "" if line.startswith("%%") else f"{indent}pass"
        elif assigned := _ASSIGNED_MAGIC.fullmatch(line):
            lines[at] = f"{assigned[1]}None"
    return "\n".join(lines)


def is_python_cell(text: str) -> bool:
    """Tell whether a cell's body is Python: no cell magic says otherwise."""
    magic = re.match(r"\s*%%(\w+)", text)
    return magic is None or magic[1] in PYTHON_MAGICS


def root_name(node: ast.AST) -> str:
    """Return the name that a chain of attributes, calls and items begins with, or nothing."""
    while not isinstance(node, ast.Name):
        inner = getattr(node, "func", None) or getattr(node, "value", None)
        if not isinstance(inner, ast.AST):
            return ""
        node = inner
    return node.id

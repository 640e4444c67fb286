"""Parse the source of a notebook cell without its magics, and edit the text by nodes of the tree."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from palimpsest.rehearsal.parsing.tool_outputs import python_literal

PYTHON_MAGICS = {"time", "timeit", "capture", "prun", "memit", "mprun", "lprun", "snakeviz"}
"""Cell magics whose body is Python code that runs in the notebook's namespace."""
_ASSIGNED_MAGIC = re.compile(r"(\s*[\w, ]+=\s*)[%!].*")
"""Matches a line that assigns the result of a magic or a shell command."""
_HELP_LINE = re.compile(r"\s*(?:\?{1,2}[\w.]+|[\w.]+\?{1,2})\s*")
"""Matches a line that asks IPython for help, such as ``df.head?``."""

Edit = tuple[ast.expr, str]
"""A node of the tree, and the text that replaces it."""


@dataclass(frozen=True)
class CellSource:
    """The source text of a cell, and its syntax tree."""

    text: str

    @cached_property
    def tree(self) -> ast.Module | None:
        """The syntax tree, with the line numbers of the text; None where the text is not Python."""
        return parse_python(self.text) or parse_python(without_magics(self.text))

    @cached_property
    def _line_starts(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self._lines), initial=0))

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of each node."""
        return {child: node for node in self.walk() for child in ast.iter_child_nodes(node)}

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the ancestors of a node, the nearest first."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def statement_lines(self, line: int | None) -> range:
        """Return the lines of the innermost statement at a line; all lines where there is none.

        Of a compound statement, such as ``for``, these are the lines before its body.
        """
        all_lines = range(1, len(self._lines) + 1)
        if line is None or self.tree is None:
            return all_lines
        statements = (node for node in self.walk() if isinstance(node, ast.stmt))
        enclosing_statements = [
            node for node in statements if node.lineno <= line <= (node.end_lineno or line)
        ]
        if not enclosing_statements:
            return all_lines
        innermost = min(enclosing_statements, key=lambda node: (node.end_lineno or 0) - node.lineno)
        body = getattr(innermost, "body", None)
        last_line = innermost.end_lineno or innermost.lineno
        if isinstance(body, list) and body and body[0].lineno > innermost.lineno:
            last_line = body[0].lineno - 1
        return range(innermost.lineno, last_line + 1)

    def expressions(self, lines: range | None = None) -> list[ast.expr]:
        """Return the expressions that begin in these lines, in source order."""
        expressions = (node for node in self.walk() if isinstance(node, ast.expr))
        selected = (node for node in expressions if lines is None or node.lineno in lines)
        return sorted(selected, key=lambda node: (node.lineno, node.col_offset))

    def walk(self) -> Iterator[ast.AST]:
        """Yield all nodes; none where the text is not Python."""
        return ast.walk(self.tree) if self.tree else iter(())

    def segment(self, node: ast.expr) -> str:
        """Return the source text of a node."""
        start, end = self._text_span(node)
        return self.text[start:end]

    def is_text(self, node: ast.AST, value: str) -> bool:
        """Return whether a node is a string literal of this value in the source."""
        if not isinstance(node, ast.Constant) or node.value != value:
            return False
        return python_literal(self.segment(node)) == value

    def _text_span(self, node: ast.expr) -> tuple[int, int]:
        last_line = node.end_lineno or node.lineno
        start = self._text_offset(node.lineno, node.col_offset)
        return start, self._text_offset(last_line, node.end_col_offset or 0)

    def _text_offset(self, line: int, column: int) -> int:
        bytes_before = self._lines[line - 1].encode("utf-8", "surrogatepass")[:column]
        return self._line_starts[line - 1] + len(bytes_before.decode("utf-8", "ignore"))

    def edited_text(self, edits: Sequence[Edit]) -> str | None:
        """Return the text with these nodes replaced; None without edits."""
        if not edits:
            return None
        text = self.text
        spans = sorted(
            {(*self._text_span(node), new_text) for node, new_text in edits}, reverse=True
        )
        for start, end, new_text in spans:
            text = text[:start] + new_text + text[end:]
        return text


def parse_python(text: str) -> ast.Module | None:
    """Return the syntax tree of a text, or None where it is not Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def without_magics(text: str) -> str:
    """Return the text with each line of a magic replaced by ``pass``, so that line numbers stay the same."""
    lines = text.split("\n")
    is_continued = False
    for index, line in enumerate(lines):
        is_magic = is_continued or line.lstrip().startswith(("%", "!"))
        is_continued = is_magic and line.endswith("\\")
        if is_magic or _HELP_LINE.fullmatch(line):
            indent = line[: len(line) - len(line.lstrip())]
            lines[index] = "" if line.startswith("%%") else f"{indent}pass"
        elif assigned := _ASSIGNED_MAGIC.fullmatch(line):
            lines[index] = f"{assigned[1]}None"
    return "\n".join(lines)


def is_python_cell(text: str) -> bool:
    """Return whether a cell's body is Python: it has no cell magic for another language."""
    magic = re.match(r"\s*%%(\w+)", text)
    return magic is None or magic[1] in PYTHON_MAGICS


def root_name(node: ast.AST) -> str:
    """Return the name at the start of a chain of attributes, calls and items; empty where there is none."""
    while not isinstance(node, ast.Name):
        inner_node = getattr(node, "func", None) or getattr(node, "value", None)
        if not isinstance(inner_node, ast.AST):
            return ""
        node = inner_node
    return node.id

"""Mend operands whose types do not fit, where the failing line shows which one to convert.

Text may hold words or digits: words next to a number are wrapped as text, digits as a number, and where
neither is certain nothing is changed.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.model.rehearsal.parsing.cell_source import CellSource, Edit, root_name
from palimpsest.model.rehearsal.parsing.error_report import ToldVariable

NUMBERS = {"int", "float", "bool", "int64", "int32", "float64", "float32"}
TABLES = {"DataFrame", "Series", "ndarray", "Index"}
CALLS = {"str": "str", "repr": "str", "input": "str", "int": "int", "len": "int", "float": "float"}
TEXT_METHODS = {"upper", "lower", "strip", "title", "format", "join", "capitalize", "replace"}
OPERATORS: dict[str, type[ast.AST]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "**": ast.Pow,
    "<": ast.Lt, ">": ast.Gt, "<=": ast.LtE, ">=": ast.GtE,
}  # fmt: skip
_CONCATENATE = lazy_pattern(
    r"can only concatenate str \(not \"([\w.]+)\"\) to str|must be str, not ([\w.]+)"
)
_OPERANDS = lazy_pattern(
    r"unsupported operand type\(s\) for (\S+?)=?(?: or pow\(\))?: '([\w.]+)' and '([\w.]+)'"
)
_COMPARED = lazy_pattern(r"'([<>]=?)' not supported between instances of '([\w.]+)' and '([\w.]+)'")
_REPEATED = lazy_pattern(r"can't multiply sequence by non-int of type '([\w.]+)'")
_JOINED = lazy_pattern(r"sequence item \d+: expected str instance, (\w+) found")
_COUNTED = lazy_pattern(r"'(str|float)' object cannot be interpreted as an integer")


@dataclass(frozen=True)
class TypeRepair:
    """The mended source, and what was wrapped."""

    text: str
    changes: tuple[tuple[str, str], ...]
    """Text before and after."""


class _Pair(NamedTuple):
    """Two operands next to each other."""

    left: ast.expr
    right: ast.expr
    node: ast.AST


def mend_types(
    cell: CellSource, lines: range, message: str, variables: dict[str, ToldVariable]
) -> TypeRepair | None:
    """Wrap the operand that does not fit, or return None where the line leaves it open."""
    operands = _Operands(cell, lines, variables)
    rules: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], list[Edit]]], ...] = (
        (_CONCATENATE, lambda found: operands.added("+", "str", _short(found[1] or found[2]))),
        (_OPERANDS, lambda found: operands.added(found[1], _short(found[2]), _short(found[3]))),
        (_COMPARED, lambda found: operands.compared(found[1], _short(found[2]), _short(found[3]))),
        (_REPEATED, lambda found: operands.repeated(_short(found[1]))),
        (_JOINED, lambda _: operands.joined()),
        (_COUNTED, lambda found: operands.counted(found[1])),
    )
    for pattern, rule in rules:
        if found := pattern.match(message):
            edits = rule(found)
            changes = tuple((cell.segment(node), new) for node, new in edits)
            text = cell.edited(edits)
            return None if text is None else TypeRepair(text, changes)
    return None


def _short(kind: str) -> str:
    return kind.rsplit(".", 1)[-1]


def _is_mixed(left: str, right: str) -> bool:
    return "str" in {left, right} and not NUMBERS.isdisjoint({left, right})


def number_kind(text: str | None) -> str:
    """Return ``int`` or ``float`` for a text that is such a number, else nothing."""
    for kind, read in (("int", int), ("float", float)):
        try:
            read(text or "")
        except ValueError:
            continue
        return kind
    return ""


@dataclass(frozen=True)
class _Operands:
    cell: CellSource
    lines: range
    variables: dict[str, ToldVariable]

    def added(self, operator: str, left: str, right: str) -> list[Edit]:
        """Mend ``left operator right`` of these kinds, one a text and the other a number."""
        if not _is_mixed(left, right):
            return []
        edits: list[Edit] = []
        for pair in self._fitting(self._pairs(operator), left, right):
            text, number = (pair.left, pair.right) if left == "str" else (pair.right, pair.left)
            other = left if right == "str" else right
            if operator == "+" and self._builds_words(pair.node):
                if number is pair.left and isinstance(pair.node, ast.AugAssign):
                    return []
                edits.append(self._wrapped("str", number))
            elif not self._builds_words(pair.node) and (
                kind := self._as_number(text, other, operator)
            ):
                edits.append(self._wrapped(kind, text))
            else:
                return []
        return edits

    def compared(self, operator: str, left: str, right: str) -> list[Edit]:
        """Mend a comparison of a text with a number."""
        if not _is_mixed(left, right):
            return []
        fitting = self._fitting(self._pairs(operator), left, right)
        other = right if left == "str" else left
        texts = [pair.left if left == "str" else pair.right for pair in fitting]
        kinds = [self._as_number(text, other, operator) for text in texts]
        return list(map(self._wrapped, kinds, texts)) if all(kinds) else []

    def repeated(self, kind: str) -> list[Edit]:
        """Mend a product of a text or list with something that is no whole number."""
        pairs = self._pairs("*")
        sides = [(p.left, p.right) for p in pairs] + [(p.right, p.left) for p in pairs]
        fits = [
            (one, other)
            for one, other in sides
            if self._kind(one) in {"str", "list"} and self._kind(other) == kind
        ]
        if len(pairs) != 1 or not fits:
            return []
        edits = [edit for one, other in fits if (edit := self._counts(one, other, kind))]
        return edits[0] if len(edits) == 1 else []

    def _counts(self, sequence: ast.expr, count: ast.expr, kind: str) -> list[Edit]:
        """Mend a sequence times a float or a text: the digits are a number, or the count is whole."""
        digits = number_kind(self._text(sequence))
        if kind == "float" and digits:
            return [self._wrapped("float", sequence)]
        whole = isinstance(count, ast.Constant) and str(count.value).endswith(".0")
        if not digits and (whole or number_kind(self._text(count)) == "int"):
            return [self._wrapped("int", count)]
        return []

    def joined(self) -> list[Edit]:
        """Mend ``join`` of numbers."""
        calls = [
            node
            for node in self.cell.nodes(self.lines)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "join"
            and len(node.args) == 1
        ]
        if len(calls) != 1:
            return []
        given = calls[0].args[0]
        if isinstance(given, ast.GeneratorExp | ast.ListComp):
            return [self._wrapped("str", given.elt)]
        return [(given, f"map(str, {self.cell.segment(given)})")]

    def counted(self, kind: str) -> list[Edit]:
        """Mend ``range`` of a text with digits, or of a quotient."""
        given = [
            one
            for node in self.cell.nodes(self.lines)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if node.func.id == "range"
            for one in node.args
            if self._kind(one) == kind
        ]
        if len(given) != 1 or (kind == "str" and self._as_number(given[0], "int", "") != "int"):
            return []
        return [self._wrapped("int", given[0])]

    def _wrapped(self, kind: str, node: ast.expr) -> Edit:
        return node, f"{kind}({self.cell.segment(node)})"

    def _pairs(self, operator: str) -> list[_Pair]:
        kind = OPERATORS.get(operator, ())
        found: list[_Pair] = []
        added = [node for node in self.cell.walk() if isinstance(node, ast.AugAssign)]
        here = [node for node in added if node.lineno in self.lines]
        for node in (*self.cell.nodes(self.lines), *here):
            if isinstance(node, ast.BinOp) and isinstance(node.op, kind):
                found.append(_Pair(node.left, node.right, node))
            elif isinstance(node, ast.AugAssign) and isinstance(node.op, kind):
                found.append(_Pair(node.target, node.value, node))
            elif isinstance(node, ast.Compare):
                sides = zip(node.ops, pairwise([node.left, *node.comparators]), strict=True)
                found += [_Pair(*pair, node) for op, pair in sides if isinstance(op, kind)]
        return found

    def _fitting(self, pairs: list[_Pair], left: str, right: str) -> list[_Pair]:
        """Return the pairs that are certainly of these kinds, else the only one that may be."""
        kinds = [(pair, self._kind(pair.left), self._kind(pair.right)) for pair in pairs]
        sure = [pair for pair, one, other in kinds if (one, other) == (left, right)]
        may = [pair for pair, one, other in kinds if one in {left, ""} and other in {right, ""}]
        return sure or (may if len(may) == 1 else [])

    def _builds_words(self, node: ast.AST) -> bool:
        """Tell whether a sum has a part that is certainly words."""
        if isinstance(node, ast.AugAssign):
            return self._has_words(node.target) or self._has_words(node.value)
        top = node
        for above in self.cell.above(node):
            if not isinstance(above, ast.BinOp) or not isinstance(above.op, ast.Add):
                break
            top = above
        return self._has_words(top)

    def _has_words(self, node: ast.AST) -> bool:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._has_words(node.left) or self._has_words(node.right)
        text = self._text(node)
        return text is not None and not number_kind(text)

    def _as_number(self, node: ast.expr, other: str, operator: str) -> str:
        """Return what a text is to be wrapped in; nothing where it is not certainly a number."""
        if kind := number_kind(self._text(node)):
            return "float" if other.startswith("float") else kind
        asks = isinstance(node, ast.Call) and root_name(node) == "input"
        return ("float" if other.startswith("float") else "int") if asks and operator != "+" else ""

    def _text(self, node: ast.AST) -> str | None:
        """Return the value of a text, or for one that is put together its fixed part; None where unknown."""
        match node:
            case ast.Constant(value=str(value)):
                return value
            case ast.JoinedStr(values=values):
                fixed = [str(one.value) for one in values if isinstance(one, ast.Constant)]
                return "".join(fixed) or None
            case ast.Name(id=name) if name in self.variables:
                told = self.variables[name]
                return told.text_value if told.kind == "str" else None
            case ast.Call(func=ast.Attribute(attr=method, value=inner)) if method in TEXT_METHODS:
                return self._text(inner)
            case _:
                return None

    def _kind(self, node: ast.AST) -> str:
        """Return the kind of an operand; empty where it is not known."""
        match node:
            case ast.Constant(value=value):
                return type(value).__name__
            case ast.JoinedStr():
                return "str"
            case ast.List() | ast.ListComp():
                return "list"
            case ast.Name(id=name) if name in self.variables:
                return self.variables[name].kind
            case ast.UnaryOp(operand=inner):
                return self._kind(inner)
            case ast.BinOp():
                return self._result(node)
            case ast.Call(func=ast.Name(id=name)):
                return CALLS.get(name, "")
            case ast.Call(func=ast.Attribute(attr=method, value=inner)) if (
                method in TEXT_METHODS and self._kind(inner) == "str"
            ):
                return "str"
            case _:
                told = self.variables.get(root_name(node))
                return "table" if told and told.kind in TABLES else ""

    def _result(self, node: ast.BinOp) -> str:
        left, right = self._kind(node.left), self._kind(node.right)
        if "table" in {left, right} or {left, right} & TABLES:
            return "table"
        joins = isinstance(node.op, ast.Add) and "str" in {left, right}
        if joins or (isinstance(node.op, ast.Mod) and left == "str"):
            return "str"
        if left in {"int", "float"} and right in {"int", "float"}:
            floats = isinstance(node.op, ast.Div) or "float" in {left, right}
            return "float" if floats else "int"
        return ""

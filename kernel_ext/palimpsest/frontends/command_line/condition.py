"""Parse and evaluate the conditions of ``--fail-if``: columns, numbers, + - * /, comparisons, ``and``, ``or``, ``not``.

A condition is parsed to Python's syntax tree, and a tree with any other node is refused; the tree is walked
here and never compiled or evaluated by Python. ``baseline`` stands for the value of the comparison's
column in the first row, or in an earlier report.
"""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.transcript.errors import UserError

BASELINE = "baseline"
MAX_CONDITION_CHARS = 500
"""A longer condition is refused, which also limits the depth of its tree."""
Row = Mapping[str, Any]
_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_UNARY: dict[type[ast.unaryop], Callable[[float], float]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class UnknownValue(Exception):
    """A value that the condition uses is missing in this row."""


@dataclass(frozen=True)
class Condition:
    """A parsed condition that holds only allowed nodes."""

    text: str
    tree: ast.expr
    names: tuple[str, ...]
    """The columns that it uses."""

    @property
    def needs_baseline(self) -> bool:
        """Whether the condition uses the baseline."""
        return BASELINE in _column_names(self.tree)

    def check(self, columns: Sequence[str]) -> None:
        """Raise UserError for an unknown column in the condition."""
        for name in self.names:
            if name not in columns:
                raise UserError(
                    f"There is no column {name!r} in the condition {self.text!r}; there are {', '.join(columns)}."
                )

    def holds_for(self, row: Row, baseline: Row) -> bool:
        """Return whether the condition holds for a row; raises UnknownValue where the row lacks a value."""
        return bool(_node_value(self.tree, row, baseline))


def parse_condition(text: str) -> Condition:
    """Parse a condition; raises UserError with one sentence for an invalid one.

    >>> parse_condition("cost > 1.1 * baseline").holds_for({"cost": 12.0}, {"cost": 10.0})
    True
    """
    if len(text) > MAX_CONDITION_CHARS:
        raise UserError(
            f"A condition has at most {MAX_CONDITION_CHARS} characters; this one has {len(text)}."
        )
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UserError(
            f"{text!r} is no condition; write one such as 'cost > 1.1 * baseline'."
        ) from error
    if not _is_condition(tree):
        raise UserError(
            f"{text!r} compares nothing; write a condition such as 'cost > 1.1 * baseline'."
        )
    for child in ast.walk(tree):
        _check_allowed(child, text)
    for child in ast.walk(tree):
        if isinstance(child, ast.Compare) and BASELINE in _column_names(child):
            _baseline_column(child, text)
    names = dict.fromkeys(name for name in _column_names(tree) if name != BASELINE)
    return Condition(text, tree, tuple(names))


_ALLOWED_NODES = (
    *(ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.BinOp),
    *(ast.Compare, ast.Name, ast.Load, ast.Constant),
    *_UNARY,
    *_ARITHMETIC,
    *_COMPARISONS,
)


_LOGICAL_NODES = (ast.Compare, ast.BoolOp, ast.Not)


def _check_allowed(node: ast.AST, text: str) -> None:
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    if not isinstance(node, _ALLOWED_NODES) or (isinstance(node, ast.Constant) and not is_number):
        raise UserError(
            f"{text!r} holds more than columns, numbers, + - * /, comparisons, 'and', 'or' and 'not'."
        )


def _is_condition(node: ast.expr) -> bool:
    """Return whether a node is a comparison, or comparisons joined by ``and``, ``or`` and ``not``."""
    match node:
        case ast.Compare(left=left, comparators=comparators):
            descendants = [child for side in (left, *comparators) for child in ast.walk(side)]
            return not any(isinstance(child, _LOGICAL_NODES) for child in descendants)
        case ast.BoolOp(values=values):
            return all(_is_condition(child) for child in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_condition(operand)
        case _:
            return False


def _column_names(node: ast.AST) -> list[str]:
    return [child.id for child in ast.walk(node) if isinstance(child, ast.Name)]


def _baseline_column(node: ast.Compare, text: str) -> str:
    """Return the column whose baseline a comparison uses; raises UserError unless it names exactly one."""
    columns = {name for name in _column_names(node) if name != BASELINE}
    if len(columns) != 1:
        raise UserError(
            f"A comparison with 'baseline' names one column, since it is that column's earlier value; {text!r} does not."
        )
    return columns.pop()


def _node_value(node: ast.expr, row: Row, baseline: Row) -> float:
    """Evaluate an allowed node for a row, to a number or a bool."""

    def operand_value(operand_node: ast.expr) -> float:
        return _node_value(operand_node, row, baseline)

    match node:
        case ast.BoolOp(op=op, values=values):
            combine = all if isinstance(op, ast.And) else any
            return combine(map(operand_value, values))
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            if BASELINE in _column_names(node):
                baseline = {BASELINE: baseline.get(_baseline_column(node, ""))}
            sides = [operand_value(side) for side in (left, *comparators)]
            pairs = zip(ops, sides, sides[1:], strict=False)
            return all(_COMPARISONS[type(op)](first, other) for op, first, other in pairs)
        case ast.UnaryOp(op=sign, operand=operand):
            return _UNARY[type(sign)](operand_value(operand))
        case ast.BinOp(left=left, op=arithmetic, right=right):
            try:
                return _ARITHMETIC[type(arithmetic)](operand_value(left), operand_value(right))
            except (ZeroDivisionError, OverflowError) as error:
                raise UnknownValue(ast.unparse(node)) from error
        case ast.Constant(value=int() | float() as constant):
            return float(constant)
        case _:
            name = ast.unparse(node)
            number = (baseline if name == BASELINE else row).get(name)
            if isinstance(number, bool) or not isinstance(number, int | float):
                raise UnknownValue(name)
            return float(number)

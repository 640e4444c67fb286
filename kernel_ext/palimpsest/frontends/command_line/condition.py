"""The conditions of ``--fail-if``: names of columns, numbers, + - * /, comparisons, ``and``, ``or``, ``not``.

A condition is parsed to Python's syntax tree and every node that is not one of these is refused; it is walked
here and never compiled or evaluated by Python. ``baseline`` stands for the value that the column of its
comparison has in the first row, or in an earlier report.
"""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.transcript.errors import UserError

BASELINE = "baseline"
MOST_CHARS = 500
"""A longer condition is refused; the walk's depth is limited by it."""
Row = Mapping[str, Any]
_SUMS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_SIGNS: dict[type[ast.unaryop], Callable[[float], float]] = {
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
    """A value that the condition needs is not known in this row."""


@dataclass(frozen=True)
class Condition:
    """A condition that was read and holds only what is allowed."""

    text: str
    tree: ast.expr
    names: tuple[str, ...]
    """The columns that it names."""

    @property
    def needs_baseline(self) -> bool:
        """Whether it compares with the baseline."""
        return any(isinstance(one, ast.Name) and one.id == BASELINE for one in ast.walk(self.tree))

    def check(self, columns: Sequence[str]) -> None:
        """Raise UserError where it names a column that there is not."""
        for name in self.names:
            if name not in columns:
                raise UserError(
                    f"There is no column {name!r} in the condition {self.text!r}; there are {', '.join(columns)}."
                )

    def holds(self, row: Row, baseline: Row) -> bool:
        """Return whether it holds for a row; raises UnknownValue where a value that it needs is not known."""
        return bool(_value(self.tree, row, baseline))


def read_condition(text: str) -> Condition:
    """Read a condition; raises UserError with one sentence where it is none.

    >>> read_condition("cost > 1.1 * baseline").holds({"cost": 12.0}, {"cost": 10.0})
    True
    """
    if len(text) > MOST_CHARS:
        raise UserError(
            f"A condition has at most {MOST_CHARS} characters; this one has {len(text)}."
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
    for one in ast.walk(tree):
        _refuse(one, text)
    for one in ast.walk(tree):
        if isinstance(one, ast.Compare) and BASELINE in _names(one):
            _column_of(one, text)
    names = dict.fromkeys(one for one in _names(tree) if one != BASELINE)
    return Condition(text, tree, tuple(names))


_ALLOWED = (
    *(ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.BinOp),
    *(ast.Compare, ast.Name, ast.Load, ast.Constant),
    *_SIGNS,
    *_SUMS,
    *_COMPARISONS,
)


def _refuse(node: ast.AST, text: str) -> None:
    is_number = not isinstance(node, ast.Constant) or (
        isinstance(node.value, int | float) and not isinstance(node.value, bool)
    )
    if not isinstance(node, _ALLOWED) or not is_number:
        raise UserError(
            f"{text!r} holds more than columns, numbers, + - * /, comparisons, 'and', 'or' and 'not'."
        )


def _is_condition(node: ast.expr) -> bool:
    """Return whether a node is a truth: a comparison, or comparisons joined."""
    match node:
        case ast.Compare(left=left, comparators=others):
            inside = [inner for side in (left, *others) for inner in ast.walk(side)]
            return not any(isinstance(one, ast.Compare | ast.BoolOp | ast.Not) for one in inside)
        case ast.BoolOp(values=values):
            return all(_is_condition(one) for one in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_condition(operand)
        case _:
            return False


def _names(node: ast.AST) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def _column_of(node: ast.Compare, text: str) -> str:
    """Return the column whose baseline a comparison means: the only one in it."""
    found = {one for one in _names(node) if one != BASELINE}
    if len(found) != 1:
        raise UserError(
            f"A comparison with 'baseline' names one column, since it is that column's earlier value; {text!r} does not."
        )
    return found.pop()


def _value(node: ast.expr, row: Row, baseline: Row) -> float:
    """Return the number or the truth that an allowed node is for a row."""

    def value(of: ast.expr) -> float:
        return _value(of, row, baseline)

    match node:
        case ast.BoolOp(op=op, values=values):
            joined = all if isinstance(op, ast.And) else any
            return joined(map(value, values))
        case ast.Compare(left=left, ops=ops, comparators=others):
            if BASELINE in _names(node):
                baseline = {BASELINE: baseline.get(_column_of(node, ""))}
            sides = [value(one) for one in (left, *others)]
            compared = zip(ops, sides, sides[1:], strict=False)
            return all(_COMPARISONS[type(op)](one, other) for op, one, other in compared)
        case ast.UnaryOp(op=sign, operand=operand):
            return _SIGNS[type(sign)](value(operand))
        case ast.BinOp(left=left, op=sum_of, right=right):
            try:
                return _SUMS[type(sum_of)](value(left), value(right))
            except (ZeroDivisionError, OverflowError) as error:
                raise UnknownValue(ast.unparse(node)) from error
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case _:
            name = ast.unparse(node)
            found = (baseline if name == BASELINE else row).get(name)
            if isinstance(found, bool) or not isinstance(found, int | float):
                raise UnknownValue(name)
            return float(found)

"""Rewrite ``%agent`` at the start of a line so that the cell awaits the answer.

Border: works on text that IPython has already transformed, and changes only the calls. A magic that
blocks always works, but an awaited one also allows top-level await in the agent's Python; it is
possible only where the call is a top-level statement of a cell.
"""

import ast
import re
from collections.abc import Callable

from IPython.core.inputtransformer2 import make_tokens_by_line

AWAIT_RESULT = "_agent_await"
"""The magic that is awaited for its result: ``answer = %agent ...``."""
AWAIT_NOTHING = "_agent_await_show"
"""The magic that is awaited for its display; it returns None, so that ``Out`` holds no answer."""

_CALL = re.compile(r"^.*get_ipython\(\)\.run_(line|cell)_magic\('agent', ", re.MULTILINE)
NOT_FIRST = "_agent_not_first"
"""The magic that reports a misplaced ``%%agent``; it replaces a cell that has lines above it."""

_CELL_MAGIC = re.compile(r"^%%agent(\s|$)")
_QUESTION = re.compile(r"^\s*(?:[^=#'\"%]+=\s*)?%agent\s.*\?\s*$")


def rewrite_calls(lines: list[str], *, can_await: Callable[[], bool]) -> list[str]:
    """Insert ``await`` before calls of the magic that are top-level statements.

    Args:
        lines: The cell after IPython's own transformations.
        can_await: Returns whether awaiting is possible now (autoawait on, no cell running).
    """
    text = "".join(lines)
    if not _CALL.search(text) or not can_await():
        return lines
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return lines  # IPython will show the error of the unchanged cell
    line_bytes = [line.encode() for line in lines]
    for statement in reversed(tree.body):
        call = _call_of_magic(statement)
        if call is not None:
            _insert_await(line_bytes, call, is_expression=isinstance(statement, ast.Expr))
    return [line.decode() for line in line_bytes]


def question_transform(lines: list[str]) -> list[str]:
    """Prevent IPython from treating a prompt that ends in ``?`` as a request for help.

    A blank after the question mark is enough; IPython strips it later.
    """
    if not any(_QUESTION.match(line) for line in lines) or lines[0].startswith("%%"):
        return lines
    start_numbers = _statement_starts(lines)
    return [
        line.rstrip("\r\n") + " \n" if number in start_numbers and _QUESTION.match(line) else line
        for number, line in enumerate(lines)
    ]


def first_line_notice(lines: list[str]) -> list[str]:
    """Replace a cell that has lines above ``%%agent`` by a call that raises a clear error.

    IPython accepts a cell magic only in the first line; otherwise it reports an unknown line magic, or a
    syntax error in the prompt.
    """
    magic_line_number = next(
        (number for number, line in enumerate(lines) if _CELL_MAGIC.match(line)), 0
    )
    lines_above = [line for line in lines[:magic_line_number] if line.strip()]
    if not lines_above or lines_above[0].startswith("%%"):
        return lines
    if magic_line_number not in _statement_starts(lines[: magic_line_number + 1]):
        return lines
    return [f"get_ipython().run_line_magic({NOT_FIRST!r}, '')\n"]


def _statement_starts(lines: list[str]) -> set[int]:
    """Return the numbers of the lines on which a statement begins, which excludes lines inside strings."""
    # By tokens, as IPython does; a magic is not Python, so ast cannot parse it.
    first_tokens = (
        next((token for token in tokens if token.string.strip()), None)
        for tokens in make_tokens_by_line(lines)
    )
    return {token.start[0] - 1 for token in first_tokens if token is not None}


def _call_of_magic(statement: ast.stmt) -> ast.Call | None:
    """Return the call of the magic that is a top-level statement or its value; None for other statements."""
    if not isinstance(statement, ast.Expr | ast.Assign) or statement.col_offset != 0:
        return None
    call = statement.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr not in {"run_line_magic", "run_cell_magic"} or not call.args:
        return None
    receiver, name_node = call.func.value, call.args[0]
    if not (isinstance(receiver, ast.Call) and isinstance(receiver.func, ast.Name)):
        return None
    if receiver.func.id != "get_ipython" or not isinstance(name_node, ast.Constant):
        return None
    if name_node.value != "agent" or _is_empty_cell(call):
        return None
    return call


def _is_empty_cell(call: ast.Call) -> bool:
    """Return whether this is ``%%agent`` without a body, for which IPython has its own error message."""
    body = call.args[2] if len(call.args) > 2 else None
    return isinstance(body, ast.Constant) and body.value == ""


def _insert_await(line_bytes: list[bytes], call: ast.Call, *, is_expression: bool) -> None:
    """Change the name of the magic and insert ``await``, later position first."""
    name_node = call.args[0]
    magic_name = repr(AWAIT_NOTHING if is_expression else AWAIT_RESULT).encode()
    row = name_node.lineno - 1
    end_column = name_node.end_col_offset or name_node.col_offset
    line_bytes[row] = (
        line_bytes[row][: name_node.col_offset] + magic_name + line_bytes[row][end_column:]
    )
    row = call.lineno - 1
    line_bytes[row] = (
        line_bytes[row][: call.col_offset] + b"await " + line_bytes[row][call.col_offset :]
    )

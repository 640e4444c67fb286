"""Changes that the agent makes to the cells of a notebook, as values.

Border: values and pure functions; ``tools/notebook`` makes the changes, a page applies them, and the tool call's part
keeps them with what a person said of each (``CellDecision`` in ``transcript/values.py``).
"""

from collections.abc import Iterable
from functools import partial
from typing import Any, Literal

from palimpsest.transcript.values import Value

CellAction = Literal["insert", "edit", "move", "delete"]
CellKind = Literal["code", "markdown", "raw"]

CELLS_KEY = "cells"
"""Key in the metadata of a call's part: its changes, as ``MadeChange``."""


class CellOrigin(Value):
    """The place in a session from which a cell's source came."""

    session: str
    message: str
    """Id of the answer's message."""
    call: str
    """Id of the tool call."""
    request: int | None = None
    """Number of the session's request that contained the call, from 1."""


class CellChange(Value):
    """One change of a cell."""

    action: CellAction
    cell: str
    """The cell's id; of an inserted cell, the id that it gets."""
    kind: CellKind = "code"
    after: str | None = None
    """Where an inserted or moved cell stands: behind the cell with this id; None for the top of the notebook."""
    old: str | None = None
    """The source that the cell must still have; None for an inserted cell."""
    new: str | None = None
    """The source that the cell gets; None for a moved or deleted cell."""
    number: int | None = None
    """The execution count beside the cell before the change."""
    restored: dict[str, Any] | None = None
    """A deleted cell in the format of a notebook file, where an insertion brings it back."""


ChangeProblem = Literal["changed", "missing", "hidden", "locked", "agent"]
"""``changed``: the cell has another source; ``missing``: it is gone; ``hidden``: it is kept from the agent; ``locked``: its
metadata forbid the change; ``agent``: it is a prompt, which is changed only on request."""


class CellResult(Value):
    """The result of one change, as a page reports it: made, or why not."""

    cell: str
    problem: ChangeProblem | None = None
    """None where the change was made, or could have been made had no other one failed."""
    source: str | None = None
    """The cell's present source, where it has another than expected."""
    was_after: str | None = None
    """The id of the cell behind which a moved or deleted cell stood; None for the top."""
    removed: dict[str, Any] | None = None
    """A deleted cell in the format of a notebook file, with its outputs as far as they fit."""
    elsewhere: bool | None = None
    """True where another page than the one that was asked first made the change; that one shows the old notebook."""


ReviewState = Literal["proposed", "open", "accepted", "rejected"]


class MadeChange(CellChange):
    """A change that is proposed or was made, with what a person said of it."""

    was_after: str | None = None
    """The id of the cell behind which a moved or deleted cell stood before; None for the top."""
    removed: dict[str, Any] | None = None
    """The deleted cell in the format of a notebook file."""
    state: ReviewState = "open"
    """``proposed`` while the permission question is open; ``open``: made, and not looked at by a person, who may still
    accept it or reject it, upon which it is taken back in the notebook."""
    by: str = ""
    """Who accepted or rejected it: ``person``, ``--yes``, or a rule; empty until then."""
    reason: str = ""
    """Why it was rejected, in the person's words."""
    notebook: str = ""
    """The notebook's path, as the page or the kernel names it."""
    undone: bool = False
    """Whether it was made, and is taken back in the notebook."""


class ReviewedChange(Value):
    """One change of a session's calls, with what became of its review."""

    call: str
    """Id of the tool call."""
    index: int
    """Number of the change among those of the call, from 0."""
    change: MadeChange
    problem: str = ""
    """Why it could not be taken back, in a sentence; empty where there was none."""
    note: str | None = None
    """What the user should know of how it was taken back, in a sentence."""


class CellReview(Value):
    """Changes that a review is about, oldest first."""

    changes: tuple[ReviewedChange, ...] = ()


class WrittenCell(Value):
    """A change of a cell by the agent, with the turn that it belongs to."""

    session: str
    title: str = ""
    """The session's title."""
    message: str
    """Id of the answer's message."""
    call: str
    request: int | None = None
    """Number of the session's request that contained the call, from 1; None where it is unknown."""
    prompt: str = ""
    """The beginning of the turn's prompt."""
    approved_by: str = ""
    """Who answered the permission question: ``person``, ``--yes`` or a rule; empty where none was asked."""
    change: MadeChange


class CellHistory(Value):
    """The agent's changes of one cell, oldest first."""

    cell: str
    """The cell's id, or the name that was asked for where no such cell is known."""
    number: int | None = None
    """The execution count of the cell's newest run; None where it is unknown."""
    changes: tuple[WrittenCell, ...] = ()
    is_elsewhere: bool = False
    """Whether the changes are of another session of the project than the one that was asked about."""


def undoing_changes(changes: Iterable[MadeChange]) -> tuple[CellChange, ...]:
    """Return the changes that undo others, the newest first; each expects the source that the change left."""
    return tuple(_inverse(change) for change in reversed(tuple(changes)))


def _inverse(change: MadeChange) -> CellChange:
    cell_change = partial(CellChange, cell=change.cell, kind=change.kind)
    old, new = change.old or "", change.new or ""
    match change.action:
        case "insert":
            return cell_change(action="delete", old=new)
        case "edit":
            return cell_change(action="edit", old=new, new=old)
        case "move":
            return cell_change(action="move", after=change.was_after, old=change.old)
        case "delete":
            return cell_change(
                action="insert", after=change.was_after, new=old, restored=change.removed
            )

"""The cells of a notebook that is open in a page, changed as a page changes them: all or none, in order."""

from collections.abc import Sequence
from typing import Any

from palimpsest.transcript.context_values.cell_changes import CellChange, CellResult

Cell = dict[str, Any]


def applied(
    cells: list[Cell], changes: Sequence[CellChange]
) -> tuple[list[Cell], list[CellResult]]:
    """Return the cells after all changes, and a result for each; with a problem the cells stay as they are."""
    changed = [dict(cell) for cell in cells]
    results = [_apply(changed, change) for change in changes]
    return (cells if any(result.problem for result in results) else changed), results


def _apply(cells: list[Cell], change: CellChange) -> CellResult:
    ids = [cell["id"] for cell in cells]
    if change.after is not None and change.after not in ids:
        return CellResult(cell=change.cell, problem="missing")
    if change.action == "insert":
        if change.cell in ids:
            return CellResult(cell=change.cell, problem="changed")
        cell = {"id": change.cell, "kind": change.kind, **(change.restored or {})}
        cells.insert(_index(ids, change.after), {**cell, "source": change.new or ""})
        return CellResult(cell=change.cell)
    if change.cell not in ids:
        return CellResult(cell=change.cell, problem="missing")
    index = ids.index(change.cell)
    cell = cells[index]
    if cell.get("hidden"):
        return CellResult(cell=change.cell, problem="hidden")
    if cell.get("locked"):
        return CellResult(cell=change.cell, problem="locked")
    if cell["source"] != change.old:
        return CellResult(cell=change.cell, problem="changed", source=cell["source"])
    if change.action == "edit":
        cell["source"] = change.new
        return CellResult(cell=change.cell)
    del cells[index]
    was_after = ids[index - 1] if index else None
    if change.action == "delete":
        return CellResult(cell=change.cell, was_after=was_after, removed=dict(cell))
    cells.insert(_index([left["id"] for left in cells], change.after), cell)
    return CellResult(cell=change.cell, was_after=was_after)


def _index(ids: list[str], after: str | None) -> int:
    return 0 if after is None else ids.index(after) + 1

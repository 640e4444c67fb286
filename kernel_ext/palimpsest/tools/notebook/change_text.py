"""Changes of cells in words: their count for a title, their difference for a question, their lines for the model."""

from collections.abc import Mapping, Sequence

from palimpsest.tools.files.write_tools import unified_difference
from palimpsest.tools.notebook.planned_changes import PlannedRun
from palimpsest.transcript.context_values.cell_changes import CellAction, CellChange

_PAST: Mapping[CellAction, str] = {
    "insert": "inserted",
    "edit": "edited",
    "move": "moved",
    "delete": "deleted",
}


def question_title(notebook: str, changes: Sequence[CellChange], runs: Sequence[PlannedRun]) -> str:
    """Return what is asked for, such as ``a.ipynb: 2 to insert, 1 to run``."""
    counts = {f"to {action}": count for action, count in _counted_actions(changes).items()}
    return _title(notebook, {**counts, "to run": len(runs)})


def outcome_title(notebook: str, changes: Sequence[CellChange], run_count: int) -> str:
    """Return what was done in a notebook, such as ``a.ipynb: 2 inserted, 1 run``."""
    counts = {_PAST[action]: count for action, count in _counted_actions(changes).items()}
    return _title(notebook, {**counts, "run": run_count})


def _counted_actions(changes: Sequence[CellChange]) -> dict[CellAction, int]:
    return {action: sum(change.action == action for change in changes) for action in _PAST}


def _title(notebook: str, counts: Mapping[str, int]) -> str:
    counted = [f"{count} {name}" for name, count in counts.items() if count]
    return f"{notebook}: {', '.join(counted) or 'not changed'}"


def changes_difference(
    notebook: str,
    changes: Sequence[CellChange],
    runs: Sequence[PlannedRun],
    labels: Mapping[str, str],
) -> str:
    """Return one unified difference of all changes, and the sources that are to be run without a change."""
    name = " ".join(notebook.split())
    pieces = [_difference(f"{name} {labels[change.cell]}", change, labels) for change in changes]
    changed = {change.cell for change in changes if change.action in ("insert", "edit")}
    pieces += [
        _unchanged(f"{name} {run.label}, to be run", run.source)
        for run in runs
        if run.cell not in changed
    ]
    return "".join(pieces)


def change_line(change: CellChange, labels: Mapping[str, str]) -> str:
    """Return one change as a line for the model, with the cell's id."""
    label = labels[change.cell]
    identifier = "" if change.cell in label else f" id={change.cell}"
    kind = f" ({change.kind})" if change.action == "insert" and change.kind != "code" else ""
    place = f" {_place_text(change, labels)}" if change.action in ("insert", "move") else ""
    return f"- {_PAST[change.action]} {label}{identifier}{kind}{place}"


def _place_text(change: CellChange, labels: Mapping[str, str]) -> str:
    return f"behind {labels.get(change.after, 'the last cell')}" if change.after else "at the top"


def _difference(name: str, change: CellChange, labels: Mapping[str, str]) -> str:
    if change.action == "move":
        return f"--- a/{name}\n+++ b/{name}, moved {_place_text(change, labels)}\n"
    if change.action == "insert":
        kind = f" ({change.kind})" if change.kind != "code" else ""
        name = f"{name}{kind} {_place_text(change, labels)}"
    elif change.action == "delete":
        name = f"{name}, deleted"
    text = unified_difference(_lines(change.old), _lines(change.new), name)
    return text or f"--- a/{name}\n+++ b/{name}\n"


def _unchanged(name: str, source: str) -> str:
    lines = source.split("\n")
    size = f"1,{len(lines)}"
    body = "".join(f" {line}\n" for line in lines)
    return f"--- a/{name}\n+++ b/{name}\n@@ -{size} +{size} @@\n{body}"


def _lines(source: str | None) -> str:
    return f"{source}\n" if source else ""

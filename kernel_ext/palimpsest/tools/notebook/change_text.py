"""Describe changes of cells: counted for a title, as a difference for a question, as lines for the model."""

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


def question_title(
    notebook_path: str, changes: Sequence[CellChange], runs: Sequence[PlannedRun]
) -> str:
    """Return what is asked for, such as ``a.ipynb: 2 to insert, 1 to run``."""
    counts = {f"to {action}": count for action, count in _counted_actions(changes).items()}
    return _title(notebook_path, {**counts, "to run": len(runs)})


def outcome_title(notebook_path: str, changes: Sequence[CellChange], run_count: int) -> str:
    """Return what was done in a notebook, such as ``a.ipynb: 2 inserted, 1 run``."""
    counts = {_PAST[action]: count for action, count in _counted_actions(changes).items()}
    return _title(notebook_path, {**counts, "run": run_count})


def _counted_actions(changes: Sequence[CellChange]) -> dict[CellAction, int]:
    return {action: sum(change.action == action for change in changes) for action in _PAST}


def _title(notebook_path: str, counts: Mapping[str, int]) -> str:
    phrases = [f"{count} {name}" for name, count in counts.items() if count]
    return f"{notebook_path}: {', '.join(phrases) or 'not changed'}"


def changes_difference(
    notebook_path: str,
    changes: Sequence[CellChange],
    runs: Sequence[PlannedRun],
    labels: Mapping[str, str],
) -> str:
    """Return one unified difference of all changes, and the sources that are to be run without a change."""
    name = " ".join(notebook_path.split())
    differences = [
        _difference(f"{name} {labels[change.cell]}", change, labels) for change in changes
    ]
    changed_ids = {change.cell for change in changes if change.action in ("insert", "edit")}
    differences += [
        _source_text(f"{name} {run.label}, to be run", run.source)
        for run in runs
        if run.cell_id not in changed_ids
    ]
    return "".join(differences)


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
    text = unified_difference(_with_line_end(change.old), _with_line_end(change.new), name)
    return text or f"--- a/{name}\n+++ b/{name}\n"


def _source_text(name: str, source: str) -> str:
    lines = source.split("\n")
    line_range = f"1,{len(lines)}"
    body = "".join(f" {line}\n" for line in lines)
    return f"--- a/{name}\n+++ b/{name}\n@@ -{line_range} +{line_range} @@\n{body}"


def _with_line_end(source: str | None) -> str:
    return f"{source}\n" if source else ""

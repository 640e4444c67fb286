"""Tell the agent's own changes of cells from those of the user, for the note that goes with a prompt.

Border: pure; the parts of calls in, values for the note out. What the agent changed itself is no news to it; what the user took
back of it is.
"""

from collections.abc import Mapping

from palimpsest.context.engine_text.notebook_edits import OWN_CHANGE
from palimpsest.tools.notebook.seen_sources import changes_of_call
from palimpsest.transcript.context_values.cell_changes import CellAction, MadeChange
from palimpsest.transcript.context_values.cell_runs import source_hash
from palimpsest.transcript.parts import NotedEdit, ToolPart

_NOUNS: Mapping[CellAction, str] = {
    "insert": "the insertion",
    "edit": "your edit",
    "move": "the move",
    "delete": "the deletion",
}


def own_edits(part: ToolPart) -> dict[str, NotedEdit]:
    """Return the changes that a call made, and that the model knows of, as noted edits by cell id."""
    edits: dict[str, NotedEdit] = {}
    for change in changes_of_call(part):
        is_made = change.state in ("open", "accepted")
        if change.action == "move" or not (is_made or change.undone):
            continue
        source = change.new if is_made else change.old
        is_gone = source is None
        edits[change.cell] = NotedEdit(
            cell_id=change.cell,
            number=change.number,
            serial=OWN_CHANGE,
            state="deleted" if is_gone else "edited",
            mark="" if source is None else source_hash(source),
        )
    return edits


def rejections_of(part: ToolPart) -> dict[str, str]:
    """Return a line about each change of a call that the user took back afterwards, by the change's name."""
    return {
        f"{part.call_id}:{index}": _rejection(change)
        for index, change in enumerate(changes_of_call(part))
        if change.state == "rejected" and change.undone
    }


def _rejection(change: MadeChange) -> str:
    cell = f"cell {change.number} id={change.cell}" if change.number else f"cell {change.cell}"
    reason = f" Reason: {change.reason}" if change.reason else ""
    return f"- {_NOUNS[change.action]} of {cell}.{reason}"

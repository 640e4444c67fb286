"""Undo what reverted calls changed in cells of the notebook, and make it again with an unrevert.

Border: on the engine's loop. A change is undone only where the cell is as the change left it. What was done is kept in the revert's
state, so that an unrevert does the opposite of just that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from palimpsest.session.revert.plan import hidden_by_revert
from palimpsest.session.revert.session_cells import (
    SessionCells,
    elsewhere_note,
    problem_sentence,
    secret_problem,
)
from palimpsest.tools.notebook.seen_sources import changes_of_call
from palimpsest.transcript.context_values.cell_changes import (
    CellChange,
    CellOrigin,
    CellResult,
    MadeChange,
    undoing_changes,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.session_record.reverts import RevertedCell, RevertState


@dataclass(frozen=True, slots=True)
class CellReverts:
    """Undoes the changes that a session's reverted calls made in cells."""

    _cells: SessionCells
    _session_id: str

    async def preview(
        self, messages: Messages, target: RevertState, standing: RevertState | None
    ) -> tuple[RevertedCell, ...]:
        """Return what a revert would do to cells, newest change first."""
        planned_cells = _planned_cells(messages, target, standing)
        possible_cells = [cell for cell in planned_cells if not cell.problem]
        if not possible_cells:
            return planned_cells
        try:
            results = await self._cells.problems(_cell_changes(possible_cells))
        except UserError as error:
            return tuple(_with_problem(cell, str(error)) for cell in planned_cells)
        return _with_results(planned_cells, possible_cells, results)

    async def revert(
        self, messages: Messages, target: RevertState, standing: RevertState | None
    ) -> tuple[tuple[RevertedCell, ...], tuple[RevertedCell, ...]]:
        """Undo the changes; returns what was done or why not, and what an unrevert must do the opposite of."""
        hidden_keys = {(cell.call, cell.index) for cell in _planned_cells(messages, target, None)}
        reverted_before = standing.cells if standing is not None else ()
        still_hidden = tuple(
            cell for cell in reverted_before if (cell.call, cell.index) in hidden_keys
        )
        await self.unrevert([cell for cell in reverted_before if cell not in still_hidden])
        planned_cells = _planned_cells(messages, target, standing)
        possible_cells = [cell for cell in planned_cells if not cell.problem]
        if possible_cells:
            try:
                results = await self._cells.make_possible_changes(_cell_changes(possible_cells))
            except UserError as error:
                return tuple(
                    _with_problem(cell, str(error)) for cell in planned_cells
                ), still_hidden
            planned_cells = _with_results(planned_cells, possible_cells, results)
        return planned_cells, (*still_hidden, *(cell for cell in planned_cells if not cell.problem))

    async def unrevert(self, reverted_cells: Sequence[RevertedCell]) -> tuple[RevertedCell, ...]:
        """Do the opposite of what a revert did, newest first; returns what was done or why not."""
        results_by_cell: list[RevertedCell] = []
        cells_by_call = groupby(reversed(reverted_cells), lambda cell: (cell.message, cell.call))
        for (message, call), group in cells_by_call:
            cells = list(group)
            changes = [undoing_changes([cell.change])[0] for cell in cells]
            origin = CellOrigin(session=self._session_id, message=message, call=call)
            remade_cells = [
                cell.model_copy(update={"change": _as_made(change, cell.change)})
                for cell, change in zip(cells, changes, strict=True)
            ]
            try:
                results = await self._cells.make_possible_changes(changes, origin)
            except UserError as error:
                results_by_cell += [_with_problem(cell, str(error)) for cell in remade_cells]
            else:
                results_by_cell += _with_results(remade_cells, remade_cells, results)
        return tuple(results_by_cell)


def _planned_cells(
    messages: Messages, target: RevertState, standing: RevertState | None
) -> tuple[RevertedCell, ...]:
    """Return the changes that undo those of hidden calls, newest first, without those that are undone already."""
    removal = hidden_by_revert(messages, target)
    hidden_messages, hidden_parts = (
        set(removal.message_ids),
        {part for _, part in removal.part_id_pairs},
    )
    done_keys = {
        (cell.call, cell.index) for cell in (standing.cells if standing is not None else ())
    }
    planned_cells: list[RevertedCell] = []
    for message in messages:
        for part in message.parts:
            is_hidden = message.id in hidden_messages or part.id in hidden_parts
            if not is_hidden or not isinstance(part, ToolPart):
                continue
            for index, change in enumerate(changes_of_call(part)):
                if change.state not in ("open", "accepted") or (part.call_id, index) in done_keys:
                    continue
                [inverse] = undoing_changes([change])
                planned_cells.append(
                    RevertedCell(
                        message=message.id,
                        call=part.call_id,
                        index=index,
                        change=_as_made(inverse, change),
                        problem=secret_problem(change),
                    )
                )
    return tuple(reversed(planned_cells))


def _as_made(change: CellChange, made_change: MadeChange) -> MadeChange:
    fields = {name: getattr(change, name) for name in CellChange.model_fields}
    return MadeChange.model_validate(
        {
            **fields,
            "number": made_change.number,
            "notebook": made_change.notebook,
            "state": "accepted",
        }
    )


def _cell_changes(cells: Sequence[RevertedCell]) -> list[CellChange]:
    return [
        CellChange.model_validate(
            {name: getattr(cell.change, name) for name in CellChange.model_fields}
        )
        for cell in cells
    ]


def _with_problem(cell: RevertedCell, problem: str) -> RevertedCell:
    return cell.model_copy(update={"problem": cell.problem or problem})


def _with_results(
    planned_cells: Sequence[RevertedCell],
    tried_cells: Sequence[RevertedCell],
    results: Sequence[CellResult],
) -> tuple[RevertedCell, ...]:
    """Return the planned cells with what became of those that were tried."""
    outcomes = {
        (cell.call, cell.index): cell.model_copy(
            update={
                "problem": problem_sentence(cell.change, result),
                "note": elsewhere_note(cell.change, result),
                "change": cell.change.model_copy(
                    update={"was_after": result.was_after, "removed": result.removed}
                ),
            }
        )
        for cell, result in zip(tried_cells, results, strict=True)
    }
    return tuple(outcomes.get((cell.call, cell.index), cell) for cell in planned_cells)

"""Review changes of cells that were made without asking: accept them, or take them back in the notebook.

Border: on the engine's loop, one review at a time. A rejected change is taken back by the way by which it was made, and only
where the cell is as the change left it; what a person said is journaled in the metadata of the call's part.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from palimpsest.processor.session_log import SessionLog
from palimpsest.session.revert.plan import without_reverted
from palimpsest.session.revert.session_cells import (
    SessionCells,
    elsewhere_note,
    problem_sentence,
    secret_problem,
)
from palimpsest.tools.notebook.seen_sources import changes_of_call
from palimpsest.transcript.context_values.cell_changes import (
    CELLS_KEY,
    CellChange,
    CellOrigin,
    CellReview,
    MadeChange,
    ReviewedChange,
    undoing_changes,
)
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.messages import parts_of
from palimpsest.transcript.parts import ToolPart, ToolPending, ToolRunning
from palimpsest.transcript.session_record.events import PartUpdated
from palimpsest.transcript.session_record.sessions import standing_revert
from palimpsest.transcript.values import CellDecision

UNKNOWN_CALL = "There is no call {call!r} in this session that changed cells. %agent review lists those to look at."
UNKNOWN_CHANGE = (
    "The call made {count} changes, so there is no change {index}; they are numbered from 0."
)
STILL_RUNS = "The call still works. Accept or reject its changes when it has ended."
TAKEN_BACK_ALREADY = "It was rejected already."


@dataclass(slots=True)
class _ReviewedItem:
    """A change that is being reviewed."""

    part: ToolPart
    index: int
    change: MadeChange
    decision: CellDecision
    problem: str = ""
    note: str | None = None

    def as_reviewed(self) -> ReviewedChange:
        return ReviewedChange(
            call=self.part.call_id,
            index=self.index,
            change=self.change,
            problem=self.problem,
            note=self.note,
        )


@dataclass(eq=False)
class CellReviews:
    """The reviews of one session's changes of cells."""

    _log: SessionLog
    _cells: SessionCells
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def open_changes(self) -> CellReview:
        """Return the changes that nobody looked at yet, oldest first; from any thread."""
        return CellReview(
            changes=tuple(
                ReviewedChange(call=part.call_id, index=index, change=change)
                for part in self._changing_parts()
                for index, change in enumerate(changes_of_call(part))
                if change.state == "open"
            )
        )

    async def review(self, decisions: Mapping[str, Sequence[CellDecision]]) -> CellReview:
        """Accept and reject changes, by the ids of their calls; returns them as they are now.

        A change that cannot be taken back stays as it is, with a problem. Raises NotFound and UserError where nothing was
        done at all.
        """
        async with self._lock:
            items = self._items(decisions)
            rejected_items = [
                item for item in items if not item.decision.accept and not item.problem
            ]
            await self._take_back(rejected_items)
            await self._shorten_cells([item for item in items if item.decision.accept])
            for item in items:
                _apply_decision(item)
            self._journal_items(items)
            return CellReview(changes=tuple(item.as_reviewed() for item in items))

    def _changing_parts(self) -> list[ToolPart]:
        revert = standing_revert(self._log.state.session)
        parts = parts_of(without_reverted(self._log.state.messages(), revert))
        return [part for part in parts if isinstance(part, ToolPart) and changes_of_call(part)]

    def _items(self, decisions: Mapping[str, Sequence[CellDecision]]) -> list[_ReviewedItem]:
        parts = {part.call_id: part for part in self._changing_parts()}
        items: list[_ReviewedItem] = []
        for call_id in parts:
            call_decisions = sorted(decisions.get(call_id, ()), key=lambda decision: decision.index)
            items += [_checked_item(parts[call_id], decision) for decision in call_decisions]
        for call_id in decisions:
            if call_id not in parts:
                raise NotFound(UNKNOWN_CALL.format(call=call_id))
        return items

    async def _take_back(self, items: Sequence[_ReviewedItem]) -> None:
        """Take changes back in the notebook, as one step; those that cannot be get a problem, and the others go on."""
        if not items:
            return
        inverse_changes = undoing_changes(item.change for item in items)
        results = await self._cells.make_possible_changes(inverse_changes)
        for item, result in zip(reversed(items), results, strict=True):
            item.problem = problem_sentence(item.change, result)
            item.note = elsewhere_note(item.change, result)

    async def _shorten_cells(self, items: Sequence[_ReviewedItem]) -> None:
        """Put the source that the person accepts into cells of which only a part is accepted."""
        for item in items:
            source, change = item.decision.source, item.change
            if source is None or source == change.new or change.action not in ("insert", "edit"):
                continue
            edit = CellChange(
                action="edit", cell=change.cell, kind=change.kind, old=change.new, new=source
            )
            origin = CellOrigin(
                session=self._log.session_id, message=item.part.message_id, call=item.part.call_id
            )
            try:
                [result] = await self._cells.make_possible_changes([edit], origin)
            except UserError as error:
                # What was taken back before stays so, and is journaled.
                item.problem = str(error)
                continue
            item.problem = problem_sentence(change, result)
            if not item.problem:
                item.change = change.model_copy(update={"new": source})

    def _journal_items(self, items: Sequence[_ReviewedItem]) -> None:
        items_by_call: dict[str, list[_ReviewedItem]] = {}
        for item in items:
            items_by_call.setdefault(item.part.call_id, []).append(item)
        for call_items in items_by_call.values():
            part = call_items[0].part
            changes = list(changes_of_call(part))
            for item in call_items:
                changes[item.index] = item.change
            change_dicts = [change.model_dump(mode="json", exclude_none=True) for change in changes]
            metadata = {**getattr(part.state, "metadata", {}), CELLS_KEY: change_dicts}
            state = part.state.model_copy(update={"metadata": metadata})
            self._log.append(PartUpdated(part=part.model_copy(update={"state": state})))


def _checked_item(part: ToolPart, decision: CellDecision) -> _ReviewedItem:
    if isinstance(part.state, ToolRunning | ToolPending):
        raise UserError(STILL_RUNS)
    changes = changes_of_call(part)
    if not 0 <= decision.index < len(changes):
        raise NotFound(UNKNOWN_CHANGE.format(count=len(changes), index=decision.index))
    item = _ReviewedItem(part, decision.index, changes[decision.index], decision)
    if item.change.state == "rejected":
        item.problem = TAKEN_BACK_ALREADY
    elif not decision.accept:
        item.problem = secret_problem(item.change)
    return item


def _apply_decision(item: _ReviewedItem) -> None:
    """Put the decision into a change, unless there was a problem."""
    if item.problem:
        return
    if item.decision.accept:
        update: dict[str, object] = {"state": "accepted", "by": "person"}
    else:
        reason = item.decision.reason.strip()
        update = {"state": "rejected", "by": "person", "reason": reason, "undone": True}
    item.change = item.change.model_copy(update=update)

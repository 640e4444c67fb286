"""Split the proposed changes of a call by a person's answer: which are made, with which source, and which are rejected.

Border: pure. A rejected change must not break the accepted ones, so their places are computed again without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.transcript.context_values.cell_changes import MadeChange
from palimpsest.transcript.values import CellDecision, Reply


@dataclass(frozen=True, slots=True)
class DecidedChanges:
    """The changes of a call after the answer to its question."""

    accepted: tuple[MadeChange, ...]
    rejected: tuple[MadeChange, ...] = ()
    rewritten_ids: tuple[str, ...] = ()
    """Ids of cells of which the person accepted only a part."""

    def with_rejected(self, made_changes: Sequence[MadeChange]) -> tuple[MadeChange, ...]:
        """Return the changes that were made and, behind them, those that were rejected."""
        return (*made_changes, *self.rejected)


def decided_changes(changes: Sequence[MadeChange], reply: Reply | None) -> DecidedChanges:
    """Return the accepted and the rejected changes; without a reply all are made and open for review."""
    if reply is None or reply.by != "person":
        open_changes = (change.model_copy(update={"state": "open"}) for change in changes)
        return DecidedChanges(tuple(open_changes))
    decisions = {decision.index: decision for decision in reply.cells or ()}
    accepted: list[MadeChange] = []
    rejected: list[MadeChange] = []
    rewritten_ids: list[str] = []
    for index, change in enumerate(changes):
        decision = decisions.get(index, CellDecision(index=index, accept=True))
        if not decision.accept:
            changed_fields = {
                "state": "rejected",
                "by": reply.by,
                "reason": decision.reason.strip(),
            }
            rejected.append(change.model_copy(update=changed_fields))
            continue
        fields: dict[str, object] = {"state": "accepted", "by": reply.by}
        if decision.source is not None and change.action in ("insert", "edit"):
            rewritten_ids += [change.cell] if decision.source != change.new else []
            fields["new"] = decision.source
        accepted.append(change.model_copy(update=fields))
    return DecidedChanges(
        _with_new_places(accepted, rejected), tuple(rejected), tuple(rewritten_ids)
    )


def _with_new_places(
    accepted: Sequence[MadeChange], rejected: Sequence[MadeChange]
) -> tuple[MadeChange, ...]:
    """Return the accepted changes with sources and places that hold without the rejected ones."""
    after_by_rejected_id = {
        change.cell: change.after for change in rejected if change.action == "insert"
    }
    sources = {change.cell: change.old for change in rejected if change.action == "edit"}
    sources |= {change.cell: change.new for change in accepted if change.action == "edit"}
    placed_changes = []
    for change in accepted:
        after = change.after
        while after in after_by_rejected_id:
            after = after_by_rejected_id[after]
        fields: dict[str, object] = {"after": after}
        if change.action == "move":
            fields["old"] = sources.get(change.cell, change.old)
        placed_changes.append(change.model_copy(update=fields))
    return tuple(placed_changes)

"""Describe the changes of cells that wait for a review, and what became of those that were reviewed."""

from collections.abc import Mapping

from palimpsest.frontends.operation_text.command_output import OutputLines, TitledTable
from palimpsest.render.content.phrases import counted_noun
from palimpsest.transcript.context_values.cell_changes import (
    CellAction,
    CellChange,
    CellHistory,
    CellReview,
    ReviewedChange,
    WrittenCell,
)

NOTHING_OPEN = "No change of a cell waits to be looked at."
HOW_TO_DECIDE = '%agent review accept [NUMBER] keeps them; %agent review reject [NUMBER] ["WHY"] takes them back in the notebook.'
MAX_LINE_CHARS = 60


def cell_review_text(review: CellReview, *, is_list: bool) -> OutputLines:
    """Return the table of open changes, or sentences on those that were accepted and rejected."""
    if is_list:
        return _open_change_lines(review)
    if not review.changes:
        return [NOTHING_OPEN]
    reviewed_changes = [
        reviewed_change for reviewed_change in review.changes if not reviewed_change.problem
    ]
    accepted_count = sum(
        reviewed_change.change.state == "accepted" for reviewed_change in reviewed_changes
    )
    rejected_count = len(reviewed_changes) - accepted_count
    sentences = [
        f"{counted_noun(count, 'change')} {'was' if count == 1 else 'were'} {words}."
        for count, words in (
            (accepted_count, "accepted"),
            (rejected_count, "taken back in the notebook; the agent is told with your next prompt"),
        )
        if count
    ]
    problems = [
        reviewed_change.problem for reviewed_change in review.changes if reviewed_change.problem
    ]
    notes = [reviewed_change.note for reviewed_change in review.changes if reviewed_change.note]
    return [*sentences, *problems, *notes]


def _open_change_lines(review: CellReview) -> OutputLines:
    if not review.changes:
        return [NOTHING_OPEN]
    rows = [
        (str(number), *_change_row(reviewed_change))
        for number, reviewed_change in enumerate(review.changes, 1)
    ]
    header = ("number", "change", "cell", "notebook", "what it holds")
    return [TitledTable("", header, rows), HOW_TO_DECIDE]


def _change_row(reviewed_change: ReviewedChange) -> tuple[str, str, str, str]:
    change = reviewed_change.change
    cell = f"[{change.number}]" if change.number is not None else change.cell
    return change.action, cell, change.notebook, first_source_line(change)


def first_source_line(change: CellChange) -> str:
    """Return the first line that the cell holds after a change, or held before; shortened."""
    source = change.new if change.new is not None else change.old or ""
    line = next((line.strip() for line in source.splitlines() if line.strip()), "(empty)")
    return line if len(line) <= MAX_LINE_CHARS else f"{line[: MAX_LINE_CHARS - 1]}…"


_PAST_TENSES: Mapping[CellAction, str] = {
    "insert": "written",
    "edit": "changed",
    "move": "moved",
    "delete": "deleted",
}


def cell_history_text(history: CellHistory) -> OutputLines:
    """Return where a cell's code came from: what the agent did to it, newest first."""
    label = f"Cell [{history.number}]" if history.number is not None else f"Cell {history.cell}"
    if not history.changes:
        return [
            f"{label} was not written or changed by the agent in any session here. %agent why NUMBER asks about another cell."
        ]
    sentences = [
        _written_sentence(label, written_cell) for written_cell in reversed(history.changes)
    ]
    if history.is_elsewhere:
        session_id = history.changes[-1].session
        sentences.append(
            f"That is another session of this project: %agent open {session_id} goes on with it here."
        )
    return sentences


def _written_sentence(label: str, written_cell: WrittenCell) -> str:
    change = written_cell.change
    request_text = (
        f", in request {written_cell.request}" if written_cell.request is not None else ""
    )
    title_text = f" {written_cell.title!r}" if written_cell.title else ""
    sentence = (
        f"{label} was {_PAST_TENSES[change.action]} by the agent{request_text} of session {written_cell.session}{title_text}, in answer to "
        f"{written_cell.prompt!r}."
    )
    return f"{sentence} {_approval_sentence(written_cell)}"


def _approval_sentence(written_cell: WrittenCell) -> str:
    change = written_cell.change
    if change.undone:
        reason = f" ({change.reason})" if change.reason else ""
        return f"You took it back{reason}."
    approval_sentence = {
        "": "No question was asked, since a mode, a rule or an earlier answer allowed it.",
        "person": "You allowed it.",
    }.get(written_cell.approved_by, f"It was allowed by {written_cell.approved_by}.")
    if change.state == "open":
        return f"{approval_sentence} Nobody has looked at it yet: %agent review."
    afterwards = "" if written_cell.approved_by == "person" else " You accepted it afterwards."
    return f"{approval_sentence}{afterwards}"

"""Describe the changes of cells that wait for a review, and what became of those that were reviewed."""

from palimpsest.frontends.operation_text.command_output import OutputLines, TitledTable
from palimpsest.render.content.phrases import counted_noun
from palimpsest.transcript.context_values.cell_changes import CellReview, MadeChange, ReviewedChange

NOTHING_OPEN = "No change of a cell waits to be looked at."
HOW_TO_DECIDE = '%agent review accept [NUMBER] keeps them; %agent review reject [NUMBER] ["WHY"] takes them back in the notebook.'
MAX_LINE_CHARS = 60


def cell_review_text(review: CellReview, *, is_list: bool) -> OutputLines:
    """Return the table of open changes, or sentences on those that were accepted and rejected."""
    if is_list:
        return _open_changes(review)
    if not review.changes:
        return [NOTHING_OPEN]
    done = [reviewed for reviewed in review.changes if not reviewed.problem]
    accepted = sum(reviewed.change.state == "accepted" for reviewed in done)
    rejected = len(done) - accepted
    sentences = [
        f"{counted_noun(count, 'change')} {'was' if count == 1 else 'were'} {words}."
        for count, words in (
            (accepted, "accepted"),
            (rejected, "taken back in the notebook; the agent is told with your next prompt"),
        )
        if count
    ]
    problems = [reviewed.problem for reviewed in review.changes if reviewed.problem]
    return [*sentences, *problems]


def _open_changes(review: CellReview) -> OutputLines:
    if not review.changes:
        return [NOTHING_OPEN]
    rows = [(str(number), *_row(reviewed)) for number, reviewed in enumerate(review.changes, 1)]
    header = ("number", "change", "cell", "notebook", "what it holds")
    return [TitledTable("", header, rows), HOW_TO_DECIDE]


def _row(reviewed: ReviewedChange) -> tuple[str, str, str, str]:
    change = reviewed.change
    cell = f"[{change.number}]" if change.number is not None else change.cell
    return change.action, cell, change.notebook, _first_line(change)


def _first_line(change: MadeChange) -> str:
    source = change.new if change.new is not None else change.old or ""
    line = next((line.strip() for line in source.splitlines() if line.strip()), "(empty)")
    return line if len(line) <= MAX_LINE_CHARS else f"{line[: MAX_LINE_CHARS - 1]}…"

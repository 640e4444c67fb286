"""The user's prohibitions and demands that a compaction replaced: where each was stated, and whether it is kept.

Words are compared, not meanings: a later call with a word of a constraint may obey it or not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.context.compaction.constraints import constraints_in, subject_words, words_of
from palimpsest.render.reports.table import ColumnSpec, ReportTable, TableColumn, table_of
from palimpsest.review.request_contents.shown_items import ShownItem
from palimpsest.transcript.timeline import Timeline, TimelineItem

COMPARISON_NOTE = "Words are compared, not meanings."
MAX_LISTED_CONSTRAINTS = 100


@dataclass(frozen=True, slots=True)
class ReplacedConstraint:
    """A user's sentence that a compaction replaced."""

    sentence: str
    item: int
    shown_from: int
    """The first request that showed the sentence, from 0."""
    shown_until: int
    """The last request that showed the sentence, from 0."""
    is_kept: bool
    """Whether most of the sentence's words are in the summary, or in text that is shown beside it."""
    call: int | None
    """The first later request, from 0, whose answer has a call with one of its words; None without such a call."""


def replaced_constraints(
    timeline: Timeline,
    request: int,
    replaced_items: Sequence[ShownItem],
    lost_sentences: frozenset[str],
) -> tuple[ReplacedConstraint, ...]:
    """Return the constraints that a compaction before a request replaced; those in ``lost_sentences`` are not kept."""
    constraints_by_sentence: dict[str, ReplacedConstraint] = {}
    for shown_item in replaced_items:
        item = shown_item.item
        if is_user_text(timeline, item):
            for sentence in constraints_in(timeline.read(item.index)):
                is_kept = sentence not in lost_sentences
                call = _first_call_request(timeline, request, subject_words(sentence))
                constraints_by_sentence[sentence] = ReplacedConstraint(
                    sentence, item.index, item.entered, request - 1, is_kept, call
                )
    return tuple(constraints_by_sentence.values())


def is_user_text(timeline: Timeline, item: TimelineItem) -> bool:
    """Return whether an item is the user's own text: not the program's, nor a parent's prompt to its subagent."""
    return item.kind == "user" and not item.by_program and timeline.parent is None


def constraints_table(title: str, constraints: Sequence[ReplacedConstraint]) -> ReportTable:
    """Return the constraints as a table, the lost ones first."""
    rows = sorted(constraints, key=lambda constraint: (constraint.is_kept, constraint.item))
    kept_column = TableColumn("kept", "kept", about=COMPARISON_NOTE)
    about_call = f"With one of its words. {COMPARISON_NOTE}"
    call_column = TableColumn("call", "first later call", "count", "", about_call)
    columns: tuple[ColumnSpec, ...] = (
        (TableColumn("constraint", "constraint"), lambda row: row.sentence),
        (TableColumn("said", "said at request", "count"), lambda row: row.shown_from + 1),
        (TableColumn("shown_until", "shown until", "count"), lambda row: row.shown_until + 1),
        (kept_column, lambda row: "yes" if row.is_kept else "no"),
        (call_column, lambda row: None if row.call is None else row.call + 1),
    )
    return table_of(title, columns, rows[:MAX_LISTED_CONSTRAINTS], (COMPARISON_NOTE,))


def _first_call_request(timeline: Timeline, request: int, words: frozenset[str]) -> int | None:
    words_by_call = timeline.derived_value("words of calls", _words_of_calls)
    later_calls = (
        index for index, call_words in words_by_call if index >= request and words & call_words
    )
    return next(later_calls, None)


def _words_of_calls(timeline: Timeline) -> tuple[tuple[int, frozenset[str]], ...]:
    """Return the request and the words of each call, in their order."""
    return tuple(
        (request.index, words_of(timeline.read(item)))
        for request in timeline.requests
        for item in range(*request.answer)
        if timeline.items[item].kind == "call"
    )

"""What a person forbade or demanded in what a compaction replaced: where it was said, whether it is kept, which call touches it.

Words are compared, not meanings: a call that holds a word of a constraint may keep to it or not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.context.compaction.constraints import constraints_in, subject_words, words_of
from palimpsest.render.reports.table import ReportTable, TableColumn, Told, table_of
from palimpsest.review.request_contents.shown_items import ShownItem
from palimpsest.transcript.timeline import Timeline, TimelineItem

COMPARED = "Words are compared, not meanings."
MOST_LISTED = 100


@dataclass(frozen=True, slots=True)
class ReplacedConstraint:
    """A sentence of a person that a compaction replaced."""

    sentence: str
    item: int
    said: int
    """The first request that showed it, from 0."""
    shown_until: int
    """The last request that showed it, from 0."""
    kept: bool
    """Most of its words stand in the summary, or in what is shown beside it."""
    call: int | None
    """The request, from 0, whose answer has the first later call with one of its words; None where none has."""


def replaced_constraints(
    timeline: Timeline,
    request: int,
    replaced: Sequence[ShownItem],
    lost: frozenset[str],
) -> tuple[ReplacedConstraint, ...]:
    """Return the constraints that a compaction before a request replaced; ``lost`` are the sentences of those not kept."""
    found: dict[str, ReplacedConstraint] = {}
    for shown in replaced:
        item = shown.item
        if is_persons(timeline, item):
            for sentence in constraints_in(timeline.read(item.index)):
                call = _call_with(timeline, request, subject_words(sentence))
                found[sentence] = ReplacedConstraint(
                    sentence, item.index, item.entered, request - 1, sentence not in lost, call
                )
    return tuple(found.values())


def is_persons(timeline: Timeline, item: TimelineItem) -> bool:
    """Return whether an item is a person's own words: neither the program's, nor what a parent told its subagent."""
    return item.kind == "user" and not item.by_program and timeline.parent is None


def constraints_table(title: str, constraints: Sequence[ReplacedConstraint]) -> ReportTable:
    """Return the constraints as a table, the lost ones first."""
    ordered = sorted(constraints, key=lambda one: (one.kept, one.item))
    columns: tuple[Told, ...] = (
        (TableColumn("constraint", "constraint"), lambda one: one.sentence),
        (TableColumn("said", "said at request", "count"), lambda one: one.said + 1),
        (TableColumn("shown_until", "shown until", "count"), lambda one: one.shown_until + 1),
        (TableColumn("kept", "kept", about=COMPARED), lambda one: "yes" if one.kept else "no"),
        (
            TableColumn(
                "call", "first later call", "count", "", f"With one of its words. {COMPARED}"
            ),
            lambda one: None if one.call is None else one.call + 1,
        ),
    )
    return table_of(title, columns, ordered[:MOST_LISTED], (COMPARED,))


def _call_with(timeline: Timeline, request: int, words: frozenset[str]) -> int | None:
    for at, said in timeline.derived("words of calls", _words_of_calls):
        if at >= request and words & said:
            return at
    return None


def _words_of_calls(timeline: Timeline) -> tuple[tuple[int, frozenset[str]], ...]:
    """Return the request and the words of each call, in their order."""
    return tuple(
        (one.index, words_of(timeline.read(item)))
        for one in timeline.requests
        for item in range(*one.answer)
        if timeline.items[item].kind == "call"
    )

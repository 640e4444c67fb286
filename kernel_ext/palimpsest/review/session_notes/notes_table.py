"""The notes on a session as a list: for a terminal, a cell, a report, and a pull request."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.reports.table import (
    ColumnSpec,
    ReportTable,
    ShownAsTable,
    TableColumn,
    table_of,
)
from palimpsest.render.safety.escaping import one_line
from palimpsest.review.session_notes.note_places import FoundPlace, found_place
from palimpsest.review.tables.links import link_to
from palimpsest.store.interface import Problem
from palimpsest.transcript.ids import short_id
from palimpsest.transcript.session_record.notes import VERDICTS, Note, verdict_counts
from palimpsest.transcript.timeline import Timeline

MAX_TITLE_CHARS = 60
"""Maximum characters of a session's title in the table of several sessions."""


@dataclass(frozen=True)
class SessionNotes(ShownAsTable):
    """The notes on a session, oldest first."""

    timeline: Timeline
    notes: tuple[Note, ...]
    problems: tuple[Problem, ...] = ()
    """The places of the files that could not be read."""

    def __iter__(self) -> Iterator[Note]:
        return iter(self.notes)

    def __len__(self) -> int:
        return len(self.notes)

    def __getitem__(self, index: int) -> Note:
        return self.notes[index]

    @cached_property
    def places(self) -> tuple[FoundPlace, ...]:
        """Where each note is in the session."""
        return tuple(found_place(self.timeline, note.place) for note in self.notes)

    @cached_property
    def table(self) -> ReportTable:
        """The notes as a table."""
        timeline = self.timeline
        counts_text = ", ".join(
            f"{number} {verdict}"
            for verdict, number in verdict_counts(self.notes).items()
            if number
        )
        title = f"{counted_noun(len(self), 'note')} on {timeline.title or timeline.session}"
        return table_of(
            f"{title}: {counts_text}" if counts_text else title,
            (
                (TableColumn("where", "where"), lambda row: row[1].text),
                (TableColumn("verdict", "verdict"), lambda row: row[0].verdict or None),
                (TableColumn("tag", "tag"), lambda row: row[0].tag or None),
                (TableColumn("note", "note"), lambda row: row[0].text or None),
                (TableColumn("by", "by"), lambda row: _author_text(row[0])),
                (TableColumn("id", "id"), lambda row: short_id(row[0].id)),
            ),
            [*zip(self.notes, self.places, strict=True)],
            tuple(problem.sentence for problem in self.problems),
            [link_to(timeline.session, place.request, place.item) for place in self.places],
        )

    def json(self) -> Mapping[str, Any]:
        """Return the session with its notes as plain values; numbers count from 1."""
        return {
            "session": self.timeline.session,
            "title": self.timeline.title,
            "origin": self.timeline.origin,
            "count": len(self),
            **verdict_counts(self.notes),
            "notes": [
                {**note.model_dump(mode="json"), "where": place.text}
                for note, place in zip(self.notes, self.places, strict=True)
            ],
        }


def notes_overview(sessions: Sequence[SessionNotes]) -> ReportTable:
    """Return a table with a row for each session: how many notes it has, and with which verdicts."""
    session_column = TableColumn("session", "session")
    columns: tuple[ColumnSpec, ...] = (
        (
            session_column,
            lambda row: one_line(row.timeline.title or row.timeline.session, MAX_TITLE_CHARS),
        ),
        (TableColumn("origin", "origin"), lambda row: row.timeline.origin),
        (TableColumn("notes", "notes", "count", "fact"), len),
        *(
            (
                TableColumn(verdict, verdict, "count", "fact"),
                lambda row, verdict=verdict: verdict_counts(row.notes)[verdict],
            )
            for verdict in VERDICTS
        ),
    )
    total = sum(len(notes) for notes in sessions)
    title = f"{counted_noun(total, 'note')} on {counted_noun(len(sessions), 'session')}"
    return table_of(title, columns, sessions)


def _author_text(note: Note) -> str:
    """Return who wrote a note and when, and who changed it last."""
    text = f"{note.author or 'unnamed'}, {_date_text(note.time)}"
    if note.changed is None:
        return text
    by_text = f" by {note.changed_by}" if note.changed_by != note.author else ""
    return f"{text}, changed{by_text} {_date_text(note.changed)}"


def _date_text(milliseconds: int) -> str:
    return f"{datetime.datetime.fromtimestamp(milliseconds / 1000, tz=datetime.UTC):%Y-%m-%d}"

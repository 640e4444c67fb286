"""Notes of people on a recorded session: a sentence, a tag or a verdict at a place of it.

A file of notes is only added to: each line is a note as its author left it, a change of a note or its removal, and the
newest line of a note holds. So the lines of several people can be merged in any order.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field, model_validator

from palimpsest.transcript.values import MAX_TIME_MS, Value

PlaceKind = Literal["session", "request", "item", "range", "break", "compaction"]
Verdict = Literal["", "good", "bad", "unsure"]
VERDICTS: tuple[Verdict, ...] = ("good", "bad", "unsure")
LINE_VERSION = 1
"""Version of the lines; a line with a higher one is left for a newer Palimpsest."""
MAX_TEXT_CHARS = 4_000
MAX_TAG_CHARS = 60
MAX_AUTHOR_CHARS = 120
MAX_ID_CHARS = 400
MAX_NUMBER = 1_000_000_000


class NotePlace(Value):
    """The place of a note in a session; numbers count from 1, as people are shown them."""

    kind: PlaceKind = "session"
    request: int | None = Field(default=None, ge=1, le=MAX_NUMBER)
    """A request; of a range its first, of a cache break the request that lost the cache."""
    last: int | None = Field(default=None, ge=1, le=MAX_NUMBER)
    """The last request of a range."""
    item: str = Field(default="", max_length=MAX_ID_CHARS)
    """The id of an item, as the table of items names it."""
    compaction: int | None = Field(default=None, ge=1, le=MAX_NUMBER)

    @model_validator(mode="after")
    def _check_complete(self) -> "NotePlace":
        needed_fields = {
            "session": (),
            "request": (self.request,),
            "item": (self.item,),
            "range": (self.request, self.last),
            "break": (self.request,),
            "compaction": (self.compaction,),
        }[self.kind]
        if not all(needed_fields):
            raise ValueError(f"The place of a note on a {self.kind} is not complete.")
        if self.request and self.last and self.last < self.request:
            raise ValueError("A range ends before it begins.")
        return self


class NoteLine(Value):
    """One line of a file of notes: a note as it is from ``time`` on, or its removal."""

    version: int = LINE_VERSION
    id: str = Field(min_length=1, max_length=80)
    """Id of the line."""
    note: str = Field(min_length=1, max_length=80)
    """Id of the note: that of its first line."""
    session: str = Field(min_length=1, max_length=MAX_ID_CHARS)
    author: str = Field(default="", max_length=MAX_AUTHOR_CHARS)
    time: int = Field(ge=0, le=MAX_TIME_MS)
    """Milliseconds since 1970."""
    place: NotePlace = Field(default_factory=NotePlace)
    text: str = Field(default="", max_length=MAX_TEXT_CHARS)
    tag: str = Field(default="", max_length=MAX_TAG_CHARS)
    verdict: Verdict = ""
    removed: bool = False


class Note(Value):
    """A note as it is now."""

    id: str
    session: str
    author: str
    time: int
    """When it was written, in milliseconds since 1970."""
    place: NotePlace
    text: str
    tag: str
    verdict: Verdict
    changed: int | None = None
    """When it was changed last, in milliseconds since 1970; None where it never was."""
    changed_by: str = ""

    def next_line(
        self, line_id: str, author: str, time: int, *, is_removed: bool = False
    ) -> NoteLine:
        """Return a new line with this note's values, or with its removal; the line is always newer than the note."""
        return NoteLine(
            id=line_id,
            note=self.id,
            session=self.session,
            author=author,
            time=max(time, (self.changed or self.time) + 1),
            place=self.place,
            text=self.text,
            tag=self.tag,
            verdict=self.verdict,
            removed=is_removed,
        )


def current_notes(lines: Iterable[NoteLine]) -> tuple[Note, ...]:
    """Return the notes that result from lines in any order, in the order in which the notes were written.

    Of several lines of a note the newest holds; of equally old ones, that with the higher id.
    """
    lines_by_note: dict[str, dict[str, NoteLine]] = {}
    for line in lines:
        lines_by_note.setdefault(line.note, {})[line.id] = line
    notes = (_newest_note(list(by_id.values())) for by_id in lines_by_note.values())
    return tuple(sorted(filter(None, notes), key=lambda note: (note.time, note.id)))


def verdict_counts(notes: Sequence[Note]) -> dict[str, int]:
    """Return how many notes have each verdict."""
    return {verdict: sum(note.verdict == verdict for note in notes) for verdict in VERDICTS}


def _newest_note(lines: Sequence[NoteLine]) -> Note | None:
    """Return the note of its lines, in any order; None where it was removed."""
    ordered_lines = sorted(lines, key=lambda line: (line.time, line.id))
    first_line, newest_line = ordered_lines[0], ordered_lines[-1]
    if newest_line.removed:
        return None
    is_changed = newest_line is not first_line
    return Note(
        id=newest_line.note,
        session=first_line.session,
        author=first_line.author,
        time=first_line.time,
        place=newest_line.place,
        text=newest_line.text,
        tag=newest_line.tag,
        verdict=newest_line.verdict,
        changed=newest_line.time if is_changed else None,
        changed_by=newest_line.author if is_changed else "",
    )

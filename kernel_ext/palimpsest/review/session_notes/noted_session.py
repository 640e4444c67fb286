"""The notes of a review: what people wrote on a session, to read and to add to.

Border: the base of ``SessionReview``, which knows the session's items and cache breaks.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING

from palimpsest.store.session_notes import NoteFiles
from palimpsest.transcript.session_record.notes import Note, Verdict, current_notes
from palimpsest.transcript.timeline import Timeline

if TYPE_CHECKING:
    from palimpsest.review.session_notes.notes_table import SessionNotes


class NotedSession:
    """Reads and writes the notes on one session; each is a line added to a file beside the recording."""

    timeline: Timeline
    note_files: NoteFiles
    """The files with the notes."""

    def _item_number(self, item: int | str) -> int:
        """Return an item's number in ``items``, from 1; raises UserError."""
        raise NotImplementedError

    def _broken_requests(self) -> Collection[int]:
        """Return the requests, from 0, that lost the cache."""
        raise NotImplementedError

    def notes(self) -> "SessionNotes":
        """Return the notes on the session, oldest first, as they are on the disk now.

        >>> _ = session.note("The answer is short.", verdict="good")
        >>> session.notes()[-1].verdict
        'good'
        """
        from palimpsest.review.session_notes.notes_table import SessionNotes

        contents = self.note_files.read(self.timeline.session)
        return SessionNotes(self.timeline, current_notes(contents.lines), contents.problems)

    def note(
        self,
        text: str = "",
        *,
        request: int | None = None,
        item: int | str | None = None,
        requests: tuple[int, int] | None = None,
        cache_break: int | None = None,
        compaction: int | None = None,
        tag: str = "",
        verdict: Verdict = "",
        author: str = "",
    ) -> Note:
        """Write a note on a request, an item, a range of requests, a cache break, a compaction, or the session.

        Numbers count from 1; ``cache_break`` is the request that lost the cache, ``item`` a number or id of the table
        of items. ``verdict`` is ``good``, ``bad`` or ``unsure``; without ``author`` it is the user's name. Keys are
        removed. Raises UserError for a place that the session does not have, and where the note cannot be written.

        >>> session.note("The answer names no file.", request=1, verdict="bad").place.request
        1
        """
        from palimpsest.review.session_notes.note_places import note_place
        from palimpsest.review.session_notes.note_writing import NoteChange, write_note

        place = note_place(
            self.timeline,
            request=request,
            item=None if item is None else self._item_number(item),
            requests=requests,
            cache_break=cache_break,
            compaction=compaction,
            breaks=() if cache_break is None else self._broken_requests(),
        )
        change = NoteChange(text=text, tag=tag, verdict=verdict, author=author)
        return write_note(self.note_files, self.timeline.session, change, place)

    def change_note(
        self,
        note: str,
        text: str | None = None,
        *,
        tag: str | None = None,
        verdict: Verdict | None = None,
        author: str = "",
    ) -> Note:
        """Change the words of a note, by its id or the end of it; what is None stays. Raises NotFound.

        >>> note = session.note("Look at this.", request=1)
        >>> session.change_note(note.id, verdict="unsure").verdict
        'unsure'
        """
        from palimpsest.review.session_notes.note_writing import NoteChange, rewrite_note

        change = NoteChange(text=text, tag=tag, verdict=verdict, author=author)
        return rewrite_note(self.note_files, self.timeline.session, note, change)

    def remove_note(self, note: str, author: str = "") -> None:
        """Remove a note, by its id or the end of it; its lines stay in the file. Raises NotFound.

        >>> note = session.note("Look at this.", request=1)
        >>> session.remove_note(note.id)
        >>> note in session.notes()
        False
        """
        from palimpsest.review.session_notes.note_writing import remove_note

        remove_note(self.note_files, self.timeline.session, note, author)

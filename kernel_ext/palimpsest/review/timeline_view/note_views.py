"""The notes on a session as a page draws them: each with its place in the view."""

from palimpsest.review.session_notes.notes_table import SessionNotes
from palimpsest.review.timeline_view.view_queries import NotesText
from palimpsest.review.timeline_view.view_values import NoteView


def notes_text(notes: SessionNotes) -> NotesText:
    """Return the answer to a question for the notes."""
    return NotesText(
        notes=tuple(
            NoteView(note=note, found=found)
            for note, found in zip(notes, notes.places, strict=True)
        ),
        problems=tuple(problem.sentence for problem in notes.problems),
    )

"""Write, change and remove notes on a session: what a person gave is checked, and a line is added to a file."""

from collections.abc import Mapping
from dataclasses import dataclass

from palimpsest.store.session_notes import NoteFiles, new_note_id
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.ids import time_of
from palimpsest.transcript.session_record.notes import (
    MAX_AUTHOR_CHARS,
    MAX_TAG_CHARS,
    MAX_TEXT_CHARS,
    VERDICTS,
    Note,
    NoteLine,
    NotePlace,
    Verdict,
    current_notes,
)

EMPTY_NOTE_SENTENCE = "A note has a text, a tag or a verdict; give one of them."
AUTHOR_VARIABLES = ("PALIMPSEST_AUTHOR", "GIT_AUTHOR_NAME", "USER", "LOGNAME", "USERNAME")
"""Variables of the environment that name a note's author, the first that is set."""


@dataclass(frozen=True, slots=True)
class NoteChange:
    """The values that a person gives for a note; None leaves a value as it is."""

    text: str | None = None
    tag: str | None = None
    verdict: Verdict | None = None
    author: str = ""

    def validated_change(self) -> "NoteChange":
        """Return the change without blanks at the ends; raises UserError for a text that is too long, or an unknown verdict."""
        if self.verdict not in (None, "", *VERDICTS):
            raise UserError(f"{self.verdict!r:.40} is no verdict; there are {', '.join(VERDICTS)}.")
        tag = None if self.tag is None else " ".join(self.tag.split())
        author = " ".join(self.author.split())
        text = None if self.text is None else self.text.strip()
        limits = (
            ("text of a note", text, MAX_TEXT_CHARS),
            ("tag", tag, MAX_TAG_CHARS),
            ("author's name", author, MAX_AUTHOR_CHARS),
        )
        for label, value, max_chars in limits:
            if value and len(value) > max_chars:
                raise UserError(
                    f"The {label} has at most {max_chars:,} characters; this one has {len(value):,}."
                )
        return NoteChange(text, tag, self.verdict, author)


def write_note(files: NoteFiles, session_id: str, change: NoteChange, place: NotePlace) -> Note:
    """Write a new note and return it; raises UserError in one sentence."""
    change = change.validated_change()
    identifier = new_note_id()
    line = NoteLine(
        id=identifier,
        note=identifier,
        session=session_id,
        author=change.author or default_author(files.environment),
        time=time_of(identifier),
        place=place,
        text=change.text or "",
        tag=change.tag or "",
        verdict=change.verdict or "",
    )
    if not (line.text or line.tag or line.verdict):
        raise UserError(EMPTY_NOTE_SENTENCE)
    (note,) = current_notes(files.append([line]))
    return note


def rewrite_note(files: NoteFiles, session_id: str, note_id: str, change: NoteChange) -> Note:
    """Change a note, by its id or the end of it, and return it; raises NotFound or UserError."""
    change = change.validated_change()
    values = {"text": change.text, "tag": change.tag, "verdict": change.verdict}
    changed_values = {name: value for name, value in values.items() if value is not None}
    changed_note = files.note(session_id, note_id).model_copy(update=changed_values)
    if not (changed_note.text or changed_note.tag or changed_note.verdict):
        raise UserError(EMPTY_NOTE_SENTENCE)
    _append_line(files, changed_note, change.author)
    return files.note(session_id, changed_note.id)


def remove_note(files: NoteFiles, session_id: str, note_id: str, author: str = "") -> None:
    """Remove a note, by its id or the end of it: a line says so, and its earlier lines stay; raises NotFound."""
    removed_note = files.note(session_id, note_id)
    author = NoteChange(author=author).validated_change().author
    _append_line(files, removed_note, author, is_removal=True)


def default_author(environment: Mapping[str, str]) -> str:
    """Return the name of the user from the environment; empty where none is set."""
    names = (environment.get(variable, "").strip() for variable in AUTHOR_VARIABLES)
    return next(filter(None, names), "")[:MAX_AUTHOR_CHARS]


def _append_line(files: NoteFiles, note: Note, author: str, *, is_removal: bool = False) -> None:
    identifier = new_note_id()
    author = author or default_author(files.environment)
    files.append([note.next_line(identifier, author, time_of(identifier), is_removed=is_removal)])

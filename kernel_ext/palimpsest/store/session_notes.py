"""Read and write the notes of people on sessions: files of JSON lines beside a recording, or in a session's folder.

A file is only added to, one line in one write, so that two people can write it in turn and git or ``cat`` can merge two
copies. A line that cannot be read is reported and left where it is.
"""

import json
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from palimpsest.store.disk import NoFile, TooLarge, append_lines, read_small
from palimpsest.store.interface import Problem
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.redaction.secret_patterns import scrub
from palimpsest.transcript.redaction.secret_removal import redacted_value, secret_values
from palimpsest.transcript.session_record.notes import LINE_VERSION, Note, NoteLine, current_notes
from palimpsest.transcript.strings.surrogates import with_joined_surrogates

if TYPE_CHECKING:
    from palimpsest.store.interface import Store
    from palimpsest.store.project_folder.layout import Layout

NOTES_ENDING = ".notes.jsonl"
"""End of the name of the file beside a recording, behind the recording's own name."""
STORED_NOTES = "notes.jsonl"
"""Name of the file in the folder of a stored session."""
MAX_FILE_BYTES = 16_000_000
"""Bytes of one file; a larger one is neither read nor written."""
MAX_LINE_BYTES = 64_000
MAX_NAMED_LINES = 5
"""Unreadable lines of a file that are named one by one."""
MAX_DEPTH = 6
"""Depth to which a folder of recordings is searched for notes, as it is for recordings."""
MAX_FILES = 1_000

NO_FOLDER = "The sessions of this kernel are kept in memory only, so there is no place for notes."


@dataclass(frozen=True, slots=True)
class NoteLines:
    """The lines of some files of notes, and the places that could not be read."""

    lines: tuple[NoteLine, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class MergedNotes:
    """What a merge brought."""

    added_count: int
    known_count: int
    """Lines that were here already."""
    left_out: int
    """Lines about other sessions."""
    problems: tuple[Problem, ...] = ()

    def plus(self, other: "MergedNotes") -> "MergedNotes":
        """Return both together."""
        return MergedNotes(
            self.added_count + other.added_count,
            self.known_count + other.known_count,
            self.left_out + other.left_out,
            (*self.problems, *other.problems),
        )


_IDS = Ids(lambda: time.time_ns() // 1_000_000, os.urandom)
"""Makes the ids of this process, which rise and hold the time."""


def new_note_id() -> str:
    """Return the id of a new note or line."""
    return _IDS.new("note")


@dataclass(frozen=True)
class NoteFiles:
    """The files with the notes on the sessions of a recording or of a project.

    Responsibilities: read them, tolerant of damage; add lines without keys, and nothing else.
    """

    file_of: Callable[[str], Path]
    """Returns the file to which notes on a session are added; raises UserError where there is none."""
    find_files: Callable[[], Sequence[Path]] = tuple
    """Returns further files that are read."""
    can_write: bool = True
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    """Its secrets are removed from what is written."""

    def read(self, *session_ids: str) -> NoteLines:
        """Return the lines about some sessions, of all files; each file is read once."""
        paths: dict[Path, None] = {}
        for session_id in session_ids:
            with suppress(UserError):
                paths[self.file_of(session_id)] = None
        paths |= dict.fromkeys(self.find_files())
        files = [read_note_file(path) for path in paths]
        asked_ids = frozenset(session_ids)
        return NoteLines(
            tuple(line for notes in files for line in notes.lines if line.session in asked_ids),
            tuple(problem for notes in files for problem in notes.problems),
        )

    def notes(self, session: str) -> tuple[Note, ...]:
        """Return the notes on a session as they are now, oldest first."""
        return current_notes(self.read(session).lines)

    def note(self, session: str, note_id: str) -> Note:
        """Return a note by its id or the end of it; raises NotFound."""
        notes = self.notes(session) if note_id else ()
        matching_notes = [note for note in notes if note.id.endswith(note_id)]
        if len(matching_notes) != 1:
            raise NotFound(
                f"{note_id!r:.60} is the end of {len(matching_notes)} notes; give the whole id."
                if matching_notes
                else f"There is no note {note_id!r:.60} on session {session}."
            )
        return matching_notes[0]

    def append(self, lines: Sequence[NoteLine], file: Path | None = None) -> Sequence[NoteLine]:
        """Add lines, each to the file of its session or all to ``file``, and return them as written: without keys.

        Raises StorageFailed or UserError in one sentence.
        """
        values = secret_values(self.environment)
        clean_lines = [_without_secrets(line, partial(scrub, values=values)) for line in lines]
        lines_by_file: dict[Path, list[NoteLine]] = {}
        for line in clean_lines:
            lines_by_file.setdefault(file or self.file_of(line.session), []).append(line)
        for path, file_lines in lines_by_file.items():
            append_note_lines(path, file_lines)
        return clean_lines

    def merge(
        self, other: NoteLines, session_ids: Collection[str], file: Path | None = None
    ) -> MergedNotes:
        """Add the lines of another file that are missing here; those on other sessions are left out."""
        own_lines = [line for line in other.lines if line.session in session_ids]
        known_ids = {line.id for line in self.read(*session_ids).lines}
        missing_lines = {line.id: line for line in own_lines if line.id not in known_ids}
        self.append([*missing_lines.values()], file)
        return MergedNotes(
            added_count=len(missing_lines),
            known_count=len(own_lines) - len(missing_lines),
            left_out=len(other.lines) - len(own_lines),
            problems=other.problems,
        )

    def merge_folder(
        self, own_folder: Path, other_folder: Path, session_ids: Collection[str]
    ) -> MergedNotes:
        """Add what is missing of the notes in another copy of a folder, each beside the same recording as there."""
        merged_notes = self.merge(read_note_file(notes_beside(other_folder)), session_ids)
        for path in _notes_in_folder(other_folder):
            notes_path = own_folder / path.relative_to(other_folder)
            has_recording = notes_path.with_name(
                notes_path.name.removesuffix(NOTES_ENDING)
            ).exists()
            own_file = notes_path if has_recording else None
            merged_notes = merged_notes.plus(
                self.merge(read_note_file(path), session_ids, own_file)
            )
        return merged_notes


def notes_beside(recording: Path) -> Path:
    """Return the path of the notes on a recording's sessions."""
    return recording.with_name(f"{recording.name}{NOTES_ENDING}")


def recording_notes(recording: Path) -> NoteFiles:
    """Return the notes on the sessions of a recording; of a folder of recordings, also those of each one in it."""
    notes_path = notes_beside(Path(os.path.abspath(recording)))  # noqa: PTH100  resolve() would follow links
    return NoteFiles(lambda _session: notes_path, partial(_notes_in_folder, recording))


def project_notes(layout: "Layout") -> NoteFiles:
    """Return the notes on the sessions of a project, each in the session's folder."""

    def file_of(session_id: str) -> Path:
        folder = layout.session(session_id)
        if not folder.is_dir():
            raise NotFound(f"There is no session {session_id!r} in {str(layout.root)!r}.")
        return folder / STORED_NOTES

    return NoteFiles(file_of)


def store_notes(store: "Store") -> NoteFiles:
    """Return the notes on the sessions of a project's store; none where they are kept in memory."""
    layout: Layout | None = getattr(store, "layout", None)
    return no_notes() if layout is None else project_notes(layout)


def no_notes() -> NoteFiles:
    """Return the notes of sessions that are kept in memory: there are none, and none can be written."""

    def no_file(_session: str) -> Path:
        raise UserError(NO_FOLDER)

    return NoteFiles(no_file, can_write=False)


def _notes_in_folder(folder: Path) -> tuple[Path, ...]:
    """Return the files of notes beside the recordings in a folder; links are not followed."""
    note_files: list[Path] = []
    if folder.is_symlink() or not folder.is_dir():
        return ()
    top = len(folder.parts)
    for folder_path, folders, names in os.walk(folder):
        if len(Path(folder_path).parts) - top >= MAX_DEPTH:
            folders.clear()
        folders[:] = sorted(name for name in folders if not name.startswith(".palimpsest"))
        note_names = sorted(name for name in names if name.endswith(NOTES_ENDING))
        note_files += [Path(folder_path, name) for name in note_names]
        if len(note_files) >= MAX_FILES:
            break
    return tuple(note_files[:MAX_FILES])


def read_note_file(path: Path, *, follow: bool = False) -> NoteLines:
    """Return the lines of a file, and the problems of those that cannot be read; nothing for a missing file.

    A link is followed only with ``follow``, for a path that the user named.
    """
    try:
        content = read_small(path, MAX_FILE_BYTES, follow=follow)
    except NoFile:
        return NoteLines((), (Problem(path.name, "It is no file, so no note is read from it."),))
    except FileNotFoundError:
        return NoteLines(())
    except TooLarge:
        sentence = f"It is larger than {MAX_FILE_BYTES // 1_000_000} MB, and is not read."
        return NoteLines((), (Problem(path.name, sentence),))
    except OSError as error:
        return NoteLines((), (Problem(path.name, f"It cannot be read: {error.strerror}."),))
    lines: list[NoteLine] = []
    problems: list[Problem] = []
    for number, line_bytes in enumerate(content.split(b"\n"), start=1):
        if line_bytes.strip():
            parsed_line = _parse_line(line_bytes)
            if isinstance(parsed_line, NoteLine):
                lines.append(parsed_line)
            else:
                problems.append(Problem(f"{path.name}, line {number}", parsed_line))
    more_count = len(problems) - MAX_NAMED_LINES
    if more_count > 0:
        sentence = f"{more_count:,} more lines of it are no notes."
        problems[MAX_NAMED_LINES:] = [Problem(path.name, sentence)]
    return NoteLines(tuple(lines), tuple(problems))


def _parse_line(line_bytes: bytes) -> NoteLine | str:
    """Return the line, or a sentence on why it cannot be read."""
    if len(line_bytes) > MAX_LINE_BYTES:
        return "It is too long for a note, and is left out."
    try:
        line = NoteLine.model_validate(with_joined_surrogates(json.loads(line_bytes)))
    except (ValidationError, ValueError, RecursionError):
        return "It is no note, and is left out."
    if line.version > LINE_VERSION:
        return "It was written by a newer Palimpsest; update this one to read it."
    return line


def append_note_lines(path: Path, lines: Sequence[NoteLine]) -> None:
    """Add lines to the end of a file, created where it is missing; raises StorageFailed in one sentence.

    All are written at once.
    """
    if not lines:
        return
    content = "".join(
        f"{json.dumps(line.model_dump(exclude_defaults=True) | {'version': line.version})}\n"
        for line in lines
    ).encode()
    # Beside a recording colleagues read it, too, as far as the folder's owner lets them.
    append_lines(path, content, MAX_FILE_BYTES, 0o600 if path.name == STORED_NOTES else 0o666)


def _without_secrets(line: NoteLine, clean: Callable[[str], str]) -> NoteLine:
    """Return a line whose words hold no key; the ids of its place stay, whatever they look like."""
    redacted: NoteLine = redacted_value(line, clean)
    return redacted.model_copy(update={"session": line.session, "place": line.place})

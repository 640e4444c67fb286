"""Notes of people on sessions: written from a page or from Python, and listed, written and merged in a terminal.

Border: what reads recordings is imported when the first operation runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field

from palimpsest.frontends.operation_base.operation import (
    Argument,
    FileName,
    Operation,
    OperationContext,
    Unvalidated,
    terminal_form,
)
from palimpsest.frontends.operation_text.command_report import CommandReport
from palimpsest.home_paths import home_path
from palimpsest.review.timeline_view.view_queries import ViewAnswer
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.session_record.notes import VERDICTS, Note, Verdict, current_notes

if TYPE_CHECKING:
    from palimpsest.review.recorded_sessions.recording import Recording
    from palimpsest.review.recorded_sessions.recording_review import RecordingReview
    from palimpsest.review.session_notes.notes_table import SessionNotes
    from palimpsest.review.session_review import SessionReview
    from palimpsest.store.interface import Problem

    ReviewedRecording: TypeAlias = Recording[RecordingReview]
    NotesChange: TypeAlias = tuple[Sequence[str], Mapping[str, Any], Sequence[Problem]]

NOTHING_TO_NOTE = "This notebook has no session yet. Ask the agent, then write a note on it."
NO_NOTE = "There is no note yet; palimpsest notes PATH --add TEXT --request N writes one."
NO_PATH = "There is no {path!r}: neither a recording nor a session of this project."
MAX_NUMBER_DIGITS = 20
"""Digits above which a text is no number of an item; Python reads no more than 4,300."""
ONE_CHANGE = "One note at a time: give --add, --change, --remove or --merge, not several of them."


class WriteNote(Operation):
    """Write, change or remove a note on a session, or on a session of a recording; numbers count from 1."""

    type: Literal["note"] = "note"
    session: str | None = None
    """None means the notebook's session; with ``path``, a session of the recording, or None for its first."""
    path: str | None = Field(default=None, max_length=4_096)
    """A recorded file or folder, from the kernel's start directory; the note is written beside it."""
    note: str = Field(default="", max_length=80)
    """The id of the note to change or to remove; empty for a new one."""
    remove: bool = False
    text: str | None = None
    """None leaves the text of a note that is changed, as with tag and verdict."""
    tag: str | None = None
    verdict: Verdict | None = None
    author: str = ""
    """Empty for the user's name."""
    request: int | None = None
    item: int | None = None
    """An item by its number; with ``request`` as that request shows it."""
    last: int | None = None
    """The last request of a range that begins with ``request``."""
    cache_break: int | None = None
    """The request that lost the cache."""
    compaction: int | None = None

    async def run(self, context: OperationContext) -> ViewAnswer:
        """Write the note and return all notes on the session."""
        session_id = self.session or ""
        if self.path is None:
            session_id = await context.begun_session_id(self.session, NOTHING_TO_NOTE)
        review = await context.services.inspections.review(session_id, self.path)
        return await context.run_blocking(self.write_on, review)

    def write_on(self, review: "SessionReview") -> ViewAnswer:
        """Write the note on a session that is open, blocking, and return all notes on it; raises UserError."""
        from palimpsest.review.timeline_view.view_answers import notes_text

        if self.remove:
            review.remove_note(self.note, self.author)
        elif self.note:
            review.change_note(
                self.note, self.text, tag=self.tag, verdict=self.verdict, author=self.author
            )
        else:
            request_range = None
            if self.request is not None and self.last is not None:
                request_range = self.request, self.last
            review.note(
                self.text or "",
                request=self.request if request_range is None else None,
                requests=request_range,
                item=self.item,
                cache_break=self.cache_break,
                compaction=self.compaction,
                tag=self.tag or "",
                verdict=self.verdict or "",
                author=self.author,
            )
        return ViewAnswer(notes=notes_text(review.notes()))


class ListNotes(Operation):
    """List, write and merge the notes on recorded sessions; numbers count from 1."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    in_page: ClassVar[bool] = False
    type: Literal["notes"] = "notes"
    path: Annotated[FileName, Argument("PATH")]
    """a recording, a folder, a project, or the id of a session of this project"""
    session: Annotated[str, Argument("ID")] = ""
    """one session, by its id or number from 1"""
    add: Annotated[str | None, Argument("TEXT")] = None
    """write a note with this text"""
    request: Annotated[int | None, Argument("N", type=int)] = None
    """the request that it is on"""
    item: Annotated[str, Argument("ID")] = ""
    """the item that it is on, by its id or number; with --request as that request shows it"""
    range: Annotated[str, Argument("A-B")] = ""
    """the requests that it is on, such as 3-9"""
    cache_break: Annotated[int | None, Argument("N", "--break", dest="cache_break", type=int)] = (
        None
    )
    """the cache break that it is on, by the request that lost the cache"""
    compaction: Annotated[int | None, Argument("N", type=int)] = None
    """the compaction that it is on"""
    tag: Annotated[str | None, Argument("T")] = None
    """a word to find it by"""
    verdict: Annotated[Verdict | None, Unvalidated(), Argument("V", choices=VERDICTS)] = None
    """good, bad or unsure"""
    author: Annotated[str, Argument("NAME")] = ""
    """who writes it; else PALIMPSEST_AUTHOR, GIT_AUTHOR_NAME or the user's name"""
    change: Annotated[str, Argument("NOTE")] = ""
    """change the note with this id: --add, --tag and --verdict are its new words"""
    remove: Annotated[str, Argument("NOTE")] = ""
    """remove the note with this id"""
    merge: Annotated[FileName | None, Argument("PATH")] = None
    """bring in the notes of another copy of the file, or of another copy of the folder"""
    forms = (
        terminal_form(
            "notes",
            *("path", "session", "add", "request", "item", "range", "cache_break"),
            *("compaction", "tag", "verdict", "author", "change", "remove", "merge"),
            has_rows=True,
        ),
    )

    async def run(self, context: OperationContext) -> CommandReport:
        """Change the notes as the arguments say, and list them."""
        return await context.run_blocking(self._answer)

    def _answer(self) -> CommandReport:
        from palimpsest.review.session_notes.notes_table import notes_overview

        with _open_recording(self.path) as recording:
            text_lines, values, problems = self._change_notes(recording)
            session_notes = [*self._session_notes(recording)]
            has_notes = any(notes.notes for notes in session_notes)
            overview = [notes_overview(session_notes)] if len(session_notes) > 1 else []
            notes_problems = chain.from_iterable(notes.problems for notes in session_notes)
            problems_by_sentence = {problem.sentence: problem for problem in notes_problems}
            return CommandReport(
                "notes",
                {"path": self.path, **values, "sessions": [n.json() for n in session_notes]},
                [*overview, *(notes.table for notes in session_notes if notes.notes)],
                (*recording.problems, *problems, *problems_by_sentence.values()),
                text_lines=text_lines or ([] if has_notes else [NO_NOTE]),
            )

    def _change_notes(self, recording: "ReviewedRecording") -> "NotesChange":
        """Change the notes; return lines for people, values for programs, and the problems of a merge."""
        is_addition = not (self.change or self.remove) and any((self.add, self.tag, self.verdict))
        if sum((is_addition, bool(self.change), bool(self.remove), self.merge is not None)) > 1:
            raise UserError(ONE_CHANGE)
        if self.merge is not None:
            return self._merge_notes(recording, self.merge)
        if self.change:
            review = self._review_with(recording, self.change)
            note = review.change_note(
                self.change, self.add, tag=self.tag, verdict=self.verdict, author=self.author
            )
            return [f"Changed {note.id}."], {"changed": note.id}, ()
        if self.remove:
            review = self._review_with(recording, self.remove)
            note_id = review.note_files.note(review.timeline.session, self.remove).id
            review.remove_note(note_id, self.author)
            return [f"Removed {note_id}; its lines stay in the file."], {"removed": note_id}, ()
        if is_addition:
            note = self._write_note(recording)
            return [f"Written as {note.id}."], {"added": note.id}, ()
        return (), {}, ()

    def _write_note(self, recording: "ReviewedRecording") -> Note:
        from palimpsest.frontends.operations.recordings import selected_sessions
        from palimpsest.review.session_notes.note_places import request_range

        review = next(selected_sessions(recording, self.session, with_requests=True))
        return review.note(
            self.add or "",
            request=self.request,
            item=_item_argument(self.item),
            requests=request_range(self.range) if self.range else None,
            cache_break=self.cache_break,
            compaction=self.compaction,
            tag=self.tag or "",
            verdict=self.verdict or "",
            author=self.author,
        )

    def _merge_notes(self, recording: "ReviewedRecording", path: str) -> "NotesChange":
        from palimpsest.store.session_notes import read_note_file

        other_path, files = home_path(path), recording.note_files
        if other_path.is_dir():
            merged_notes = files.merge_folder(home_path(self.path), other_path, recording.ids)
        elif other_path.is_file():
            merged_notes = files.merge(read_note_file(other_path, follow=True), recording.ids)
        else:
            raise NotFound(f"There is no file {path!r} with notes.")
        values = {
            "added": merged_notes.added_count,
            "known": merged_notes.known_count,
            "left_out": merged_notes.left_out,
        }
        sentence = "{added} lines came, {known} were here already"
        if merged_notes.left_out:
            sentence += ", {left_out} are about other sessions and were left out"
        return [f"{sentence.format(**values)}."], {"merged": values}, merged_notes.problems

    def _session_notes(self, recording: "ReviewedRecording") -> "Iterator[SessionNotes]":
        """Yield the notes of the named session, or of each that has some."""
        from palimpsest.frontends.operations.recordings import selected_sessions

        if self.session:
            yield next(selected_sessions(recording, self.session)).notes()
            return
        noted_ids = {note.session for note in _all_notes(recording)}
        for session_id in recording.ids:
            if session_id in noted_ids:
                yield recording[session_id].notes()

    def _review_with(self, recording: "ReviewedRecording", note_id: str) -> "RecordingReview":
        """Return the review of the session that has a note; raises NotFound."""
        for note in _all_notes(recording):
            if note.id.endswith(note_id):
                return recording[note.session]
        raise NotFound(f"There is no note {note_id!r:.60} on {self.path!r}.")


def _item_argument(text: str) -> int | str | None:
    """Return an item as it was named, by its number or its id; None where it was not."""
    is_number = text.isdecimal() and len(text) <= MAX_NUMBER_DIGITS
    return int(text) if is_number else text or None


def _all_notes(recording: "ReviewedRecording") -> Sequence[Note]:
    return current_notes(recording.note_files.read(*recording.ids).lines)


def _open_recording(path: str) -> "ReviewedRecording":
    """Open a recording, or the session of this project that an id names; raises UserError."""
    from palimpsest.review.recorded_sessions.recording import open_recording, project_root
    from palimpsest.store.log.store_factory import find_project

    if home_path(path).exists():
        return open_recording(path)
    project = find_project(Path.cwd())
    if "/" in path or project_root(project) is None:
        raise NotFound(NO_PATH.format(path=path))
    return open_recording(project, session=path)

"""Write the sessions of a recording into the project's logs, and report progress.

Border: takes an importer's values, which may have any content, and appends records; none of the content is run.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from palimpsest.recordings.import_journal.captured_answers import CapturedAnswers, answer_names
from palimpsest.recordings.import_journal.importer_errors import log_importer_error
from palimpsest.recordings.import_journal.session_journal import Differs, SessionJournal
from palimpsest.recordings.reading.importer import CaptureImporter, Importer, LoneReader, Recogniser
from palimpsest.recordings.reading.json_fields import NUMBER_NOTES
from palimpsest.recordings.reading.reading_budget import (
    MAX_VALUE_BYTES,
    CountedValue,
    MakesTooMuch,
    reading_within_budget,
    spend,
    value_leaves,
)
from palimpsest.recordings.reading.recorded import (
    CompactionRead,
    GapRead,
    MessageRead,
    Recorded,
    ReducedRead,
    RemovedRead,
    ResultRead,
    SessionBegin,
    TotalsRead,
    UsageRead,
)
from palimpsest.recordings.reading.sources import COUNT_BYTES
from palimpsest.store.exchange.import_report import (
    SESSION_OPEN,
    STOPPED,
    ImportControl,
    Imported,
    ImportReport,
)
from palimpsest.store.interface import Problem, Store
from palimpsest.transcript.errors import SessionHeld, UserError
from palimpsest.transcript.visible_text import visible_line

MAX_PROBLEMS = 1_000
"""Maximum problems that are listed; a file with only broken lines may have millions."""
MAX_COMPARED_PROBLEMS = 50
"""Maximum newest problems with which a new one is compared, since the same one may be reported twice."""
MAX_COUNTED_FILES = 100_000
"""Maximum files of a folder whose sizes are added."""
TOO_LONG_SENTENCE = (
    "It comes to {megabytes:,} MB, which is more than the "
    f"{MAX_VALUE_BYTES // 1_000_000} MB that one may have, and was left out."
)
_VALUE_NOUNS = {
    MessageRead: "message",
    ResultRead: "result",
    UsageRead: "usage",
    CompactionRead: "compaction",
    ReducedRead: "reduction",
    RemovedRead: "removal",
    TotalsRead: "totals",
    GapRead: "gap",
}


@dataclass(slots=True)
class ImportLog:
    """The imported sessions, and the places that could not be read."""

    errors_in: Callable[[], Path]
    """Returns the folder of the log in which an importer's own error is written."""
    sessions: dict[str, Imported] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    is_stopped: bool = False

    def add(self, session: Imported) -> None:
        """Add a session; where a source was read twice, the first result counts."""
        earlier_result = self.sessions.get(session.id)
        if earlier_result is None or earlier_result.outcome == "same":
            self.sessions[session.id] = session

    def report(self, place: str, sentence: str) -> None:
        """Add a problem, unless it is among the newest ones."""
        # Place and sentence may contain the name of a file, which may contain anything.
        problem = Problem(visible_line(place), visible_line(sentence))
        if (
            len(self.problems) < MAX_PROBLEMS
            and problem not in self.problems[-MAX_COMPARED_PROBLEMS:]
        ):
            self.problems.append(problem)

    def import_report(self) -> ImportReport:
        """Return the imported sessions, and the places that could not be read."""
        return ImportReport(tuple(self.sessions.values()), tuple(self.problems))

    def log_failure(self, importer: Recogniser, path: Path, error: Exception) -> str:
        """Log an importer's own error with its traceback, and return a sentence that names the log."""
        return log_importer_error(self.errors_in(), importer, path, error)


@dataclass(slots=True)
class RecordingImport:
    """The import of one recording."""

    _store: Store
    _importer: Importer
    _path: Path
    _clock: Callable[[], int]
    _log: ImportLog
    _control: ImportControl
    _without_subagents: bool
    """Whether subagents in separate recordings are left out, since they are imported separately."""
    _captured_answers: CapturedAnswers
    """The captured requests of recordings that are imported together."""
    _differing_imports: dict[str, int] = field(default_factory=dict)
    """Number of earlier imports from which this recording differs, by the recorded session id."""
    _journal: SessionJournal | None = None
    _recorded_id: str = ""
    _count_by_noun: dict[str, int] = field(default_factory=dict)
    """Number of the session's values of each type so far, for the place of a value in a report."""
    _request_count: int = 0
    """Number of the session's answers so far."""
    _capture_answer_names: set[str] = field(default_factory=set)
    """Surest names of the answers that were read of a capture: another capture may hold the same exchanges."""
    _counted_value: CountedValue = field(default_factory=lambda: (0, []))
    """The bytes that were counted for the newest value, and the texts, numbers and types of which it is made."""
    _early_problems: list[tuple[str, str]] = field(default_factory=list)
    """Problems found before the first session begins."""

    def run(self) -> None:
        """Import all sessions of the recording; raises UserError where nothing of it can be read."""
        while True:
            source_bytes = size_of(self._path)
            with (
                reading_within_budget(source_bytes),
                counted_bytes(source_bytes, self._control.progress) as report_progress,
            ):
                self._capture_answer_names.clear()
                try:
                    self._read_recording(report_progress)
                except Differs:
                    self._differing_imports[self._recorded_id] = (
                        self._differing_imports.get(self._recorded_id, 0) + 1
                    )
                else:
                    self._captured_answers.joined_answers |= self._capture_answer_names
                    return
                finally:
                    self._close()

    def _read_recording(self, report_progress: Callable[[int], None]) -> None:
        values = self._values()
        while (value := self._next_value(values)) is not None:
            # A document that is read as a whole also reports progress while its messages are written.
            report_progress(0)
            if self._control.is_cancelled():
                self._log.is_stopped = True
                self._report("", STOPPED)
                break
            if isinstance(value, SessionBegin):
                self._finish(is_complete=True)
                self._begin_session(value)
            elif self._journal is not None:
                self._add_value(self._journal, value)
        self._finish(is_complete=not self._log.is_stopped)

    def _values(self) -> Iterator[Recorded]:
        importer, captured_answers = self._importer, self._captured_answers
        if isinstance(importer, CaptureImporter):
            for value in importer.read_rest(
                self._path, self._report, captured_answers.joined_answers
            ):
                if isinstance(value, MessageRead) and value.role == "assistant":
                    self._capture_answer_names.update(answer_names(value)[:1])
                yield value
        elif captured_answers:
            yield from captured_answers.joined_values(self._recorded_values(), self._report)
        else:
            yield from self._recorded_values()

    def _recorded_values(self) -> Iterator[Recorded]:
        importer = self._importer
        if self._without_subagents and isinstance(importer, LoneReader):
            yield from importer.read_alone(self._path, self._report)
        else:
            yield from importer.read(self._path, self._report)

    def _next_value(self, values: Iterator[Recorded]) -> Recorded | None:
        notes: list[str] = []
        token = NUMBER_NOTES.set(notes)
        try:
            value = next(values, None)
            if value is not None:
                self._counted_value = value_leaves(value)
                spend(self._counted_value[0])
        except MakesTooMuch as error:
            self._report("", str(error))
            return None
        except UserError as error:
            if not self._early_problems:
                raise
            raise UserError(f"{error} {self._early_problems[0][1]}") from error
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            self._report("", f"Nothing more of it can be read: {reason}.")
            return None
        except Exception as error:  # noqa: BLE001 - an importer may be anybody's
            reason = self._log.log_failure(self._importer, self._path, error)
            self._report("", f"Nothing more of it can be read: {reason}")
            return None
        finally:
            NUMBER_NOTES.reset(token)
        if isinstance(value, SessionBegin):
            self._request_count = 0
        elif isinstance(value, MessageRead) and value.role == "assistant":
            self._request_count += 1
        place = f"request {self._request_count}" if self._request_count else "usage"
        for sentence in notes:
            self._report(place, sentence)
        return value

    def _begin_session(self, value: SessionBegin) -> None:
        self._recorded_id = value.id
        self._count_by_noun = {}
        try:
            self._journal = SessionJournal(
                self._store,
                self._path.name,
                value,
                copy=self._differing_imports.get(value.id, 0),
                is_kept=self._control.is_kept,
                clock=self._clock,
                report=self._report,
            )
        except SessionHeld:
            self._report(value.id, SESSION_OPEN.format(id=value.id))
        except (ValueError, TypeError, AttributeError):
            self._report(str(value.id), "It is no session: a field of it is not what it should be.")
        else:
            for location, sentence in self._early_problems:
                self._journal.add_problem(location, sentence)
            self._early_problems = []

    def _add_value(self, journal: SessionJournal, value: Recorded) -> None:
        noun = _VALUE_NOUNS.get(type(value), "value")
        self._count_by_noun[noun] = self._count_by_noun.get(noun, 0) + 1
        place = f"{noun} {self._count_by_noun[noun]}"
        value_byte_count = self._counted_value[0]
        if value_byte_count > MAX_VALUE_BYTES:
            self._report(place, TOO_LONG_SENTENCE.format(megabytes=value_byte_count // 1_000_000))
            return
        try:
            journal.add_value(value, place, self._counted_value)
        except SessionHeld:
            self._report(self._recorded_id, SESSION_OPEN.format(id=self._recorded_id))
            self._close()

    def _finish(self, *, is_complete: bool) -> None:
        if self._journal is None:
            return
        try:
            self._log.add(self._journal.finish(is_complete=is_complete))
        except SessionHeld:
            self._report(self._recorded_id, SESSION_OPEN.format(id=self._recorded_id))
        self._close()

    def _close(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _report(self, place: str, sentence: str) -> None:
        location = f"{self._path.name}, {place}" if place else self._path.name
        self._log.report(location, sentence)
        if self._journal is not None:
            self._journal.add_problem(location, sentence)
        elif len(self._early_problems) < MAX_PROBLEMS:
            self._early_problems.append((location, sentence))


@contextmanager
def counted_bytes(
    total_bytes: int, progress: Callable[[int, int], None]
) -> Iterator[Callable[[int], None]]:
    """Report the progress of reading a source of ``total_bytes`` bytes; a file that is read twice is counted once.

    The yielded function is called with the number of bytes of each piece; 0 reports the same progress again.
    """
    done_bytes = 0

    def count(new_bytes: int) -> None:
        nonlocal done_bytes
        done_bytes = min(done_bytes + new_bytes, total_bytes)
        progress(done_bytes, total_bytes)

    token = COUNT_BYTES.set(count)
    try:
        yield count
    finally:
        COUNT_BYTES.reset(token)


def size_of(path: Path) -> int:
    """Return the size in bytes of a file, or of all files below a folder."""
    if not path.is_dir():
        return path.stat().st_size
    files = (file for file, _ in zip(path.rglob("*"), range(MAX_COUNTED_FILES), strict=False))
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())

"""Answer an inspector's questions about any session of the project and about recordings in files.

The most recently used are kept open: a few sessions with their timelines, and a few recordings, each with a copy in a private
temporary folder until it is closed.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from palimpsest.frontends.inspector.answer_queue import AnswerQueue, SessionQuestions
from palimpsest.home_paths import home_path
from palimpsest.review.prices.prices import PriceOf
from palimpsest.review.recorded_sessions.comparison_answers import (
    SAME_SESSION_SENTENCE,
    ComparisonAnswers,
)
from palimpsest.review.recorded_sessions.recording import Recording, open_recording
from palimpsest.review.recorded_sessions.recording_review import RecordingReview
from palimpsest.review.recorded_sessions.session_answers import LogState, SessionAnswers
from palimpsest.review.recorded_sessions.session_comparison import first_with_requests
from palimpsest.review.session_review import SessionReview
from palimpsest.review.timeline_view.chosen_policies import NO_POLICIES, ChosenPolicies
from palimpsest.review.timeline_view.view_queries import (
    AskComparison,
    AskView,
    ViewAnswer,
    ViewQuery,
)
from palimpsest.store.interface import Store
from palimpsest.store.log.journal import Journal
from palimpsest.store.session_notes import store_notes
from palimpsest.transcript.errors import UserError

MAX_OPEN_SESSIONS = 4
MAX_OPEN_RECORDINGS = 3
MAX_IDLE_SECONDS = 900.0
"""Time without a question after which a recording is closed."""


@dataclass
class _OpenRecording:
    """An open recording, with the questions about each of its sessions."""

    recording: Recording[RecordingReview]
    file_stamp: tuple[int, int]
    """Size and modification time of the file, to detect changes."""
    questions_by_session: dict[str, SessionQuestions[SessionAnswers]] = field(default_factory=dict)
    closing_timer: asyncio.TimerHandle | None = None

    def questions_about(self, session_id: str) -> SessionQuestions[SessionAnswers]:
        """Return the questions about a session, or about the recording's first for an empty id; raises NotFound."""
        questions = self.questions_by_session.get(session_id)
        if questions is None:
            questions = self.questions_by_session[session_id] = SessionQuestions(
                self.recording.answers(session_id)
            )
        return questions

    def first_with_requests(self, name: str) -> str:
        """Return the id of the first session with a request; raises UserError where there is none."""
        return first_with_requests(self.recording, name).timeline.session


@dataclass(eq=False)
class Inspections:
    """Answers the questions of all inspectors of a kernel.

    Contract: called on the engine's loop; an error that the user can fix is part of the answer and never raised.
    Responsibilities: cache the most recently used sessions and recordings; close idle recordings. Replays and reading run
    in worker threads.
    """

    _store: Store
    _journal_of: Callable[[str], Journal | None]
    _price_of: PriceOf
    _folder: Path
    """The folder to which relative paths of recordings refer."""
    queue: AnswerQueue = field(default_factory=AnswerQueue)
    _sessions: OrderedDict[str, SessionQuestions[SessionAnswers]] = field(
        default_factory=OrderedDict
    )
    _recordings: OrderedDict[Path, _OpenRecording] = field(default_factory=OrderedDict)
    _comparison_questions: SessionQuestions[ComparisonAnswers] | None = None
    """The questions about the two sessions that were compared last."""
    _opening_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def answer_session(
        self,
        session_id: str,
        query: ViewQuery,
        asker: str = "",
        policies: ChosenPolicies = NO_POLICIES,
    ) -> ViewAnswer:
        """Answer a question about a session of the project, which may name one of the ``policies``."""
        if isinstance(query, AskComparison):
            return await self._answer_comparison(None, session_id, query)
        return await self.queue.answer(self._questions_about(session_id), query, asker, policies)

    async def answer_recording(
        self, path: str, session_id: str, query: ViewQuery, asker: str = ""
    ) -> ViewAnswer:
        """Answer a question about a session of a recording, its first one where ``session_id`` is empty."""
        if isinstance(query, AskComparison):
            return await self._answer_comparison(path, session_id, query)
        try:
            cached_recording = await self._open_recording(path, is_view=isinstance(query, AskView))
            questions = cached_recording.questions_about(session_id)
        except (UserError, OSError, ValueError) as error:
            return ViewAnswer(error=_error_sentence(error))
        return await self.queue.answer(questions, query, asker)

    def answers(self, session_id: str) -> SessionAnswers:
        """Return an answerer for the questions about a session of the project; it is not cached."""
        return SessionAnswers(
            self._store,
            session_id,
            self._price_of,
            lambda: self._log_position(session_id),
            problems_of=self._store.problems,
            note_files=store_notes(self._store),
        )

    async def review(self, session_id: str, path: str | None = None) -> SessionReview:
        """Return the newest review of a session of the project, or of a recording; raises UserError."""
        if path is None:
            questions = self._questions_about(session_id)
        else:
            try:
                cached_recording = await self._open_recording(path, is_view=False)
                questions = cached_recording.questions_about(session_id)
            except (OSError, ValueError) as error:
                raise UserError(_error_sentence(error)) from error
        async with questions.lock:
            return await asyncio.to_thread(questions.source.review)

    async def _answer_comparison(
        self, path: str | None, session_id: str, query: AskComparison
    ) -> ViewAnswer:
        """Answer how a session compares with the one that the question names."""
        try:
            first_review = await self.review(session_id, path)
            other_id = await self._compared_session(path, first_review.timeline.session, query)
            second_review = await self.review(other_id, query.path)
        except (UserError, OSError, ValueError) as error:
            return ViewAnswer(error=_error_sentence(error))
        if self._comparison_questions is None or not self._comparison_questions.source.is_about(
            first_review, second_review
        ):
            self._comparison_questions = SessionQuestions(
                ComparisonAnswers(first_review, second_review)
            )
        return await self.queue.answer(self._comparison_questions, query)

    async def _compared_session(self, path: str | None, first_id: str, query: AskComparison) -> str:
        """Return the id of the session that a question names; raises UserError where it is the first one itself."""
        other_id = query.session
        if query.path is not None and not other_id:
            cached_recording = await self._open_recording(query.path, is_view=True)
            other_id = await asyncio.to_thread(cached_recording.first_with_requests, query.path)
        if other_id == first_id and self._is_same_file(path, query.path):
            raise UserError(SAME_SESSION_SENTENCE)
        return other_id

    def _is_same_file(self, path: str | None, other_path: str | None) -> bool:
        if path is None or other_path is None:
            return path == other_path
        return self._target(path).resolve() == self._target(other_path).resolve()

    def _questions_about(self, session_id: str) -> SessionQuestions[SessionAnswers]:
        questions = self._sessions.pop(session_id, None)
        self._sessions[session_id] = questions = questions or SessionQuestions(
            self.answers(session_id)
        )
        while len(self._sessions) > MAX_OPEN_SESSIONS:
            self._sessions.popitem(last=False)
        return questions

    def _log_position(self, session_id: str) -> LogState:
        """Return how far a session's log goes, after writing what this kernel still holds of it."""
        journal = self._journal_of(session_id)
        if journal is None:
            newest_record = next(self._store.stream(session_id), None)
            return LogState(newest_record.seq if newest_record is not None else 0)
        state = journal.state
        journal.flush_sync()
        info = state.session
        is_own = info is not None and info.parent_id is None and not info.read_only
        return LogState(state.seq, is_writable=is_own)

    async def _open_recording(self, path: str, *, is_view: bool) -> _OpenRecording:
        target = self._target(path)
        async with self._opening_lock:
            cached_recording = self._recordings.get(target)
            if cached_recording is None or (
                is_view
                and cached_recording.file_stamp != await asyncio.to_thread(_file_stamp, target)
            ):
                stamp = await asyncio.to_thread(_file_stamp, target)
                # If it cannot be read any more, the earlier copy still answers other questions.
                recording = await asyncio.to_thread(open_recording, target, price_of=self._price_of)
                if cached_recording is not None and cached_recording.closing_timer is not None:
                    cached_recording.closing_timer.cancel()
                cached_recording = _OpenRecording(recording, stamp)
            self._cache(target, cached_recording)
        return cached_recording

    def _target(self, path: str) -> Path:
        return self._folder / home_path(path)

    def _cache(self, target: Path, cached_recording: _OpenRecording) -> None:
        """Cache a recording for ``MAX_IDLE_SECONDS``; its folder is removed when its last reader has ended."""
        if cached_recording.closing_timer is not None:
            cached_recording.closing_timer.cancel()
        cached_recording.closing_timer = asyncio.get_running_loop().call_later(
            MAX_IDLE_SECONDS, self._recordings.pop, target, None
        )
        self._recordings[target] = cached_recording
        self._recordings.move_to_end(target)
        while len(self._recordings) > MAX_OPEN_RECORDINGS:
            _, oldest = self._recordings.popitem(last=False)
            if oldest.closing_timer is not None:
                oldest.closing_timer.cancel()


def _file_stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


def _error_sentence(error: Exception) -> str:
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'The file'} cannot be read: {error.strerror or error}."
    return f"It cannot be read: {error}."

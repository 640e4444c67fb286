"""Answer inspectors' questions about any session of the project and about recordings that lie in files.

What was asked about lately is kept: a few sessions with their timelines, and a few recordings, each of which
holds a copy in a private temporary folder until it is closed.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from palimpsest.frontends.inspector.answer_queue import AnswerQueue, QuestionLine
from palimpsest.home_paths import home_path
from palimpsest.review.comparison.prices import PriceOf
from palimpsest.review.recordings.recording import Recording, open_recording
from palimpsest.review.recordings.recording_review import RecordingReview
from palimpsest.review.recordings.session_answers import SessionAnswers, SessionPlace
from palimpsest.review.timeline_view.view_queries import AskView, ViewAnswer, ViewQuery
from palimpsest.store.interface import Store
from palimpsest.store.log.journal import Journal
from palimpsest.transcript.errors import UserError

MOST_SESSIONS = 4
MOST_RECORDINGS = 3
IDLE_SECONDS = 900.0
"""After so long without a question a recording is closed."""


@dataclass
class _Opened:
    """A recording and the lines of its sessions."""

    recording: Recording[RecordingReview]
    stamp: tuple[int, int]
    """Size and time of the file, which tell whether it grew."""
    lines: dict[str, QuestionLine] = field(default_factory=dict)
    close: asyncio.TimerHandle | None = None

    def line(self, session: str) -> QuestionLine:
        """Return the line of a session, the recording's first one where it is empty; raises NotFound."""
        line = self.lines.get(session)
        if line is None:
            line = self.lines[session] = QuestionLine(self.recording.answers(session))
        return line


class Inspections:
    """Answers the questions of all inspectors of a kernel.

    Responsibilities: keep the newest answers of sessions and recordings; close what nobody asks about. Its
    coroutines run on the engine's loop; replays and reading run in worker threads.
    """

    def __init__(
        self,
        store: Store,
        journal_of: Callable[[str], Journal | None],
        price_of: PriceOf,
        folder: Path,
    ) -> None:
        self._store = store
        self._journal_of = journal_of
        self._price_of = price_of
        self._folder = folder
        """Paths of recordings are seen from here."""
        self._queue = AnswerQueue()
        self._sessions: OrderedDict[str, QuestionLine] = OrderedDict()
        self._recordings: OrderedDict[Path, _Opened] = OrderedDict()
        self._opening = asyncio.Lock()

    async def answer_session(self, session: str, query: ViewQuery, asker: str = "") -> ViewAnswer:
        """Answer a question about a session of the project."""
        return await self._queue.answer(self._line(session), query, asker)

    async def answer_recording(
        self, path: str, session: str, query: ViewQuery, asker: str = ""
    ) -> ViewAnswer:
        """Answer a question about a session of a recording, its first one where ``session`` is empty."""
        try:
            opened = await self._opened(path, is_view=isinstance(query, AskView))
            line = opened.line(session)
        except (UserError, OSError, ValueError) as error:
            return ViewAnswer(error=_sentence(error))
        return await self._queue.answer(line, query, asker)

    def answers(self, session: str) -> SessionAnswers:
        """Return what answers the questions about a session of the project; nothing is kept."""
        return SessionAnswers(
            self._store,
            session,
            self._price_of,
            lambda: self._place(session),
            problems_of=self._store.problems,
        )

    def _line(self, session: str) -> QuestionLine:
        line = self._sessions.pop(session, None)
        self._sessions[session] = line = line or QuestionLine(self.answers(session))
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return line

    def _place(self, session: str) -> SessionPlace:
        """Return how far a session's log goes, with what this kernel has not written yet written."""
        journal = self._journal_of(session)
        if journal is None:
            newest = next(self._store.stream(session), None)
            return SessionPlace(newest.seq if newest is not None else 0)
        state = journal.state
        journal.flush_sync()
        kept = state.session
        is_own = kept is not None and kept.parent_id is None and not kept.read_only
        return SessionPlace(state.seq, own=is_own)

    async def _opened(self, path: str, *, is_view: bool) -> _Opened:
        target = self._target(path)
        async with self._opening:
            opened = self._recordings.get(target)
            if opened is None or (
                is_view and opened.stamp != await asyncio.to_thread(_stamp, target)
            ):
                stamp = await asyncio.to_thread(_stamp, target)
                # Where it can be read no more, what was read before answers the other questions.
                recording = await asyncio.to_thread(open_recording, target, price_of=self._price_of)
                if opened is not None and opened.close is not None:
                    opened.close.cancel()
                opened = _Opened(recording, stamp)
            self._keep(target, opened)
        return opened

    def _target(self, path: str) -> Path:
        return self._folder / home_path(path)

    def _keep(self, target: Path, opened: _Opened) -> None:
        """Keep a recording for a while; its folder is removed when nothing reads from it any more."""
        if opened.close is not None:
            opened.close.cancel()
        loop = asyncio.get_running_loop()
        opened.close = loop.call_later(IDLE_SECONDS, lambda: self._recordings.pop(target, None))
        self._recordings[target] = opened
        self._recordings.move_to_end(target)
        while len(self._recordings) > MOST_RECORDINGS:
            _, oldest = self._recordings.popitem(last=False)
            if oldest.close is not None:
                oldest.close.cancel()


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def _sentence(error: Exception) -> str:
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'The file'} cannot be read: {error.strerror or error}."
    return f"It cannot be read: {error}."

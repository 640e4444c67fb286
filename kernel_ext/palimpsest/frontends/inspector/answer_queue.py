"""Answer inspectors' questions in worker threads, so that the engine's thread stays free.

A replay takes its time and shares Python's lock with the engine, so one runs at once: each further one would
make the engine wait another turn. Python's search for circles of objects holds the lock as long as it takes,
0.15 s over the timeline of a large session, so that a stop would wait for it; it is put off until the answer is
made. A person who moves a slider asks for a track at each stop; what waits is given up when a newer question for
a track comes.
"""

import asyncio
import gc
import logging
from typing import Protocol

from palimpsest.review.timeline_view.view_queries import AskTrack, ViewAnswer, ViewQuery

AT_ONCE = 1
"""Questions that are answered at the same time."""
REPLACED = "A newer question came before this one was answered."

DAMAGED = (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError)

_log = logging.getLogger(__name__)


class AnswerSource(Protocol):
    """Something that can be asked about one session.

    Contract: called on worker threads, one at a time; never raises for what a person can mend.
    """

    def answer(self, query: ViewQuery) -> ViewAnswer:
        """Return the answer, or one sentence."""


class AnswerQueue:
    """Answers the questions of all inspectors of a kernel; used on the engine's loop."""

    def __init__(self) -> None:
        self._threads = asyncio.Semaphore(AT_ONCE)

    async def answer(self, line: "QuestionLine", query: ViewQuery, asker: str = "") -> ViewAnswer:
        """Return the answer when it is this question's turn.

        Of the questions for a track that one asker has waiting in a line only the newest is answered; the
        others get one sentence.
        """
        if isinstance(query, AskTrack):
            line.newest[asker] = query
        async with line.turn, self._threads:
            if isinstance(query, AskTrack):
                if line.newest.get(asker) is not query:
                    return ViewAnswer(error=REPLACED)
                del line.newest[asker]
            try:
                return await asyncio.to_thread(_answer, line.source, query)
            except DAMAGED as error:  # a log may hold anything
                _log.exception("An inspector's question could not be answered")
                return ViewAnswer(error=f"It cannot be shown: {type(error).__name__}.")


class QuestionLine:
    """The questions that wait for one session."""

    def __init__(self, source: AnswerSource) -> None:
        self.source = source
        self.turn = asyncio.Lock()
        self.newest: dict[str, AskTrack] = {}
        """The newest question for a track that waits, by who asked it."""


def _answer(source: AnswerSource, query: ViewQuery) -> ViewAnswer:
    """Answer on this worker thread, without a search for circles of objects meanwhile."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return source.answer(query)
    finally:
        if was_on:
            gc.enable()

"""Answer inspectors' questions in worker threads, so that the engine's thread stays free.

A replay is slow and shares Python's lock with the engine, so only one runs at a time: each further one would make the
engine wait for another switch. Python's cyclic garbage collector holds the lock while it runs, 0.15 s over the timeline
of a large session, and would delay a stop; it is paused until the answer is computed. A slider requests a track at each
stop; a waiting question is dropped when a newer question for a track arrives.
"""

import asyncio
import logging
from typing import Any, Generic, Protocol, TypeVar

from palimpsest.paused_collection import collection_paused
from palimpsest.review.timeline_view.chosen_policies import NO_POLICIES, ChosenPolicies
from palimpsest.review.timeline_view.view_queries import AskTrack, ViewAnswer, ViewQuery

MAX_PARALLEL_QUESTIONS = 1
"""Maximum questions that are answered at the same time."""
SUPERSEDED = "A newer question came before this one was answered."

DAMAGED_LOG_ERRORS = (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError)

_log = logging.getLogger(__name__)


class AnswerSource(Protocol):
    """Answers questions about one session.

    Contract: called on worker threads, one at a time; an error that the user can fix is part of the answer.
    """

    def answer(self, query: ViewQuery, policies: ChosenPolicies = NO_POLICIES) -> ViewAnswer:
        """Return the answer, or an error of one sentence; a question may name one of the ``policies``."""


Source = TypeVar("Source", bound=AnswerSource)


class AnswerQueue:
    """Answers the questions of all inspectors of a kernel; used on the engine's loop."""

    def __init__(self) -> None:
        self._thread_limit = asyncio.Semaphore(MAX_PARALLEL_QUESTIONS)

    async def answer(
        self,
        questions: "SessionQuestions[Any]",
        query: ViewQuery,
        asker: str = "",
        policies: ChosenPolicies = NO_POLICIES,
    ) -> ViewAnswer:
        """Wait until the question's turn, and return the answer.

        Of one asker's waiting questions for a track about a session, only the newest is answered; the
        others get an error.
        """
        if isinstance(query, AskTrack):
            questions.newest_track_questions[asker] = query
        async with questions.lock, self._thread_limit:
            if isinstance(query, AskTrack):
                if questions.newest_track_questions.get(asker) is not query:
                    return ViewAnswer(error=SUPERSEDED)
                del questions.newest_track_questions[asker]
            try:
                return await asyncio.to_thread(_compute_answer, questions.source, query, policies)
            except DAMAGED_LOG_ERRORS as error:  # a log may hold anything
                _log.exception("An inspector's question could not be answered")
                return ViewAnswer(error=f"It cannot be shown: {type(error).__name__}.")


class SessionQuestions(Generic[Source]):
    """The questions about one session: who answers them, one at a time, and the newest that wait."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lock = asyncio.Lock()
        self.newest_track_questions: dict[str, AskTrack] = {}
        """The newest waiting question for a track, by asker."""


def _compute_answer(source: AnswerSource, query: ViewQuery, policies: ChosenPolicies) -> ViewAnswer:
    """Compute the answer on this worker thread, with the cyclic garbage collector paused."""
    with collection_paused():
        return source.answer(query, policies)

"""Answer an inspector's questions about a session of a store, from the newest timeline of its log.

A timeline is made when it is asked for, and again when the log has grown. Only the question for the whole
view looks for that: texts and tracks are answered from the timeline that the view shows, so that a picture
and what is asked about it are of one moment, and a streamed answer costs nothing.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from palimpsest.review.comparison.prices import PriceOf
from palimpsest.review.comparison.session_review import GetPolicy, SessionReview
from palimpsest.review.policies.registry import get
from palimpsest.review.recordings.recording_review import RecordingReview
from palimpsest.review.recordings.stored_review import stored_review
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_queries import AskView, ViewAnswer, ViewQuery
from palimpsest.store.interface import Store
from palimpsest.transcript.errors import UserError

GROWTH = frozenset(
    {
        "session.created",
        "session.updated",
        "message.updated",
        "message.removed",
        "message.part.removed",
        "decision",
        "step.requested",
    }
)
"""Types of records after which a timeline differs; pieces of an answer are not among them."""


class SessionReviews:
    """Keeps the newest review of one session; may be used by several threads at once."""

    def __init__(
        self,
        store: Store,
        session_id: str,
        price_of: PriceOf,
        get_policy: GetPolicy = get,
        *,
        in_file: bool = False,
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._price_of = price_of
        self._get_policy = get_policy
        self._in_file = in_file
        self._known: tuple[int, RecordingReview] | None = None
        self._lock = threading.Lock()

    def at(self, seq: int) -> RecordingReview:
        """Return the review of the session as it is after a record; the same one until there are more.

        Raises NotFound.
        """
        with self._lock:
            if self._known is None or self._known[0] != seq:
                found = stored_review(
                    self._store,
                    self._session_id,
                    self._price_of,
                    self._get_policy,
                    in_file=self._in_file,
                )
                self._known = seq, found
            return self._known[1]


@dataclass(frozen=True, slots=True)
class SessionPlace:
    """How far the log of a session goes now, and whether it can be written here."""

    seq: int
    own: bool = False


class SessionAnswers:
    """Answers the questions about one session.

    Responsibilities: make the view anew when the log has grown, and say what cannot be answered in one
    sentence. ``answer`` is called on one thread at a time.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        price_of: PriceOf,
        place: Callable[[], SessionPlace] | None = None,
        get_policy: GetPolicy = get,
    ) -> None:
        self.session_id = session_id
        self.reviews = SessionReviews(store, session_id, price_of, get_policy)
        self._store = store
        self._price_of = price_of
        self._place = place or self._stored
        self._answers: ViewAnswers | None = None
        self._own = False

    def answer(self, query: ViewQuery) -> ViewAnswer:
        """Return the answer; a question that cannot be answered has one sentence instead."""
        try:
            answers = self._renewed() if isinstance(query, AskView) else self._newest()
        except UserError as error:
            return ViewAnswer(error=str(error))
        return answers.answer(query)

    def review(self) -> SessionReview:
        """Return the review of the session as it is now; raises NotFound."""
        return self._renewed().review

    def _newest(self) -> ViewAnswers:
        return self._answers or self._renewed()

    def _renewed(self) -> ViewAnswers:
        place, known = self._place(), self._answers
        if known is not None and self._own == place.own and not self._has_grown(known, place):
            return known
        review = self.reviews.at(place.seq)
        self._own = place.own
        self._answers = ViewAnswers(
            review,
            own=place.own,
            seq=place.seq,
        )
        return self._answers

    def _has_grown(self, known: ViewAnswers, place: SessionPlace) -> bool:
        if known.seq == place.seq:
            return False
        newer = self._store.read(self.session_id, known.seq, only=GROWTH)
        return next(newer, None) is not None

    def _stored(self) -> SessionPlace:
        newest = next(self._store.stream(self.session_id), None)
        return SessionPlace(newest.seq if newest is not None else 0)

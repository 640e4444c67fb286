"""Answer an inspector's questions about a session of a store, from the newest timeline of its log.

A timeline is made when it is asked for, and again when the log has grown. Only the question for the whole
view looks for that: texts and tracks are answered from the timeline that the view shows, so that a picture
and what is asked about it are of one moment, and a streamed answer costs nothing.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import uuid4

from palimpsest.review.comparison.prices import PriceOf
from palimpsest.review.comparison.session_review import GetPolicy, SessionReview
from palimpsest.review.policies.registry import get
from palimpsest.review.recordings.growing_review import GrowingReview
from palimpsest.review.recordings.recording_review import RecordingReview
from palimpsest.review.recordings.stored_review import stored_review
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_patch import patch_of
from palimpsest.review.timeline_view.view_queries import AskView, ViewAnswer, ViewQuery
from palimpsest.review.timeline_view.view_values import TimelineView
from palimpsest.store.interface import Problem, Store
from palimpsest.transcript.errors import UserError

MOST_VIEWS = 4
"""Views that are kept to make patches of: a tab, a cell, and what each of them had before."""
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

    def __init__(self, store: Store, session_id: str, price_of: PriceOf) -> None:
        self._store = store
        self._session_id = session_id
        self._price_of = price_of
        self._known: tuple[int, RecordingReview] | None = None
        self._lock = threading.Lock()

    def at(self, seq: int) -> RecordingReview:
        """Return the review of the session as it is after a record; the same one until there are more.

        Raises NotFound.
        """
        with self._lock:
            if self._known is None or self._known[0] != seq:
                self._known = seq, stored_review(self._store, self._session_id, self._price_of)
            return self._known[1]


@dataclass(frozen=True, slots=True)
class SessionPlace:
    """How far the log of a session goes now, and whether it can be written here."""

    seq: int
    own: bool = False


class SessionAnswers:
    """Answers the questions about one session.

    Responsibilities: make the view anew when the log has grown; answer who has an older view with what differs;
    say what cannot be answered in one sentence. ``answer`` is called on one thread at a time.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        price_of: PriceOf,
        place: Callable[[], SessionPlace] | None = None,
        get_policy: GetPolicy = get,
        problems_of: Callable[[str], Sequence[Problem]] | None = None,
    ) -> None:
        """``problems_of`` returns what of the session cannot be read; it is asked with the first view."""
        self.session_id = session_id
        self._store = store
        self._price_of = price_of
        self._get_policy = get_policy
        self._place = place or self._stored
        self._problems_of = problems_of
        self._followed: GrowingReview | None = None
        self._answers: ViewAnswers | None = None
        self._own = False
        self._views: OrderedDict[tuple[str | None, str, int], TimelineView] = OrderedDict()
        """The newest views that were sent, by price, epoch and ``seq``."""

    def answer(self, query: ViewQuery) -> ViewAnswer:
        """Return the answer; a question that cannot be answered has one sentence instead."""
        try:
            known = None if isinstance(query, AskView) else self._answers
            answers = known or self._renewed()
        except UserError as error:
            return ViewAnswer(error=str(error))
        found = answers.answer(query)
        return self._patched(query, found) if isinstance(query, AskView) else found

    def review(self) -> SessionReview:
        """Return the review of the session as it is now; raises NotFound."""
        return self._renewed().review

    def _patched(self, query: AskView, answer: ViewAnswer) -> ViewAnswer:
        """Return an answer with what differs from the view that the asker has, in the place of the whole view."""
        view = answer.view
        if view is None:
            return answer
        held = self._views.get((query.price, query.epoch or "", query.after or 0))
        self._views[query.price, view.epoch, view.seq] = view
        while len(self._views) > MOST_VIEWS:
            self._views.popitem(last=False)
        is_alike = held is not None and (held.epoch, held.price) == (view.epoch, view.price)
        if held is None or not is_alike:
            return answer
        return answer.model_copy(update={"view": None, "patch": patch_of(held, view)})

    def _renewed(self) -> ViewAnswers:
        place, known = self._place(), self._answers
        if known is not None and self._own == place.own and not self._differs(known, place):
            return known
        if self._followed is None or (known is not None and place.seq < known.seq):
            self._followed = GrowingReview(
                self._store,
                self.session_id,
                self._price_of,
                self._get_policy,
                self._problems_of(self.session_id) if self._problems_of is not None else (),
            )
        review = self._followed.review()
        goes_on = known is not None and review.ruler == known.review.ruler
        self._own = place.own
        self._answers = ViewAnswers(
            review,
            own=place.own,
            seq=place.seq,
            epoch=known.epoch if known is not None and goes_on else uuid4().hex[:12],
        )
        return self._answers

    def _differs(self, known: ViewAnswers, place: SessionPlace) -> bool:
        if place.seq <= known.seq:
            # A log that is shorter is another one, or was deleted.
            return place.seq < known.seq
        newer = self._store.read(self.session_id, known.seq, only=GROWTH)
        return next(newer, None) is not None

    def _stored(self) -> SessionPlace:
        newest = next(self._store.stream(self.session_id), None)
        return SessionPlace(newest.seq if newest is not None else 0)

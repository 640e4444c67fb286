"""The review of one session in a store: its timeline, the presets, prices, and what the log holds of requests."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from palimpsest.model.tokenizer import counter
from palimpsest.review.comparison.prices import PriceOf
from palimpsest.review.comparison.session_review import GetPolicy, SessionReview
from palimpsest.review.policies.registry import get
from palimpsest.review.request_contents.sent_requests import SentRequests
from palimpsest.review.timeline.journal_timeline import timeline_of
from palimpsest.store.interface import Store
from palimpsest.transcript.timeline import Timeline

Reviewing = TypeVar("Reviewing", bound=SessionReview)
ReviewMaker = Callable[..., Reviewing]
"""Makes the review of a timeline: with what ``SessionReview`` is made with."""


def stored_review(
    store: Store, session_id: str, price_of: PriceOf, get_policy: GetPolicy = get
) -> SessionReview:
    """Return the review of a session; its texts stay in the store. Raises NotFound."""
    return review_made_by(SessionReview, store, session_id, price_of, get_policy)


def review_made_by(
    make: ReviewMaker[Reviewing],
    store: Store,
    session_id: str,
    price_of: PriceOf,
    get_policy: GetPolicy = get,
) -> Reviewing:
    """Return the review of a session that ``make`` makes of its timeline. Raises NotFound."""

    def timeline(one: str) -> Timeline:
        return timeline_of(store, one, counter, price_of)

    def children_of(parent: str) -> Sequence[Timeline]:
        return [timeline(one.id) for one in store.list() if one.parent_id == parent]

    sent = SentRequests(store, session_id)
    return make(timeline(session_id), get_policy, price_of, sent, children_of)

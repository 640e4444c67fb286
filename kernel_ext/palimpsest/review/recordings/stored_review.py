"""The review of one session in a store: its timeline, the presets, prices, and what the log holds of requests."""

from palimpsest.model.tokenizer import counter
from palimpsest.review.comparison.prices import PriceOf
from palimpsest.review.comparison.session_review import GetPolicy, SessionReview
from palimpsest.review.policies.registry import get
from palimpsest.review.request_contents.sent_requests import SentRequests
from palimpsest.review.timeline.journal_timeline import timeline_of
from palimpsest.store.interface import Store


def stored_review(
    store: Store, session_id: str, price_of: PriceOf, get_policy: GetPolicy = get
) -> SessionReview:
    """Return the review of a session; its texts stay in the store. Raises NotFound."""
    timeline = timeline_of(store, session_id, counter, price_of)
    return SessionReview(timeline, get_policy, price_of, SentRequests(store, session_id))

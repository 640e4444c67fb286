"""The review of one session in a store: its timeline, the presets, prices, and what the log holds of requests."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from palimpsest.model.tokenizer import counter
from palimpsest.review.comparison.prices import PriceOf
from palimpsest.review.comparison.session_review import GetPolicy
from palimpsest.review.policies.registry import get
from palimpsest.review.recordings.recording_review import RecordingReview
from palimpsest.review.request_contents.sent_requests import SentRequests
from palimpsest.review.review_files.review_file import StoredReview, review_file
from palimpsest.review.timeline.journal_timeline import timeline_of
from palimpsest.store.interface import Problem, Store
from palimpsest.transcript.timeline import Timeline

Reviewing = TypeVar("Reviewing", bound=RecordingReview)
ReviewMaker = Callable[..., Reviewing]
"""Makes the review of a timeline: with what ``RecordingReview`` is made with."""


def stored_review(store: Store, session_id: str, price_of: PriceOf) -> RecordingReview:
    """Return the review of a session; its texts stay in the store. Raises NotFound.

    What was derived of a long log is read from a file beside it, and kept there.
    """
    return review_made_by(RecordingReview, store, session_id, price_of, in_file=True)


def review_made_by(
    make: ReviewMaker[Reviewing],
    store: Store,
    session_id: str,
    price_of: PriceOf,
    get_policy: GetPolicy = get,
    *,
    in_file: bool = False,
    problems: Sequence[Problem] = (),
    price: str | None = None,
) -> Reviewing:
    """Return the review of a session that ``make`` makes of its timeline. Raises NotFound."""

    def timeline(one: str) -> Timeline:
        return timeline_of(store, one, counter, price_of)

    def children_of(parent: str) -> Sequence[Timeline]:
        return [timeline(one.id) for one in store.list() if one.parent_id == parent]

    file = review_file(store, session_id, price_of) if in_file else None
    known = None if file is None else file.load(counter)
    if known is None:
        known = StoredReview(timeline(session_id), None)
    return make(
        known.timeline,
        get_policy,
        price_of,
        SentRequests(store, session_id),
        children_of,
        references=known.references,
        keep=None if file is None else file.keep,
        problems=problems,
        price=price,
    )

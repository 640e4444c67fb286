"""Build the review of one session in a store from its timeline, the presets, prices and stored requests."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.prices.prices import PriceOf
from palimpsest.review.recorded_sessions.recording_review import RecordingReview
from palimpsest.review.request_contents.sent_requests import SentRequests
from palimpsest.review.session_review import GetPolicy, policy_named
from palimpsest.store.interface import Problem, Store
from palimpsest.store.session_notes import NoteFiles, store_notes
from palimpsest.transcript.timeline import Timeline

AnyReview = TypeVar("AnyReview", bound=RecordingReview)
ReviewMaker = Callable[..., AnyReview]
"""A class or function that returns a review, given the arguments of ``RecordingReview``."""


def stored_review(store: Store, session_id: str, price_of: PriceOf) -> RecordingReview:
    """Return the review of a session; for a long log its timeline is stored in a file. Raises NotFound."""
    return review_made_by(
        RecordingReview, store, session_id, price_of, in_file=True, note_files=store_notes(store)
    )


def review_made_by(
    make_review: ReviewMaker[AnyReview],
    store: Store,
    session_id: str,
    price_of: PriceOf,
    get_policy: GetPolicy = policy_named,
    *,
    in_file: bool = False,
    problems: Sequence[Problem] = (),
    price: str | None = None,
    own_only: bool = False,
    is_alone: bool = False,
    note_files: NoteFiles | None = None,
) -> AnyReview:
    """Return what ``make_review`` returns for a session, whose timeline is built, or with ``in_file`` read from its file; raises NotFound.

    With ``own_only`` a fork has only its own requests; with ``is_alone`` no subagents are searched for.
    """

    def timeline_with_id(session_id: str) -> Timeline:
        return timeline_of(store, session_id, counter, price_of, own_only=own_only)

    def subagent_timelines_of(parent_id: str) -> Sequence[Timeline]:
        sessions = () if is_alone else store.list()
        return [
            timeline_with_id(session.id) for session in sessions if session.parent_id == parent_id
        ]

    kept_file = known_review = None
    if in_file:
        from palimpsest.review.review_files.review_file import review_file

        kept_file = review_file(store, session_id, price_of)
        known_review = None if kept_file is None else kept_file.load(counter)
    return make_review(
        timeline_with_id(session_id) if known_review is None else known_review.timeline,
        get_policy,
        price_of,
        SentRequests(store, session_id),
        subagent_timelines_of,
        references=None if known_review is None else known_review.references,
        keep_review=None if kept_file is None else kept_file.store_review,
        problems=problems,
        price=price,
        note_files=note_files,
    )

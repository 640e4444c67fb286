"""Reviews of recorded sessions, with what their logs hold of requests."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from tests.context_policies.pi_session import pi_timeline
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample

from palimpsest.context_policies.registry import get
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.request_contents.sent_requests import SentRequests
from palimpsest.review.session_review import SessionReview
from palimpsest.store.interface import Store
from palimpsest.transcript.values import Price

PRICE = Price(input=3, output=15, cache_read=0.3, cache_write=3.75)


def review_of(store: Store, session_id: str) -> SessionReview:
    """Return the review of a session in a store."""
    timeline = timeline_of(store, session_id, counter)
    sent = SentRequests(store, session_id)
    return SessionReview(timeline, get, lambda _model: None, sent)


@cache
def pi_review() -> SessionReview:
    """Return the review of the pi sample, with prices."""
    return SessionReview(pi_timeline(), get, lambda _model: PRICE)


def imported_review(name: str, folder: Path | None = None) -> SessionReview:
    """Return the review of the first session of a sample."""
    store, report = import_file(sample(name, folder or Path(mkdtemp())))
    return review_of(store, report.sessions[0].id)

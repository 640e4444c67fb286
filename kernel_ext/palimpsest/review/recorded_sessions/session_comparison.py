"""Compare two recorded sessions, given as reviews, as paths of recordings, or as sessions that have a review."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.review.recorded_sessions.stored_review import AnyReview
from palimpsest.review.session_review import PriceLike, SessionReview
from palimpsest.transcript.errors import UserError

if TYPE_CHECKING:
    from palimpsest.review.recorded_comparison import RecordedComparison


class Reviewed(Protocol):
    """An object with a ``review``, such as a session in a notebook."""

    @property
    def review(self) -> SessionReview:
        """The review of the session."""


def compare_sessions(
    first: SessionReview | Reviewed | str | Path,
    second: SessionReview | Reviewed | str | Path,
    *,
    price: PriceLike = None,
) -> "RecordedComparison":
    """Compare two recorded sessions: where they part, cost, requests, growth of the context, breaks, tools, files, ends.

    Each is a session, its review, or the path of a recording, from which the first session with a request is taken.
    ``price`` is a model's id, ``units``, prices such as ``MODEL=in/out/read/write``, or a price file. Raises UserError with one sentence.
    """
    from palimpsest.review.recorded_comparison import compare_recorded

    return compare_recorded(review_of_source(first), review_of_source(second), price)


def review_of_source(source: SessionReview | Reviewed | str | Path) -> SessionReview:
    """Return the review of a source: itself, that of a session, or of the first session with a request in a recording."""
    if isinstance(source, SessionReview):
        return source
    if not isinstance(source, str | Path):
        return source.review
    return first_with_requests(open_recording(source), str(source))


def first_with_requests(reviews: Iterable[AnyReview], source_name: str) -> AnyReview:
    """Return the first review of a session with requests that is no subagent; raises UserError where there is none."""
    for review in reviews:
        if review.timeline.requests and review.timeline.parent is None:
            return review
    raise UserError(
        f"{source_name!r} holds no session with a request, so there is nothing to compare."
    )

"""Compare two recorded sessions, given as reviews, as paths of recordings, or as sessions that have a review."""

from pathlib import Path
from typing import Protocol

from palimpsest.review.comparison.recorded_comparison import RecordedComparison, compare_recorded
from palimpsest.review.comparison.session_review import PriceLike, SessionReview
from palimpsest.review.recordings.recording import open_recording
from palimpsest.transcript.errors import UserError


class Reviewed(Protocol):
    """Something that has a review, such as a session in a notebook."""

    @property
    def review(self) -> SessionReview:
        """Its review."""


def compare_sessions(
    first: SessionReview | Reviewed | str | Path,
    second: SessionReview | Reviewed | str | Path,
    *,
    price: PriceLike = None,
) -> RecordedComparison:
    """Return two recorded sessions side by side: cost, requests, growth of the context, breaks, tools.

    Each is a session, its review, or the path of a recording, of which the first session with a request counts.
    ``price`` is a model's id, ``units``, prices such as ``MODEL=in/out/read/write``, or a price file. Raises UserError with one sentence.
    """
    return compare_recorded(_review(first), _review(second), price)


def _review(given: SessionReview | Reviewed | str | Path) -> SessionReview:
    if isinstance(given, SessionReview):
        return given
    if not isinstance(given, str | Path):
        return given.review
    for one in open_recording(given):
        if one.timeline.requests and one.timeline.parent is None:
            return one
    raise UserError(
        f"{str(given)!r} holds no session with a request, so there is nothing to compare."
    )

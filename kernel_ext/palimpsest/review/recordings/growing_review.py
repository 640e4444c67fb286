"""The review of a session while it runs: made anew with each question, and not from the beginning.

The log is read once, and so is each text. The ruler is kept while another fit would differ by less than a
hundredth: what was measured before does not move with each request.
"""

from collections.abc import Sequence
from functools import cached_property

from palimpsest.model.tokenizer import counter
from palimpsest.review.comparison.prices import PriceOf
from palimpsest.review.comparison.references import GrowingReferences
from palimpsest.review.comparison.session_review import GetPolicy, session_ruler
from palimpsest.review.recordings.recording_review import RecordingReview
from palimpsest.review.replay.ruler import Ruler
from palimpsest.review.request_contents.request_blocks import tokens_beside
from palimpsest.review.request_contents.sent_requests import SentRequests
from palimpsest.review.timeline.growing_timeline import GrowingTimeline
from palimpsest.store.interface import Problem, Store
from palimpsest.transcript.timeline import Timeline

RULER_TOLERANCE = 0.01
"""Share by which a new fit may differ before it is taken; a hundredth is a pixel or two of the picture."""


class GrowingReview:
    """Makes the newest review of one session of a store, again and again; used by one thread at a time."""

    def __init__(
        self,
        store: Store,
        session_id: str,
        price_of: PriceOf,
        get_policy: GetPolicy,
        problems: Sequence[Problem] = (),
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._price_of = price_of
        self._get_policy = get_policy
        self._problems = problems
        self._timelines: dict[str, GrowingTimeline] = {}
        """Of the session and of its subagents."""
        self._references = GrowingReferences()
        self._ruler: Ruler | None = None

    def review(self) -> RecordingReview:
        """Return the review of all that the log holds now. Raises NotFound."""
        growing = self._growing(self._session_id)
        timeline = growing.newest()
        self._ruler = kept_ruler(self._ruler, session_ruler(timeline, lambda: self._beside))
        return RecordingReview(
            timeline,
            self._get_policy,
            self._price_of,
            SentRequests(self._store, self._session_id),
            self._children_of,
            references=self._references.at(timeline, growing.settled),
            ruler=self._ruler,
            problems=self._problems,
        )

    @cached_property
    def _beside(self) -> int:
        """Tokens of the system prompt and the tools that came with a recording; looked for once."""
        sent = SentRequests(self._store, self._session_id)
        return tokens_beside(sent.system, sent.tools_text)

    def _growing(self, session_id: str) -> GrowingTimeline:
        found = self._timelines.get(session_id)
        if found is None:
            found = GrowingTimeline(self._store, session_id, counter, self._price_of)
            self._timelines[session_id] = found
        return found

    def _children_of(self, parent: str) -> Sequence[Timeline]:
        return [
            self._growing(one.id).newest() for one in self._store.list() if one.parent_id == parent
        ]


def kept_ruler(known: Ruler | None, fitted: Ruler) -> Ruler:
    """Return the ruler that is known, unless the fitted one differs from it by more than the tolerance."""
    if known is None or (known.measured, known.estimator) != (fitted.measured, fitted.estimator):
        return fitted
    moved = abs(fitted.factor - known.factor) / known.factor
    unseen = abs(fitted.unseen - known.unseen) / max(known.unseen, 1_000.0)
    return fitted if max(moved, unseen) > RULER_TOLERANCE else known

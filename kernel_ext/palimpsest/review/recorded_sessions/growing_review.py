"""The review of a running session, updated with each question without reading the log again.

The log and each text are read once. The ruler is not replaced while a new fit differs by less than a hundredth, so that
shown figures do not change with each request.
"""

from collections.abc import Sequence
from functools import cached_property, partial

from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.growing_timeline import GrowingTimeline
from palimpsest.review.prices.prices import PriceOf
from palimpsest.review.recorded_sessions.recording_review import RecordingReview
from palimpsest.review.request_contents.request_blocks import tokens_beside
from palimpsest.review.request_contents.sent_requests import SentRequests
from palimpsest.review.session_review import GetPolicy, session_ruler
from palimpsest.review.tables.references import GrowingReferences
from palimpsest.store.interface import Problem, Store
from palimpsest.store.session_notes import NoteFiles
from palimpsest.transcript.timeline import Timeline

RULER_TOLERANCE = 0.01
"""Share by which a new fit must differ to be used; a hundredth is one or two pixels of the inspector's picture."""


class GrowingReview:
    """Builds the newest review of one session of a store each time it is requested; for use by one thread at a time."""

    def __init__(
        self,
        store: Store,
        session_id: str,
        price_of: PriceOf,
        get_policy: GetPolicy,
        problems: Sequence[Problem] = (),
        note_files: NoteFiles | None = None,
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._price_of = price_of
        self._get_policy = get_policy
        self._problems = problems
        self._note_files = note_files
        self._timelines: dict[str, GrowingTimeline] = {}
        """The timelines of the session and of its subagents."""
        self._references = GrowingReferences()
        self._ruler: Ruler | None = None

    def review(self) -> RecordingReview:
        """Return the review of the whole log so far; raises NotFound."""
        growing_timeline = self._growing_timeline(self._session_id)
        timeline = growing_timeline.newest_timeline()
        settled = growing_timeline.settled_items
        fitted = session_ruler(timeline, lambda: self._section_tokens)
        self._ruler = stable_ruler(self._ruler, fitted)
        return RecordingReview(
            timeline,
            self._get_policy,
            self._price_of,
            SentRequests(self._store, self._session_id),
            self._children_of,
            references_of=partial(self._references.references_until, settled=settled),
            ruler=self._ruler,
            problems=self._problems,
            note_files=self._note_files,
        )

    @cached_property
    def _section_tokens(self) -> int:
        """Tokens of the recorded system prompt and tools, which are read once."""
        sent = SentRequests(self._store, self._session_id)
        return tokens_beside(sent.system, sent.tools_text)

    def _growing_timeline(self, session_id: str) -> GrowingTimeline:
        if session_id not in self._timelines:
            timeline = GrowingTimeline(self._store, session_id, counter, self._price_of)
            self._timelines[session_id] = timeline
        return self._timelines[session_id]

    def _children_of(self, parent: str) -> Sequence[Timeline]:
        return [
            self._growing_timeline(session.id).newest_timeline()
            for session in self._store.list()
            if session.parent_id == parent
        ]


def stable_ruler(ruler: Ruler | None, fitted: Ruler) -> Ruler:
    """Return the earlier ruler, unless the newly fitted ruler differs from it by more than the tolerance."""
    if ruler is None or (ruler.is_fitted, ruler.estimator) != (fitted.is_fitted, fitted.estimator):
        return fitted
    factor_change = abs(fitted.factor - ruler.factor) / ruler.factor
    unseen = abs(fitted.unseen_tokens - ruler.unseen_tokens) / max(ruler.unseen_tokens, 1_000.0)
    return fitted if max(factor_change, unseen) > RULER_TOLERANCE else ruler

"""The review of a running session, updated with each question without reading the log again.

The log and each text are read once. The ruler is not replaced while a new fit differs by less than a hundredth, so that
shown figures do not change with each request.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.growing_timeline import GrowingTimeline
from palimpsest.review.prices.prices import PriceOf
from palimpsest.review.recorded_sessions.recording_review import RecordingReview
from palimpsest.review.request_contents.request_blocks import separate_tokens
from palimpsest.review.request_contents.sent_requests import SentRequests
from palimpsest.review.session_review import GetPolicy, session_ruler
from palimpsest.review.tables.references import GrowingReferences
from palimpsest.store.interface import Problem, Store
from palimpsest.store.session_notes import NoteFiles
from palimpsest.transcript.timeline import Timeline

RULER_TOLERANCE = 0.01
"""Share by which a new fit must differ to be used; a hundredth is one or two pixels of the inspector's picture."""
MIN_COMPARED_TOKENS = 1_000.0
"""Unseen tokens below this number are compared as if they were as many."""


@dataclass(eq=False)
class GrowingReview:
    """Builds the newest review of one session of a store each time it is requested; for use by one thread at a time."""

    store: Store
    session_id: str
    price_of: PriceOf
    get_policy: GetPolicy
    problems: Sequence[Problem] = ()
    note_files: NoteFiles | None = None
    _timelines: dict[str, GrowingTimeline] = field(default_factory=dict, init=False)
    """The timelines of the session and of its subagents."""
    _references: GrowingReferences = field(default_factory=GrowingReferences, init=False)
    _ruler: Ruler | None = field(default=None, init=False)

    def review(self) -> RecordingReview:
        """Return the review of the whole log so far; raises NotFound."""
        growing_timeline = self._growing_timeline(self.session_id)
        timeline = growing_timeline.newest_timeline()
        settled_count = growing_timeline.settled_item_count
        fitted_ruler = session_ruler(timeline, lambda: self._separate_tokens)
        self._ruler = stable_ruler(self._ruler, fitted_ruler)
        return RecordingReview(
            timeline,
            self.get_policy,
            self.price_of,
            SentRequests(self.store, self.session_id),
            self._subagent_timelines_of,
            references_of=partial(self._references.references_until, settled_count=settled_count),
            ruler=self._ruler,
            problems=self.problems,
            note_files=self.note_files,
        )

    @cached_property
    def _separate_tokens(self) -> int:
        """Tokens of the recorded system prompt and tools, which are read once."""
        sent_requests = SentRequests(self.store, self.session_id)
        return separate_tokens(sent_requests.system, sent_requests.tools_text)

    def _growing_timeline(self, session_id: str) -> GrowingTimeline:
        if session_id not in self._timelines:
            timeline = GrowingTimeline(self.store, session_id, counter, self.price_of)
            self._timelines[session_id] = timeline
        return self._timelines[session_id]

    def _subagent_timelines_of(self, parent_id: str) -> Sequence[Timeline]:
        return [
            self._growing_timeline(session.id).newest_timeline()
            for session in self.store.list()
            if session.parent_id == parent_id
        ]


def stable_ruler(ruler: Ruler | None, fitted_ruler: Ruler) -> Ruler:
    """Return the earlier ruler, unless the newly fitted ruler differs from it by more than the tolerance."""
    if ruler is None or (ruler.is_fitted, ruler.estimator) != (
        fitted_ruler.is_fitted,
        fitted_ruler.estimator,
    ):
        return fitted_ruler
    factor_change = abs(fitted_ruler.factor - ruler.factor) / ruler.factor
    unseen_change = abs(fitted_ruler.unseen_tokens - ruler.unseen_tokens) / max(
        ruler.unseen_tokens, MIN_COMPARED_TOKENS
    )
    return fitted_ruler if max(factor_change, unseen_change) > RULER_TOLERANCE else ruler

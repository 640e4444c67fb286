"""Answer an inspector's questions about a session of a store, from the newest timeline of its log.

A timeline is built on demand, and again when the log has grown. Only the question for the whole view checks whether it
has: texts and tracks are answered from the timeline that the view shows, so that all answers belong to one moment, and
streamed answers cause no work.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from uuid import uuid4

from palimpsest.context_policies.registry import get
from palimpsest.review.prices.prices import PriceOf
from palimpsest.review.recorded_sessions.growing_review import GrowingReview
from palimpsest.review.recorded_sessions.recording_review import RecordingReview
from palimpsest.review.recorded_sessions.stored_review import stored_review
from palimpsest.review.session_review import GetPolicy, SessionReview
from palimpsest.review.tables.subagents import MAX_DEPTH
from palimpsest.review.timeline_view.chosen_policies import NO_POLICIES, ChosenPolicies
from palimpsest.review.timeline_view.sliders import policy_choices
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_patch import patch_of
from palimpsest.review.timeline_view.view_queries import AskView, ViewAnswer, ViewQuery
from palimpsest.review.timeline_view.view_values import PolicyOption, TimelineView
from palimpsest.store.interface import Problem, Store
from palimpsest.store.session_notes import NoteFiles
from palimpsest.transcript.errors import UserError

EPOCH_CHARS = 12
"""Characters of the random name of an epoch."""
MAX_VIEWS = 4
"""Maximum views that are stored as the base of patches: those of a tab and a cell, and the previous view of each."""
MAX_SUBAGENTS = 2
"""Maximum subagents whose timelines are kept for further questions."""
GROWTH_EVENTS = frozenset(
    {
        "session.created",
        "session.updated",
        "message.updated",
        "message.removed",
        "message.part.removed",
        "decision",
        "step.requested",
    }
)
"""Types of records that change a timeline; pieces of a streamed answer are not among them."""


class SessionReviews:
    """Stores the newest review of one session; may be used by several threads at once."""

    def __init__(self, store: Store, session_id: str, price_of: PriceOf) -> None:
        self._store = store
        self._session_id = session_id
        self._price_of = price_of
        self._newest_seq_and_review: tuple[int, RecordingReview] | None = None
        self._lock = threading.Lock()

    def review_at(self, seq: int) -> RecordingReview:
        """Return the review of the log up to record ``seq``, the same object for the same record; raises NotFound."""
        with self._lock:
            if self._newest_seq_and_review is None or self._newest_seq_and_review[0] != seq:
                self._newest_seq_and_review = (
                    seq,
                    stored_review(self._store, self._session_id, self._price_of),
                )
            return self._newest_seq_and_review[1]


@dataclass(frozen=True, slots=True)
class LogState:
    """The newest record of a session's log, and whether the session can be written here."""

    seq: int
    """Number of the newest record; 0 without any."""
    is_writable: bool = False


class SessionAnswers:
    """Answers the questions about one session.

    Responsibilities: build the view again when the log has grown; answer a question that has an older view by a patch;
    return a sentence where a question cannot be answered. ``answer`` is called on one thread at a time.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        price_of: PriceOf,
        log_state: Callable[[], LogState] | None = None,
        get_policy: GetPolicy = get,
        problems_of: Callable[[str], Sequence[Problem]] | None = None,
        note_files: NoteFiles | None = None,
    ) -> None:
        """``problems_of`` returns the session's unreadable places; it is called for the first view."""
        self.session_id = session_id
        self._store = store
        self._price_of = price_of
        self._get_policy = get_policy
        self._log_state = log_state or self._stored_log_state
        self._problems_of = problems_of
        self._note_files = note_files
        self._answers_by_subagent: OrderedDict[str, SessionAnswers] = OrderedDict()
        self._growing_review: GrowingReview | None = None
        self._answers: ViewAnswers | None = None
        self._is_writable = False
        self._views: OrderedDict[Hashable, TimelineView] = OrderedDict()
        """The newest views that were sent, by price, chosen policies, epoch and ``seq``."""

    def answer(self, query: ViewQuery, policies: ChosenPolicies = NO_POLICIES) -> ViewAnswer:
        """Return the answer; for a question that cannot be answered, an error of one sentence.

        ``policies`` are those of ``ViewAnswers.answer``.
        """
        if query.subagent is not None:
            return self._answer_of_subagent(query, query.subagent, policies)
        try:
            known_answers = None if isinstance(query, AskView) else self._answers
            answers = known_answers or self._current_answers()
        except UserError as error:
            return ViewAnswer(error=str(error))
        view_answer = answers.answer(query, policies)
        if not isinstance(query, AskView):
            return view_answer
        # Without policies of the user's the presets, which the first picture does without, need not be imported.
        options = policy_choices(policies)[: len(policies)] if policies else ()
        return self._patched_answer(query, view_answer, options)

    def _answer_of_subagent(
        self, query: ViewQuery, session_id: str, policies: ChosenPolicies
    ) -> ViewAnswer:
        """Return the answer to a question about a subagent of the session."""
        answers = self._answers_by_subagent.pop(session_id, None)
        if answers is None and not self._is_subagent(session_id):
            return ViewAnswer(error=f"The subagent {session_id:.60} is not there.")
        self._answers_by_subagent[session_id] = answers = answers or SessionAnswers(
            self._store,
            session_id,
            self._price_of,
            get_policy=self._get_policy,
            problems_of=self._problems_of,
            note_files=self._note_files,
        )
        while len(self._answers_by_subagent) > MAX_SUBAGENTS:
            self._answers_by_subagent.popitem(last=False)
        answer = answers.answer(query.model_copy(update={"subagent": None}), policies)
        within = {"within": self.session_id}
        if answer.view is not None:
            return answer.model_copy(update={"view": answer.view.model_copy(update=within)})
        if answer.patch is not None:
            view = answer.patch.view.model_copy(update=within)
            patch = answer.patch.model_copy(update={"view": view})
            return answer.model_copy(update={"patch": patch})
        return answer

    def _is_subagent(self, session_id: str) -> bool:
        """Return whether a session is a subagent of this session, or of one of its subagents."""
        parent_id_by_id = {info.id: info.parent_id for info in self._store.list()}
        for _ in range(MAX_DEPTH):
            session_id = parent_id_by_id.get(session_id) or ""
            if session_id == self.session_id:
                return True
        return False

    def review(self) -> SessionReview:
        """Return the review of the session as it is now; raises NotFound."""
        return self._current_answers().review

    def _patched_answer(
        self, query: AskView, answer: ViewAnswer, options: Sequence[PolicyOption]
    ) -> ViewAnswer:
        """Return an answer with a patch of the front end's view instead of the whole view, if that view is known."""
        view = answer.view
        if view is None:
            return answer
        view_options = query.price, tuple(options)
        earlier_view = self._views.get((view_options, query.epoch or "", query.after or 0))
        self._views[view_options, view.epoch, view.seq] = view
        while len(self._views) > MAX_VIEWS:
            self._views.popitem(last=False)
        if earlier_view is None:
            return answer
        if (earlier_view.epoch, earlier_view.price) != (view.epoch, view.price):
            return answer
        return answer.model_copy(update={"view": None, "patch": patch_of(earlier_view, view)})

    def _current_answers(self) -> ViewAnswers:
        log_state, answers = self._log_state(), self._answers
        if (
            answers is not None
            and self._is_writable == log_state.is_writable
            and not self._has_changed(answers, log_state)
        ):
            return answers
        if self._growing_review is None or (answers is not None and log_state.seq < answers.seq):
            self._growing_review = GrowingReview(
                self._store,
                self.session_id,
                self._price_of,
                self._get_policy,
                self._problems_of(self.session_id) if self._problems_of is not None else (),
                self._note_files,
            )
        review = self._growing_review.review()
        epoch = uuid4().hex[:EPOCH_CHARS]
        if answers is not None and review.ruler == answers.review.ruler:
            epoch = answers.epoch
        self._is_writable = log_state.is_writable
        self._answers = ViewAnswers(
            review, is_writable=log_state.is_writable, seq=log_state.seq, epoch=epoch
        )
        return self._answers

    def _has_changed(self, known_answers: ViewAnswers, log_state: LogState) -> bool:
        if log_state.seq <= known_answers.seq:
            # A shorter log is a different log, or was deleted.
            return log_state.seq < known_answers.seq
        newer_records = self._store.read(self.session_id, known_answers.seq, only=GROWTH_EVENTS)
        return next(newer_records, None) is not None

    def _stored_log_state(self) -> LogState:
        newest_record = next(self._store.stream(self.session_id), None)
        return LogState(newest_record.seq if newest_record is not None else 0)

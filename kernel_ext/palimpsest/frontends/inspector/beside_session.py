"""The session that a cell's inspector shows beside its own: its answers, and how both compare.

Border: a session of the project is followed as it grows; any other one is a review, which was read before.
"""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.frontends.inspector.answer_queue import AnswerQueue, SessionQuestions
from palimpsest.frontends.inspector.inspections import Inspections
from palimpsest.review.recorded_sessions.comparison_answers import (
    SAME_SESSION_SENTENCE,
    ComparisonAnswers,
)
from palimpsest.review.recorded_sessions.session_comparison import Reviewed, review_of_source
from palimpsest.review.session_review import SessionReview
from palimpsest.review.timeline_view.chosen_policies import ChosenPolicies
from palimpsest.review.timeline_view.comparison_values import SessionComparison
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_queries import AskComparison, ViewAnswer, ViewQuery
from palimpsest.session.engine import EngineThread
from palimpsest.transcript.errors import UserError


@dataclass(frozen=True, slots=True)
class BesideSession:
    """The parts of the session beside an inspected one that the widget uses."""

    name: str
    """How a link names it: its id, or the path of its recording."""
    ask: Callable[[ViewQuery, str], Coroutine[Any, Any, ViewAnswer]]
    """Answers a question about it, given the id of the asker; called on the engine's loop."""
    compare: Callable[[AskComparison], Coroutine[Any, Any, ViewAnswer]]
    """Answers how the inspected session compares with it; called on the engine's loop."""

    def comparison(self, engine: EngineThread, price: str | None) -> SessionComparison:
        """Return how both compare; called on any thread but the engine's, raises UserError where they cannot be."""
        answer = engine.submit(self.compare(AskComparison(price=price))).result()
        if answer.comparison is None:
            raise UserError(answer.error or "The sessions cannot be compared.")
        return answer.comparison


def project_session_beside(
    inspections: Inspections, first_id: str, second_id: str, policies: ChosenPolicies
) -> BesideSession:
    """Return a session of the project as it is shown beside another one; both are followed as they grow."""

    def ask(query: ViewQuery, asker: str) -> Coroutine[Any, Any, ViewAnswer]:
        return inspections.answer_session(second_id, query, asker, policies)

    def compare(query: AskComparison) -> Coroutine[Any, Any, ViewAnswer]:
        comparison_query = query.model_copy(update={"path": None, "session": second_id})
        return inspections.answer_session(first_id, comparison_query)

    return BesideSession(second_id, ask, compare)


def review_beside(
    name: str,
    get_first_review: Callable[[], Awaitable[SessionReview]],
    second_review: SessionReview,
    queue: AnswerQueue,
    policies: ChosenPolicies,
) -> BesideSession:
    """Return a review as it is shown beside a session; ``get_first_review`` returns the newest review of that."""
    questions = SessionQuestions(ViewAnswers(second_review))
    comparison_questions: list[SessionQuestions[ComparisonAnswers]] = []  # at most one

    def ask(query: ViewQuery, asker: str) -> Coroutine[Any, Any, ViewAnswer]:
        return queue.answer(questions, query, asker, policies)

    async def compare(query: AskComparison) -> ViewAnswer:
        first_review = await get_first_review()
        if first_review is second_review:
            return ViewAnswer(error=SAME_SESSION_SENTENCE)
        if not comparison_questions or not comparison_questions[0].source.is_about(
            first_review, second_review
        ):
            comparison_questions[:] = [
                SessionQuestions(ComparisonAnswers(first_review, second_review))
            ]
        return await queue.answer(comparison_questions[0], query)

    return BesideSession(name, ask, compare)


def beside_name(beside: SessionReview | Reviewed | str | Path | None) -> str | None:
    """Return how a link names a session beside: by its id, or by the path of its recording; None for none."""
    if beside is None or isinstance(beside, str | Path):
        return None if beside is None else str(beside)
    return review_of_source(beside).timeline.session

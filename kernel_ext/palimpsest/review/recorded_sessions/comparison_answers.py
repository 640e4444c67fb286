"""Answer a view's question how one session compares with another; the newest comparison is stored."""

import time
from uuid import uuid4

from palimpsest.review.prices.price_file import without_files
from palimpsest.review.session_review import SessionReview
from palimpsest.review.timeline_view.chosen_policies import NO_POLICIES, ChosenPolicies
from palimpsest.review.timeline_view.comparison_values import SessionComparison
from palimpsest.review.timeline_view.view_queries import AskComparison, ViewAnswer, ViewQuery
from palimpsest.transcript.errors import UserError

SAME_SESSION_SENTENCE = "This is the session itself; choose another one to compare it with."


class ComparisonAnswers:
    """Answers how two sessions compare.

    Responsibilities: compute the comparison once for each price; turn errors that the user can correct into one sentence.
    ``answer`` is called on one thread at a time.
    """

    def __init__(self, first: SessionReview, second: SessionReview) -> None:
        self._first = first
        self._second = second
        self._newest_comparison: tuple[str | None, SessionComparison] | None = None
        """The newest comparison, with the price in it as words."""

    def is_about(self, first: SessionReview, second: SessionReview) -> bool:
        """Return whether the given reviews are compared; a session that has grown has another review."""
        return self._first is first and self._second is second

    def answer(self, query: ViewQuery, _policies: ChosenPolicies = NO_POLICIES) -> ViewAnswer:
        """Return the comparison, unless the front end has it; for a question that cannot be answered, a sentence."""
        if not isinstance(query, AskComparison):
            return ViewAnswer(error="Of two sessions only their comparison is answered here.")
        started_at = time.perf_counter()
        try:
            comparison = self._comparison_at_price(query.price)
        except (UserError, ValueError) as error:
            return ViewAnswer(error=str(error))
        is_known = query.known == comparison.stamp
        return ViewAnswer(
            comparison=None if is_known else comparison,
            unchanged=is_known,
            milliseconds=round(1000 * (time.perf_counter() - started_at)),
        )

    def _comparison_at_price(self, price: str | None) -> SessionComparison:
        from palimpsest.review.recorded_sessions.comparison_view import comparison_view

        if self._newest_comparison is not None and self._newest_comparison[0] == price:
            return self._newest_comparison[1]
        for review in (self._first, self._second):
            if not review.timeline.requests:
                raise UserError(
                    f"The session {review.timeline.title or review.timeline.session!r} has no request yet, "
                    "so there is nothing to compare."
                )
        _, view = comparison_view(self._first, self._second, without_files(price))
        comparison = view.model_copy(update={"stamp": uuid4().hex[:12]})
        self._newest_comparison = price, comparison
        return comparison

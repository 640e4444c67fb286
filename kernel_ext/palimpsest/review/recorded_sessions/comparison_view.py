"""The inspector's view of two recorded sessions, from the comparison that ``palimpsest compare A B`` shows."""

from palimpsest.render.reports.table import shown_cell
from palimpsest.review.comparison.session_actions import SessionStep
from palimpsest.review.recorded_comparison import RecordedComparison, compare_recorded
from palimpsest.review.session_figures import session_figures, start_seconds
from palimpsest.review.session_review import PriceLike, SessionReview
from palimpsest.review.tables.request_totals import context_sizes, session_costs
from palimpsest.review.timeline_view.comparison_values import (
    ComparedFigure,
    ComparedFile,
    ComparedSession,
    ComparedStep,
    SessionComparison,
)


def comparison_view(
    first: SessionReview, second: SessionReview, price: PriceLike = None, *, with_texts: bool = True
) -> tuple[RecordedComparison, SessionComparison]:
    """Return two sessions side by side at a price: the comparison, and its values for a page.

    Without texts the sessions have no titles, actions name only their tools, and no files are listed.
    """
    comparison = compare_recorded(first, second, price, with_texts=with_texts)
    has_same_unit = comparison.first.unit == comparison.second.unit
    ratio_column = comparison.table.columns[-1]
    view = SessionComparison(
        first=_compared_session(first, comparison, comparison.parting.first_step, price),
        second=_compared_session(second, comparison, comparison.parting.second_step, price),
        shared=comparison.parting.shared_steps,
        sentence=comparison.sentence,
        unit=comparison.first.unit if has_same_unit else "",
        figures=tuple(
            ComparedFigure(
                key=key,
                name=str(name),
                first=str(first_text),
                second=str(second_text),
                ratio=shown_cell(ratio, ratio_column),
            )
            for key, (name, first_text, second_text, ratio) in comparison.figure_rows()
            if key != "next_action"
        ),
        files=_compared_files(comparison) if with_texts else (),
        notes=comparison.notes,
    )
    return comparison, view


def _compared_session(
    review: SessionReview,
    comparison: RecordedComparison,
    step: SessionStep | None,
    price: PriceLike,
) -> ComparedSession:
    timeline, figures = review.timeline, session_figures(review, price)
    sizes = context_sizes(timeline, lambda: review.ruler)
    costs = session_costs(timeline, lambda: review.ruler, review.price(price))
    parting = None
    if step is not None:
        step_text = step.phrase(with_texts=comparison.with_texts)
        parting = ComparedStep(request=step.request, words=step_text)
    return ComparedSession(
        session=timeline.session,
        title=timeline.title if comparison.with_texts else "",
        origin=timeline.origin,
        model=figures.model,
        tokens=tuple(None if size is None else round(size) for size in sizes),
        is_estimate=figures.basis == "estimate",
        costs=tuple(None if cost is None else cost.value for cost in costs),
        cost_is_estimate=figures.cost_basis == "estimate",
        seconds=start_seconds(timeline),
        parting=parting,
    )


def _compared_files(comparison: RecordedComparison) -> tuple[ComparedFile, ...]:
    first, second = comparison.first_actions.files, comparison.second_actions.files
    return tuple(
        ComparedFile(path=path, first=first.get(path, ""), second=second.get(path, ""))
        for path in dict.fromkeys((*first, *second))
    )

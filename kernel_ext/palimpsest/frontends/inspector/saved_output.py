"""Build the output of an inspector that a cell keeps, without keys and names of home folders."""

from collections.abc import Collection, Mapping

from palimpsest.render.reports.saved_inspector import saved_inspector
from palimpsest.review.timeline_view.comparison_values import SessionComparison, cleaned_comparison
from palimpsest.review.timeline_view.inspector_parts import InspectorPart
from palimpsest.review.timeline_view.view_summary import ViewSummary, compared_summary, view_summary
from palimpsest.review.timeline_view.view_values import TimelineView
from palimpsest.session.sharing.share_page import clean_json, text_cleaner
from palimpsest.transcript.visible_text import visible_text

MAX_PLAIN_CHARS = 20_000


def saved_output(
    view: TimelineView,
    css_class: str,
    environment: Mapping[str, str],
    views: Collection[InspectorPart] = (),
    hidden_parts: Collection[InspectorPart] = (),
    comparison: SessionComparison | None = None,
) -> dict[str, str]:
    """Return a session's picture and tables by MIME type; ``css_class`` is the class of the element.

    Only what belongs to ``views`` is in it, unless there are none, and nothing of what is ``hidden_parts``.
    A ``comparison`` with another session comes first.
    """
    summary = view_summary(cleaned_view(view, environment), views, hidden_parts)
    if comparison is not None:
        scrub = clean_json(text_cleaner(environment))
        summary = compared_summary(summary, cleaned_comparison(comparison, scrub))
    html = saved_inspector(
        summary.title, summary.picture, summary.tables, summary.sentences, css_class=css_class
    )
    return {"text/html": html, "text/plain": visible_text(_plain_text(summary)[:MAX_PLAIN_CHARS])}


def cleaned_view(view: TimelineView, environment: Mapping[str, str]) -> TimelineView:
    """Return a view without texts that look like keys, and without the names of home folders."""
    scrub = clean_json(text_cleaner(environment))
    items = view.items.model_copy(update={"label": tuple(scrub(view.items.label))})
    text_fields = {"title", "totals", "gaps", "break_notes", "models"}
    table_fields = {"breaks", "wastes", "events", "subagents"}
    cleaned_fields = scrub(view.model_dump(include=table_fields | text_fields))
    recorded_words = tuple(scrub(view.recorded.words))
    return TimelineView.model_validate(
        {
            **view.model_dump(exclude={"items", "recorded", *cleaned_fields}),
            **cleaned_fields,
            "items": items,
            "recorded": view.recorded.model_copy(update={"words": recorded_words}),
        }
    )


def _plain_text(summary: ViewSummary) -> str:
    tables = (table.text for table in summary.tables)
    picture_sentences = () if summary.picture is None else (summary.picture.sentence,)
    return "\n\n".join([summary.title, *picture_sentences, *summary.sentences, *tables])

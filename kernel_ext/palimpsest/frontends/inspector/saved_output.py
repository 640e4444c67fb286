"""The output that a cell keeps of an inspector, without keys and names of home folders."""

from collections.abc import Mapping

from palimpsest.render.reports.saved_inspector import saved_inspector
from palimpsest.review.timeline_view.view_summary import ViewSummary, view_summary
from palimpsest.review.timeline_view.view_values import TimelineView
from palimpsest.session.sharing.share_page import clean_json, cleaner
from palimpsest.transcript.visible_text import visible

PLAIN_CHARS = 20_000


def saved_output(view: TimelineView, mark: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return a session's picture and tables by MIME type; ``mark`` is the class of the element."""
    shown = view_summary(cleaned_view(view, environment))
    html = saved_inspector(shown.picture, shown.tables, shown.sentences, mark=mark)
    return {"text/html": html, "text/plain": visible(_plain(shown)[:PLAIN_CHARS])}


def cleaned_view(view: TimelineView, environment: Mapping[str, str]) -> TimelineView:
    """Return a view without what looks like a key, and without the names of home folders."""
    clean = clean_json(cleaner(environment))
    items = view.items.model_copy(update={"label": tuple(clean(view.items.label))})
    named = {"title", "totals", "gaps", "break_notes", "models"}
    told = clean(view.model_dump(include={"breaks", "wastes", "events", "subagents", *named}))
    words = tuple(clean(view.recorded.words))
    return TimelineView.model_validate(
        {
            **view.model_dump(exclude={"items", "recorded", *told}),
            **told,
            "items": items,
            "recorded": view.recorded.model_copy(update={"words": words}),
        }
    )


def _plain(shown: ViewSummary) -> str:
    tables = (one.text for one in shown.tables)
    return "\n\n".join([shown.title, shown.picture.sentence, *shown.sentences, *tables])

"""Write a session's inspector report to a new file, or over an older report, atomically.

Keys and names of home folders are removed as from a share page. ``render/formats/inspector_report.py``
describes the page.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from palimpsest import __version__
from palimpsest.frontends.operation_text.page_file import checked_page_file, write_page_file
from palimpsest.frontends.static_files import read_built_file
from palimpsest.render.formats.inspector_report import (
    REPORT_MARK,
    InspectorReport,
    inspector_report,
)
from palimpsest.render.reports.table import ReportTable
from palimpsest.review.corpus.progress_bar import default_progress
from palimpsest.review.recorded_sessions.comparison_view import comparison_view
from palimpsest.review.session_review import PolicyLike, SessionReview
from palimpsest.review.timeline_view.comparison_values import cleaned_comparison
from palimpsest.review.timeline_view.report_data import (
    ReportTexts,
    compared_report_data,
    report_data,
)
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_summary import (
    compared_summary,
    view_picture,
    view_summary,
)
from palimpsest.session.sharing.share_page import SCRUBBED_TEXT, clean_json, text_cleaner

TEXTS_SENTENCES = {
    "none": "It holds no text of the session.",
    "preview": "Of each text it holds the first 200 characters.",
    "all": "It holds all texts of the session.",
}
REPORT_ORIGIN = "Made by Palimpsest {version} from {sessions} on {made}. It is one file and loads nothing from anywhere."
SLIDER_NOTE = (
    "What a policy would have sent was computed when the report was made, at nine stops of up to three of its "
    "numbers, one number moved at a time; a slider snaps to the nearest."
)


def write_report(
    review: SessionReview,
    path: str | Path,
    *,
    environment: Mapping[str, str],
    policies: Sequence[PolicyLike] | PolicyLike = (),
    texts: ReportTexts = "preview",
    price: str | None = None,
    beside: SessionReview | None = None,
) -> Path:
    """Write a session's report and return its path; with another session ``beside`` it, both and their comparison.

    A terminal shows how many of the tracks are computed. Raises UserError with one sentence: for an unknown policy, price
    or choice of texts, a policy that fails, and where the file exists and is no report.
    """
    target = checked_page_file(path, REPORT_MARK)
    clean_text = text_cleaner(environment)
    on_progress = default_progress()
    clean_values = clean_json(clean_text)
    answers = ViewAnswers(review, keeps_replays=False)
    view, data = report_data(answers, policies, texts, price, clean_values, on_progress)
    summary = view_summary(view)
    page_description = "The context of one agent's session, request by request."
    sessions_text = f"session {view.session}"
    if beside is not None:
        other_answers = ViewAnswers(beside, keeps_replays=False)
        other_view, other_data = report_data(
            other_answers, policies, texts, price, clean_values, on_progress
        )
        _, comparison = comparison_view(review, beside, price, with_texts=texts != "none")
        comparison = cleaned_comparison(comparison, clean_values)
        data = compared_report_data(data, other_data, comparison)
        page_description = "Two sessions side by side: where they part, and the context of each, request by request."
        summary = compared_summary(summary, comparison)
        sessions_text = f"sessions {view.session} and {other_view.session}"
    date = datetime.datetime.now(tz=datetime.UTC).strftime("%Y-%m-%d")
    page = inspector_report(
        InspectorReport(
            title=summary.title,
            description=f"{page_description} {TEXTS_SENTENCES[texts]}",
            picture=view_picture(view),
            tables=(*_notes_tables(review, clean_text), *summary.tables),
            sentences=summary.sentences,
            data=data,
            closing_lines=(
                REPORT_ORIGIN.format(version=__version__, sessions=sessions_text, made=date),
                SLIDER_NOTE,
                SCRUBBED_TEXT,
            ),
        ),
        read_built_file("report.js", ""),
        read_built_file("report.css", ""),
    )
    write_page_file(target, page)
    return target


def _notes_tables(review: SessionReview, clean_text: Callable[[str], str]) -> Sequence[ReportTable]:
    """Return the table of the notes on a session, without keys; none where there is no note."""
    table = review.notes().table
    cleaned_rows = tuple(
        tuple(clean_text(cell) if isinstance(cell, str) else cell for cell in row)
        for row in table.rows
    )
    return (
        [replace(table, title=clean_text(table.title), rows=cleaned_rows)] if cleaned_rows else []
    )

"""Write a session's inspector report to a new file, or over an older report, atomically.

Keys and names of home folders are removed as from a share page. ``render/formats/inspector_report.py``
describes the page.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from palimpsest import __version__
from palimpsest.frontends.static_files import built_file
from palimpsest.home_paths import home_path
from palimpsest.render.formats.inspector_report import (
    REPORT_MARK,
    InspectorReport,
    inspector_report,
)
from palimpsest.render.reports.table import ReportTable
from palimpsest.render.safety.escaping import one_line
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
from palimpsest.session.sharing.share_page import SCRUBBED, clean_json, text_cleaner
from palimpsest.store.disk import write_atomically
from palimpsest.transcript.errors import StorageFailed, UserError
from palimpsest.transcript.strings.disk_words import disk_reason
from palimpsest.transcript.strings.relative_paths import PROTECTED_FOLDERS, comparable_names

HEAD_BYTES = 4_000
"""Bytes at the beginning of a file in which the mark of a report is searched."""
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
    progress: Callable[[int, int], None] | None = None,
    beside: SessionReview | None = None,
) -> Path:
    """Write a session's report and return its path; with another session ``beside`` it, both and their comparison.

    ``progress`` is called with the number of computed tracks and of all; without it a terminal shows a bar.

    Raises UserError with one sentence: for an unknown policy, price or choice of texts, a policy that fails, and where
    the file exists and is no report.
    """
    target = _checked_target(path)
    scrub = text_cleaner(environment)
    on_progress = progress or default_progress()
    clean_values = clean_json(scrub)
    answers = ViewAnswers(review, keeps_replays=False)
    view, data = report_data(answers, policies, texts, price, clean_values, on_progress)
    summary = view_summary(view)
    page_description = "The context of one agent's session, request by request."
    sessions = f"session {view.session}"
    if beside is not None:
        other_answers = ViewAnswers(beside, keeps_replays=False)
        other_data, second_session = report_data(
            other_answers, policies, texts, price, clean_values, on_progress
        )
        _, compared = comparison_view(review, beside, price, with_texts=texts != "none")
        compared = cleaned_comparison(compared, clean_values)
        data = compared_report_data(data, second_session, compared)
        page_description = "Two sessions side by side: where they part, and the context of each, request by request."
        summary = compared_summary(summary, compared)
        sessions = f"sessions {view.session} and {other_data.session}"
    date = datetime.datetime.now(tz=datetime.UTC).strftime("%Y-%m-%d")
    page = inspector_report(
        InspectorReport(
            title=summary.title,
            description=f"{page_description} {TEXTS_SENTENCES[texts]}",
            picture=view_picture(view),
            tables=(*_notes_tables(review, scrub), *summary.tables),
            sentences=summary.sentences,
            data=data,
            closing_lines=(
                REPORT_ORIGIN.format(version=__version__, sessions=sessions, made=date),
                SLIDER_NOTE,
                SCRUBBED,
            ),
        ),
        built_file("report.js", ""),
        built_file("report.css", ""),
    )
    try:
        write_atomically(target, page.encode("utf-8", errors="replace"))
    except OSError as error:
        raise StorageFailed(f"{disk_reason(error)}: {str(target)!r} cannot be written.") from error
    return target


def _notes_tables(review: SessionReview, clean: Callable[[str], str]) -> Sequence[ReportTable]:
    """Return the table of the notes on a session, without keys; none where there is no note."""
    table = review.notes().table
    cleaned_rows = tuple(
        tuple(clean(cell) if isinstance(cell, str) else cell for cell in row) for row in table.rows
    )
    return [replace(table, title=clean(table.title), rows=cleaned_rows)] if cleaned_rows else []


def _checked_target(path: str | Path) -> Path:
    """Return the path for the report; raises UserError for one that must not be written."""
    try:
        target = home_path(path)
        target = target.parent.resolve() / target.name
        file_beginning = _file_beginning(target)
    except (ValueError, RuntimeError) as error:  # a null character
        raise UserError(f"{one_line(str(path))!r} is no name of a file: {error}.") from error
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be used: {error.strerror}.") from error
    if PROTECTED_FOLDERS & set(comparable_names(str(target))):
        raise UserError(
            f"{str(target)!r} lies in a folder that holds the record of the sessions, or git's own; name another place."
        )
    if not target.parent.is_dir():
        raise UserError(
            f"There is no folder {str(target.parent)!r}; make it first, or name another."
        )
    if file_beginning is not None and REPORT_MARK.encode() not in file_beginning:
        raise UserError(f"{str(target)!r} is there already and is no report; name another file.")
    return target


def _file_beginning(target: Path) -> bytes | None:
    """Return the beginning of a file; empty for a folder or a link, None where nothing exists."""
    if target.is_symlink() or target.is_dir():
        return b""
    if not target.exists():
        return None
    with target.open("rb") as file:
        return file.read(HEAD_BYTES)

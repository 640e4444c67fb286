"""Write a session's inspector report to a file: in one piece, and over nothing but an older report.

Keys and names of home folders are removed as from a share page. ``render/formats/inspector_report.py`` says
what the page is.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from palimpsest import __version__
from palimpsest.frontends.static_files import built
from palimpsest.home_paths import home_path
from palimpsest.render.formats.inspector_report import (
    REPORT_MARK,
    InspectorReport,
    inspector_report,
)
from palimpsest.render.safety.escaping import one_line
from palimpsest.review.comparison.session_review import SessionReview
from palimpsest.review.corpus.progress_bar import default_progress
from palimpsest.review.timeline_view.report_data import ReportTexts, report_data
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_summary import view_summary
from palimpsest.session.sharing.share_page import SCRUBBED, clean_json, cleaner
from palimpsest.store.disk import write_atomically
from palimpsest.transcript.errors import StorageFailed, UserError
from palimpsest.transcript.strings.disk_words import disk_reason
from palimpsest.transcript.strings.relative_paths import RECORDS, comparable_names

HEAD_BYTES = 4_000
"""Where the mark of a report is looked for."""
ABOUT = {
    "none": "It holds no text of the session.",
    "preview": "Of each text it holds the first 200 characters.",
    "all": "It holds all texts of the session.",
}
MADE = "Made by Palimpsest {version} from session {session} on {made}. It is one file and loads nothing from anywhere."
ONE_NUMBER = (
    "What a policy would have sent was computed when the report was made, at nine stops of up to three of its "
    "numbers, one number moved at a time; a slider snaps to the nearest."
)


def write_report(
    review: SessionReview,
    path: str | Path,
    *,
    environment: Mapping[str, str],
    policies: Sequence[str] | str = (),
    texts: ReportTexts = "preview",
    price: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write a session's report and return its path.

    ``progress`` is told how many of the policies' tracks are computed; without it a terminal shows a bar.

    Raises UserError with one sentence: for an unknown policy, price or choice of texts, and where the file is
    there and is no report.
    """
    target = _target(path)
    chosen = [policies] if isinstance(policies, str) else [*policies]
    clean = cleaner(environment)
    told = progress or default_progress()
    answers = ViewAnswers(review)
    view, data = report_data(answers, chosen, texts, price, clean_json(clean), told)
    shown = view_summary(view)
    made = datetime.datetime.now(tz=datetime.UTC).strftime("%Y-%m-%d")
    page = inspector_report(
        InspectorReport(
            title=shown.title,
            about=f"The context of one agent's session, request by request. {ABOUT[texts]}",
            picture=shown.picture,
            tables=shown.tables,
            sentences=shown.sentences,
            data=data,
            closing=(
                MADE.format(version=__version__, session=view.session, made=made),
                ONE_NUMBER,
                SCRUBBED,
            ),
        ),
        built("report.js", ""),
        built("report.css", ""),
    )
    try:
        write_atomically(target, page.encode("utf-8", errors="replace"))
    except OSError as error:
        raise StorageFailed(f"{disk_reason(error)}: {str(target)!r} cannot be written.") from error
    return target


def _target(path: str | Path) -> Path:
    """Return where the report is written; raises UserError for a place where it must not be."""
    try:
        target = home_path(path)
        target = target.parent.resolve() / target.name
        kept = _head(target)
    except (ValueError, RuntimeError) as error:  # a null character
        raise UserError(f"{one_line(str(path))!r} is no name of a file: {error}.") from error
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be used: {error.strerror}.") from error
    if RECORDS & set(comparable_names(str(target))):
        raise UserError(
            f"{str(target)!r} lies in a folder that holds the record of the sessions, or git's own; name another place."
        )
    if not target.parent.is_dir():
        raise UserError(
            f"There is no folder {str(target.parent)!r}; make it first, or name another."
        )
    if kept is not None and REPORT_MARK.encode() not in kept:
        raise UserError(f"{str(target)!r} is there already and is no report; name another file.")
    return target


def _head(target: Path) -> bytes | None:
    """Return the beginning of a file; None where there is none. A folder or a link has no report's."""
    if target.is_symlink() or target.is_dir():
        return b""
    if not target.exists():
        return None
    with target.open("rb") as file:
        return file.read(HEAD_BYTES)

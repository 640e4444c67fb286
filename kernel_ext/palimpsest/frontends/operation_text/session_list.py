"""Describe sessions in a cell: the list of sessions, and one sentence on an opened session."""

import datetime
from collections.abc import Sequence

from palimpsest.frontends.operation_text.command_output import OutputLines, TitledTable
from palimpsest.render.content.phrases import count
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.records.session_search import Page, Query
from palimpsest.store.interface import SessionSummary

SESSION_COLUMNS = ("session", "title", "notebook", "last used", "messages")
MAX_SUMMARY_CHARS = 80
"""Maximum characters of a session's summary by a model in the list."""


def session_list_lines(page: Page, query: Query, current_id: str) -> OutputLines:
    """Return a page of the session list as text."""
    if not page.sessions:
        return [_empty_list_text(page, query)]
    lines: list[str | TitledTable] = [session_table(page.sessions, current_id)]
    last_number = page.first_number + len(page.sessions) - 1
    if page.total > len(page.sessions):
        about_text = "about " if page.unread_count else ""
        range_sentence = f"{count(page.first_number)} to {count(last_number)} of {about_text}{count(page.total)} sessions."
        arguments = " ".join(word for word in (query.words, _archived_flag(query)) if word)
        next_page_hint = (
            f" %agent sessions {arguments} --page {query.number + 1} shows the next ones."
        )
        lines.append(
            range_sentence + (next_page_hint.replace("  ", " ") if page.cursor is not None else "")
        )
    return lines


def _archived_flag(query: Query) -> str:
    if query.archived is None:
        return "--all"
    return "--archived" if query.archived else ""


def _empty_list_text(page: Page, query: Query) -> str:
    if page.total:
        count_text = (
            "is only 1 session" if page.total == 1 else f"are only {count(page.total)} sessions"
        )
        return f"There {count_text}; that page is empty."
    if query.words:
        return f"No session holds {query.words!r} in its title, its notebook or its prompts."
    return "No session is archived." if query.archived else "There is no session yet."


def session_table(sessions: Sequence[SessionSummary], current_id: str) -> TitledTable:
    """Return sessions as a table, with a summary of each where turn summaries were written."""
    rows = [session_row(session, current_id) for session in sessions]
    if not any(session.about for session in sessions):
        return TitledTable("", SESSION_COLUMNS, rows)
    summaries = [_shortened_text(session.about) for session in sessions]
    return TitledTable(
        "",
        (*SESSION_COLUMNS, "about"),
        [(*row, summary) for row, summary in zip(rows, summaries, strict=True)],
    )


def _shortened_text(text: str) -> str:
    return text if len(text) <= MAX_SUMMARY_CHARS else f"{text[: MAX_SUMMARY_CHARS - 1].rstrip()}…"


def session_row(session: SessionSummary, current_id: str) -> tuple[str, ...]:
    """Return a session's row of the table."""
    current_mark = "* " if session.id == current_id else ""
    title = session.title
    title += f" (imported from {session.imported_from})" if session.imported_from else ""
    title += " (archived)" if session.archived is not None else ""
    return (
        f"{current_mark}{session.id}",
        title,
        session.notebook or "console",
        local_time(session.updated),
        count(session.messages),
    )


def local_time(milliseconds: int) -> str:
    """Return a moment as local date and time."""
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000, tz=datetime.UTC).astimezone()
    return f"{moment:%Y-%m-%d %H:%M}"


def opened_text(session: KernelSession) -> str:
    """Return one sentence on the session that is now the notebook's current one."""
    snapshot = session.snapshot()
    info = snapshot.session
    description = (
        f"{session.id} ({info.title if info else ''}), {count(len(snapshot.messages))} messages"
    )
    if info is not None and info.read_only:
        return (
            f"This notebook now shows {description}: a recording of {info.imported_from}, which is only read. "
            "%agent fork goes on from it."
        )
    sentence = f"This notebook now goes on with {description}."
    if session.read_only:
        sentence += " Another kernel writes it, so it can be read here, not asked."
    return sentence


def title_and_size(session: SessionSummary) -> str:
    """Return a session's quoted title and its number of messages."""
    return f"“{session.title}” ({count(session.messages)} messages)"


def children_text(child_count: int) -> str:
    """Return the end of a sentence that counts a session's children; empty where it has none."""
    if not child_count:
        return ""
    return f" and the {'session' if child_count == 1 else f'{count(child_count)} sessions'} that its tasks began"

"""The list of sessions as a cell shows it, and one sentence about a session that was opened."""

import datetime
from collections.abc import Sequence

from palimpsest.frontends.operation_text.command_output import Lines, PolicySection
from palimpsest.render.content.phrases import count
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.records.session_search import Page, Query
from palimpsest.store.interface import SessionSummary

HEAD = ("session", "title", "notebook", "last used", "messages")
SHOWN_CHARS = 80
"""Length of the summary that a model wrote of a session, in the list."""


def list_lines(found: Page, query: Query, current: str) -> Lines:
    """Return a page of the session list as text."""
    if not found.sessions:
        return [_nothing(found, query)]
    said: list[str | PolicySection] = [table_of(found.sessions, current)]
    last = found.first + len(found.sessions) - 1
    if found.total > len(found.sessions):
        about = "about " if found.unread else ""
        numbers = f"{count(found.first)} to {count(last)} of {about}{count(found.total)} sessions."
        again = " ".join(word for word in (query.words, _option(query)) if word)
        more = f" %agent sessions {again} --page {query.number + 1} shows the next ones."
        said.append(numbers + (more.replace("  ", " ") if found.cursor is not None else ""))
    return said


def _option(query: Query) -> str:
    if query.archived is None:
        return "--all"
    return "--archived" if query.archived else ""


def _nothing(found: Page, query: Query) -> str:
    if found.total:
        there = (
            "is only 1 session" if found.total == 1 else f"are only {count(found.total)} sessions"
        )
        return f"There {there}; that page is empty."
    if query.words:
        return f"No session holds {query.words!r} in its title, its notebook or its prompts."
    return "No session is archived." if query.archived else "There is no session yet."


def table_of(listed: Sequence[SessionSummary], current: str) -> PolicySection:
    """Return sessions as a table, with a summary of each where turn summaries were written."""
    rows = [table_row(one, current) for one in listed]
    if not any(one.about for one in listed):
        return PolicySection("", HEAD, rows)
    told = [_beginning(one.about) for one in listed]
    return PolicySection(
        "", (*HEAD, "about"), [(*row, words) for row, words in zip(rows, told, strict=True)]
    )


def _beginning(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1].rstrip()}…"


def table_row(one: SessionSummary, current: str) -> tuple[str, ...]:
    """Return a session's row of the table."""
    mark = "* " if one.id == current else ""
    title = f"{one.title} (imported from {one.imported_from})" if one.imported_from else one.title
    title = f"{title} (archived)" if one.archived is not None else title
    return (
        f"{mark}{one.id}",
        title,
        one.notebook or "console",
        day(one.updated),
        count(one.messages),
    )


def day(milliseconds: int) -> str:
    """Return a moment as local date and time."""
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000, tz=datetime.UTC).astimezone()
    return f"{moment:%Y-%m-%d %H:%M}"


def opened_text(session: KernelSession) -> str:
    """Return one sentence about which session is the notebook's current one."""
    picture = session.snapshot()
    info = picture.session
    named = f"{session.id} ({info.title if info else ''}), {count(len(picture.messages))} messages"
    if info is not None and info.read_only:
        return (
            f"This notebook now shows {named}: a recording of {info.imported_from}, which is only read. "
            "%agent fork goes on from it."
        )
    words = f"This notebook now goes on with {named}."
    if session.read_only:
        words += " Another kernel writes it, so it can be read here, not asked."
    return words


def quoted(one: SessionSummary) -> str:
    """Return a session by its title."""
    return f"“{one.title}” ({count(one.messages)} messages)"


def with_children(number: int) -> str:
    """Return that so many sessions of tasks belong to it."""
    if not number:
        return ""
    return (
        f" and the {'session' if number == 1 else f'{count(number)} sessions'} that its tasks began"
    )

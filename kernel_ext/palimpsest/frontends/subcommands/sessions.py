"""Run the subcommands about stored sessions: list, open, rename, archive, delete, fork.

Border: calls the workspace and formats what it returns; ``frontends/subcommands/dispatch.py`` makes
tables of it.
"""

import datetime
from collections.abc import Sequence
from typing import Any

from palimpsest.frontends.cell_turn.services import CellPlace, FrontendServices, Pages
from palimpsest.frontends.subcommands.policy import PolicySection
from palimpsest.render.content.phrases import count
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.records.session_search import Page, Query
from palimpsest.store.interface import SessionSummary
from palimpsest.transcript.errors import UserError

SessionLines = list[str | PolicySection]
"""Sentences and tables, in order."""

HEAD = ("session", "title", "notebook", "last used", "messages")
SHOWN_CHARS = 80
"""Length of the summary that a model wrote of a session, in the list."""
WHICH = "Which session? Write %agent {name} ID; %agent sessions lists them."


class SessionCommands:
    """Runs the subcommands about stored sessions."""

    def __init__(self, services: FrontendServices, pages: Pages) -> None:
        self._services = services
        self._pages = pages

    def sessions(self, argument: str, place: CellPlace) -> SessionLines:
        """List sessions."""
        query = read_query(argument)
        found = self._done(self._services.workspace.page(query))
        return list_lines(found, query, self._services.workspace.current_id(place.notebook))

    def open(self, argument: str, place: CellPlace) -> SessionLines:
        """Make another session the notebook's current one."""
        if not argument:
            raise UserError(WHICH.format(name="open"))
        session = self._done(self._services.workspace.open(argument, place.notebook))
        self._pages.adopt(session)
        return [opened_text(session)]

    def title(self, argument: str, place: CellPlace) -> SessionLines:
        """Change the title of the notebook's session; without an argument, show it."""
        session = self._done(self._services.workspace.current(place.notebook))
        if not argument:
            picture = session.snapshot(messages=False).session
            return [f"This session is called: {picture.title if picture is not None else '?'}"]
        title = self._done(self._services.workspace.retitle(session.id, argument))
        return [f"This session is called {title} now."]

    def archive(self, argument: str, place: CellPlace) -> SessionLines:
        """Archive a session, so that it is not listed."""
        session_id = argument or self._current_id(place)
        full = self._done(self._services.workspace.archive(session_id))
        back = f"%agent unarchive {full} lists it again."
        return [f"Archived {full}: it keeps all it has and is not listed. {back}"]

    def unarchive(self, argument: str, _place: CellPlace) -> SessionLines:
        """Unarchive a session, so that it is listed again."""
        if not argument:
            raise UserError(WHICH.format(name="unarchive"))
        full = self._done(self._services.workspace.archive(argument, archived=False))
        return [f"{full} is listed again. %agent open {full} goes on with it."]

    def delete(self, argument: str, _place: CellPlace) -> SessionLines:
        """Delete a session if ``--yes`` is given; without it, show what would be deleted."""
        words = argument.split()
        named = [word for word in words if word != "--yes"]
        if not named:
            raise UserError(
                "Which session? Write %agent delete ID --yes, or look first without --yes."
            )
        workspace = self._services.workspace
        family = self._done(workspace.family(named[0]))
        if family[-1].id != named[0]:
            raise UserError(f"A session is deleted by its whole id. Is {family[-1].id} meant?")
        if "--yes" not in words:
            return [_would_go(family), f"%agent delete {family[-1].id} --yes deletes it, for good."]
        gone = self._done(workspace.delete(named[0]))
        for one in gone:
            self._pages.forget(one)
        return [f"Deleted {_quoted(family[-1])}{_with_children(len(gone) - 1)}."]

    def fork(self, argument: str, place: CellPlace) -> SessionLines:
        """Begin a session as a copy of another one, whole, or up to a message or a request."""
        words = argument.split()
        session_id = words.pop(0) if words and words[0] != "at" else self._current_id(place)
        request = int(words[2]) if words[1:2] == ["request"] else None
        message = words[1] if words and request is None else None
        workspace = self._services.workspace
        session = self._done(
            workspace.fork(session_id, message, request=request, notebook=place.notebook)
        )
        self._pages.adopt(session)
        return [f"Forked. {opened_text(session)}"]

    def children(self, argument: str, place: CellPlace) -> SessionLines:
        """List the sessions that tasks of a session began."""
        session_id = argument or self._current_id(place)
        found = self._done(self._services.workspace.children(session_id))
        if not found:
            return ["No task of this session began one of its own."]
        return [table_of(found, "")]

    def _known(self, place: CellPlace) -> KernelSession | None:
        services = self._services
        return services.engine.submit(services.workspace.known(place.notebook)).result()

    def _current_id(self, place: CellPlace) -> str:
        session = self._known(place)
        if session is None:
            raise UserError("This notebook has no session yet. Ask with %agent, then try again.")
        return session.id

    def _done(self, work: Any) -> Any:
        return self._services.engine.submit(work).result()


def read_query(argument: str) -> Query:
    """Parse the search words and options of ``%agent sessions``; raises UserError."""
    words: list[str] = []
    archived: bool | None = False
    children, number = False, 1
    given = iter(argument.split())
    for word in given:
        match word:
            case "--all":
                archived, children = None, True
            case "--archived":
                archived = True
            case "--page":
                number = _number(next(given, ""))
            case _ if word.startswith("--"):
                raise UserError(f"There is no option {word}. Known: --all, --archived, --page N.")
            case _:
                words.append(word)
    return Query(" ".join(words), archived=archived, children=children, number=number)


def _number(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise UserError("--page needs a number from 1 on: %agent sessions --page 2.")
    return int(text)


def list_lines(found: Page, query: Query, current: str) -> SessionLines:
    """Return a page of the session list as text."""
    if not found.sessions:
        return [_nothing(found, query)]
    said: SessionLines = [table_of(found.sessions, current)]
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
    rows = [row_of(one, current) for one in listed]
    if not any(one.about for one in listed):
        return PolicySection("", HEAD, rows)
    told = [_beginning(one.about) for one in listed]
    return PolicySection(
        "", (*HEAD, "about"), [(*row, words) for row, words in zip(rows, told, strict=True)]
    )


def _beginning(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1].rstrip()}…"


def row_of(one: SessionSummary, current: str) -> tuple[str, ...]:
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


def _would_go(family: Sequence[SessionSummary]) -> str:
    return f"This would delete {_quoted(family[-1])}{_with_children(len(family) - 1)}."


def _quoted(one: SessionSummary) -> str:
    return f"“{one.title}” ({count(one.messages)} messages)"


def _with_children(number: int) -> str:
    if not number:
        return ""
    return (
        f" and the {'session' if number == 1 else f'{count(number)} sessions'} that its tasks began"
    )

"""List, search, open, begin, rename, archive, delete, fork and compare the sessions of the project."""

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import Field, SkipValidation, field_validator

from palimpsest.frontends.operation_text.command_output import CommandOutput, Lines
from palimpsest.frontends.operation_text.session_head import head_of
from palimpsest.frontends.operation_text.session_list import (
    list_lines,
    opened_text,
    quoted,
    table_of,
    with_children,
)
from palimpsest.frontends.operations.grammar import SESSION, WHICH, OptionError
from palimpsest.frontends.operations.operation import (
    Desk,
    Done,
    Form,
    InKernel,
    Operation,
    SessionAnswer,
)
from palimpsest.review.recordings.branch import BranchTable
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.records.session_search import PAGE, Page, Query
from palimpsest.store.interface import SessionSummary
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.events import Record
from palimpsest.transcript.values import Value

if TYPE_CHECKING:
    from palimpsest.review.recordings.branch_comparison import BranchComparison

MOST_ROWS = 100
"""Sessions in one answer; a page asks for more when a person scrolls down."""
PIECE = re.compile(r"\w{4,}")
ANY_NUMBER = re.compile(r"[-+]?\d{1,18}")
TRY = "try"


class ListedSessions(Value):
    """Sessions, newest first."""

    sessions: tuple[SessionSummary, ...]
    total: int
    """How many sessions there are in all."""
    cursor: str | None = None
    """Where the next page of sessions begins."""
    found: InKernel[Page] = Page((), 0)
    current: str = Field(default="", exclude=True)
    """The notebook's session."""


class OpenedSession(SessionAnswer):
    """The session that is the notebook's current one from now on, or that was begun."""

    live: InKernel[KernelSession]


class SessionTitle(Done):
    """What a session is called."""

    title: str = Field(exclude=True)


class ArchivedSession(Done):
    """The session that was archived, or is listed again."""

    session: str = Field(exclude=True)


class DeletedSessions(Done):
    """The sessions that were deleted, or would be."""

    ids: tuple[str, ...] = Field(exclude=True)
    """Those that were, children before their parents."""
    family: tuple[SessionSummary, ...] = Field(exclude=True)
    """The summaries of all that belong together, the session itself at the end."""


def _query(rest: str) -> dict[str, Any]:
    """Read search words and options."""
    words: list[str] = []
    values: dict[str, Any] = {}
    given = iter(rest.split())
    for word in given:
        match word:
            case "--all":
                values |= {"archived": None, "children": True}
            case "--archived":
                values["archived"] = True
            case "--page":
                values["number"] = _number(next(given, ""))
            case _ if word.startswith("--"):
                raise OptionError(
                    f"There is no option {word} of %agent sessions. Known: --all, --archived, --page N."
                )
            case _:
                words.append(word)
    return {"words": " ".join(words), **values}


def _number(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise OptionError("--page needs a number from 1 on: %agent sessions --page 2.")
    return int(text)


class ListSessions(Operation):
    """List the sessions of the project, newest first, or those that contain all given words."""

    type: Literal["sessions"] = "sessions"
    words: str = Field(default="", max_length=1_000)
    archived: bool | None = False
    """Whether to list archived sessions; None lists both kinds."""
    children: bool = False
    """List those, too, that a ``task`` call began."""
    cursor: str | None = None
    """The cursor that the page before returned."""
    number: int = Field(default=1, ge=1)
    """The number of the page, where there is no cursor."""
    limit: int | None = Field(default=None, ge=1, le=1_000)
    forms = (
        Form(
            "sessions",
            "the kept sessions: %agent sessions [words] [--all|--archived] [--page N]",
            fixed={"limit": PAGE},
            read=_query,
            view="sessions",
        ),
    )

    async def run(self, at: Desk) -> ListedSessions:
        workspace = at.services.workspace
        found = await workspace.page(self.query)
        current = workspace.current_id(at.notebook)
        return ListedSessions(
            sessions=found.sessions,
            total=found.total,
            cursor=found.cursor,
            found=found,
            current=current,
        )

    @property
    def query(self) -> Query:
        """What is looked for."""
        return Query(
            self.words,
            archived=self.archived,
            children=self.children,
            limit=self.limit or MOST_ROWS,
            number=self.number,
            cursor=self.cursor,
        )

    def output(self, answer: ListedSessions) -> Lines:
        return list_lines(answer.found, self.query, answer.current)


class ListChildren(Operation):
    """List the sessions that ``task`` calls of a session began."""

    type: Literal["children"] = "children"
    session: Annotated[str | None, SESSION] = None
    forms = (
        Form(
            "children",
            "the sessions that tasks of this one began: %agent children [ID]",
            ("session",),
        ),
    )

    async def run(self, at: Desk) -> ListedSessions:
        session_id = self.session or (await at.seen(None, TRY)).id
        found = tuple(await at.services.workspace.children(session_id))
        return ListedSessions(sessions=found, total=len(found))

    def output(self, answer: ListedSessions) -> Lines:
        if not answer.sessions:
            return ["No task of this session began one of its own."]
        return [table_of(answer.sessions, "")]


class OpenSession(Operation):
    """Make another session the current one of this notebook."""

    type: Literal["open"] = "open"
    session: Annotated[str, SESSION]
    forms = (
        Form(
            "open",
            "go on with another session: %agent open ID",
            ("session",),
            missing=WHICH.format(name="open"),
        ),
        Form(
            "use",
            "go on with another session: %agent use ID",
            ("session",),
            read=lambda rest: {"session": rest} if len(rest.split()) == 1 else None,
            missing=WHICH.format(name="use"),
        ),
    )

    async def run(self, at: Desk) -> OpenedSession:
        session = await at.services.workspace.open(self.session, at.notebook)
        at.adopt(session)
        return opened(session)

    def output(self, answer: OpenedSession) -> Lines:
        return [opened_text(answer.live)]


class NewSession(Operation):
    """Begin a new session in this notebook; one with a parent does not become the current session."""

    type: Literal["new"] = "new"
    title: str | None = None
    parent: str | None = None
    permission: SkipValidation[dict[str, Any] | str | None] = None
    """Permission rules in the form of the settings, for this session alone; checked with them, not before."""
    forms = (
        Form(
            "new",
            "begin a new session: %agent new [TITLE]",
            read=lambda rest: {"title": rest or None},
            in_cell=False,
        ),
    )

    async def run(self, at: Desk) -> OpenedSession:
        session = await at.services.workspace.new(
            at.notebook, title=self.title, parent=self.parent, permission=self.permission
        )
        if self.parent is None:
            at.adopt(session)
        return opened(session)


class Retitle(Operation):
    """Change a session's title."""

    type: Literal["title"] = "title"
    session: str | None = None
    title: str | None = Field(default=None, max_length=1_000)
    """None only tells what it is called."""
    forms = (
        Form(
            "title",
            "call this session otherwise: %agent title NEW TITLE",
            read=lambda rest: None if rest.startswith("--") else {"title": rest or None},
        ),
    )

    async def run(self, at: Desk) -> SessionTitle:
        if self.title is None:
            kept = (await at.find(self.session)).snapshot(messages=False).session
            return SessionTitle(title=kept.title if kept is not None else "?")
        session_id = await at.session_id(self.session)
        return SessionTitle(title=await at.services.workspace.retitle(session_id, self.title))

    def output(self, answer: SessionTitle) -> Lines:
        if self.title is None:
            return [f"This session is called: {answer.title}"]
        return [f"This session is called {answer.title} now."]


class Archive(Operation):
    """Archive a session, or unarchive it."""

    type: Literal["archive"] = "archive"
    session: Annotated[str | None, SESSION] = None
    archived: bool = True
    forms = (
        Form(
            "archive",
            "put a session away: %agent archive [ID]; %agent unarchive ID fetches it back",
            ("session",),
        ),
        Form(
            "unarchive",
            "list an archived session again",
            ("session",),
            {"archived": False},
            missing=WHICH.format(name="unarchive"),
        ),
    )

    async def run(self, at: Desk) -> ArchivedSession:
        session_id = self.session or (await at.seen(None, TRY)).id
        full = await at.services.workspace.archive(session_id, archived=self.archived)
        return ArchivedSession(session=full)

    def output(self, answer: ArchivedSession) -> Lines:
        full = answer.session
        if not self.archived:
            return [f"{full} is listed again. %agent open {full} goes on with it."]
        back = f"%agent unarchive {full} lists it again."
        return [f"Archived {full}: it keeps all it has and is not listed. {back}"]


def _deleted(rest: str) -> dict[str, Any] | None:
    words = rest.split()
    named = [word for word in words if word != "--yes"]
    if not named:
        raise OptionError(
            "Which session? Write %agent delete ID --yes, or look first without --yes."
        )
    if len(named) > 1 or not re.fullmatch(SESSION.pattern, named[0]):
        return None
    return {"session": named[0], "preview": "--yes" not in words}


class Delete(Operation):
    """Delete a session and those that it began, for good."""

    type: Literal["delete"] = "delete"
    session: Annotated[str, SESSION]
    preview: bool = False
    """Only say what would be deleted."""
    forms = (
        Form(
            "delete",
            "delete a session for good: %agent delete ID --yes",
            ("session",),
            read=_deleted,
        ),
    )

    async def run(self, at: Desk) -> DeletedSessions:
        workspace = at.services.workspace
        family = await workspace.family(self.session)
        if family[-1].id != self.session:
            raise UserError(f"A session is deleted by its whole id. Is {family[-1].id} meant?")
        gone = () if self.preview else tuple(await workspace.delete(self.session))
        for one in gone:
            at.forget(one)
        return DeletedSessions(ids=gone, family=family)

    def output(self, answer: DeletedSessions) -> Lines:
        session = answer.family[-1]
        if self.preview:
            would = f"This would delete {quoted(session)}{with_children(len(answer.family) - 1)}."
            return [would, f"%agent delete {session.id} --yes deletes it, for good."]
        return [f"Deleted {quoted(session)}{with_children(len(answer.ids) - 1)}."]


def _forked(rest: str) -> dict[str, Any] | None:
    words = rest.split()
    values: dict[str, Any] = {}
    if words and re.fullmatch(SESSION.pattern, words[0]):
        values["session"] = words.pop(0)
    match words:
        case []:
            return values
        case ["at", piece] if PIECE.fullmatch(piece):
            return values | {"message": piece}
        # Also a number that no request has, which is answered with those that there are.
        case ["at", "request", number] if ANY_NUMBER.fullmatch(number):
            return values | {"request": int(number)}
        case _:
            return None


class Fork(Operation):
    """Begin a session in this notebook as a copy of another one, whole, or up to a message or a request."""

    type: Literal["fork"] = "fork"
    session: Annotated[str | None, SESSION] = None
    message: str | None = Field(default=None, max_length=200)
    request: int | str | None = None
    """Its place in the session, from 1, or its id."""
    model: Annotated[str | None, Field(coerce_numbers_to_str=True)] = None
    """The model that goes on with the fork."""
    forms = (
        Form(
            "fork",
            "begin a session with all of this one, or before a message or request: "
            "%agent fork [ID] [at MESSAGE|at request N]",
            ("session",),
            read=_forked,
        ),
    )

    @field_validator("request", "model", mode="before")
    @classmethod
    def _told(cls, value: object) -> object:
        """Hand on as words what can be neither, so that it is named like every other that is not there."""
        return value if value is None or type(value) is int else str(value)

    async def run(self, at: Desk) -> OpenedSession:
        session_id = self.session or (await at.seen(None, TRY)).id
        session = await at.services.workspace.fork(
            session_id, self.message, request=self.request, model=self.model, notebook=at.notebook
        )
        at.adopt(session)
        return opened(session)

    def output(self, answer: OpenedSession) -> Lines:
        return [f"Forked. {opened_text(answer.live)}"]


class ListedBranches(Value):
    """Branches side by side; to Python and to a cell, a ``BranchComparison``."""

    branches: BranchTable


class ListBranches(Operation):
    """Compare all branches of a session's tree since the first two part: what it was forked from, and all forks."""

    type: Literal["branches"] = "branches"
    session: Annotated[str | None, SESSION] = None
    forms = (
        Form(
            "branches",
            "the session and its forks side by side since they part: answers, cost, context; "
            "%agent branches [ID]",
            ("session",),
        ),
    )

    async def run(self, at: Desk) -> ListedBranches:
        workspace, submit = at.services.workspace, at.services.engine.submit
        found = await asyncio.to_thread(
            _compared,
            await workspace.every_session(),
            lambda one: submit(workspace.records(one)).result(),
            await at.session_id(self.session),
        )
        return ListedBranches(branches=found)

    def output(self, answer: ListedBranches) -> CommandOutput:
        found = cast("BranchComparison", answer.branches)
        return CommandOutput(found.markdown, found.text, found.html)


def _compared(
    sessions: Sequence[SessionSummary], read: Callable[[str], Sequence[Record]], session: str
) -> "BranchComparison":
    """Compare branches on a thread, which imports the comparison with the first of them."""
    from palimpsest.review.recordings.branch_comparison import compare_branches

    return compare_branches(sessions, read, session)


def opened(session: KernelSession) -> OpenedSession:
    """Return the answer about an open session."""
    return OpenedSession(session=head_of(session), live=session)

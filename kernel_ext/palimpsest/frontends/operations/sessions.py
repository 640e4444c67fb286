"""List, search, open, begin, rename, archive, delete, fork and compare the sessions of the project."""

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import Field, SkipValidation, field_validator

from palimpsest.frontends.operation_base.grammar import SESSION_WORD, WHICH_SESSION, OptionError
from palimpsest.frontends.operation_base.operation import (
    Done,
    Form,
    InKernel,
    Operation,
    OperationContext,
    SessionAnswer,
    single_form,
)
from palimpsest.frontends.operation_text.command_output import CommandOutput, OutputLines
from palimpsest.frontends.operation_text.session_head import head_of
from palimpsest.frontends.operation_text.session_list import (
    children_text,
    opened_text,
    session_list_lines,
    session_table,
    title_and_size,
)
from palimpsest.review.recorded_sessions.branch import BranchTable
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.records.session_search import PAGE_SESSIONS, Page, Query
from palimpsest.store.interface import SessionSummary
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.events import Record
from palimpsest.transcript.values import Value

if TYPE_CHECKING:
    from palimpsest.review.recorded_sessions.branch_comparison import BranchComparison

DEFAULT_MAX_SESSIONS = 100
"""Maximum sessions in an answer to a request without a limit; a page requests more when the user scrolls down."""
_MESSAGE_ID_PATTERN = re.compile(r"\w{4,}")
_NUMBER_PATTERN = re.compile(r"[-+]?\d{1,18}")
RETRY_VERB = "try"
"""Verb of the error where there is no session: begin one, and then "try" again."""


class ListedSessions(Value):
    """Sessions, newest first."""

    sessions: tuple[SessionSummary, ...]
    total: int
    """The number of sessions on all pages."""
    cursor: str | None = None
    """Passed to get the next page; None on the last page."""
    page: InKernel[Page] = Page((), 0)
    current: str = Field(default="", exclude=True)
    """The id of the notebook's session."""


class OpenedSession(SessionAnswer):
    """The session that was opened or begun, and is now the notebook's current one unless it has a parent."""

    kernel_session: InKernel[KernelSession]


class SessionTitle(Done):
    """The title of a session."""

    title: str = Field(exclude=True)


class ArchivedSession(Done):
    """The session that was archived or unarchived."""

    session: str = Field(exclude=True)


class DeletedSessions(Done):
    """The sessions that were deleted, or would be."""

    ids: tuple[str, ...] = Field(exclude=True)
    """The deleted sessions, children before their parents; empty for a preview."""
    session_and_children: tuple[SessionSummary, ...] = Field(exclude=True)
    """The summaries of the session and its children; the session itself is last."""


def _parse_query(argument_text: str) -> dict[str, Any]:
    """Parse search words and options."""
    words: list[str] = []
    values: dict[str, Any] = {}
    words_left = iter(argument_text.split())
    for word in words_left:
        match word:
            case "--all":
                values |= {"archived": None, "children": True}
            case "--archived":
                values["archived"] = True
            case "--page":
                values["number"] = _page_number(next(words_left, ""))
            case _ if word.startswith("--"):
                raise OptionError(
                    f"There is no option {word} of %agent sessions. Known: --all, --archived, --page N."
                )
            case _:
                words.append(word)
    return {"words": " ".join(words), **values}


def _page_number(text: str) -> int:
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
    """List also sessions that a ``task`` call began."""
    cursor: str | None = None
    """The cursor in the answer for the page before."""
    number: int = Field(default=1, ge=1)
    """The number of the page, where there is no cursor."""
    limit: int | None = Field(default=None, ge=1, le=1_000)
    forms = single_form(
        "sessions",
        "the kept sessions: %agent sessions [words] [--all|--archived] [--page N]",
        fixed_values={"limit": PAGE_SESSIONS},
        parse_rest=_parse_query,
        view="sessions",
    )

    async def run(self, context: OperationContext) -> ListedSessions:
        workspace = context.services.workspace
        page = await workspace.page(self.query)
        current = workspace.current_id(context.notebook)
        return ListedSessions(
            sessions=page.sessions, total=page.total, cursor=page.cursor, page=page, current=current
        )

    @property
    def query(self) -> Query:
        """The query that selects the sessions."""
        return Query(
            self.words,
            archived=self.archived,
            children=self.children,
            limit=self.limit or DEFAULT_MAX_SESSIONS,
            number=self.number,
            cursor=self.cursor,
        )

    def output(self, answer: ListedSessions) -> OutputLines:
        return session_list_lines(answer.page, self.query, answer.current)


class ListChildren(Operation):
    """List the sessions that ``task`` calls of a session began."""

    type: Literal["children"] = "children"
    session: Annotated[str | None, SESSION_WORD] = None
    forms = single_form(
        "children", "the sessions that tasks of this one began: %agent children [ID]", ("session",)
    )

    async def run(self, context: OperationContext) -> ListedSessions:
        session_id = self.session or (await context.existing_session(None, RETRY_VERB)).id
        children = tuple(await context.services.workspace.children(session_id))
        return ListedSessions(sessions=children, total=len(children))

    def output(self, answer: ListedSessions) -> OutputLines:
        if not answer.sessions:
            return ["No task of this session began one of its own."]
        return [session_table(answer.sessions, "")]


class OpenSession(Operation):
    """Make another session the current one of this notebook."""

    type: Literal["open"] = "open"
    session: Annotated[str, SESSION_WORD]
    forms = (
        Form(
            "open",
            "go on with another session: %agent open ID",
            ("session",),
            missing_message=WHICH_SESSION.format(name="open"),
        ),
        Form(
            "use",
            "go on with another session: %agent use ID",
            ("session",),
            parse_rest=lambda rest: {"session": rest} if len(rest.split()) == 1 else None,
            missing_message=WHICH_SESSION.format(name="use"),
        ),
    )

    async def run(self, context: OperationContext) -> OpenedSession:
        session = await context.services.workspace.open(self.session, context.notebook)
        context.adopt(session)
        return opened_session(session)

    def output(self, answer: OpenedSession) -> OutputLines:
        return [opened_text(answer.kernel_session)]


class NewSession(Operation):
    """Begin a new session in this notebook; a session with a parent does not become the current one."""

    type: Literal["new"] = "new"
    title: str | None = None
    parent: str | None = None
    """The id of the session to which it belongs, as one that a task began."""
    permission: SkipValidation[dict[str, Any] | str | None] = None
    """Permission rules in the form of the settings, for this session only; checked when they are loaded."""
    forms = single_form(
        "new",
        "begin a new session: %agent new [TITLE]",
        parse_rest=lambda rest: {"title": rest or None},
        in_cell=False,
    )

    async def run(self, context: OperationContext) -> OpenedSession:
        session = await context.services.workspace.new(
            context.notebook, title=self.title, parent=self.parent, permission=self.permission
        )
        if self.parent is None:
            context.adopt(session)
        return opened_session(session)


class Retitle(Operation):
    """Change a session's title."""

    type: Literal["title"] = "title"
    session: str | None = None
    title: str | None = Field(default=None, max_length=1_000)
    """None only returns the title."""
    forms = single_form(
        "title",
        "call this session otherwise: %agent title NEW TITLE",
        parse_rest=lambda rest: None if rest.startswith("--") else {"title": rest or None},
    )

    async def run(self, context: OperationContext) -> SessionTitle:
        if self.title is None:
            info = (await context.find(self.session)).snapshot(messages=False).session
            return SessionTitle(title=info.title if info is not None else "?")
        session_id = await context.session_id(self.session)
        return SessionTitle(title=await context.services.workspace.retitle(session_id, self.title))

    def output(self, answer: SessionTitle) -> OutputLines:
        if self.title is None:
            return [f"This session is called: {answer.title}"]
        return [f"This session is called {answer.title} now."]


class Archive(Operation):
    """Archive a session, or unarchive it."""

    type: Literal["archive"] = "archive"
    session: Annotated[str | None, SESSION_WORD] = None
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
            missing_message=WHICH_SESSION.format(name="unarchive"),
        ),
    )

    async def run(self, context: OperationContext) -> ArchivedSession:
        session_id = self.session or (await context.existing_session(None, RETRY_VERB)).id
        session_id = await context.services.workspace.archive(session_id, archived=self.archived)
        return ArchivedSession(session=session_id)

    def output(self, answer: ArchivedSession) -> OutputLines:
        session_id = answer.session
        if not self.archived:
            return [f"{session_id} is listed again. %agent open {session_id} goes on with it."]
        hint = f"%agent unarchive {session_id} lists it again."
        return [f"Archived {session_id}: it keeps all it has and is not listed. {hint}"]


def _parse_delete(argument_text: str) -> dict[str, Any] | None:
    words = argument_text.split()
    ids = [word for word in words if word != "--yes"]
    if not ids:
        raise OptionError(
            "Which session? Write %agent delete ID --yes, or look first without --yes."
        )
    if len(ids) > 1 or not re.fullmatch(SESSION_WORD.pattern, ids[0]):
        return None
    return {"session": ids[0], "preview": "--yes" not in words}


class Delete(Operation):
    """Delete a session and the sessions that its tasks began, for good."""

    type: Literal["delete"] = "delete"
    session: Annotated[str, SESSION_WORD]
    preview: bool = False
    """Return the sessions that would be deleted, and delete none."""
    forms = single_form(
        "delete",
        "delete a session for good: %agent delete ID --yes",
        ("session",),
        parse_rest=_parse_delete,
    )

    async def run(self, context: OperationContext) -> DeletedSessions:
        workspace = context.services.workspace
        session_and_children = await workspace.session_and_children(self.session)
        if session_and_children[-1].id != self.session:
            raise UserError(
                f"A session is deleted by its whole id. Is {session_and_children[-1].id} meant?"
            )
        deleted_ids = () if self.preview else tuple(await workspace.delete(self.session))
        for session_id in deleted_ids:
            context.forget(session_id)
        return DeletedSessions(ids=deleted_ids, session_and_children=session_and_children)

    def output(self, answer: DeletedSessions) -> OutputLines:
        session_summary = answer.session_and_children[-1]
        if self.preview:
            preview_sentence = f"This would delete {title_and_size(session_summary)}{children_text(len(answer.session_and_children) - 1)}."
            return [
                preview_sentence,
                f"%agent delete {session_summary.id} --yes deletes it, for good.",
            ]
        return [f"Deleted {title_and_size(session_summary)}{children_text(len(answer.ids) - 1)}."]


def _parse_fork(argument_text: str) -> dict[str, Any] | None:
    words = argument_text.split()
    values: dict[str, Any] = {}
    if words and re.fullmatch(SESSION_WORD.pattern, words[0]):
        values["session"] = words.pop(0)
    match words:
        case []:
            return values
        case ["at", message_id] if _MESSAGE_ID_PATTERN.fullmatch(message_id):
            return values | {"message": message_id}
        # Any number, also one that no request has: the error message then lists the requests.
        case ["at", "request", number] if _NUMBER_PATTERN.fullmatch(number):
            return values | {"request": int(number)}
        case _:
            return None


class Fork(Operation):
    """Begin a session in this notebook as a copy of another one, complete or up to a message or a request."""

    type: Literal["fork"] = "fork"
    session: Annotated[str | None, SESSION_WORD] = None
    message: str | None = Field(default=None, max_length=200)
    """The id of the message before which the copy ends."""
    request: int | str | None = None
    """The request's number in the session, from 1, or its id."""
    model: Annotated[str | None, Field(coerce_numbers_to_str=True)] = None
    """The model of the fork."""
    forms = single_form(
        "fork",
        "begin a session with all of this one, or before a message or request: "
        "%agent fork [ID] [at MESSAGE|at request N]",
        ("session",),
        parse_rest=_parse_fork,
    )

    @field_validator("request", "model", mode="before")
    @classmethod
    def _text_of_wrong_type(cls, value: object) -> object:
        """Convert a value of another type to text, so that the error names it as an unknown request or model."""
        return value if value is None or type(value) is int else str(value)

    async def run(self, context: OperationContext) -> OpenedSession:
        session_id = self.session or (await context.existing_session(None, RETRY_VERB)).id
        session = await context.services.workspace.fork(
            session_id,
            self.message,
            request=self.request,
            model=self.model,
            notebook=context.notebook,
        )
        context.adopt(session)
        return opened_session(session)

    def output(self, answer: OpenedSession) -> OutputLines:
        return [f"Forked. {opened_text(answer.kernel_session)}"]


class ListedBranches(Value):
    """A comparison of branches; Python and a cell use it as a ``BranchComparison``."""

    branches: BranchTable


class ListBranches(Operation):
    """Compare the session, its ancestors and all forks from the point where the first two branches part."""

    type: Literal["branches"] = "branches"
    session: Annotated[str | None, SESSION_WORD] = None
    forms = single_form(
        "branches",
        "the session and its forks side by side since they part: answers, cost, context; "
        "%agent branches [ID]",
        ("session",),
    )

    async def run(self, context: OperationContext) -> ListedBranches:
        workspace, submit = context.services.workspace, context.services.engine.submit
        comparison = await asyncio.to_thread(
            _compare_branches,
            await workspace.every_session(),
            lambda session_id: submit(workspace.records(session_id)).result(),
            await context.session_id(self.session),
        )
        return ListedBranches(branches=comparison)

    def output(self, answer: ListedBranches) -> CommandOutput:
        comparison = cast("BranchComparison", answer.branches)
        return CommandOutput(comparison.markdown, comparison.text, comparison.html)


def _compare_branches(
    sessions: Sequence[SessionSummary],
    read_records: Callable[[str], Sequence[Record]],
    session_id: str,
) -> "BranchComparison":
    """Compare branches, blocking; imports ``review`` at the first call."""
    from palimpsest.review.recorded_sessions.branch_comparison import compare_branches

    return compare_branches(sessions, read_records, session_id)


def opened_session(session: KernelSession) -> OpenedSession:
    """Return the answer of an operation that opened a session."""
    return OpenedSession(session=head_of(session), kernel_session=session)

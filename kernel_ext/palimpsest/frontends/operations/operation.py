"""``Operation``: what a person asks for, as a value that cell, page and Python make alike and that one ``run`` answers.

Border: the value, the ways to write it behind ``%agent``, and the place where it is asked for. What single operations do
is in the modules beside this one; ``operation_table.py`` lists them.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, ParamSpec, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import CoreSchema, core_schema

from palimpsest.frontends.protocol.connection import CommandBase, SessionHead, View
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.parts import Attachment
from palimpsest.transcript.values import Value

if TYPE_CHECKING:
    from palimpsest.frontends.cell_turn.services import FrontendServices
    from palimpsest.frontends.operation_text.command_report import CommandReport
    from palimpsest.session.interfaces.prompt_answer import Answer
    from palimpsest.session.open_sessions.followed_session import KernelSession
    from palimpsest.session.sharing.import_place import ImportPlace
    from palimpsest.transcript.messages import Origin

P = ParamSpec("P")
T = TypeVar("T")
A_TURN = "It is a turn: session.start, loop, retry and compact begin one, and wait for its answer."
NO_SESSION = "This notebook has no session yet. Ask {whom}, then {what} again."


Reader = Callable[[str], "Operation | Mapping[str, Any] | None"]
"""Reads what stands behind a form's name: returns the operation or its arguments, None where the line is a prompt."""


def _lies_here(file: Attachment) -> Attachment:
    if not re.match(r"data:|blob:[0-9a-f]{64}$", file.url):
        raise ValueError(
            f"A file goes along by its content (data:) or as the log keeps it (blob:), not by {file.url!r:.60}."
        )
    return file


WithContent = Annotated[Attachment, AfterValidator(_lies_here)]
"""A file that a page sends with a prompt."""


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write an operation behind ``%agent``."""

    name: str
    help: str = ""
    """What it is for, in one line."""
    takes: tuple[str, ...] = ()
    """The fields that may follow: a bool as ``--name``, one with fixed values as a keyword, text as a word."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Fields that this form decides."""
    read: Reader | None = None
    """Reads what follows, where the fields do not say how; raises OptionError."""
    missing: str = ""
    """The error message where nothing follows; empty where nothing need follow."""
    keywords: tuple[str, ...] = ()
    """Words that may follow, where ``read`` knows them."""
    begins_no_prompt: bool = False
    """No prompt begins with the name and a keyword: what else follows is a mistake."""
    in_panel: bool = True
    """The panel runs it when it is typed behind a slash."""
    view: View | None = None
    """The panel's own view of what it tells, which opens where nothing follows the name behind a slash."""
    in_cell: bool = True
    in_terminal: bool = False
    """It is a command of ``palimpsest``, with the fields of ``takes``; ``modules.py`` says what it does."""
    has_rows: bool = False
    """There its answer has rows, for Markdown and for conditions."""
    in_project: bool = False
    """There a person may name the project's folder."""
    button: str = ""
    """The label of a button of the panel that asks for this form, and shows what a cell would show as text."""


@dataclass(frozen=True, slots=True)
class OneWord:
    """How a field of one word is written: marks it in ``Annotated``."""

    pattern: str = r"\S+"
    completed_by: str = ""
    """What is proposed for it: ``session``, ``part``."""


def _ignore(_value: object) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Where an operation is asked for: what it works on, and who hears of it."""

    services: "FrontendServices"
    find: "Callable[[str | None], Awaitable[KernelSession]]"
    """Opens a session by id; None means the one that is current here."""
    notebook: str | None = None
    in_cell: bool = False
    """What a cell shows of the answer is wanted."""
    is_page: bool = False
    at_once: bool = False
    """The operation is carried out on the caller's thread, which may be blocked, and awaits nothing."""
    adopt: "Callable[[KernelSession], None]" = _ignore
    """Makes a session the notebook's current one in the pages, too."""
    forget: Callable[[str], None] = _ignore
    """Drops a session that was deleted."""
    publish: Callable[[BaseModel], None] = _ignore
    """Sends a notice to the pages."""
    progress: Callable[[int, int], None] | None = None
    """Told how much of a source is read, and all of it, in bytes; None tells the pages."""
    imports: "ImportPlace | None" = None
    """The project that sessions are imported into; None means the kernel's."""
    turn: "Callable[[KernelSession, Coroutine[Any, Any, Answer]], Awaitable[SessionAnswer]] | None" = None
    """Awaits a turn that belongs to no cell."""

    async def seen(self, identifier: str | None, what: str = "look") -> "KernelSession":
        """Return a session to report on; raises NotFound rather than begin one."""
        if identifier is not None:
            return await self.find(identifier)
        known = await self.services.workspace.known(self.notebook)
        if known is None:
            raise NotFound(self.no_session(what))
        return known

    async def aside(self, call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Make a call that blocks, on a thread where pages and cells would wait for it."""
        if self.at_once:
            return call(*arguments, **named)
        return await asyncio.to_thread(call, *arguments, **named)

    def no_session(self, what: str = "look") -> str:
        """Return the sentence that says that there is no session yet."""
        return NO_SESSION.format(whom="with %agent" if self.in_cell else "the agent", what=what)

    async def session_id(self, identifier: str | None) -> str:
        """Return the id of the session that is meant, without opening one that is named."""
        return identifier or (await self.find(None)).id


class AsItIs:
    """Marks a field that holds what it is given, unchecked."""

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> CoreSchema:
        return core_schema.any_schema()


def _named(name: object, check: ValidatorFunctionWrapHandler) -> object:
    check(name.encode(errors="replace").decode() if isinstance(name, str) else name)
    return name


FileName = Annotated[str, WrapValidator(_named)]
"""A name of a file as the system gave it, which need not be text."""


class Argument:
    """How a field is written behind ``palimpsest``: marks it in ``Annotated``, with what ``add_argument`` takes.

    A field with a default is an option of its name. Its help is its docstring, or is given here.
    """

    def __init__(self, metavar: str, *flags: str, **options: Any) -> None:
        self.flags = flags
        self.options = {"metavar": metavar, **options}


InKernel = Annotated[T, AsItIs(), Field(exclude=True)]
"""A field of an answer for the kernel alone: a value of any class, which no page is sent."""


class Done(Value):
    """The answer where there is nothing to tell but whether it came in time."""

    late: bool = False
    """It came too late, for example after another answer, or there was nothing to do."""


class DrawnText(Value):
    """A text in each format."""

    bundle: dict[str, Any]
    """By MIME type."""


class SessionAnswer(Value):
    """The session that was opened or begun, or whose turn ended."""

    session: SessionHead


class Operation(CommandBase):
    """What a person asks for; its fields are the arguments.

    A subclass has a ``type``, by which pages name it, and ``run``. ``forms`` are its ways to be written behind ``%agent``,
    and ``output`` is what a cell shows of the answer.
    """

    id: str = Field(default="", min_length=1, max_length=200)
    forms: ClassVar[tuple[Form, ...]] = ()
    in_page: ClassVar[bool] = True
    """Pages may send it."""
    ends_with_cell: ClassVar[bool] = False
    """An interrupt of the cell stops it, too."""

    @classmethod
    def of(cls, **fields: Any) -> Self:
        """Return the operation with these arguments; raises UserError, with one sentence, for a wrong one."""
        try:
            return cls(**fields)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(step) for step in first["loc"])
            raise UserError(f"{where}: {first['msg']}.") from None

    async def run(self, at: Desk) -> Any:
        """Do it and return the answer, which pages are sent as it is; on the engine's loop. Raises UserError."""
        raise NotImplementedError

    def done_at_once(self, at: Desk) -> Any:
        """Do it on this thread and return the answer, where it awaits nothing."""
        work = self.run(at)
        try:
            work.send(None)
        except StopIteration as ended:
            return ended.value
        work.close()
        raise RuntimeError(f"The operation {type(self).__name__!r} awaits something there.")

    def output(self, answer: Any) -> Any:
        """Return what a cell shows of the answer: sentences and tables, or a ``CommandOutput``."""
        return answer

    def report(self, answer: Any) -> "CommandReport":
        """Return what ``palimpsest`` writes of the answer."""
        raise NotImplementedError


class TurnOperation(Operation):
    """An operation whose answer is a turn of the agent: a cell shows it as it comes, and no page waits for its end."""

    session: str | None = None
    """None means the notebook's current session."""

    def turn(
        self, session: "KernelSession", origin: "Origin | None"
    ) -> "Coroutine[Any, Any, Answer]":
        """Return the turn, which begins when it is awaited."""
        raise NotImplementedError

    async def run(self, at: Desk) -> SessionAnswer:
        """Await the turn."""
        if at.turn is None:
            raise UserError(A_TURN)
        session = await at.find(self.session)
        from palimpsest.transcript.messages import Origin

        origin = Origin(kind="panel", notebook=at.notebook)
        return await at.turn(session, self.turn(session, origin))

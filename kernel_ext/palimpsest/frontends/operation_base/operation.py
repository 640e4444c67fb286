"""The base class of operations, which are users' requests other than prompts, from cells, pages and Python.

Border: the class, the forms of an operation after ``%agent``, and the context in which it runs. The operations
themselves are in ``operations``; ``operation_table.py`` lists them.
"""

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
    from palimpsest.session.interfaces.prompt_answer import Answer
    from palimpsest.session.open_sessions.followed_session import KernelSession
    from palimpsest.session.sharing.import_place import ImportPlace
    from palimpsest.transcript.messages import Origin

P = ParamSpec("P")
T = TypeVar("T")
NEEDS_TURN = (
    "It is a turn: session.start, loop, retry and compact begin one, and wait for its answer."
)
NO_SESSION = "This notebook has no session yet. Ask {whom}, then {what} again."


RestParser = Callable[[str], "Operation | Mapping[str, Any] | None"]
"""Parses the text after a form's name: returns the operation or its arguments, None where the line is a prompt."""


def _check_has_content(file: Attachment) -> Attachment:
    if not re.match(r"data:|blob:[0-9a-f]{64}$", file.url):
        raise ValueError(
            f"A file goes along by its content (data:) or as the log keeps it (blob:), not by {file.url!r:.60}."
        )
    return file


ContentFile = Annotated[Attachment, AfterValidator(_check_has_content)]
"""A file that a page sends with a prompt."""


@dataclass(frozen=True, slots=True)
class Form:
    """A way to write an operation after ``%agent``."""

    name: str
    help: str = ""
    """The purpose of the operation, in one line."""
    fields: tuple[str, ...] = ()
    """The fields that may follow: a bool is written ``--name``, a literal as a keyword, text as a word."""
    fixed_values: Mapping[str, Any] = field(default_factory=dict)
    """Values of fields that this form sets."""
    parse_rest: RestParser | None = None
    """Parses the text after the name, where ``fields`` is not enough; raises OptionError."""
    missing_message: str = ""
    """The error message where no argument follows; empty where arguments are optional."""
    keywords: tuple[str, ...] = ()
    """Words that may follow, for completion, where ``parse_rest`` parses them."""
    is_never_prompt: bool = False
    """Whether a line that begins with the name and a keyword is never sent as a prompt."""
    in_panel: bool = True
    """Whether the form can be typed after a slash in the panel."""
    view: View | None = None
    """The panel's view of the same answer, which the name after a slash opens when no argument follows."""
    in_cell: bool = True
    in_terminal: bool = False
    """Whether the form is a command of ``palimpsest``; its help is in ``operation_modules.py``."""
    has_rows: bool = False
    """Whether, in a terminal, its answer has rows, which can be written as Markdown and tested by conditions."""
    in_project: bool = False
    """Whether, in a terminal, an option names the project's folder."""
    button: str = ""
    """The label of a button of the panel that runs this form, and shows the text that a cell would show."""


def _in_tuple(make: Callable[P, T]) -> Callable[P, tuple[T, ...]]:
    return lambda *arguments, **named: (make(*arguments, **named),)


def terminal_form(name: str, *fields: str, has_rows: bool = False) -> Form:
    """Return a form that is a command of ``palimpsest`` and nothing else."""
    return Form(
        name, fields=fields, in_panel=False, in_cell=False, in_terminal=True, has_rows=has_rows
    )


single_form = _in_tuple(Form)
"""Returns the forms of an operation that has one; its parameters are those of ``Form``."""


@dataclass(frozen=True, slots=True)
class OneWord:
    """Annotation of a field that is written as one word."""

    pattern: str = r"\S+"
    completed_by: str = ""
    """The kind of value that completes it: ``session``, ``part``."""


def _ignore(_value: object) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class OperationContext:
    """The context of an operation: the services that it uses, and the callbacks that it reports to."""

    services: "FrontendServices"
    find: "Callable[[str | None], Awaitable[KernelSession]]"
    """Opens a session by id; None means the current session."""
    notebook: str | None = None
    cell: str | None = None
    """The id of the cell that asks."""
    in_cell: bool = False
    """Whether the answer must hold the lines that a cell shows."""
    is_page: bool = False
    is_synchronous: bool = False
    """Whether the operation runs on the caller's thread, which may block, and awaits nothing."""
    adopt: "Callable[[KernelSession], None]" = _ignore
    """Makes a session the notebook's current session in the pages, too."""
    forget: Callable[[str], None] = _ignore
    """Closes a session that was deleted."""
    publish: Callable[[BaseModel], None] = _ignore
    """Sends a notice to the pages."""
    progress: Callable[[int, int], None] | None = None
    """Called with the bytes read of a source and its size; None sends progress to the pages."""
    import_place: "ImportPlace | None" = None
    """The project into which sessions are imported; None means the kernel's."""
    await_turn: "Callable[[KernelSession, Coroutine[Any, Any, Answer]], Awaitable[SessionAnswer]] | None" = None
    """Awaits a turn that belongs to no cell; None where the caller cannot wait for a turn."""

    async def existing_session(self, session_id: str | None, verb: str = "look") -> "KernelSession":
        """Return a session by id, or the current one; raises NotFound where none was begun."""
        if session_id is not None:
            return await self.find(session_id)
        current = await self.services.workspace.current_session(self.notebook)
        if current is None:
            raise NotFound(self.no_session_sentence(verb))
        return current

    async def begun_session_id(self, session_id: str | None, refusal: str) -> str:
        """Return ``session_id``, or the id of the current session; raises NotFound, with ``refusal``."""
        if session_id is not None:
            return session_id
        current = await self.services.workspace.current_session(self.notebook)
        if current is None:
            raise NotFound(refusal)
        return current.id

    async def run_blocking(self, call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Make a blocking call: on a worker thread, or on this thread for a synchronous operation."""
        if self.is_synchronous:
            return call(*arguments, **named)
        from asyncio import to_thread

        return await to_thread(call, *arguments, **named)

    def no_session_sentence(self, verb: str = "look") -> str:
        """Return the sentence for a notebook without a session; ``verb`` names what to do again."""
        return NO_SESSION.format(whom="with %agent" if self.in_cell else "the agent", what=verb)

    async def session_id(self, session_id: str | None) -> str:
        """Return ``session_id``, or the id of the current session."""
        return session_id or (await self.find(None)).id


class Unvalidated:
    """Annotation of a field whose value is not validated."""

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> CoreSchema:
        return core_schema.any_schema()


def _checked_file_name(name: object, check: ValidatorFunctionWrapHandler) -> object:
    check(name.encode(errors="replace").decode() if isinstance(name, str) else name)
    return name


FileName = Annotated[str, WrapValidator(_checked_file_name)]
"""A file name of the system, which may hold surrogates."""


class Argument:
    """Annotation of a field that is an argument of ``palimpsest``, with the parameters of ``add_argument``.

    A field with a default is an option with the field's name. Its help is its docstring, or is given here.
    """

    def __init__(self, metavar: str, *flags: str, **options: Any) -> None:
        self.flags = flags
        self.options = {"metavar": metavar, **options}


InKernel = Annotated[T, Unvalidated(), Field(exclude=True)]
"""A field of an answer that stays in the kernel: a value of any class that is not sent to pages."""


class Done(Value):
    """The answer of an operation that only returns whether it came in time."""

    late: bool = False
    """Whether the operation came too late, for example after another answer, or had nothing to do."""


class DrawnText(Value):
    """A text in each format."""

    bundle: dict[str, Any]
    """By MIME type."""


class SessionAnswer(Value):
    """The session that was opened or begun, or whose turn ended."""

    session: SessionHead


class Operation(CommandBase):
    """A user's request; its fields are the arguments.

    A subclass has a ``type``, which pages send, and ``run``. ``forms`` are the ways to write it after ``%agent``,
    and ``output`` returns a cell's output for the answer.
    """

    id: str = Field(default="", min_length=1, max_length=200)
    forms: ClassVar[tuple[Form, ...]] = ()
    in_page: ClassVar[bool] = True
    """Whether pages may send the operation."""
    ends_with_cell: ClassVar[bool] = False
    """Whether an interrupt of the cell also stops the operation."""

    @classmethod
    def with_arguments(cls, **fields: Any) -> Self:
        """Return the operation with these arguments; raises UserError, with one sentence, for a wrong one."""
        try:
            return cls(**fields)
        except ValidationError as error:
            first_error = error.errors()[0]
            field_path = ".".join(str(step) for step in first_error["loc"])
            raise UserError(f"{field_path}: {first_error['msg']}.") from None

    async def run(self, context: OperationContext) -> Any:
        """Run the operation and return the answer, which is sent to pages; on the engine's loop. Raises UserError."""
        raise NotImplementedError

    def run_synchronously(self, context: OperationContext) -> Any:
        """Run the operation on this thread and return its answer; raises RuntimeError if it awaits something."""
        coroutine = self.run(context)
        try:
            coroutine.send(None)
        except StopIteration as stop:
            return stop.value
        coroutine.close()
        raise RuntimeError(f"The operation {type(self).__name__!r} awaits something there.")

    def output(self, answer: Any) -> Any:
        """Return the output of a cell for the answer: sentences and tables, or a ``CommandOutput``."""
        return answer

    def report(self, answer: Any) -> Any:
        """Return the command line's ``CommandReport`` on the answer; here the answer is one."""
        return answer


class TurnOperation(Operation):
    """An operation that runs a turn of the agent; a cell shows it as it comes, and no page waits for its end."""

    session: str | None = None
    """None means the notebook's current session."""

    def turn(
        self, session: "KernelSession", origin: "Origin | None"
    ) -> "Coroutine[Any, Any, Answer]":
        """Return the turn, which begins when it is awaited."""
        raise NotImplementedError

    async def run(self, context: OperationContext) -> SessionAnswer:
        """Await the turn."""
        if context.await_turn is None:
            raise UserError(NEEDS_TURN)
        session = await context.find(self.session)
        from palimpsest.transcript.messages import Origin

        origin = Origin(kind="panel", notebook=context.notebook)
        return await context.await_turn(session, self.turn(session, origin))

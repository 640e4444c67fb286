"""What a tool is, what it is given, and what it needs from above.

Border: a tool knows nothing of the loop or of front ends. Running Python on the main thread,
asking a person and showing progress come in through ``ToolContext``.
"""

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel

from palimpsest.transcript.messages import Messages, StoppedBy
from palimpsest.transcript.parts import Attachment


class Abort:
    """A flag that says "stop", and runs what was registered to stop things, once.

    Set from any thread; callbacks run on the thread that sets it and must only hand over.
    """

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self.set_ = False
        self.reason = ""
        self.by: StoppedBy = "cancelled"
        """Who stops: a person (``cancelled``), or the end of kernel, session or time (``interrupted``)."""

    def set(self, reason: str = "Stopped.", by: StoppedBy = "cancelled") -> None:
        """Ask everything that works under this flag to stop."""
        with self._lock:
            if self.set_:
                return
            self.reason = reason
            self.by = by
            self.set_ = True
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def is_set(self) -> bool:
        """Tell whether work should stop."""
        return self.set_

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` when the flag is set (at once if it is); returns a function that unregisters it."""
        with self._lock:
            waits = not self.set_
            if waits:
                self._callbacks.append(callback)
        if not waits:
            callback()

        def unregister() -> None:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

        return unregister


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a tool returns."""

    title: str
    """A few words for the card: what it worked on."""
    output: str
    """What the model is given, before truncation."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """For people and front ends; ``truncated`` set by the tool itself turns our truncation off."""
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class PythonOutcome:
    """What running Python in the user's namespace gave."""

    stdout: str
    stderr: str
    result: str | None
    """Text form of the value of the last expression."""
    error: str | None
    """The traceback as plain text, without colour codes."""
    interrupted: bool = False
    images: tuple[Attachment, ...] = ()
    """Figures as ``data:image/png`` attachments, for the model."""
    rich: tuple[str, ...] = ()
    """MIME types of rich results that the cell shows natively."""


class PythonRunner(Protocol):
    """Runs the agent's Python where the user's variables are.

    Contract: runs one piece of code at a time, visibly, in the user's namespace, interruptible
    through ``abort``; ``on_output`` gets each new piece of text while it runs, from any thread.
    """

    async def run(
        self, code: str, *, call_id: str, abort: Abort, on_output: Callable[[str], None]
    ) -> PythonOutcome:
        """Run the code and return what came out; an error in the code is part of the outcome."""
        ...


Detail = Literal["names", "names and types", "values"]
"""How variables are described of which nobody spoke."""


@dataclass(frozen=True, slots=True)
class ShownVariables:
    """How much of the user's variables is looked at."""

    detail: Detail = "names and types"
    named: frozenset[str] = frozenset()
    """Names of those whose values may be looked at, whatever the detail."""


TYPES = ShownVariables()


@dataclass(frozen=True, slots=True)
class VariableInfo:
    """A variable of the user, described."""

    name: str
    kind: str
    """Qualified type name, such as ``pandas.DataFrame``; empty where only names are wanted."""
    summary: str
    """Shape, length or parameters: what is told without a value."""
    value: str | None = None
    """One line with the value, where it was wanted and is no secret."""

    @property
    def plain(self) -> str:
        """What is told without a value."""
        return ", ".join(word for word in (self.kind, self.summary) if word)

    @property
    def told(self) -> str:
        """All that is told: type, and value or shape."""
        words = (self.kind, self.summary if self.value is None else self.value)
        return ", ".join(word for word in words if word)


class Namespace(Protocol):
    """Reads the user's variables without changing them.

    Contract: answers from the thread that owns the namespace; private names and what IPython put
    there are left out. For names and types no user code runs; for a value ``repr`` does, guarded
    and capped. The value of what is named or formed like a secret is never told.
    """

    async def list(self, shown: ShownVariables = TYPES) -> Sequence[VariableInfo]:
        """Describe every variable of the user, a line each."""
        ...

    async def describe(self, name: str, max_chars: int = 4_000) -> str:
        """Describe one variable at length: columns and types, head, statistics, or repr.

        ``name`` may be a dotted or indexed path of plain names (``df.columns``); raises NotFound.
        """
        ...


class AskFunction(Protocol):
    """Asks for permission.

    Contract: returns when the call may run; raises PermissionDenied otherwise.
    """

    def __call__(
        self,
        permission: str,
        patterns: Sequence[str],
        *,
        title: str = "",
        always: Sequence[str] = (),
        diff: str | None = None,
        also: Mapping[str, Sequence[str]] | None = None,
    ) -> Awaitable[None]:
        """Ask whether ``permission`` holds for every pattern; ``always`` is what "always" would allow.

        ``also`` are further permissions with their patterns that the same question is about.
        """
        ...


@dataclass(frozen=True, slots=True)
class ArchivedText:
    """A text of the session that the model is not shown, or not whole."""

    name: str
    """By which the model asks for it."""
    title: str
    """What it is, in a few words."""
    text: str


class RecallArchive(Protocol):
    """Reads what a session keeps of itself.

    Contract: reaches the session's own record and the blobs that it names, nothing else. What a
    person left out of the conversation stays out.
    """

    async def find(self, name: str) -> ArchivedText:
        """Return what a name stands for; raises UserError with a sentence for the model."""
        ...

    async def hidden(self) -> Sequence[ArchivedText]:
        """Return all that the model is not shown, or not whole, oldest first."""
        ...


@dataclass(slots=True)
class ToolContext:
    """What every tool call is given."""

    session_id: str
    message_id: str
    call_id: str
    agent: str
    abort: Abort
    messages: Messages
    """The transcript so far."""
    root: Path
    """The project's tree: what stands inside may be read without asking."""
    cwd: Path
    """Relative paths start here."""
    metadata: Callable[[str | None, Mapping[str, Any]], None]
    """``metadata(title, {...})`` updates the running card; ``output`` is partial output."""
    ask: AskFunction
    python: PythonRunner | None = None
    """None where no kernel is (then the python tool is not offered)."""
    namespace: Namespace | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    """``model``: ModelInfo; ``bypass_agent_check``: bool; ``environment``: Mapping[str, str];
    ``archive``: Archive."""


class Tool(Protocol):
    """Something the model may call.

    Contract: ``arguments`` is a pydantic model whose schema the model is shown, and only inputs
    that validate reach ``run``. ``run`` returns an outcome, or raises UserError with a sentence
    the model can act on, PermissionDenied, or Aborted; on abort it stops all it started.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    concurrent: bool
    """May run at the same time as other calls of the same step."""
    permission: str
    """The permission it asks for; a rule that denies it for ``*`` hides the tool."""

    async def run(self, arguments: Any, context: ToolContext) -> ToolOutcome:
        """Do the work."""
        ...

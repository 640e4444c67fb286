"""The interfaces of tools: ``Tool``, its ``ToolContext`` and ``ToolOutcome``, and the services it uses.

Border: a tool does not depend on the loop or on front ends. Running Python on the main thread,
asking the user and showing progress are provided by ``ToolContext``.
"""

import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel

from palimpsest.transcript.context_values.cell_changes import CellChange, CellOrigin, CellResult
from palimpsest.transcript.context_values.cell_runs import CellRun, NotebookRuns
from palimpsest.transcript.context_values.hidden_cells import NONE_HIDDEN, HiddenRuns, hidden_runs
from palimpsest.transcript.context_values.page_cells import CellsWanted, PageNotebook
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Messages, StoppedBy
from palimpsest.transcript.parts import Attachment
from palimpsest.transcript.redaction.secret_patterns import scrub_values
from palimpsest.transcript.redaction.secret_removal import secret_values
from palimpsest.transcript.values import Reply


class Abort:
    """A cancellation flag: once it is set, the registered callbacks are called.

    It can be set from any thread; callbacks run on that thread, so they must return at once.
    """

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], object]] = []
        self._lock = threading.Lock()
        self._is_set = False
        self.reason = ""
        self.stopped_by: StoppedBy = "cancelled"
        """``cancelled`` by the user, or ``interrupted`` by the end of the kernel, session or time limit."""

    def set(self, reason: str = "Stopped.", stopped_by: StoppedBy = "cancelled") -> None:
        """Set the flag and call the callbacks; does nothing if it is set already."""
        with self._lock:
            if self._is_set:
                return
            self.reason, self.stopped_by, self._is_set = reason, stopped_by, True
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def is_set(self) -> bool:
        """Return whether work should stop."""
        return self._is_set

    def on_abort(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call ``callback`` when the flag is set (at once if it is set already); returns an unregister function."""
        with self._lock:
            is_waiting = not self._is_set
            if is_waiting:
                self._callbacks.append(callback)
        if not is_waiting:
            callback()

        def unregister() -> None:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

        return unregister


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of a tool call."""

    title: str
    """A short description of the call's subject, shown in its card."""
    output: str
    """The output for the model, before truncation."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Values for users and front ends; if the tool sets ``truncated``, the output is not truncated again."""
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftRunning:
    """The threads, tasks and timers that a piece of the agent's Python left running at its end."""

    descriptions: tuple[str, ...]
    """Descriptions, such as ``the thread 'Thread-5 (f)'``."""
    all_ended: Future[None]
    """A future that is done when all threads, tasks and timers have ended; set from any thread."""


@dataclass(frozen=True, slots=True)
class ShownResult:
    """A rich result for the panel, because no cell displays it."""

    kind: Literal["html", "markdown", "widget", "other"]
    text: str
    """The HTML or the Markdown; the name of a widget; else the MIME type."""


@dataclass(frozen=True, slots=True)
class PythonOutcome:
    """The result of running Python in the user's namespace."""

    stdout: str
    stderr: str
    result_text: str | None
    """The text representation of the last expression's value."""
    error: str | None
    """The traceback as plain text, without colour codes."""
    was_interrupted: bool = False
    images: tuple[Attachment, ...] = ()
    """Figures as ``data:image/png`` attachments, for the model."""
    displayed_mimes: tuple[str, ...] = ()
    """MIME types of the rich results that the cell displays itself."""
    shown_results: tuple[ShownResult, ...] = ()
    """The rich results that no cell displays, without figures."""
    input_checksums: Mapping[str, str] = field(default_factory=dict)
    """Checksums, before the run, of the variables that the code reads, by name."""
    notes: tuple[str, ...] = ()
    """Sentences on changes that the code left in the process, with the code that undoes each."""
    left_running: LeftRunning | None = None
    """Threads, tasks and timers that still run; None where there are none."""


class PythonRunner(Protocol):
    """Runs the agent's Python code in the user's namespace.

    Contract: runs one piece of code at a time, visibly, in the user's namespace, interruptible
    through ``abort``; ``on_output`` gets each new piece of text while it runs, from any thread.
    """

    async def run(
        self, code: str, *, call_id: str, abort: Abort, on_output: Callable[[str], None]
    ) -> PythonOutcome:
        """Run the code and return its outcome, which includes an error raised by the code."""


Detail = Literal["names", "names and types", "values"]
"""The amount of detail in the descriptions of variables that the prompt does not name."""


@dataclass(frozen=True, slots=True)
class ShownVariables:
    """The details of the user's variables that may be read."""

    detail: Detail = "names and types"
    readable_names: frozenset[str] = frozenset()
    """Names of variables whose values may be read in any case."""
    with_fingerprints: bool = False
    """Whether to compute a fingerprint of each variable's contents, to detect changes in place."""


WithoutPage = Literal["refuse", "write"]
"""Whether cells of a notebook that no page shows are changed in its file; another editor may have it open."""

NAMES_AND_TYPES = ShownVariables()


@dataclass(frozen=True, slots=True)
class VariableInfo:
    """The description of one variable of the user."""

    name: str
    kind: str
    """Qualified type name, such as ``pandas.DataFrame``; empty if only names are requested."""
    summary: str
    """Shape, length or parameters, which do not reveal the value."""
    value: str | None = None
    """One line with the value, if it was requested and is not a secret."""
    fingerprint: int | None = None
    """A fingerprint of the value, which also changes when it is mutated in place; None if not computed."""
    is_complete_fingerprint: bool = False
    """Whether the fingerprint covers the complete content; otherwise it may miss a change."""

    @property
    def type_and_summary(self) -> str:
        """Type and summary, without the value."""
        return ", ".join(word for word in (self.kind, self.summary) if word)

    @property
    def shown_to_model(self) -> str:
        """Type, and value or else summary."""
        words = (self.kind, self.summary if self.value is None else self.value)
        return ", ".join(word for word in words if word)


class Namespace(Protocol):
    """Reads the user's variables without changing them.

    Contract: reads on the thread that owns the namespace; private names and those of IPython are left
    out. For names and types no user code runs; for a value ``repr`` does, with limits on errors and
    length. The value of a variable whose name or value looks like a secret is never returned.
    """

    async def list(self, shown: ShownVariables = NAMES_AND_TYPES) -> Sequence[VariableInfo]:
        """Return the descriptions of all the user's variables."""

    async def description_of(self, name: str, max_chars: int = 4_000) -> str:
        """Return a long description of one variable: columns and types, head, statistics, or repr.

        ``name`` may be a dotted or indexed path of plain names (``df.columns``); raises NotFound.
        """


class NoPage(UserError):
    """No open page shows the notebook, so its cells can be changed by nobody."""


NOT_RUN_SENTENCES: Mapping[str, str] = {
    "changed": "The cell was changed since you last saw it, so it was not run. Read it, then decide anew.",
    "missing": "There is no such cell in the notebook any more, so nothing was run.",
    "hidden": "There is no such cell in the notebook, so nothing was run.",
    "locked": "The cell cannot be run: only code cells run, and not those whose metadata forbid it.",
    "agent": "The cell is a prompt of the agent, which only the user runs.",
}


class CellNotRun(UserError):
    """A page did not run a cell; ``result`` says why, with the cell's present source if that has changed."""

    def __init__(self, result: CellResult) -> None:
        super().__init__(NOT_RUN_SENTENCES[result.problem or "missing"])
        self.result = result


class NotebookChanger(Protocol):
    """Changes and runs cells of this kernel's notebooks through the pages that show them.

    Contract: on the engine's loop. A page makes all of the changes, in their order and as one step of its undo, or none:
    with a ``problem`` in any result nothing was done. Each change's ``old`` is the source that the cell must have when
    the changes before it were made. Raises NoPage where no page shows the notebook, and UserError with a sentence for
    the model. ``session_id`` names the session whose newest prompt's page is preferred. With ``skip_older`` a page whose
    cells are as the changes would leave them is passed over for another page that shows what they expect.
    """

    async def change(
        self,
        notebook_path: str,
        changes: Sequence[CellChange],
        origin: CellOrigin | None,
        session_id: str | None = None,
        *,
        skip_older: bool = False,
    ) -> tuple[CellResult, ...]:
        """Make the changes in the notebook with this path, and return one result for each."""

    async def run(
        self, notebook_path: str, cell_id: str, source: str, *, abort: Abort, session_id: str
    ) -> CellRun:
        """Run the cell with this id as a person would, if it has this source, and return its recorded run.

        Raises CellNotRun with the page's result where it did not run, and Aborted where it was withdrawn before it began;
        the run of a stopped cell has the status ``stopped``.
        """

    def was_closed(self, own_path: Path) -> bool:
        """Return whether a page showed the notebook of this file in this kernel, and none does any more."""


class NotebookReader(Protocol):
    """Reads this kernel's record of the user's cells: sources, outputs and errors.

    Contract: answers at once from any thread, also while a cell runs; runs none of the user's code.
    """

    kernel: str
    """An id of this start of the kernel, since execution counts restart with each."""
    changer: NotebookChanger | None
    """Changes cells through open pages; None where no page can be connected."""

    def recorded_runs(self) -> NotebookRuns:
        """Return the recorded runs, oldest first, including those hidden from the agent."""

    def run_of_request(self, request_id: str) -> CellRun | None:
        """Return the run of the page's message with this id; None where none was recorded."""

    async def page(self, request: CellsWanted, seconds: float) -> Sequence[PageNotebook] | None:
        """Ask the open pages for cells, and return their notebooks; None where no page answers within ``seconds``."""

    def hide_next(self) -> None:
        """Hide the next cell that runs from the agent."""


class AskFunction(Protocol):
    """Asks the user, where no rule answers, whether a call may run.

    Contract: returns when the call may run: the user's answer, or None where the rules answered; raises PermissionDenied
    otherwise.
    """

    def __call__(
        self,
        permission: str,
        patterns: Sequence[str],
        *,
        title: str = "",
        always: Sequence[str] = (),
        diff: str | None = None,
        other_patterns: Mapping[str, Sequence[str]] | None = None,
        bound_to: str | None = None,
    ) -> Awaitable[Reply | None]:
        """Ask for ``permission`` for every pattern; ``always`` are the patterns an "always" would allow.

        ``other_patterns`` has further permissions with their patterns for the same question. ``bound_to`` describes
        the approved object where its name is not enough, such as a server's tool: an "always" then holds while
        the description is the same, and replaces ``patterns`` and ``always``.
        """


@dataclass(frozen=True, slots=True)
class ArchivedText:
    """A text of the session that the model sees only in part or not at all."""

    name: str
    """The name by which the model recalls the text."""
    title: str
    """A short description of the text."""
    text: str


class RecallArchive(Protocol):
    """Reads texts of a session that were removed from the model's context.

    Contract: reads only the session's own log and the blobs that it names. Texts that the user
    excluded from the context are not returned.
    """

    async def find(self, name: str) -> ArchivedText:
        """Return the text of a name; raises UserError with a sentence for the model."""

    async def hidden_texts(self) -> Sequence[ArchivedText]:
        """Return all texts that the model sees only in part or not at all, oldest first."""


@dataclass(slots=True)
class ToolContext:
    """The values and services that a tool call receives."""

    session_id: str
    message_id: str
    call_id: str
    agent: str
    abort: Abort
    messages: Messages
    """The transcript so far."""
    root: Path
    """The project's folder; files in it may be read without asking."""
    cwd: Path
    """The folder that relative paths are resolved against."""
    metadata: Callable[[str | None, Mapping[str, Any]], None]
    """``metadata(title, {...})`` updates the running call's card; its key ``output`` is partial output."""
    ask: AskFunction
    python: PythonRunner | None = None
    """None without a kernel; the python tool is then not offered."""
    namespace: Namespace | None = None
    notebook: NotebookReader | None = None
    extra_values: dict[str, Any] = field(default_factory=dict)
    """``model``: ModelInfo; ``bypass_agent_check``: bool; ``environment``: Mapping[str, str];
    ``archive``: RecallArchive; ``notebook_file``: the session's notebook; ``mentioned_cells``: returns the cells that the
    present prompt names; ``request_number``: returns the number of the request of a message;
    ``cells_without_page``: the setting."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment that the session was started with."""
        environment: Mapping[str, str] | None = self.extra_values.get("environment")
        return os.environ if environment is None else environment

    def hidden_runs(self) -> HiddenRuns:
        """Return the recorded cells that are hidden from the agent; none without a kernel."""
        reader = self.notebook
        return hidden_runs(reader.recorded_runs()) if reader is not None else NONE_HIDDEN

    def scrubber(self) -> Callable[[str], str]:
        """Return a function that removes this kernel's own keys from a text.

        Keys are removed that are values of the environment's variables; text that only looks like a key is
        redacted when the output is journaled (``store/log_lines.py``), before the model sees it.
        """
        values = secret_values(self.environment)
        return lambda text: scrub_values(text, values)


class Tool(Protocol):
    """A tool that the model may call.

    Contract: ``arguments`` is a pydantic model whose schema is sent to the model, and only inputs
    that validate reach ``run``. ``run`` returns an outcome, or raises UserError with a sentence
    the model can act on, PermissionDenied, or Aborted; on abort it stops everything it started.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    concurrent: bool
    """Whether calls of the tool may run at the same time as other calls of the same step."""
    permission: str
    """The permission that the tool asks for; a rule that denies it for ``*`` hides the tool."""

    async def run(self, arguments: Any, context: ToolContext) -> ToolOutcome:
        """Run the call and return its outcome."""

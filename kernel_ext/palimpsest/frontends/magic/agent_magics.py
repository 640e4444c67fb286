"""The magics ``%agent`` and ``%%agent``: parse the line, find the cell and run the request.

Border: loaded by ``%load_ext``, so nothing heavy is imported here; the front end that runs requests is
built in the background and passed in as ``front``. There are two forms: a blocking one that works
everywhere, and an awaited one into which a transformer turns calls at the start of a line. ``Out``
stays free of answers.
"""

import functools
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from IPython.core.magic import no_var_expand

from palimpsest.frontends import terminal
from palimpsest.frontends.cell_turn.cell_batches import CellBatches, sent_at
from palimpsest.frontends.magic.await_transform import (
    AWAIT_NOTHING,
    AWAIT_RESULT,
    NOT_FIRST,
    first_line_notice,
    question_transform,
    rewrite_calls,
)
from palimpsest.frontends.usage_errors import usage_error

if TYPE_CHECKING:
    from palimpsest.frontends.cell_turn.agent_answer import AgentAnswer
    from palimpsest.frontends.cell_turn.background_prompts import Background
    from palimpsest.frontends.cell_turn.magic_line import MagicLine
    from palimpsest.frontends.operations.operation import Operation
    from palimpsest.transcript.messages import Origin

    Shown: TypeAlias = AgentAnswer | Background | None

FIRST_LINE = (
    "%%agent belongs into the first line of its cell: move what stands above it, comments too, into the prompt "
    "below it or into a cell of its own. Nothing was sent, and nothing ran."
)


class PromptRunner(Protocol):
    """Runs the requests of the magics; implemented in ``frontends/frontend.py``."""

    def ask(self, request: "MagicLine | Operation", place: "Origin") -> "Shown":
        """Run a prompt or an operation, blocking."""

    def ask_awaiting(self, request: "MagicLine", place: "Origin") -> "Awaitable[Shown]":
        """Run a prompt, awaited."""


class RunningCells:
    """Counts the cells that run, and holds the newest one's id.

    A cell that was running when the extension was loaded is counted too; IPython reports the
    end of an empty cell without its beginning, so the count never falls below zero.
    """

    def __init__(self, shell: Any, *, running: int = 0) -> None:
        self.running = running
        self.cell_id: str | None = None
        self.batches = CellBatches()
        self._shell = shell

    def register(self) -> None:
        """Begin to count."""
        self._shell.events.register("pre_run_cell", self.begin)
        self._shell.events.register("post_run_cell", self.end)

    def unregister(self) -> None:
        """Stop counting."""
        self._shell.events.unregister("pre_run_cell", self.begin)
        self._shell.events.unregister("post_run_cell", self.end)

    def begin(self, info: Any = None) -> None:
        """Count a cell that begins; only an outermost one is a cell of the notebook."""
        if self.running == 0:
            self.cell_id = getattr(info, "cell_id", None)
            self.batches.begin(sent_at(self._shell))
        self.running += 1

    def end(self, _result: Any = None) -> None:
        """Count a cell that has ended."""
        self.running = max(0, self.running - 1)
        if self.running == 0:
            self.batches.end()


def _help() -> str:
    """Return the help text."""
    from palimpsest.frontends.magic.line_parser import help_text

    return help_text()


class AgentMagics:
    """The magics of one shell.

    Responsibilities: parse the line; run the request; let the transformers know when awaiting is
    possible.
    """

    def __init__(
        self,
        shell: Any,
        front: Callable[[], PromptRunner],
        place: "Callable[[], Origin]",
        cells: RunningCells,
    ) -> None:
        self.shell = shell
        self._front = front
        self._place = place
        self._cells = cells

    def register(self) -> None:
        """Register the magics and their input transformers."""
        shell = self.shell
        for name, function in self._functions().items():
            shell.register_magic_function(function, "line_cell", name)
        shell.input_transformers_cleanup.append(question_transform)
        shell.input_transformers_cleanup.append(first_line_notice)
        shell.input_transformers_post.append(self.rewrite)

    def unregister(self) -> None:
        """Remove the magics and their input transformers."""
        shell = self.shell
        for name in self._functions():
            for kind in ("line", "cell"):
                shell.magics_manager.magics[kind].pop(name, None)
        shell.input_transformers_cleanup.remove(question_transform)
        shell.input_transformers_cleanup.remove(first_line_notice)
        shell.input_transformers_post.remove(self.rewrite)

    def agent(self, line: str, cell: str | None = None) -> "Shown":
        """Ask the agent; ``%%agent?`` shows the help text."""
        return self._asked(self._read(line, cell))

    agent.getdoc = _help  # type: ignore[attr-defined]  # what IPython shows of it, made when somebody looks

    def agent_await(self, line: str, cell: str | None = None) -> "Awaitable[Shown]":
        """Ask the agent; the awaited form of %agent, for its result."""
        request = self._read(line, cell)
        from palimpsest.frontends.cell_turn.magic_line import MagicLine

        if not isinstance(request, MagicLine):
            return _done(self._asked(request))
        return self._front().ask_awaiting(request, self._place())

    def agent_await_show(self, line: str, cell: str | None = None) -> Awaitable[None]:
        """Ask the agent; the awaited form of %agent, for what it shows."""
        return _nothing(self.agent_await(line, cell))

    def rewrite(self, lines: list[str]) -> list[str]:
        """Turn calls at the start of a line into awaited ones; an input transformer."""
        return rewrite_calls(lines, possible=self._may_await)

    def not_first(self, _line: str, _cell: str | None = None) -> None:
        """Raise the error that ``%%agent`` must be the first line."""
        raise usage_error(FIRST_LINE)

    def _functions(self) -> dict[str, Callable[..., Any]]:
        return {
            "agent": self.agent,
            AWAIT_RESULT: self.agent_await,
            AWAIT_NOTHING: self.agent_await_show,
            NOT_FIRST: self.not_first,
        }

    def _may_await(self) -> bool:
        return bool(self.shell.autoawait) and self._cells.running == 0

    def _asked(self, request: "MagicLine | Operation") -> "Shown":
        from palimpsest.frontends.operation_table import Help

        if isinstance(request, Help):
            terminal.write(f"{_help()}\n")
            return None
        return self._front().ask(request, self._place())

    def _read(self, line: str, cell: str | None) -> "MagicLine | Operation":
        # With the first line, since what it may say are values that %load_ext need not wait for.
        from palimpsest.frontends.magic.line_parser import parse
        from palimpsest.frontends.operations.grammar import OptionError

        try:
            return parse(line, cell)
        except OptionError as error:
            raise usage_error(error) from None


for _magic in (AgentMagics.agent, AgentMagics.agent_await, AgentMagics.agent_await_show):
    no_var_expand(_magic)  # braces and dollars in a prompt are the user's


async def _done(value: "Shown") -> "Shown":
    return value


async def _nothing(answer: "Awaitable[Shown]") -> None:
    await answer


@functools.cache
def notebook_name(named: str, start: str) -> str | None:
    """Return the notebook's path relative to the start directory, or None for a console."""
    if not named.endswith(".ipynb"):
        return None
    return os.path.relpath(os.path.join(start, named), start).replace(os.sep, "/")  # noqa: PTH118  # no pathlib: load time


def current_notebook(shell: Any) -> str | None:
    """Return the notebook that this kernel belongs to, as its front end named it."""
    named = shell.user_ns.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME") or ""
    start = getattr(shell, "starting_dir", "") or os.getcwd()  # noqa: PTH109  # no pathlib: load time
    return notebook_name(str(named), start)


def rename_notebook(was: str, notebook: str) -> bool:
    """Set a new name for this kernel's notebook; false when another notebook was meant.

    The server gives a kernel the name once, at its start; a restarted kernel gets the new one.
    """
    named = os.environ.get("JPY_SESSION_NAME", "").replace(os.sep, "/")
    was, notebook = was.strip("/"), notebook.strip("/")
    if not notebook.endswith(".ipynb") or not f"/{named}".endswith(f"/{was}"):
        return False
    os.environ["JPY_SESSION_NAME"] = named.removesuffix(was) + notebook
    return True

"""The magics ``%agent`` and ``%%agent``: parse the line and run the request.

Border: loaded by ``%load_ext``, so no heavy module is imported here; the front end that runs requests is created in the
background, and ``get_front_end`` returns it. There are two forms: a blocking one that works everywhere, and an awaited one, to
which a transformer changes calls at the start of a line. ``Out`` holds no answers.
"""

import functools
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from IPython.core.magic import no_var_expand

from palimpsest.frontends import terminal
from palimpsest.frontends.cell_turn.cell_batches import CellBatches, request_time
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
    from palimpsest.frontends.operation_base.operation import Operation
    from palimpsest.transcript.messages import Origin

    MagicResult: TypeAlias = AgentAnswer | Background | None

NOT_IN_FIRST_LINE = (
    "%%agent belongs into the first line of its cell: move what stands above it, comments too, into the prompt "
    "below it or into a cell of its own. Nothing was sent, and nothing ran."
)


class PromptRunner(Protocol):
    """Runs the requests of the magics; implemented in ``frontends/frontend.py``."""

    def ask(self, request: "MagicLine | Operation", origin: "Origin") -> "MagicResult":
        """Run a prompt or an operation, blocking."""

    def ask_awaiting(self, magic_line: "MagicLine", origin: "Origin") -> "Awaitable[MagicResult]":
        """Run a prompt, awaited."""


class RunningCells:
    """Counts the running cells, and holds the newest one's id.

    A cell that runs while the extension is loaded counts, too; IPython reports the
    end of an empty cell without its beginning, so the count never falls below zero.
    """

    def __init__(self, shell: Any, *, running_count: int = 0) -> None:
        self.running_count = running_count
        self.cell_id: str | None = None
        self.batches = CellBatches()
        self._shell = shell

    def register(self) -> None:
        """Begin counting."""
        self._shell.events.register("pre_run_cell", self.begin)
        self._shell.events.register("post_run_cell", self.end)

    def unregister(self) -> None:
        """Stop counting."""
        self._shell.events.unregister("pre_run_cell", self.begin)
        self._shell.events.unregister("post_run_cell", self.end)

    def begin(self, info: Any = None) -> None:
        """Count a beginning cell; only an outermost one is a cell of the notebook."""
        if self.running_count == 0:
            self.cell_id = getattr(info, "cell_id", None)
            self.batches.begin_cell(request_time(self._shell))
        self.running_count += 1

    def end(self, _result: Any = None) -> None:
        """Count an ended cell."""
        self.running_count = max(0, self.running_count - 1)
        if self.running_count == 0:
            self.batches.end_cell()


def _help_text() -> str:
    from palimpsest.frontends.magic.line_parser import help_text

    return help_text()


class AgentMagics:
    """The magics of one shell: parses the line, runs the request, passes on to the transformers whether it can await."""

    def __init__(
        self,
        shell: Any,
        get_front_end: Callable[[], PromptRunner],
        get_origin: "Callable[[], Origin]",
        running_cells: RunningCells,
    ) -> None:
        self.shell = shell
        self._get_front_end = get_front_end
        self._get_origin = get_origin
        self._running_cells = running_cells

    def register(self) -> None:
        """Register the magics and their input transformers."""
        shell = self.shell
        for name, function in self._functions().items():
            shell.register_magic_function(function, "line_cell", name)
        shell.input_transformers_cleanup.append(question_transform)
        shell.input_transformers_cleanup.append(first_line_notice)
        shell.input_transformers_post.append(self.rewrite_lines)

    def unregister(self) -> None:
        """Remove the magics and their input transformers."""
        shell = self.shell
        for name in self._functions():
            for kind in ("line", "cell"):
                shell.magics_manager.magics[kind].pop(name, None)
        shell.input_transformers_cleanup.remove(question_transform)
        shell.input_transformers_cleanup.remove(first_line_notice)
        shell.input_transformers_post.remove(self.rewrite_lines)

    def agent(self, line: str, cell: str | None = None) -> "MagicResult":
        """Ask the agent; ``%%agent?`` shows the help text."""
        return self._run_request(self._parse_line(line, cell))

    agent.getdoc = _help_text  # type: ignore[attr-defined]  # IPython's help for it, built when it is requested

    def agent_await(self, line: str, cell: str | None = None) -> "Awaitable[MagicResult]":
        """Ask the agent; the awaited form of %agent that returns the answer."""
        magic_line = self._parse_line(line, cell)
        from palimpsest.frontends.cell_turn.magic_line import MagicLine

        if not isinstance(magic_line, MagicLine):
            return completed_result(self._run_request(magic_line))
        return self._get_front_end().ask_awaiting(magic_line, self._get_origin())

    def agent_await_show(self, line: str, cell: str | None = None) -> Awaitable[None]:
        """Ask the agent; the awaited form of %agent that only shows the answer."""
        return _without_result(self.agent_await(line, cell))

    def rewrite_lines(self, lines: list[str]) -> list[str]:
        """Turn calls at the start of a line into awaited ones; an input transformer."""
        return rewrite_calls(lines, can_await=self._can_await)

    def raise_not_first(self, _line: str, _cell: str | None = None) -> None:
        """Raise the error for a ``%%agent`` that is not in the first line."""
        raise usage_error(NOT_IN_FIRST_LINE)

    def _functions(self) -> dict[str, Callable[..., Any]]:
        return {
            "agent": self.agent,
            AWAIT_RESULT: self.agent_await,
            AWAIT_NOTHING: self.agent_await_show,
            NOT_FIRST: self.raise_not_first,
        }

    def _can_await(self) -> bool:
        return bool(self.shell.autoawait) and self._running_cells.running_count == 0

    def _run_request(self, request: "MagicLine | Operation") -> "MagicResult":
        from palimpsest.frontends.operation_table import Help

        if isinstance(request, Help):
            terminal.write(f"{_help_text()}\n")
            return None
        return self._get_front_end().ask(request, self._get_origin())

    def _parse_line(self, line: str, cell: str | None) -> "MagicLine | Operation":
        # Imported with the first line, to keep %load_ext fast.
        from palimpsest.frontends.magic.line_parser import parse_line
        from palimpsest.frontends.operation_base.grammar import OptionError

        try:
            return parse_line(line, cell)
        except OptionError as error:
            raise usage_error(error) from None


for _magic in (AgentMagics.agent, AgentMagics.agent_await, AgentMagics.agent_await_show):
    no_var_expand(_magic)  # keep braces and dollars in a prompt


async def completed_result(value: "MagicResult") -> "MagicResult":
    """Return a result that is there already, for a caller that awaits it."""
    return value


async def _without_result(answer: "Awaitable[MagicResult]") -> None:
    await answer


@functools.cache
def notebook_path(name: str, start_folder: str) -> str | None:
    """Return the notebook's path relative to the kernel's start folder, or None for a console."""
    if not name.endswith(".ipynb"):
        return None
    return os.path.relpath(os.path.join(start_folder, name), start_folder).replace(os.sep, "/")  # noqa: PTH118  # no pathlib: load time


def current_notebook(shell: Any) -> str | None:
    """Return the path of the kernel's notebook, as its front end passed it; None for a console."""
    name = shell.user_ns.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME") or ""
    start_folder = getattr(shell, "starting_dir", "") or os.getcwd()  # noqa: PTH109  # no pathlib: load time
    return notebook_path(str(name), start_folder)


def rename_notebook(old_path: str, new_path: str) -> bool:
    """Set a new name for this kernel's notebook; returns False if the kernel has another notebook.

    The server passes the name to a kernel only at its start; a restarted kernel gets the new one.
    """
    name = os.environ.get("JPY_SESSION_NAME", "").replace(os.sep, "/")
    old_path, new_path = old_path.strip("/"), new_path.strip("/")
    if not new_path.endswith(".ipynb") or not f"/{name}".endswith(f"/{old_path}"):
        return False
    os.environ["JPY_SESSION_NAME"] = name.removesuffix(old_path) + new_path
    return True

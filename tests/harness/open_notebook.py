"""A notebook that is open in a page, for the tools of a session: it shows cells, changes them and runs them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.builders import Builder
from tests.harness.changed_cells import Cell, applied
from tests.harness.tools import ToolHarness

from palimpsest.tools.tool import Abort, CellNotRun, ToolOutcome
from palimpsest.transcript.call_outcomes import call_outcome
from palimpsest.transcript.context_values.cell_changes import (
    CELLS_KEY,
    CellChange,
    CellOrigin,
    CellResult,
    MadeChange,
)
from palimpsest.transcript.context_values.cell_runs import CellRun, NotebookRuns, RecordedOutput
from palimpsest.transcript.context_values.page_cells import CellsWanted, PageCell, PageNotebook
from palimpsest.transcript.errors import PermissionDenied, UserError
from palimpsest.transcript.messages import Message, Origin
from palimpsest.transcript.parts import Span, ToolCompleted, ToolPart

PATH = "a.ipynb"


@dataclass
class OpenNotebook:
    """A page with notebooks, and the kernel's record (``tools.tool.NotebookReader`` and ``NotebookChanger``)."""

    cells: list[Cell] = field(default_factory=list)
    others: list[PageNotebook] = field(default_factory=list)
    """Other notebooks of the same kernel."""
    is_open: bool = True
    is_closed: bool = False
    """Whether a page showed it in this kernel and left."""
    runs: list[CellRun] = field(default_factory=list)
    outputs: dict[str, RecordedOutput] = field(default_factory=dict)
    """What comes out of a cell that is run, by its id."""
    origins: list[CellOrigin | None] = field(default_factory=list)
    """The origin of each change that was asked for."""
    kernel: str = "kernel-1"

    @property
    def changer(self) -> "OpenNotebook":
        return self

    @property
    def shown(self) -> list[tuple[str, str]]:
        """Ids and sources of the cells, in order."""
        return [(cell["id"], cell["source"]) for cell in self.cells]

    @property
    def sources(self) -> list[str]:
        return [cell["source"] for cell in self.cells]

    def cell(self, cell_id: str) -> Cell:
        return next(cell for cell in self.cells if cell["id"] == cell_id)

    def recorded_runs(self) -> NotebookRuns:
        return NotebookRuns(tuple(self.runs))

    async def page(self, wanted: CellsWanted, _seconds: float) -> Sequence[PageNotebook] | None:
        if not self.is_open:
            return None
        names = ("id", "kind", "source", "number", "hidden")
        cells = [
            PageCell(**{name: cell[name] for name in names if name in cell})
            for cell in self.cells
            if wanted.cell in (None, cell["id"])
        ]
        own = [cell.model_copy(update={"source": None}) if cell.hidden else cell for cell in cells]
        return [*self.others, PageNotebook(path=PATH, cells=tuple(own))]

    def was_closed(self, own_path: Path) -> bool:
        assert own_path.name == PATH
        return self.is_closed

    def run_of_request(self, request_id: str) -> CellRun | None:
        raise AssertionError(f"not asked for here: {request_id}")

    def hide_next(self) -> None:
        raise AssertionError("not asked for here")

    async def change(
        self,
        notebook: str,
        changes: Sequence[CellChange],
        origin: CellOrigin | None,
        session_id: str | None = None,
        *,
        skip_older: bool = False,
    ) -> tuple[CellResult, ...]:
        assert notebook == PATH
        del skip_older  # this is the only page
        assert session_id is not None
        self.origins.append(origin)
        self.cells, results = applied(self.cells, changes)
        return tuple(results)

    async def run(
        self,
        notebook: str,
        cell: str,
        source: str,
        *,
        abort: Abort,
        session_id: str,
    ) -> CellRun:
        assert (notebook, abort.is_set()) == (PATH, False)
        assert session_id.startswith("ses_")
        if self.cell(cell)["source"] != source:
            present = self.cell(cell)["source"]
            raise CellNotRun(CellResult(cell=cell, problem="changed", source=present))
        number = len(self.runs) + 1
        output = self.outputs.get(cell)
        is_error = output is not None and output.kind == "error"
        run = CellRun(
            number,
            1,
            source,
            cell,
            number,
            status="error" if is_error else "ok",
            outputs=(output,) if output else (),
        )
        self.cell(cell)["number"] = number
        self.runs.append(run)
        return run


@dataclass
class CellCalls:
    """Calls of tools about an open notebook, of which each sees the messages of those before."""

    tools: ToolHarness
    notebook: OpenNotebook
    builder: Builder = field(default_factory=Builder)
    messages: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tools.notebook = self.notebook
        self.tools.extra |= {
            "notebook_file": Path(PATH),
            "request_number": lambda _message: len(self.messages),
        }

    def prompt(self, text: str, cell: str | None = None, mentions: Sequence[str] = ()) -> None:
        """Let the user send a prompt, from a cell or from the panel."""
        origin = Origin(kind="cell", cell_id=cell) if cell else Origin(kind="panel")
        self.messages.append(self.builder.user(text, origin=origin))
        self.tools.extra["mentioned_cells"] = lambda: frozenset(mentions)

    async def read(self, cell: str | None = None, *, outputs: bool = True) -> ToolOutcome:
        """Let the model read the notebook, or one cell."""
        given = ({"cell": cell} if cell else {}) | ({} if outputs else {"outputs": False})
        return await self._call("notebook", **given)

    async def change(self, *changes: dict[str, Any]) -> ToolOutcome:
        """Let the model change cells."""
        return await self._call("cells", changes=list(changes))

    async def refusal(self, *changes: dict[str, Any]) -> str:
        """Return the sentence with which a call is refused, which changes nothing and asks nobody."""
        before, asked = self.notebook.shown, len(self.tools.user.asked)
        try:
            outcome = await self.change(*changes)
        except UserError as error:
            assert self.notebook.shown == before
            assert len(self.tools.user.asked) == asked
            return str(error)
        raise AssertionError(f"It was not refused: {outcome.output}")

    @property
    def made(self) -> tuple[MadeChange, ...]:
        """The changes that the metadata of the newest call keep."""
        values = next(
            values[CELLS_KEY] for values in reversed(self.tools.shown) if CELLS_KEY in values
        )
        return tuple(MadeChange.model_validate(value) for value in values)

    @property
    def row(self) -> str:
        """The reason that the row of the newest call shows."""
        [part] = self.messages[-1].parts
        assert isinstance(part, ToolPart)
        return call_outcome(part).reason

    async def _call(self, name: str, **given: Any) -> ToolOutcome:
        self.tools.messages = tuple(self.messages)
        shown = len(self.tools.shown)
        try:
            outcome = await self.tools.call(name, **given)
        except (UserError, PermissionDenied) as error:
            metadata: dict[str, Any] = {}
            for values in self.tools.shown[shown:]:
                metadata |= values
            part = self.builder.failed(name, str(error), metadata)
            self.messages.append(self.builder.assistant(part))
            raise
        part = self.builder.ran(name, outcome.output, **given)
        state = ToolCompleted(
            input=given,
            output=outcome.output,
            title=outcome.title,
            metadata=dict(outcome.metadata),
            time=Span(start=1, end=2),
        )
        self.messages.append(self.builder.assistant(part.model_copy(update={"state": state})))
        return outcome

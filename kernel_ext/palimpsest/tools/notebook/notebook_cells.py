"""Merge the notebook's cells from the live page, the kernel's record and the saved file.

Border: values, except one file that is read. The page determines which cells exist, their order and
source; the record their runs and outputs; the file replaces the page where none answers. Cells that the
user hides from the agent, in any of these, are not returned.
"""

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from palimpsest.tools.file_access.file_contents import read_resolved_file
from palimpsest.transcript.context_values.cell_runs import (
    CellRun,
    HiddenBy,
    NotebookRuns,
    OutputKind,
    RecordedOutput,
    has_hidden_tag,
    is_same_source,
)
from palimpsest.transcript.context_values.hidden_cells import (
    HiddenRuns,
    hidden_runs,
    is_hidden_cell,
)
from palimpsest.transcript.context_values.page_cells import PageCell, PageNotebook
from palimpsest.transcript.errors import NotFound

MAX_FILE_BYTES = 64_000_000
"""Maximum bytes of a notebook file that is read; of a larger one, only the recorded cells are known."""
_OUTPUT_KINDS: dict[str, OutputKind] = {"execute_result": "result", "display_data": "display"}
MAX_MIME_CHARS = 100
_IMAGE_TYPES = ("image/png", "image/jpeg")


@dataclass(frozen=True, slots=True)
class KnownCell:
    """A cell, merged from one or several sources."""

    kind: str
    """``code``, ``markdown`` or ``raw``."""
    run: CellRun
    """A source of the cell with the outputs of that source: its recorded run, or as page or file have it."""
    recorded: bool
    """Whether ``run`` is a run that this kernel recorded."""
    page_source: str | None = None
    """The source that the live page shows, where it differs from that of the run."""
    is_on_page: bool = False
    """Whether the cell is in a notebook that a page shows."""
    notebook: str = ""
    """The path of that notebook."""

    @property
    def source(self) -> str:
        """The present source of the cell."""
        return self.run.source if self.page_source is None else self.page_source


@dataclass(frozen=True, slots=True)
class KnownCells:
    """The cells of the notebook, in its order."""

    origin: Literal["page", "file", "record"]
    cells: tuple[KnownCell, ...]
    hidden_count: int = 0
    """Number of cells that the user hides from the agent."""
    deleted_runs: tuple[CellRun, ...] = ()
    """Runs of cells that are no longer in the notebook."""
    saved_at: float | None = None
    """Time at which the file was saved, in seconds since 1970."""


def cells_of_pages(
    pages: Sequence[PageNotebook], recorded_runs: NotebookRuns, own_path: Path | None
) -> KnownCells:
    """Return the cells of live pages with their recorded runs; ``own_path`` is the session's notebook."""
    newest_runs, runs_without_id = _newest_runs(recorded_runs)
    cells: list[KnownCell] = []
    hidden_count = 0
    present_ids: set[str] = set()
    for page in sorted(pages, key=lambda notebook: not is_own_notebook(notebook.path, own_path)):
        for cell in page.cells:
            run = newest_runs.get(cell.id)
            present_ids.add(cell.id)
            if cell.hidden or (run is not None and run.hidden):
                hidden_count += 1
                continue
            cells.append(_live_cell(cell, run, page.path))
    deleted_ids = recorded_runs.deleted_cells.union(*(page.deleted for page in pages)) - present_ids
    runs_not_in_pages = [
        run for cell_id, run in newest_runs.items() if cell_id not in present_ids | deleted_ids
    ]
    recorded_cells = _recorded_cells([*runs_not_in_pages, *runs_without_id])
    deleted_runs = sorted(
        (run for cell_id, run in newest_runs.items() if cell_id in deleted_ids and not run.hidden),
        key=lambda run: run.serial,
    )
    visible_cells = [known_cell for known_cell in recorded_cells if not known_cell.run.hidden]
    return KnownCells(
        "page",
        (*cells, *visible_cells),
        hidden_count=hidden_count + len(recorded_cells) - len(visible_cells),
        deleted_runs=tuple(deleted_runs),
    )


def cells_of_file(file: Path | None, recorded_runs: NotebookRuns) -> KnownCells:
    """Return the cells in the order of the saved file, then those that are only recorded."""
    saved_cells, saved_at = _saved_cells(file, hidden_runs(recorded_runs))
    newest_runs, runs_without_id = _newest_runs(recorded_runs)
    cells: list[KnownCell] = []
    for cell in saved_cells:
        if cell.run.cell_id in recorded_runs.deleted_cells:
            continue
        run = newest_runs.pop(cell.run.cell_id or "", None)
        cells.append(cell if run is None else replace(cell, run=run, recorded=True))
    runs_not_in_file = [
        run for cell_id, run in newest_runs.items() if cell_id not in recorded_runs.deleted_cells
    ]
    cells += _recorded_cells([*runs_not_in_file, *runs_without_id])
    visible_cells = tuple(known_cell for known_cell in cells if not known_cell.run.hidden)
    return KnownCells(
        "record" if saved_at is None else "file",
        visible_cells,
        hidden_count=len(cells) - len(visible_cells),
        saved_at=saved_at,
    )


def outputs_of(cell: PageCell) -> tuple[RecordedOutput, ...]:
    """Return the outputs that a page sent for a cell."""
    return tuple(_document_output(output) for output in cell.outputs)


def is_own_notebook(page_path: str, own_path: Path | None) -> bool:
    """Return whether a notebook in a page is the session's; a server's paths may begin at another folder."""
    return own_path is not None and f"/{own_path.as_posix()}".endswith(f"/{page_path}")


def _newest_runs(recorded_runs: NotebookRuns) -> tuple[dict[str, CellRun], list[CellRun]]:
    newest_runs: dict[str, CellRun] = {}
    runs_without_id: list[CellRun] = []
    for run in recorded_runs.runs:
        if run.cell_id is not None:
            newest_runs[run.cell_id] = run
        else:
            runs_without_id.append(run)
    return newest_runs, runs_without_id


def _recorded_cells(runs: Iterable[CellRun]) -> list[KnownCell]:
    return [
        KnownCell("code", run, recorded=True) for run in sorted(runs, key=lambda run: run.serial)
    ]


def _live_cell(cell: PageCell, run: CellRun | None, notebook: str) -> KnownCell:
    if run is None:
        page_run = CellRun(
            serial=0,
            version=0,
            source=cell.source or "",
            cell_id=cell.id,
            number=cell.number,
            outputs=outputs_of(cell),
            dropped=cell.dropped,
        )
        if any(output.kind == "error" for output in page_run.outputs):
            page_run = replace(page_run, status="error")
        return KnownCell(cell.kind, page_run, recorded=False, is_on_page=True, notebook=notebook)
    is_edited = cell.source is not None and not is_same_source(cell.source, run.source)
    page_source = cell.source if is_edited else None
    return KnownCell(
        cell.kind, run, recorded=True, page_source=page_source, is_on_page=True, notebook=notebook
    )


def _saved_cells(
    file: Path | None, hidden_runs: HiddenRuns
) -> tuple[list[KnownCell], float | None]:
    """Return the cells of a saved notebook and the time of saving; no cells and None where it cannot be read."""
    if file is None:
        return [], None
    try:
        saved_at = file.stat().st_mtime
        data = read_resolved_file(file.resolve(), MAX_FILE_BYTES + 1)
        document = json.loads(data) if len(data) <= MAX_FILE_BYTES else None
    except (OSError, ValueError, RecursionError):
        return [], None
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        return [], None
    return [_saved_cell(cell, hidden_runs) for cell in cells if isinstance(cell, dict)], saved_at


def _saved_cell(cell: dict[str, Any], hidden_runs: HiddenRuns) -> KnownCell:
    hidden_by: HiddenBy = "tag" if has_hidden_tag(cell.get("metadata")) else "private"
    number, cell_id = cell.get("execution_count"), cell.get("id")
    outputs = [
        _document_output(output) for output in cell.get("outputs") or () if isinstance(output, dict)
    ]
    run = CellRun(
        serial=0,
        version=0,
        source=joined_text(cell.get("source")),
        cell_id=cell_id if isinstance(cell_id, str) else None,
        number=number if isinstance(number, int) else None,
        status="error" if any(output.kind == "error" for output in outputs) else "ok",
        hidden=hidden_by if is_hidden_cell(cell, hidden_runs) else "",
        outputs=tuple(outputs),
    )
    return KnownCell(str(cell.get("cell_type", "code")), run, recorded=False)


def _document_output(output: dict[str, Any]) -> RecordedOutput:
    output_type = output.get("output_type")
    if output_type == "stream":
        is_stderr = output.get("name") == "stderr"
        return RecordedOutput("stderr" if is_stderr else "stdout", joined_text(output.get("text")))
    if output_type == "error":
        lines = output.get("traceback")
        text = "\n".join(map(str, lines)) if isinstance(lines, list) else ""
        error = (str(output.get("ename", "")), str(output.get("evalue", "")))
        return RecordedOutput("error", text, error=error)
    data = output.get("data")
    bundle = data if isinstance(data, dict) else {}
    return RecordedOutput(
        _OUTPUT_KINDS.get(str(output_type), "display"),
        joined_text(bundle.get("text/plain")),
        markup="" if bundle.get("text/plain") else joined_text(bundle.get("text/markdown")),
        mimes=tuple(str(mime)[:MAX_MIME_CHARS] for mime in bundle if mime != "text/plain"),
        image=_document_image(bundle),
    )


def _document_image(bundle: dict[str, Any]) -> tuple[str, bytes] | None:
    for mime in _IMAGE_TYPES:
        content = bundle.get(mime)
        if content:
            try:
                return mime, base64.b64decode(joined_text(content))
            except ValueError:
                return None
    return None


def joined_text(text: Any) -> str:
    """Return a text of a notebook file, which may be a list of lines."""
    if isinstance(text, list):
        return "".join(map(str, text))
    return text if isinstance(text, str) else ""


def find_cell(known_cells: KnownCells, cell_name: str) -> KnownCell:
    """Return the cell with this number or id; raises NotFound with the numbers that there are.

    Of several cells with the same number, the one that ran last is returned.
    """
    cells = known_cells.cells
    number_or_id = cell_name.strip("[]# ").removeprefix("cell ").removeprefix("id=").strip()
    if number_or_id.isdecimal():
        # A restarted kernel counts from 1 again.
        cells_of_number = [entry for entry in cells if entry.run.number == int(number_or_id)]
        if cells_of_number:
            return max(cells_of_number, key=lambda cell: (cell.recorded, cell.run.serial))
    for cell in cells:
        if cell.run.cell_id == number_or_id:
            return cell
    if any(number_or_id in (str(run.number), run.cell_id) for run in known_cells.deleted_runs):
        raise NotFound(f"The user deleted cell {cell_name!r} from the notebook since it ran.")
    numbers = [entry.run.number for entry in cells if entry.run.number is not None]
    hint = f" Cells that ran: {', '.join(map(str, sorted(set(numbers))))}." if numbers else ""
    raise NotFound(
        f"There is no cell {cell_name!r} that you may read.{hint} The notebook tool, called without a cell, lists them."
    )

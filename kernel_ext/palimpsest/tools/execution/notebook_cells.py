"""Bring together what is known of the notebook's cells: the live page, the kernel's record, the saved file.

Border: values to values, and one file is read. The page is believed for order, source and what is there at
all; the record for what ran and what came out; the file where no page answers. Nothing of a cell that the
user keeps from the agent is returned, whichever source it is hidden in.
"""

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from palimpsest.tools.file_access.file_contents import read_real
from palimpsest.transcript.context_values.cell_runs import (
    CellRun,
    HiddenBy,
    NotebookRuns,
    OutputKind,
    RecordedOutput,
    same_source,
)
from palimpsest.transcript.context_values.hidden_cells import (
    HiddenRuns,
    hidden_runs,
    is_hidden_cell,
)
from palimpsest.transcript.context_values.hidden_tag import has_hidden_tag
from palimpsest.transcript.context_values.page_cells import PageCell, PageNotebook

MOST_FILE_BYTES = 64_000_000
"""A notebook file that is larger is not read; its recorded cells are."""
_KINDS: dict[str, OutputKind] = {"execute_result": "result", "display_data": "display"}
_IMAGES = ("image/png", "image/jpeg")


@dataclass(frozen=True, slots=True)
class KnownCell:
    """A cell as it is known, from one source or from several."""

    kind: str
    """``code``, ``markdown`` or ``raw``."""
    run: CellRun
    """Its source and its outputs, which belong together: as it ran, or as page or file hold them."""
    recorded: bool
    """The kernel recorded its newest run."""
    now: str | None = None
    """What the live page's cell holds, where that is not what ran."""
    live: bool = False
    """It is in a notebook that a page shows now."""
    notebook: str = ""
    """The path of that notebook."""

    @property
    def source(self) -> str:
        """What the cell holds, as far as is known."""
        return self.run.source if self.now is None else self.now


@dataclass(frozen=True, slots=True)
class KnownCells:
    """The cells of the notebook, in its order."""

    origin: Literal["page", "file", "record"]
    cells: tuple[KnownCell, ...]
    hidden: int = 0
    """Cells that the user keeps from the agent."""
    deleted: tuple[CellRun, ...] = ()
    """Runs of cells that are no longer in the notebook."""
    saved_at: float | None = None
    """When the file was saved, in seconds since 1970."""


def cells_of_pages(
    pages: Sequence[PageNotebook], recorded: NotebookRuns, own: Path | None
) -> KnownCells:
    """Return the cells that live pages show, with the record of what ran; ``own`` is the session's notebook."""
    newest, without_id = _newest(recorded)
    found: list[KnownCell] = []
    hidden = 0
    present: set[str] = set()
    for page in sorted(pages, key=lambda one: not _is_own(one, own)):
        for cell in page.cells:
            run = newest.get(cell.id)
            present.add(cell.id)
            if cell.hidden or (run is not None and run.hidden):
                hidden += 1
                continue
            found.append(_live(cell, run, page.path))
    gone = recorded.deleted.union(*(page.deleted for page in pages)) - present
    elsewhere = [run for one, run in newest.items() if one not in present | gone]
    others = _only_recorded([*elsewhere, *without_id])
    deleted = sorted(
        (run for one, run in newest.items() if one in gone and not run.hidden),
        key=lambda one: one.serial,
    )
    shown = [one for one in others if not one.run.hidden]
    return KnownCells(
        "page",
        (*found, *shown),
        hidden=hidden + len(others) - len(shown),
        deleted=tuple(deleted),
    )


def cells_of_file(file: Path | None, recorded: NotebookRuns) -> KnownCells:
    """Return the cells in the order of the saved file, then those that are only recorded."""
    saved, when = _saved_cells(file, hidden_runs(recorded))
    newest, without_id = _newest(recorded)
    found: list[KnownCell] = []
    for cell in saved:
        if cell.run.cell_id in recorded.deleted:
            continue
        run = newest.pop(cell.run.cell_id or "", None)
        found.append(cell if run is None else replace(cell, run=run, recorded=True))
    only = [run for one, run in newest.items() if one not in recorded.deleted]
    found += _only_recorded([*only, *without_id])
    shown = tuple(one for one in found if not one.run.hidden)
    return KnownCells(
        "record" if when is None else "file", shown, hidden=len(found) - len(shown), saved_at=when
    )


def outputs_of(cell: PageCell) -> tuple[RecordedOutput, ...]:
    """Return the outputs that a page told of a cell."""
    return tuple(_saved_output(one) for one in cell.outputs)


def _is_own(page: PageNotebook, own: Path | None) -> bool:
    """Tell whether a page shows the session's notebook: a server may begin its paths at another folder."""
    return own is not None and f"/{own.as_posix()}".endswith(f"/{page.path}")


def _newest(recorded: NotebookRuns) -> tuple[dict[str, CellRun], list[CellRun]]:
    newest: dict[str, CellRun] = {}
    without_id: list[CellRun] = []
    for run in recorded.runs:
        if run.cell_id is not None:
            newest[run.cell_id] = run
        else:
            without_id.append(run)
    return newest, without_id


def _only_recorded(runs: Iterable[CellRun]) -> list[KnownCell]:
    return [
        KnownCell("code", run, recorded=True) for run in sorted(runs, key=lambda one: one.serial)
    ]


def _live(cell: PageCell, run: CellRun | None, notebook: str) -> KnownCell:
    if run is None:
        shown = CellRun(
            serial=0,
            version=0,
            source=cell.source or "",
            cell_id=cell.id,
            number=cell.number,
            outputs=outputs_of(cell),
            dropped=cell.dropped,
        )
        if any(one.kind == "error" for one in shown.outputs):
            shown = replace(shown, status="error")
        return KnownCell(cell.kind, shown, recorded=False, live=True, notebook=notebook)
    edited = cell.source is not None and not same_source(cell.source, run.source)
    now = cell.source if edited else None
    return KnownCell(cell.kind, run, recorded=True, now=now, live=True, notebook=notebook)


def _saved_cells(file: Path | None, hidden: HiddenRuns) -> tuple[list[KnownCell], float | None]:
    """Return the cells of a saved notebook and when it was saved; none where it cannot be read."""
    if file is None:
        return [], None
    try:
        when = file.stat().st_mtime
        data = read_real(file.resolve(), MOST_FILE_BYTES + 1)
        if len(data) > MOST_FILE_BYTES:
            return [], None
        document = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return [], None
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        return [], None
    return [_saved(one, hidden) for one in cells if isinstance(one, dict)], when


def _saved(cell: dict[str, Any], hidden: HiddenRuns) -> KnownCell:
    by: HiddenBy = "tag" if has_hidden_tag(cell.get("metadata")) else "private"
    number, named = cell.get("execution_count"), cell.get("id")
    outputs = [_saved_output(one) for one in cell.get("outputs") or () if isinstance(one, dict)]
    run = CellRun(
        serial=0,
        version=0,
        source=_text(cell.get("source")),
        cell_id=named if isinstance(named, str) else None,
        number=number if isinstance(number, int) else None,
        status="error" if any(one.kind == "error" for one in outputs) else "ok",
        hidden=by if is_hidden_cell(cell, hidden) else "",
        outputs=tuple(outputs),
    )
    return KnownCell(str(cell.get("cell_type", "code")), run, recorded=False)


def _saved_output(output: dict[str, Any]) -> RecordedOutput:
    kind = output.get("output_type")
    if kind == "stream":
        stderr = output.get("name") == "stderr"
        return RecordedOutput("stderr" if stderr else "stdout", _text(output.get("text")))
    if kind == "error":
        lines = output.get("traceback")
        text = "\n".join(map(str, lines)) if isinstance(lines, list) else ""
        named = (str(output.get("ename", "")), str(output.get("evalue", "")))
        return RecordedOutput("error", text, error=named)
    data = output.get("data")
    bundle = data if isinstance(data, dict) else {}
    return RecordedOutput(
        _KINDS.get(str(kind), "display"),
        _text(bundle.get("text/plain")),
        markup="" if bundle.get("text/plain") else _text(bundle.get("text/markdown")),
        mimes=tuple(str(mime)[:100] for mime in bundle if mime != "text/plain"),
        image=_saved_image(bundle),
    )


def _saved_image(bundle: dict[str, Any]) -> tuple[str, bytes] | None:
    for mime in _IMAGES:
        content = bundle.get(mime)
        if content:
            try:
                return mime, base64.b64decode(_text(content))
            except ValueError:
                return None
    return None


def _text(text: Any) -> str:
    if isinstance(text, list):
        return "".join(map(str, text))
    return text if isinstance(text, str) else ""

"""The notebook tool: an outline of the notebook's cells, or one cell with its source, outputs and images.

Border: reads the live page where there is one, else the kernel's record and the saved file
(``tools/notebook/notebook_cells.py``); writes nothing and runs nothing. The output names the source of each
piece, since a file on disk may be older than the page. Hidden cells are counted, not shown.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, Field

from palimpsest.tools.calls.images import fit_image
from palimpsest.tools.notebook.notebook_cells import (
    KnownCell,
    KnownCells,
    cells_of_file,
    cells_of_pages,
    find_cell,
    outputs_of,
)
from palimpsest.tools.tool import NotebookReader, ToolContext, ToolOutcome
from palimpsest.transcript.context_values.cell_runs import (
    SEEN_KEY,
    CellRun,
    NotebookRuns,
    RecordedOutput,
    source_hash,
)
from palimpsest.transcript.context_values.page_cells import CellsWanted
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import Attachment

MAX_PAGE_SECONDS = 2.0
"""Maximum wait for a page; a hidden or dead tab must not delay the turn."""
MAX_OUTLINE_OUTPUT_CHARS = 400
"""Maximum characters that the page sends of each output for an outline, which shows only kinds and sizes of outputs."""
MAX_CELL_OUTPUT_CHARS = 48_000
"""Maximum characters that the page sends of each output of a single requested cell."""
MAX_CELLS = 300
"""Maximum cells of an outline."""
MAX_SUMMARIES = 6
"""Maximum outputs of a cell that its line in an outline summarises."""
MAX_IMAGES = 4
MAX_LINE_CHARS = 90
SHORTENED_MARK = "characters left out]"


class NotebookArguments(BaseModel):
    """Input of the notebook tool."""

    cell: str | None = Field(
        default=None,
        description="The number beside a cell, such as 4, or its id. Leave out for an outline of all cells.",
    )
    outputs: bool = Field(
        default=True, description="Show the cell's outputs too, not only its source."
    )


class NotebookTool:
    """Reads the notebook's cells."""

    name = "notebook"
    description = (
        "Read the user's notebook: without arguments an outline of its cells, with a cell's number or id its "
        "source, outputs, errors and pictures. Runs nothing. Use it when the user speaks of a cell or an output "
        "that you were not told of, or that was shortened."
    )
    arguments: type[BaseModel] = NotebookArguments
    concurrent = True
    permission = "notebook"

    async def run(self, arguments: NotebookArguments, context: ToolContext) -> ToolOutcome:
        """Return an outline, or one cell; raises NotFound for an unknown cell."""
        if context.notebook is None:
            raise UserError("There is no kernel here, so there is no notebook to read.")
        reader = context.notebook
        known_cells = await _known_cells(reader, context)
        scrub = context.scrubber()
        cell_name = (arguments.cell or "").strip()
        if not cell_name:
            title = _count_text(len(known_cells.cells), "cell")
            outline = scrub(_outline(known_cells, reader.recorded_runs()))
            whole_cells = [cell for cell in known_cells.cells[:MAX_CELLS] if _is_shown_whole(cell)]
            return ToolOutcome(title, outline, {SEEN_KEY: _seen_hashes(whole_cells)})
        cell = find_cell(known_cells, cell_name)
        if arguments.outputs and cell.is_on_page and not cell.recorded:
            cell = await _with_outputs(cell, reader)
        return ToolOutcome(
            _cell_title(cell),
            scrub(_cell_text(cell, known_cells.saved_at, outputs=arguments.outputs)),
            {"cell_id": cell.run.cell_id, SEEN_KEY: _seen_hashes((cell,))},
            output_images(cell.run) if arguments.outputs else (),
        )


def _seen_hashes(cells: Sequence[KnownCell]) -> dict[str, str]:
    """Return hashes of the sources that an output shows, by cell id, with which later changes are compared."""
    return {cell.run.cell_id: source_hash(cell.source) for cell in cells if cell.run.cell_id}


def _is_shown_whole(cell: KnownCell) -> bool:
    """Return whether the outline shows all of a cell's source."""
    return _first_line(cell.source) == cell.source.strip()


async def _known_cells(reader: NotebookReader, context: ToolContext) -> KnownCells:
    """Return the cells of the live page, or without a page those of record and file."""
    notebook_file = context.extra_values.get("notebook_file")
    own_path = notebook_file if isinstance(notebook_file, Path) else None
    pages = await reader.page(CellsWanted(output_chars=MAX_OUTLINE_OUTPUT_CHARS), MAX_PAGE_SECONDS)
    recorded_runs = reader.recorded_runs()
    if pages:
        return cells_of_pages(pages, recorded_runs, own_path)
    return await asyncio.to_thread(cells_of_file, own_path, recorded_runs)


async def _with_outputs(cell: KnownCell, reader: NotebookReader) -> KnownCell:
    """Return a cell that did not run here with the outputs of the page."""
    request = CellsWanted(cell.run.cell_id, MAX_CELL_OUTPUT_CHARS, images=True)
    for page in await reader.page(request, MAX_PAGE_SECONDS) or ():
        for entry in page.cells:
            if entry.id == cell.run.cell_id and page.path == cell.notebook and not entry.hidden:
                run = replace(cell.run, outputs=outputs_of(entry), dropped=entry.dropped)
                return replace(cell, run=run)
    return cell


def _outline(known_cells: KnownCells, recorded_runs: NotebookRuns) -> str:
    if not known_cells.cells and known_cells.origin == "record":
        return "No cell ran in this kernel yet, and there is no saved notebook."
    lines = [_introduction(known_cells)]
    notebooks = {cell.notebook for cell in known_cells.cells if cell.is_on_page}
    last_heading = ""
    for cell in known_cells.cells[:MAX_CELLS]:
        heading = ""
        if known_cells.origin == "page":
            heading = _notebook_heading(cell, is_needed=len(notebooks) > 1)
        if heading != last_heading:
            lines.append(heading)
            last_heading = heading
        lines.append(_cell_line(cell))
    if len(known_cells.cells) > MAX_CELLS:
        lines.append(f"({len(known_cells.cells) - MAX_CELLS} more cells are not listed.)")
    if known_cells.deleted_runs:
        deleted_text = ", ".join(
            f"[{run.number or ' '}] {_first_line(run.source)}" for run in known_cells.deleted_runs
        )
        lines.append(f"Deleted from the notebook since they ran: {deleted_text}")
    if known_cells.hidden_count:
        lines.append(
            f"({_count_text(known_cells.hidden_count, 'cell')} kept from you by the user.)"
        )
    if recorded_runs.earlier_runs and known_cells.origin == "record":
        lines += _earlier_cells(recorded_runs.earlier_runs)
    if recorded_runs.forgotten:
        lines.append(f"({_count_text(recorded_runs.forgotten, 'older run')} not kept.)")
    return "\n".join(lines)


def _earlier_cells(cells: Sequence[tuple[int, str]]) -> list[str]:
    """Return lines about cells that ran before the recording, without the source of those that may be hidden."""
    cell_list = ", ".join(f"[{number}] {_first_line(source)}" for number, source in cells if source)
    unknown_count = sum(not source for _, source in cells)
    lines = [f"Before the agent was loaded, outputs unknown: {cell_list}"] if cell_list else []
    if unknown_count:
        lines.append(
            f"({_count_text(unknown_count, 'cell')} ran before the agent was loaded. Whether the user keeps any of them from you is "
            "not known, so they are not told.)"
        )
    return lines


def _notebook_heading(cell: KnownCell, *, is_needed: bool) -> str:
    """Return the heading for a cell's notebook; empty where all cells are of one notebook."""
    if not cell.is_on_page:
        return (
            "Ran in this kernel, but in no notebook that a page shows (a console, a closed page):"
        )
    return f"In {cell.notebook}:" if is_needed else ""


def _introduction(known_cells: KnownCells) -> str:
    cells = known_cells.cells
    if known_cells.origin == "page":
        return (
            "As the live page shows the notebook now, in its order. Cells marked * ran in this kernel as they "
            "are; ~ were edited since they ran, so their outputs belong to an earlier source; the others did "
            "not run in this kernel:"
        )
    if known_cells.origin == "record":
        return "As this kernel recorded them; no page answers, and the notebook is not saved where it can be read:"
    recorded_count = sum(entry.recorded for entry in cells)
    return (
        f"No page answers; in the order of the file saved at {_time_text(known_cells.saved_at)}. Cells marked * are as "
        f"they ran in this kernel ({recorded_count} of {len(cells)}), the others as saved:"
    )


def _time_text(timestamp: float | None) -> str:
    return time.strftime("%H:%M:%S", time.localtime(timestamp))


def _cell_line(cell: KnownCell) -> str:
    run = cell.run
    number = f"[{run.number if run.number is not None else ' '}]" if cell.kind == "code" else "[md]"
    summaries = [_output_summary(output) for output in run.outputs][:MAX_SUMMARIES]
    summaries += (
        [f"{len(run.outputs) - MAX_SUMMARIES} more outputs"]
        if len(run.outputs) > MAX_SUMMARIES
        else []
    )
    status = run.status if run.status != "ok" else ""
    states = ", ".join(filter(None, (status, _state_text(cell))))
    state = f" {states}" if states else ""
    identifier = f" id={run.cell_id}" if run.cell_id else ""
    outputs_text = f"  -> {'; '.join(summaries)}" if summaries else ""
    marker = "~" if cell.page_source is not None else "*" if cell.recorded else " "
    return f"{marker}{number}{identifier}{state}: {_first_line(cell.source)}{outputs_text}"


def _state_text(cell: KnownCell) -> str:
    """Return how the page's cell differs from the recorded run; empty where it does not."""
    if cell.page_source is not None:
        return "edited since it ran"
    if not cell.is_on_page or cell.recorded or cell.kind != "code":
        return ""
    return "not run" if cell.run.number is None else "not run since the agent was loaded"


def _output_summary(output: RecordedOutput) -> str:
    if output.error is not None:
        return _first_line(f"{output.error[0]}: {output.error[1]}")
    kinds = ", ".join(output.mimes)
    text = output.text.rstrip("\n")
    lines = text.count("\n") + 1 if text else 0
    if SHORTENED_MARK in output.text:
        return " ".join(word for word in (output.kind, "long", kinds) if word)
    size = f"{lines} lines" if lines > 1 else f"{len(text)} characters" if lines else ""
    return " ".join(word for word in (output.kind, size, kinds) if word)


def _first_line(text: str) -> str:
    line = next((row.strip() for row in text.splitlines() if row.strip()), "(empty)")
    return line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 3] + "..."


def _cell_title(cell: KnownCell) -> str:
    return f"cell {cell.run.number if cell.run.number is not None else cell.run.cell_id or '?'}"


def _cell_text(cell: KnownCell, saved_at: float | None, *, outputs: bool) -> str:
    run = cell.run
    facts = [
        _cell_title(cell),
        f"id {run.cell_id}" if run.cell_id else "",
        run.status if run.status != "ok" else "",
        _state_text(cell),
        _sources_text(cell, saved_at),
    ]
    sections = [f"[{', '.join(fact for fact in facts if fact)}]"]
    if cell.page_source is None:
        sections.append(f"[source]\n{run.source}")
    else:
        sections.append(f"[source now, on the live page; it did not run]\n{cell.page_source}")
        sections.append(f"[source that ran, to which the outputs belong]\n{run.source}")
    if outputs:
        sections += [output_section(output) for output in run.outputs]
        if run.dropped:
            sections.append(f"({run.dropped} more outputs were not kept.)")
        if not run.outputs:
            sections.append("(no output)")
    return "\n\n".join(sections)


def _sources_text(cell: KnownCell, saved_at: float | None) -> str:
    if cell.is_on_page and cell.recorded:
        return "source from the live page, outputs as this kernel recorded them"
    if cell.is_on_page:
        return "source and outputs from the live page"
    return "as it ran in this kernel" if cell.recorded else f"as saved at {_time_text(saved_at)}"


def output_section(output: RecordedOutput) -> str:
    """Return one output of a cell with its kind, for the model."""
    kinds = f" {', '.join(output.mimes)}" if output.mimes else ""
    body = output.text.rstrip() or output.markup.rstrip()
    return f"[{output.kind}{kinds}]\n{body}".rstrip()


def output_images(run: CellRun) -> tuple[Attachment, ...]:
    """Return the pictures of a run that a model takes, at most ``MAX_IMAGES``, shrunk where they are too large."""
    attachments: list[Attachment] = []
    for output in run.outputs:
        if output.image is None or len(attachments) == MAX_IMAGES:
            continue
        try:
            image = fit_image(output.image[1], "The picture")
        except UserError:
            continue
        attachments.append(Attachment(mime=image.mime, url=image.url))
    return tuple(attachments)


def _count_text(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

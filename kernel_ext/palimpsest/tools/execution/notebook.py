"""Show the model the notebook's cells: an outline, or one cell with its source, outputs and pictures.

Border: asks the live page where there is one, else reads the kernel's record and the saved file
(``tools/execution/notebook_cells.py``); writes nothing and runs nothing. It says where each piece comes
from, since a file on disk may be older than what the user sees. Hidden cells are counted, not shown.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, Field

from palimpsest.tools.calls.images import fit_image
from palimpsest.tools.execution.notebook_cells import (
    KnownCell,
    KnownCells,
    cells_of_file,
    cells_of_pages,
    outputs_of,
)
from palimpsest.tools.tool import NotebookReader, ToolContext, ToolOutcome
from palimpsest.transcript.context_values.cell_runs import NotebookRuns, RecordedOutput
from palimpsest.transcript.context_values.page_cells import CellsWanted
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.parts import Attachment

PAGE_SECONDS = 2.0
"""How long a page is waited for; a hidden or dead tab must not hold the turn up."""
OUTLINE_CHARS = 400
"""Characters of an output that an outline asks the page for: it names outputs only."""
OUTPUT_CHARS = 48_000
"""Characters of an output of one cell that the page is asked for."""
MOST_CELLS = 300
"""Cells of one outline."""
MOST_IMAGES = 4
LINE_CHARS = 90
LEFT_OUT = "characters left out]"


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
        """Return an outline, or one cell; raises NotFound for a cell that is not there."""
        if context.notebook is None:
            raise UserError("There is no kernel here, so there is no notebook to read.")
        reader = context.notebook
        known = await _known(reader, context)
        clean = context.scrubber()
        wanted = (arguments.cell or "").strip()
        if not wanted:
            title = _count(len(known.cells), "cell")
            return ToolOutcome(title, clean(_outline(known, reader.runs())))
        cell = _find(known, wanted)
        if arguments.outputs and cell.live and not cell.recorded:
            cell = await _with_outputs(cell, reader)
        return ToolOutcome(
            _name(cell),
            clean(_whole(cell, known.saved_at, outputs=arguments.outputs)),
            {"cell_id": cell.run.cell_id},
            _pictures(cell) if arguments.outputs else (),
        )


async def _known(reader: NotebookReader, context: ToolContext) -> KnownCells:
    """Return the cells as the live page shows them, or else as record and file hold them."""
    named = context.extra.get("notebook_file")
    file = named if isinstance(named, Path) else None
    pages = await reader.page(CellsWanted(output_chars=OUTLINE_CHARS), PAGE_SECONDS)
    recorded = reader.runs()
    if pages:
        return cells_of_pages(pages, recorded, file)
    return await asyncio.to_thread(cells_of_file, file, recorded)


async def _with_outputs(cell: KnownCell, reader: NotebookReader) -> KnownCell:
    """Return a cell that did not run here with its outputs as the page shows them."""
    wanted = CellsWanted(cell.run.cell_id, OUTPUT_CHARS, images=True)
    for page in await reader.page(wanted, PAGE_SECONDS) or ():
        for one in page.cells:
            if one.id == cell.run.cell_id and page.path == cell.notebook and not one.hidden:
                run = replace(cell.run, outputs=outputs_of(one), dropped=one.dropped)
                return replace(cell, run=run)
    return cell


def _outline(known: KnownCells, recorded: NotebookRuns) -> str:
    if not known.cells and known.origin == "record":
        return "No cell ran in this kernel yet, and there is no saved notebook."
    lines = [_origin(known)]
    several = len({one.notebook for one in known.cells if one.live}) > 1
    before = ""
    for cell in known.cells[:MOST_CELLS]:
        place = _place(cell, several=several) if known.origin == "page" else ""
        if place != before:
            lines.append(place)
            before = place
        lines.append(_line(cell))
    if len(known.cells) > MOST_CELLS:
        lines.append(f"({len(known.cells) - MOST_CELLS} more cells are not listed.)")
    if known.deleted:
        gone = ", ".join(f"[{one.number or ' '}] {_first(one.source)}" for one in known.deleted)
        lines.append(f"Deleted from the notebook since they ran: {gone}")
    if known.hidden:
        lines.append(f"({_count(known.hidden, 'cell')} kept from you by the user.)")
    if recorded.earlier and known.origin == "record":
        lines += _earlier(recorded.earlier)
    if recorded.forgotten:
        lines.append(f"({_count(recorded.forgotten, 'older run')} not kept.)")
    return "\n".join(lines)


def _earlier(cells: Sequence[tuple[int, str]]) -> list[str]:
    """Return lines about the cells that ran before the recording; not what is in those that may have been hidden."""
    told = ", ".join(f"[{number}] {_first(source)}" for number, source in cells if source)
    untold = sum(not source for _, source in cells)
    lines = [f"Before the agent was loaded, outputs unknown: {told}"] if told else []
    if untold:
        lines.append(
            f"({_count(untold, 'cell')} ran before the agent was loaded. Whether the user keeps any of them from you is "
            "not known, so they are not told.)"
        )
    return lines


def _place(cell: KnownCell, *, several: bool) -> str:
    """Return the heading of the cells around a cell of live pages; empty where there is one notebook."""
    if not cell.live:
        return (
            "Ran in this kernel, but in no notebook that a page shows (a console, a closed page):"
        )
    return f"In {cell.notebook}:" if several else ""


def _origin(known: KnownCells) -> str:
    cells = known.cells
    if known.origin == "page":
        return (
            "As the live page shows the notebook now, in its order. Cells marked * ran in this kernel as they "
            "are; ~ were edited since they ran, so their outputs belong to an earlier source; the others did "
            "not run in this kernel:"
        )
    if known.origin == "record":
        return "As this kernel recorded them; no page answers, and the notebook is not saved where it can be read:"
    ran = sum(one.recorded for one in cells)
    return (
        f"No page answers; in the order of the file saved at {_moment(known.saved_at)}. Cells marked * are as "
        f"they ran in this kernel ({ran} of {len(cells)}), the others as saved:"
    )


def _moment(when: float | None) -> str:
    return time.strftime("%H:%M:%S", time.localtime(when))


def _line(cell: KnownCell) -> str:
    run = cell.run
    number = f"[{run.number if run.number is not None else ' '}]" if cell.kind == "code" else "[md]"
    facts = [_summary(one) for one in run.outputs][:6]
    facts += [f"{len(run.outputs) - 6} more outputs"] if len(run.outputs) > 6 else []
    states = [one for one in (run.status if run.status != "ok" else "", _state(cell)) if one]
    state = f" {', '.join(states)}" if states else ""
    named = f" id={run.cell_id}" if run.cell_id else ""
    told = f"  -> {'; '.join(facts)}" if facts else ""
    mark = "~" if cell.now is not None else "*" if cell.recorded else " "
    return f"{mark}{number}{named}{state}: {_first(cell.source)}{told}"


def _state(cell: KnownCell) -> str:
    """Return how what the page's cell holds relates to what ran; empty where it is the same."""
    if cell.now is not None:
        return "edited since it ran"
    if not cell.live or cell.recorded or cell.kind != "code":
        return ""
    return "not run" if cell.run.number is None else "not run since the agent was loaded"


def _summary(output: RecordedOutput) -> str:
    if output.error is not None:
        return _first(f"{output.error[0]}: {output.error[1]}")
    kinds = ", ".join(output.mimes)
    text = output.text.rstrip("\n")
    lines = text.count("\n") + 1 if text else 0
    if LEFT_OUT in output.text:
        return " ".join(one for one in (output.kind, "long", kinds) if one)
    size = f"{lines} lines" if lines > 1 else f"{len(text)} characters" if lines else ""
    return " ".join(one for one in (output.kind, size, kinds) if one)


def _first(text: str) -> str:
    line = next((one.strip() for one in text.splitlines() if one.strip()), "(empty)")
    return line if len(line) <= LINE_CHARS else line[: LINE_CHARS - 3] + "..."


def _find(known: KnownCells, wanted: str) -> KnownCell:
    cells = known.cells
    plain = wanted.strip("[]# ").removeprefix("cell ").strip()
    if plain.isdecimal():
        # The newest of several with one number: a kernel that was restarted counts again.
        numbered = [one for one in cells if one.run.number == int(plain)]
        if numbered:
            return max(numbered, key=lambda one: (one.recorded, one.run.serial))
    for cell in cells:
        if cell.run.cell_id == plain:
            return cell
    if any(plain in (str(one.number), one.cell_id) for one in known.deleted):
        raise NotFound(f"The user deleted cell {wanted!r} from the notebook since it ran.")
    numbers = [one.run.number for one in cells if one.run.number is not None]
    told = f" Cells that ran: {', '.join(map(str, sorted(set(numbers))))}." if numbers else ""
    raise NotFound(
        f"There is no cell {wanted!r} that you may read.{told} Call without a cell for the outline."
    )


def _name(cell: KnownCell) -> str:
    return f"cell {cell.run.number if cell.run.number is not None else cell.run.cell_id or '?'}"


def _whole(cell: KnownCell, when: float | None, *, outputs: bool) -> str:
    run = cell.run
    facts = [
        _name(cell),
        f"id {run.cell_id}" if run.cell_id else "",
        run.status if run.status != "ok" else "",
        _state(cell),
        _pieces_from(cell, when),
    ]
    sections = [f"[{', '.join(one for one in facts if one)}]"]
    if cell.now is None:
        sections.append(f"[source]\n{run.source}")
    else:
        sections.append(f"[source now, on the live page; it did not run]\n{cell.now}")
        sections.append(f"[source that ran, to which the outputs belong]\n{run.source}")
    if outputs:
        sections += [_section(one) for one in run.outputs]
        if run.dropped:
            sections.append(f"({run.dropped} more outputs were not kept.)")
        if not run.outputs:
            sections.append("(no output)")
    return "\n\n".join(sections)


def _pieces_from(cell: KnownCell, when: float | None) -> str:
    """Say where source and outputs come from."""
    if cell.live and cell.recorded:
        return "source from the live page, outputs as this kernel recorded them"
    if cell.live:
        return "source and outputs from the live page"
    return "as it ran in this kernel" if cell.recorded else f"as saved at {_moment(when)}"


def _section(output: RecordedOutput) -> str:
    kinds = f" {', '.join(output.mimes)}" if output.mimes else ""
    body = output.text.rstrip() or output.markup.rstrip()
    return f"[{output.kind}{kinds}]\n{body}".rstrip()


def _pictures(cell: KnownCell) -> tuple[Attachment, ...]:
    found: list[Attachment] = []
    for output in cell.run.outputs:
        if output.image is None or len(found) == MOST_IMAGES:
            continue
        try:
            fitted = fit_image(output.image[1], "The picture")
        except UserError:
            continue
        found.append(Attachment(mime=fitted.mime, url=fitted.url))
    return tuple(found)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"

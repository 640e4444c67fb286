"""Show the model the notebook's cells: an outline, or one cell with its source, outputs and pictures.

Border: reads what the kernel recorded of the cells that ran, and the saved file for the others and for
their order; writes nothing and runs nothing. It says where each piece comes from, since the file on disk
may be older than what the user sees. Cells that the user keeps from the agent are counted, not shown.
"""

import asyncio
import base64
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from palimpsest.tools.calls import key_redaction
from palimpsest.tools.calls.images import fit_image
from palimpsest.tools.file_access.safe_open import read_real
from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.context_values.cell_runs import (
    HIDDEN_TAG,
    CellRun,
    NotebookRuns,
    OutputKind,
    RecordedOutput,
)
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.parts import Attachment

MOST_FILE_BYTES = 64_000_000
"""A notebook file that is larger is not read; its recorded cells are."""
MOST_CELLS = 300
"""Cells of one outline."""
MOST_IMAGES = 4
LINE_CHARS = 90
_KINDS: dict[str, OutputKind] = {"execute_result": "result", "display_data": "display"}
_IMAGES = ("image/png", "image/jpeg")


class NotebookArguments(BaseModel):
    """Input of the notebook tool."""

    cell: str | None = Field(
        default=None,
        description="The number beside a cell, such as 4, or its id. Leave out for an outline of all cells.",
    )
    outputs: bool = Field(
        default=True, description="Show the cell's outputs too, not only its source."
    )


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell as it is known: from the kernel's record, from the saved file, or from both."""

    kind: str
    """``code``, ``markdown`` or ``raw``."""
    run: CellRun
    recorded: bool
    """The kernel recorded its newest run; otherwise it stands as it was saved."""
    at: int | None
    """Its place in the saved file, from 1."""


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
        recorded = context.notebook.runs()
        file = context.extra.get("notebook_file")
        saved, when = await asyncio.to_thread(
            _saved_cells, file if isinstance(file, Path) else None
        )
        cells, hidden = _cells(recorded, saved)
        clean = key_redaction.for_context(context)
        wanted = (arguments.cell or "").strip()
        if not wanted:
            return ToolOutcome(
                _count(len(cells), "cell"), clean(_outline(cells, hidden, recorded, when))
            )
        cell = _find(cells, wanted)
        return ToolOutcome(
            _name(cell),
            clean(_whole(cell, when, outputs=arguments.outputs)),
            {"cell_id": cell.run.cell_id},
            _pictures(cell) if arguments.outputs else (),
        )


def _cells(recorded: NotebookRuns, saved: Sequence[_Cell]) -> tuple[list[_Cell], int]:
    """Return the cells in the order of the file, then those that are only recorded; and the hidden ones' number."""
    newest: dict[str, CellRun] = {}
    without_id: list[CellRun] = []
    for run in recorded.runs:
        if run.cell_id is not None:
            newest[run.cell_id] = run
        else:
            without_id.append(run)
    found: list[_Cell] = []
    for cell in saved:
        if cell.run.cell_id in recorded.deleted:
            continue
        named = cell.run.cell_id or ""
        recorded_run = newest.pop(named) if named in newest else None
        found.append(
            cell if recorded_run is None else replace(cell, run=recorded_run, recorded=True)
        )
    only = [*(run for one, run in newest.items() if one not in recorded.deleted), *without_id]
    found += [
        _Cell("code", run, recorded=True, at=None)
        for run in sorted(only, key=lambda one: one.serial)
    ]
    shown = [one for one in found if not one.run.hidden]
    return shown, len(found) - len(shown)


def _outline(
    cells: Sequence[_Cell], hidden: int, recorded: NotebookRuns, when: float | None
) -> str:
    if not cells:
        return "No cell ran in this kernel yet, and there is no saved notebook."
    lines = [_origin(cells, when)]
    lines += [_line(one) for one in cells[:MOST_CELLS]]
    if len(cells) > MOST_CELLS:
        lines.append(f"({len(cells) - MOST_CELLS} more cells are not listed.)")
    if hidden:
        lines.append(f"({_count(hidden, 'cell')} kept from you by the user.)")
    if recorded.earlier and when is None:
        earlier = ", ".join(f"[{number}] {_first(source)}" for number, source in recorded.earlier)
        lines.append(f"Before the agent was loaded, outputs unknown: {earlier}")
    if recorded.forgotten:
        lines.append(f"({_count(recorded.forgotten, 'older run')} not kept.)")
    return "\n".join(lines)


def _origin(cells: Sequence[_Cell], when: float | None) -> str:
    if when is None:
        return "As this kernel recorded them; the notebook is not saved where it can be read:"
    moment = time.strftime("%H:%M:%S", time.localtime(when))
    ran = sum(one.recorded for one in cells)
    return (
        f"In the order of the file saved at {moment}; cells marked * are as they ran in this kernel "
        f"({ran} of {len(cells)}), the others as saved:"
    )


def _line(cell: _Cell) -> str:
    run = cell.run
    number = f"[{run.number if run.number is not None else ' '}]" if cell.kind == "code" else "[md]"
    facts = [_summary(one) for one in run.outputs][:6]
    facts += [f"{len(run.outputs) - 6} more outputs"] if len(run.outputs) > 6 else []
    state = "" if run.status == "ok" else f" {run.status}"
    named = f" id={run.cell_id}" if run.cell_id else ""
    told = f"  -> {'; '.join(facts)}" if facts else ""
    mark = "*" if cell.recorded else " "
    return f"{mark}{number}{named}{state}: {_first(run.source)}{told}"


def _summary(output: RecordedOutput) -> str:
    if output.error is not None:
        return _first(f"{output.error[0]}: {output.error[1]}")
    kinds = ", ".join(output.mimes)
    lines = output.text.count("\n") + 1 if output.text else 0
    size = f"{lines} lines" if lines > 1 else f"{len(output.text)} characters" if lines else ""
    return " ".join(one for one in (output.kind, size, kinds) if one)


def _first(text: str) -> str:
    line = next((one.strip() for one in text.splitlines() if one.strip()), "(empty)")
    return line if len(line) <= LINE_CHARS else line[: LINE_CHARS - 3] + "..."


def _find(cells: Sequence[_Cell], wanted: str) -> _Cell:
    plain = wanted.strip("[]# ").removeprefix("cell ").strip()
    if plain.isdecimal():
        # The newest of several with one number: a kernel that was restarted counts again.
        numbered = [one for one in cells if one.run.number == int(plain)]
        if numbered:
            return max(numbered, key=lambda one: (one.recorded, one.run.serial))
    for cell in cells:
        if cell.run.cell_id == plain:
            return cell
    numbers = [one.run.number for one in cells if one.run.number is not None]
    known = f" Cells that ran: {', '.join(map(str, sorted(set(numbers))))}." if numbers else ""
    raise NotFound(
        f"There is no cell {wanted!r} that you may read.{known} Call without a cell for the outline."
    )


def _name(cell: _Cell) -> str:
    return f"cell {cell.run.number if cell.run.number is not None else cell.run.cell_id or '?'}"


def _whole(cell: _Cell, when: float | None, *, outputs: bool) -> str:
    run = cell.run
    origin = (
        "as it ran in this kernel"
        if cell.recorded
        else f"as saved at {time.strftime('%H:%M:%S', time.localtime(when))}"
    )
    named = f", id {run.cell_id}" if run.cell_id else ""
    state = "" if run.status == "ok" else f", {run.status}"
    sections = [f"[{_name(cell)}{named}{state}, {origin}]", f"[source]\n{run.source}"]
    if outputs:
        sections += [_section(one) for one in run.outputs]
        if run.dropped:
            sections.append(f"({run.dropped} more outputs were not kept.)")
        if not run.outputs:
            sections.append("(no output)")
    return "\n\n".join(sections)


def _section(output: RecordedOutput) -> str:
    kinds = f" {', '.join(output.mimes)}" if output.mimes else ""
    body = output.text.rstrip() or output.markup.rstrip()
    return f"[{output.kind}{kinds}]\n{body}".rstrip()


def _pictures(cell: _Cell) -> tuple[Attachment, ...]:
    found: list[Attachment] = []
    for output in cell.run.outputs:
        if output.image is None or len(found) == MOST_IMAGES:
            continue
        try:
            fitted = fit_image(output.image[1], "The picture")
        except UserError:
            continue
        encoded = base64.b64encode(fitted.data).decode("ascii")
        found.append(Attachment(mime=fitted.mime, url=f"data:{fitted.mime};base64,{encoded}"))
    return tuple(found)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _saved_cells(file: Path | None) -> tuple[list[_Cell], float | None]:
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
    found = [_saved(one, at) for at, one in enumerate(cells, start=1) if isinstance(one, dict)]
    return found, when


def _saved(cell: dict[str, Any], at: int) -> _Cell:
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    number, named = cell.get("execution_count"), cell.get("id")
    outputs = [_saved_output(one) for one in cell.get("outputs") or () if isinstance(one, dict)]
    run = CellRun(
        serial=0,
        version=0,
        source=_joined(cell.get("source")),
        cell_id=named if isinstance(named, str) else None,
        number=number if isinstance(number, int) else None,
        status="error" if any(one.kind == "error" for one in outputs) else "ok",
        hidden="tag" if isinstance(tags, list) and HIDDEN_TAG in tags else "",
        outputs=tuple(outputs),
    )
    return _Cell(str(cell.get("cell_type", "code")), run, recorded=False, at=at)


def _saved_output(output: dict[str, Any]) -> RecordedOutput:
    kind = output.get("output_type")
    if kind == "stream":
        stderr = output.get("name") == "stderr"
        return RecordedOutput("stderr" if stderr else "stdout", _joined(output.get("text")))
    if kind == "error":
        lines = output.get("traceback")
        text = "\n".join(map(str, lines)) if isinstance(lines, list) else ""
        named = (str(output.get("ename", "")), str(output.get("evalue", "")))
        return RecordedOutput("error", text, error=named)
    data = output.get("data")
    bundle = data if isinstance(data, dict) else {}
    return RecordedOutput(
        _KINDS.get(str(kind), "display"),
        _joined(bundle.get("text/plain")),
        markup="" if bundle.get("text/plain") else _joined(bundle.get("text/markdown")),
        mimes=tuple(str(mime)[:100] for mime in bundle if mime != "text/plain"),
        image=_saved_image(bundle),
    )


def _saved_image(bundle: dict[str, Any]) -> tuple[str, bytes] | None:
    for mime in _IMAGES:
        content = bundle.get(mime)
        if content:
            try:
                return mime, base64.b64decode(_joined(content))
            except ValueError:
                return None
    return None


def _joined(text: Any) -> str:
    if isinstance(text, list):
        return "".join(map(str, text))
    return text if isinstance(text, str) else ""

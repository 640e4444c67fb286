"""Change cells in the file of a notebook that no page shows.

Border: one file, read once and written atomically, and only if it is as it was read. That it is closed is known where a
page showed it in this kernel and left, or said by the setting ``cells_without_page``; nobody can see an editor that is
not connected. What was not changed stays in the file as it was: metadata, outputs, attachments, indentation, escapes.
"""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.tools.file_access.file_contents import read_resolved_file, replace_resolved_file
from palimpsest.tools.notebook.notebook_cells import MAX_FILE_BYTES, joined_text
from palimpsest.tools.tool import Abort, NoPage
from palimpsest.transcript.context_values.cell_changes import CellChange, CellOrigin, CellResult
from palimpsest.transcript.context_values.cell_runs import CellRun
from palimpsest.transcript.context_values.hidden_cells import HiddenRuns, is_hidden_cell
from palimpsest.transcript.context_values.page_cells import PageCell, PageNotebook
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.disk_words import disk_reason

ORIGIN_KEY = "palimpsest"
"""Key in a cell's metadata: where its source comes from, as ``CellOrigin``."""
RUNS_NEED_PAGE = "No open page shows {name}, so its cells cannot be run. Ask the user to open it in JupyterLab, or use the python tool."
MAY_BE_OPEN = (
    "No open page shows {name}, and whether another editor has it open is not known, so it was not changed. Ask the user to open "
    'it in JupyterLab, or to set cells_without_page = "write"; or give the cells in your answer.'
)
CHANGED_ON_DISK = (
    "{name} was changed on the disk meanwhile, so nothing was written. Read the notebook again."
)
TOO_OLD_FORMAT = (
    "{name} is of an older notebook format, whose cells have no ids, so it was not changed. Ask the user to open and save it in "
    "JupyterLab."
)
UNREADABLE = "{name} cannot be read as a notebook, so it was not changed. Ask the user to open it in JupyterLab."
_INDENT = re.compile(r"\{\r?\n([ \t]+)")


@dataclass(eq=False, slots=True)
class ClosedNotebook:
    """A notebook's file, as it was read (``tools.tool.NotebookChanger`` for this one notebook)."""

    path: Path
    name: str
    """The path as people and the model see it."""
    hidden_runs: HiddenRuns
    _data: bytes

    @classmethod
    def read(cls, path: Path, name: str, hidden_runs: HiddenRuns) -> "ClosedNotebook":
        """Return a notebook's file, blocking; raises UserError where it is none that can be changed."""
        try:
            data = read_resolved_file(path.resolve(), MAX_FILE_BYTES + 1)
        except OSError as error:
            raise UserError(f"{name} cannot be read: {error.strerror}.") from None
        notebook = cls(path, name, hidden_runs, data)
        document = notebook._document()
        if document.get("nbformat") != 4 or any("id" not in cell for cell in document["cells"]):
            raise UserError(TOO_OLD_FORMAT.format(name=name))
        return notebook

    def page_notebook(self) -> PageNotebook:
        """Return the notebook as a page would show it, hidden cells without their sources."""
        return PageNotebook(
            path=self.name, cells=tuple(self._page_cell(cell) for cell in self._document()["cells"])
        )

    async def change(
        self,
        notebook_path: str,
        changes: Sequence[CellChange],
        origin: CellOrigin | None,
        session_id: str | None = None,
        *,
        skip_older: bool = False,
    ) -> tuple[CellResult, ...]:
        """Make all of the changes or none, and return one result for each; raises UserError."""
        del (
            notebook_path,
            session_id,
            skip_older,
        )  # no page shows the notebook, and this object changes it alone
        return await asyncio.to_thread(self._change_file, changes, origin)

    async def run(
        self, notebook_path: str, cell_id: str, source: str, *, abort: Abort, session_id: str
    ) -> CellRun:
        """Raise NoPage, since only a page runs cells."""
        del notebook_path, cell_id, source, abort, session_id
        raise NoPage(RUNS_NEED_PAGE.format(name=self.name))

    def was_closed(self, own_path: Path) -> bool:
        """Return whether this is the notebook of that path."""
        return own_path == self.path

    def _document(self) -> dict[str, Any]:
        try:
            document: Any = json.loads(self._data.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            document = None
        cells = document.get("cells") if isinstance(document, dict) else None
        is_whole = isinstance(cells, list) and all(isinstance(cell, dict) for cell in cells)
        if not is_whole or len(self._data) > MAX_FILE_BYTES:
            raise UserError(UNREADABLE.format(name=self.name))
        return dict(document)

    def _page_cell(self, cell: dict[str, Any]) -> PageCell:
        number = cell.get("execution_count")
        is_hidden = is_hidden_cell(cell, self.hidden_runs)
        return PageCell(
            id=str(cell["id"]),
            kind=str(cell.get("cell_type", "code")),
            source=None if is_hidden else joined_text(cell.get("source")),
            number=number if isinstance(number, int) else None,
            hidden=is_hidden,
        )

    def _change_file(
        self, changes: Sequence[CellChange], origin: CellOrigin | None
    ) -> tuple[CellResult, ...]:
        document = self._document()
        cells = document["cells"]
        results = tuple(self._apply_change(cells, change, origin) for change in changes)
        if any(result.problem is not None for result in results):
            return results
        data = _file_bytes(document, self._data)
        path = self.path.resolve()
        try:
            if read_resolved_file(path, MAX_FILE_BYTES + 1) != self._data:
                raise UserError(CHANGED_ON_DISK.format(name=self.name))
            replace_resolved_file(path, data)
        except OSError as error:
            raise UserError(f"{disk_reason(error)}: {self.name} cannot be written.") from error
        self._data = data
        return results

    def _apply_change(
        self, cells: list[dict[str, Any]], change: CellChange, origin: CellOrigin | None
    ) -> CellResult:
        """Make one change in a list of cells; the result says why it could not be made."""
        ids = [cell["id"] for cell in cells]
        if change.after is not None and change.after not in ids:
            return CellResult(cell=change.cell, problem="missing")
        if change.action == "insert":
            if change.cell in ids:
                return CellResult(cell=change.cell, problem="changed")
            cells.insert(_place_after(ids, change.after), _new_cell(change, cells, origin))
            return CellResult(cell=change.cell)
        if change.cell not in ids:
            return CellResult(cell=change.cell, problem="missing")
        index = ids.index(change.cell)
        cell = cells[index]
        if problem := self._refusal(cell, change):
            return problem
        if change.action == "edit":
            cell["source"] = _source_in_form(change.new or "", cell.get("source"))
            _set_origin(cell, origin)
            return CellResult(cell=change.cell)
        del cells[index]
        was_after = ids[index - 1] if index else None
        if change.action == "delete":
            return CellResult(cell=change.cell, was_after=was_after, removed=cell)
        cells.insert(_place_after([other["id"] for other in cells], change.after), cell)
        return CellResult(cell=change.cell, was_after=was_after)

    def _refusal(self, cell: dict[str, Any], change: CellChange) -> CellResult | None:
        if is_hidden_cell(cell, self.hidden_runs):
            return CellResult(cell=change.cell, problem="hidden")
        metadata = cell.get("metadata") or {}
        lock_key = "editable" if change.action == "edit" else "deletable"
        if change.action != "move" and metadata.get(lock_key) is False:
            return CellResult(cell=change.cell, problem="locked")
        source = joined_text(cell.get("source"))
        if source != (change.old or ""):
            return CellResult(cell=change.cell, problem="changed", source=source)
        return None


def _place_after(ids: Sequence[str], after: str | None) -> int:
    return 0 if after is None else ids.index(after) + 1


def _new_cell(
    change: CellChange, cells: Sequence[dict[str, Any]], origin: CellOrigin | None
) -> dict[str, Any]:
    source = _source_in_form(change.new or "", cells[0].get("source") if cells else [])
    if change.restored is not None:
        return {**change.restored, "id": change.cell, "source": source}
    is_code = change.kind == "code"
    cell: dict[str, Any] = {"cell_type": change.kind}
    cell |= {"execution_count": None} if is_code else {}
    cell |= {"id": change.cell, "metadata": {}} | ({"outputs": []} if is_code else {})
    cell["source"] = source
    _set_origin(cell, origin)
    return cell


def _source_in_form(source: str, other_source: Any) -> str | list[str]:
    """Return a source as one text or as lines, in the form that another cell of the file has."""
    return source if isinstance(other_source, str) else source.splitlines(keepends=True)


def _set_origin(cell: dict[str, Any], origin: CellOrigin | None) -> None:
    metadata = {
        name: value for name, value in (cell.get("metadata") or {}).items() if name != ORIGIN_KEY
    }
    if origin is not None:
        metadata[ORIGIN_KEY] = origin.model_dump(mode="json", exclude_none=True)
    cell["metadata"] = metadata


def _file_bytes(document: dict[str, Any], old_bytes: bytes) -> bytes:
    """Return a notebook's file in the form that it had: indentation, escapes, line ends and the end of the file."""
    text = old_bytes.decode("utf-8-sig")
    indent = _INDENT.search(text)
    json_options: dict[str, Any] = (
        {"indent": indent[1], "separators": (",", ": ")} if indent else {}
    )
    new_text = json.dumps(document, ensure_ascii=text.isascii() and "\\u" in text, **json_options)
    if not _is_encodable(new_text):
        new_text = json.dumps(document, **json_options)
    if "\r\n" in text:
        new_text = new_text.replace("\n", "\r\n")
    text_end = text[len(text.rstrip()) :]
    byte_order_mark = b"\xef\xbb\xbf" if old_bytes.startswith(b"\xef\xbb\xbf") else b""
    return byte_order_mark + (new_text + text_end).encode()


def _is_encodable(text: str) -> bool:
    """Return whether a text has no half of a character, which UTF-8 cannot hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

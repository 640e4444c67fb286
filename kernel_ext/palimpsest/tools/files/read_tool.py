"""The read tool: show a file or folder to the model as numbered lines, image, notebook cells or names.

Border: reads only. A shortened output ends with a hint on how to read the rest.

When a file is read, the instruction files of its folders, such as AGENTS.md, come before its text, each once in a
session. Files from the project's folder down to the working folder are in the system prompt; a deeper folder may have its own.
After a compaction they may be shown again.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from palimpsest.tools.calls.error_containment import run_in_thread
from palimpsest.tools.calls.images import fit_attachment
from palimpsest.tools.file_access.file_contents import (
    INSTRUCTION_NAMES,
    TextFile,
    UnreadableForPrompt,
    is_binary,
    read_for_prompt,
    read_resolved_file,
)
from palimpsest.tools.file_access.gitignore import GitignoreRules, folder_entries
from palimpsest.tools.file_access.paths import ResolvedPath, missing_path_error, resolve_permitted
from palimpsest.tools.files.listing import entry_name
from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.context_values.hidden_cells import (
    NONE_HIDDEN,
    HiddenRuns,
    is_hidden_cell,
    without_hidden_cells,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import AssistantMessage, Messages
from palimpsest.transcript.parts import Attachment, ToolCompleted, ToolPart
from palimpsest.transcript.strings.relative_paths import recorded_name

MAX_LINES = 2_000
MAX_LINE_CHARS = 2_000
MAX_OUTPUT_BYTES = 50_000
"""Maximum bytes of an output. With these three limits an output stays below the truncation limit, so that its last line, on how to read
on, is not cut."""

MAX_FILE_BYTES = 100_000_000
MAX_DOCUMENT_BYTES = 10_000_000
"""Maximum bytes of a PDF: providers limit a request to 20 to 32 MB, and every later request includes the document."""

MAX_FOLDER_ENTRIES = 300
MAX_CELL_OUTPUT_CHARS = 500
"""Maximum characters shown of each output of a notebook's cell."""

ATTACHED_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".pdf": "application/pdf",
}

INSTRUCTIONS_KEY = "instructions"
"""Key in a call's metadata with the paths of the instruction files shown in its output."""

MAX_INSTRUCTION_BYTES = 8_000
"""Maximum bytes shown of an instruction file, to leave space for the requested file."""

INSTRUCTIONS_NOTE = "<note>\nInstructions from: {path} (for work in this folder)\n{text}\n</note>"
LEFT_OUT_NOTE = "<note>\nThe instructions in {path} are left out: {reason}.\n</note>"
REST_LEFT_OUT_NOTE = (
    "(The rest of {path} is left out here; read it before you work in this folder.)"
)


class ReadArguments(BaseModel):
    """Input of the read tool."""

    path: str = Field(description="File or folder; relative paths start in the working folder.")
    offset: int | None = Field(default=None, ge=1, description="First line to show, from 1.")
    limit: int | None = Field(default=None, ge=1, description="How many lines; 2000 if left out.")


class ReadTool:
    """The read tool, which shows a file or folder."""

    name = "read"
    description = (
        "Read a file as numbered lines ('12: text'; the number is not part of the file). Images and PDFs are "
        "attached, notebooks shown cell by cell, folders listed. Long files come in pieces; go on with offset."
    )
    arguments: type[BaseModel] = ReadArguments
    concurrent = True
    permission = "read"

    def __init__(self) -> None:
        self._instructions = ShownInstructions()

    async def run(self, arguments: ReadArguments, context: ToolContext) -> ToolOutcome:
        """Ask for permission and return the content, with instruction files of its folders before it."""
        place = await resolve_permitted(context, arguments.path)
        await place.ask_permission(context, "read", f"Read {place.display_path}")
        if not place.path.exists():
            raise missing_path_error(place)
        scrub = context.scrubber()
        try:
            root = context.root.resolve()
            hidden_runs = context.hidden_runs()
            outcome = await run_in_thread(
                context.abort, lambda: _show_path(place, arguments, root, hidden_runs)
            )
            instruction_paths = self._instructions.claim_new(
                instruction_files_between(place.path, root, context.cwd), context
            )
            outcome = with_instructions(outcome, instruction_paths, root)
        except OSError as error:
            raise UserError(f"{place.display_path} cannot be read: {error.strerror}.") from error
        return replace(outcome, output=scrub(outcome.output))


def _show_path(
    place: ResolvedPath, arguments: ReadArguments, root: Path, hidden_runs: HiddenRuns
) -> ToolOutcome:
    path, name = place.path, place.display_path
    if path.is_dir():
        return _folder_listing(place, root)
    if not path.is_file():
        raise UserError(f"{name} is neither a file nor a folder, so it cannot be read.")
    size = path.stat().st_size
    mime = ATTACHED_TYPES.get(path.suffix.lower())
    if mime is not None:
        return _attached_file(place, mime, size)
    if size > MAX_FILE_BYTES:
        raise UserError(
            f"{name} has {size:,} bytes, too many to read whole. Use grep, or open it with the python tool."
        )
    data = read_resolved_file(path)
    if is_binary(data):
        raise UserError(
            f"{name} is a binary file of {size:,} bytes, so it cannot be shown as text. "
            "Open it with the python tool and the library made for it."
        )
    text = TextFile.from_bytes(data).text
    if path.suffix.lower() == ".ipynb":
        text = notebook_text(text, name, hidden_runs)
    else:
        text = without_hidden_cells(text, name, hidden_runs).text
    return _numbered_lines(name, text, arguments.offset or 1, arguments.limit or MAX_LINES)


def _attached_file(place: ResolvedPath, mime: str, size: int) -> ToolOutcome:
    name = place.display_path
    max_bytes = MAX_FILE_BYTES if mime.startswith("image/") else MAX_DOCUMENT_BYTES
    if size > max_bytes:
        raise UserError(
            f"{name} has {size:,} bytes; at most {max_bytes:,} can be attached. "
            "Make a smaller copy, or take out what you need, with the python tool."
        )
    error_ending = "its name says. Look at it with the python tool."
    fitted_file = fit_attachment(read_resolved_file(place.path), mime, name, error_ending)
    filename = recorded_name(place.path.name)
    attachment = Attachment(mime=fitted_file.mime, filename=filename, url=fitted_file.url)
    output = f"{name} ({fitted_file.mime}, {len(fitted_file.data):,} bytes) is attached. {fitted_file.note}"
    return ToolOutcome(name, output.rstrip(), {"mime": fitted_file.mime}, (attachment,))


def _folder_listing(place: ResolvedPath, root: Path) -> ToolOutcome:
    name = place.display_path
    entries = folder_entries(place.path, GitignoreRules.rules_at(root, place.path))
    lines = [entry_name(entry) for entry in entries[:MAX_FOLDER_ENTRIES]]
    if len(entries) > MAX_FOLDER_ENTRIES:
        lines.append(
            f"({len(entries) - MAX_FOLDER_ENTRIES} more are not shown; use glob with a pattern.)"
        )
    body = "\n".join(lines) or "(empty)"
    return ToolOutcome(name, f"Folder {name}:\n{body}", {"count": len(entries)})


def _numbered_lines(name: str, text: str, offset: int, limit: int) -> ToolOutcome:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    line_count = len(lines)
    if not line_count:
        return ToolOutcome(name, f"{name} is empty.", {"lines": 0})
    if offset > line_count:
        raise UserError(f"{name} ends at line {line_count}, so there is no line {offset}.")
    numbered_lines: list[str] = []
    used_bytes = 0
    for number, line in enumerate(lines[offset - 1 : offset - 1 + limit], offset):
        entry = f"{number}: {_cut_line(line)}"
        used_bytes += len(entry.encode()) + 1
        if numbered_lines and (used_bytes > MAX_OUTPUT_BYTES or len(numbered_lines) >= MAX_LINES):
            break
        numbered_lines.append(entry)
    last_line = offset + len(numbered_lines) - 1
    is_cut = last_line < line_count
    if is_cut:
        numbered_lines.append(
            f"(Lines {last_line + 1} to {line_count} follow; read on with offset={last_line + 1}.)"
        )
    metadata = {"lines": line_count, "first": offset, "last": last_line, "truncated": is_cut}
    return ToolOutcome(name, "\n".join(numbered_lines), metadata)


def _cut_line(line: str) -> str:
    if len(line) <= MAX_LINE_CHARS:
        return line
    return f"{line[:MAX_LINE_CHARS]}... ({len(line) - MAX_LINE_CHARS} more characters in this line)"


def notebook_text(text: str, name: str = "n.ipynb", hidden_runs: HiddenRuns = NONE_HIDDEN) -> str:
    """Return a notebook's JSON as text: its cells with ids, and the beginnings of their text outputs.

    Cells that are hidden from the agent are only counted, at the end. Raises BrokenNotebook.
    """
    visible_text = without_hidden_cells(text, name, hidden_runs)
    try:
        cells = json.loads(text)["cells"]
        cell_texts = [
            _cell_text(number, cell)
            for number, cell in enumerate(cells, 1)
            if not is_hidden_cell(cell, hidden_runs)
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # No notebook, a broken one, or one of an older format: return its text unchanged.
        return visible_text.text
    hidden_count = len(cells) - len(cell_texts)
    if hidden_count:
        cells_are = "1 cell is" if hidden_count == 1 else f"{hidden_count} cells are"
        cell_texts.append(f"({cells_are} kept from you by the user.)")
    return "\n".join(cell_texts)


def _cell_text(number: int, cell: dict[str, Any]) -> str:
    heading = f"--- cell {number} ({cell['cell_type']}, id {cell.get('id', 'none')})"
    outputs = [text for output in cell.get("outputs", []) if (text := _output_text(output))]
    output_sections = [f"--- output\n{text}" for text in outputs]
    return "\n".join([heading, _source_text(cell["source"]).rstrip("\n"), *output_sections])


def _output_text(output: dict[str, Any]) -> str:
    if output.get("output_type") == "error":
        return f"{output.get('ename')}: {output.get('evalue')}"
    data = output.get("data", {})
    text = _source_text(output.get("text") or data.get("text/plain") or "").rstrip("\n")
    images = [mime for mime in data if mime.startswith("image/")]
    if images:
        text = f"[{images[0]}] {text}"
    return text if len(text) <= MAX_CELL_OUTPUT_CHARS else text[:MAX_CELL_OUTPUT_CHARS] + "..."


def _source_text(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def instruction_files_between(path: Path, root: Path, cwd: Path) -> tuple[Path, ...]:
    """Return the instruction files of the folders above ``path`` and below ``cwd``, outermost first."""
    root, cwd = root.resolve(), cwd.resolve()
    known_folders = {cwd, *cwd.parents}
    folders = [
        folder for folder in path.parents if root in folder.parents and folder not in known_folders
    ]
    files = (_first_instruction_file(folder) for folder in reversed(folders))
    return tuple(file for file in files if file is not None and file != path)


def _first_instruction_file(folder: Path) -> Path | None:
    return next((folder / name for name in INSTRUCTION_NAMES if (folder / name).is_file()), None)


class ShownInstructions:
    """Tracks which instruction files the concurrent calls of one answer show.

    Responsibilities: assign each file to one call only; files that earlier answers showed are found in the transcript.
    """

    def __init__(self) -> None:
        self._claims_by_session: dict[str, tuple[str, set[str]]] = {}
        """The newest message of each session, and the paths that its calls claimed."""

    def claim_new(self, paths: Sequence[Path], context: ToolContext) -> tuple[Path, ...]:
        """Return the paths that were not shown yet, and count them as shown."""
        if not paths:
            return ()
        message_id, claimed_paths = self._claims_by_session.get(context.session_id, ("", set()))
        if message_id != context.message_id:
            claimed_paths = set()
        self._claims_by_session[context.session_id] = (context.message_id, claimed_paths)
        shown_paths = claimed_paths | set(_shown_instructions(context.messages))
        new_paths = tuple(path for path in paths if str(path) not in shown_paths)
        claimed_paths.update(map(str, new_paths))
        return new_paths


def _shown_instructions(messages: Messages) -> Iterator[str]:
    """Yield the paths of the instruction files shown since the newest compaction summary."""
    for message in reversed(messages):
        info = message.info
        if isinstance(info, AssistantMessage) and info.summary and info.finish and not info.error:
            return
        for part in message.parts:
            if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
                shown_paths = part.state.metadata.get(INSTRUCTIONS_KEY)
                yield from map(str, shown_paths if isinstance(shown_paths, list) else ())


def with_instructions(outcome: ToolOutcome, paths: Sequence[Path], root: Path) -> ToolOutcome:
    """Return the outcome with the instruction files before its output; an unreadable one is skipped."""
    shown_instructions = [
        (path, text) for path in paths if (text := _instructions_text(path, root.resolve()))
    ]
    if not shown_instructions:
        return outcome
    output = "\n\n".join([*(text for _, text in shown_instructions), outcome.output])
    metadata = dict(outcome.metadata) | {
        INSTRUCTIONS_KEY: [str(path) for path, _ in shown_instructions]
    }
    return ToolOutcome(outcome.title, output, metadata, outcome.attachments)


def _instructions_text(path: Path, root: Path) -> str:
    shown_name = recorded_name(path.relative_to(root).as_posix())
    try:
        data = read_for_prompt(path, root, MAX_INSTRUCTION_BYTES + 1)
    except UnreadableForPrompt as reason:
        return LEFT_OUT_NOTE.format(path=shown_name, reason=reason)
    except OSError:
        return ""
    text = data[:MAX_INSTRUCTION_BYTES].decode("utf-8", "replace").strip()
    if len(data) > MAX_INSTRUCTION_BYTES:
        text = f"{text}\n{REST_LEFT_OUT_NOTE.format(path=shown_name)}"
    return INSTRUCTIONS_NOTE.format(path=shown_name, text=text) if text else ""

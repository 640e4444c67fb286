"""The write and edit tools: change text files after the user has approved the diff.

Border: files as text. Open notebooks are not changed, since their editor would overwrite the change or
lose its own. Only the approved change is written: if the file changed meanwhile, it is not written.
"""

import asyncio
import difflib
import stat
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, model_validator

from palimpsest.tools.file_access.file_contents import (
    TextFile,
    is_binary,
    read_resolved_file,
    replace_resolved_file,
)
from palimpsest.tools.file_access.paths import ResolvedPath, missing_path_error, resolve_permitted
from palimpsest.tools.files.edit_matching import (
    EditMatch,
    SpanEdit,
    closest_line,
    find_edit,
    line_of,
)
from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.context_values.hidden_cells import without_hidden_cells
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.redaction.secret_patterns import REDACTED, scrub
from palimpsest.transcript.strings.disk_words import disk_reason

MAX_DIFF_LINES = 20_000
"""Maximum lines of both texts together that are compared, which takes seconds; a longer diff has only line counts."""

MAX_DIFF_CHARS = 50_000
"""Maximum characters of a diff in a call's record; the permission question shows all of it."""

MAX_FILE_BYTES = 100_000_000
"""Maximum bytes of a file that is changed, the same as for read, since old text, new text and diff are in memory at once."""

MAX_NAMED_PLACES = 8
MAX_SHOWN_LINE_CHARS = 200


class WriteArguments(BaseModel):
    """Input of the write tool."""

    path: str = Field(description="File to create or replace; missing folders are made.")
    content: str = Field(description="The whole new content.")


class Replacement(BaseModel):
    """One replacement of an edit."""

    old: str = Field(description="Text to replace, with enough context to occur only once.")
    new: str = Field(description="Text to put there.")
    replace_all: bool = Field(default=False, description="Replace every occurrence.")


class EditArguments(BaseModel):
    """Input of the edit tool; a single replacement may be given at the top level."""

    path: str = Field(description="File to change.")
    edits: list[Replacement] = Field(
        min_length=1, description="Replacements, each applied to the result of the one before."
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_top_level(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "old" not in data or data.get("edits"):
            return data
        only_edit = {key: data[key] for key in ("old", "new", "replace_all") if key in data}
        return {**data, "edits": [only_edit]}


class WriteTool:
    """The write tool, which creates or replaces a file."""

    name = "write"
    description = (
        "Create a file, or replace all of an existing one. For changes in part of a file use edit. The user sees "
        "the difference first."
    )
    arguments: type[BaseModel] = WriteArguments
    concurrent = False
    permission = "write"

    async def run(self, arguments: WriteArguments, context: ToolContext) -> ToolOutcome:
        """Show the diff, ask for permission, and write the file."""
        place = await resolve_permitted(context, arguments.path, writing=True)
        _refuse_notebook(place, context)
        old_bytes = await _current_bytes(place)
        file = TextFile(arguments.content) if old_bytes is None else _decode_file(old_bytes, place)
        old_text = file.text if old_bytes is not None else ""
        _refuse_hidden_cells(old_text, place, context)
        _refuse_placeholder(old_text, arguments.content, place)
        name = place.display_path
        new_file, data = _encode_replaced(file.with_text(arguments.content), place)
        diff = await asyncio.to_thread(unified_difference, old_text, new_file.text, name)
        verb = "Create" if old_bytes is None else "Replace"
        diff = context.scrubber()(diff)
        await place.ask_permission(context, self.permission, f"{verb} {name}", diff)
        await _write_if_unchanged(place, old_bytes, data)
        line_count = len(new_file.text.splitlines())
        output = f"{verb}d {name} ({'1 line' if line_count == 1 else f'{line_count} lines'})."
        metadata = {"diff": limited_diff(context.scrubber()(diff)), "lines": line_count}
        return ToolOutcome(name, output, metadata)


class EditTool:
    """The edit tool, which replaces text in a file."""

    name = "edit"
    description = (
        "Replace text in an existing file. Give old exactly as read shows it, without line numbers, and long enough "
        "to occur once, or set replace_all. Several edits are applied in order, all or none. The user sees the "
        "difference first."
    )
    arguments: type[BaseModel] = EditArguments
    concurrent = False
    permission = "edit"

    async def run(self, arguments: EditArguments, context: ToolContext) -> ToolOutcome:
        """Find the places, show the diff, ask for permission, and write the file."""
        place = await resolve_permitted(context, arguments.path, writing=True)
        _refuse_notebook(place, context)
        old_bytes = await _current_bytes(place)
        if old_bytes is None:
            raise missing_path_error(place)
        file = _decode_file(old_bytes, place)
        _refuse_hidden_cells(file.text, place, context)
        name = place.display_path
        new_file, notes = await asyncio.to_thread(_apply_edits, file, arguments.edits, name)
        data = _encode_edited(new_file, place)
        diff = await asyncio.to_thread(unified_difference, file.text, new_file.text, name)
        diff = context.scrubber()(diff)
        await place.ask_permission(context, self.permission, f"Edit {name}", diff)
        await _write_if_unchanged(place, old_bytes, data)
        output = "\n".join([f"Edited {name}.", *notes])
        return ToolOutcome(name, output, {"diff": limited_diff(context.scrubber()(diff))})


def _refuse_placeholder(old_text: str, new_text: str, place: ResolvedPath) -> None:
    """Raise UserError if the new content would overwrite a secret with its redaction placeholder."""
    if REDACTED in new_text and REDACTED not in old_text and scrub(old_text) != old_text:
        raise UserError(
            f"The content has {REDACTED}, which stands for a secret in {place.display_path} that you were not shown: "
            "written, the secret would be lost. Change the other lines with edit."
        )


def _refuse_notebook(place: ResolvedPath, context: ToolContext) -> None:
    if place.path.suffix.lower() != ".ipynb" or not place.path.exists():
        return
    open_notebooks = context.extra_values.get("open_notebooks")
    if open_notebooks is None or place.path in {Path(path).resolve() for path in open_notebooks}:
        raise UserError(
            f"{place.display_path} is a notebook that may be open: its editor keeps a copy of its own, so one of the two "
            "would be lost. Give the user the cells in your answer, or write a new notebook beside it."
        )


def _refuse_hidden_cells(text: str, place: ResolvedPath, context: ToolContext) -> None:
    """Raise UserError for a notebook with hidden cells, which a change would lose or reveal."""
    if without_hidden_cells(text, place.display_path, context.hidden_runs()).hidden_count:
        raise UserError(
            f"{place.display_path} has cells that the user keeps from you, so it is not changed: they would be lost, or shown "
            "to you. Give the user the cells in your answer, or write a new notebook beside it."
        )


async def _current_bytes(place: ResolvedPath) -> bytes | None:
    """Return the bytes of a file before its change; None if it does not exist. Raises UserError."""
    if place.path.is_dir():
        raise UserError(f"{place.display_path} is a folder. Give the path of a file.")
    try:
        return await asyncio.to_thread(_read_file, place)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{place.display_path} cannot be read: {error.strerror}.") from error


def _read_file(place: ResolvedPath) -> bytes:
    status = place.path.stat()
    if not stat.S_ISREG(status.st_mode):
        # Reading a pipe or a device may never end.
        raise UserError(
            f"{place.display_path} is neither a file nor a folder, so it cannot be changed."
        )
    if status.st_size > MAX_FILE_BYTES:
        raise UserError(
            f"{place.display_path} has {status.st_size:,} bytes, too many to change as text. Use the python tool."
        )
    return read_resolved_file(place.path)


def _decode_file(data: bytes, place: ResolvedPath) -> TextFile:
    if is_binary(data):
        raise UserError(
            f"{place.display_path} is a binary file and is not changed as text. Use the python tool, or another name."
        )
    return TextFile.from_bytes(data)


def _encode_edited(file: TextFile, place: ResolvedPath) -> bytes:
    """Return an edited file's bytes in its own encoding; raises UserError if that lacks a character."""
    try:
        return file.encode()
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        if file.encoding != "latin-1":
            raise UserError(half_character_text(character)) from error
        raise UserError(
            f"{place.display_path} is not UTF-8, and {character!r} has no place in its encoding. Change it with the python "
            "tool, which can be told the encoding, or write the whole file."
        ) from error


def _encode_replaced(file: TextFile, place: ResolvedPath) -> tuple[TextFile, bytes]:
    """Return a replaced file and its bytes: in UTF-8 if the old encoding lacks a character."""
    try:
        return file, file.encode()
    except UnicodeEncodeError:
        file = file.as_utf8()
    return file, _encode_edited(file, place)


def half_character_text(character: str) -> str:
    """Return the sentence on half of a character, which no file and no message can hold."""
    return f"The new text holds {character!r}, which is half of a character. Write it whole."


async def _write_if_unchanged(
    place: ResolvedPath, old_bytes: bytes | None, new_bytes: bytes
) -> None:
    if await _current_bytes(place) != old_bytes:
        raise UserError(
            f"{place.display_path} changed while the question was open, so nothing was written. Read it again."
        )
    try:
        await asyncio.to_thread(replace_resolved_file, place.path, new_bytes)
    except OSError as error:
        raise UserError(f"{disk_reason(error)}: {place.display_path} cannot be written.") from error


def _apply_edits(file: TextFile, edits: list[Replacement], name: str) -> tuple[TextFile, list[str]]:
    """Return the file after all replacements in order, and notes for the model; raises UserError."""
    notes: list[str] = []
    for number, edit in enumerate(edits, 1):
        prefix = f"Edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        text = file.text
        match = find_replacement(text, edit, name, prefix)
        spans = [(span.start, span.end_index, span.new_text) for span in match.spans]
        file = file.with_spans(spans)
        notes.append(prefix + edit_note(text, match))
    return file, notes


def find_replacement(text: str, edit: Replacement, name: str, prefix: str) -> EditMatch:
    """Return the places of an edit in a text; raises UserError where there is none, or more than it allows."""
    old_text, new_text = edit.old.replace("\r\n", "\n"), edit.new.replace("\r\n", "\n")
    if not old_text:
        raise UserError(
            f"{prefix}old is empty. Use write to create a file, or name the text to replace."
        )
    if old_text == new_text:
        raise UserError(
            f"{prefix}old and new are the same, so there is nothing to change in {name}."
        )
    match = find_edit(text, old_text, new_text)
    if not match.spans:
        raise UserError(prefix + _not_found_text(text, old_text, name))
    if len(match.spans) > 1 and not edit.replace_all:
        lines = [line_of(text, span.start) for span in match.spans]
        line_numbers = ", ".join(str(line) for line in lines[:MAX_NAMED_PLACES])
        more = ", ..." if len(lines) > MAX_NAMED_PLACES else ""
        raise UserError(
            f"{prefix}old occurs {len(lines)} times in {name}, at lines {line_numbers}{more}. Add lines around it so "
            "that it occurs once, or set replace_all."
        )
    return match


def _not_found_text(text: str, old_text: str, name: str) -> str:
    closest = closest_line(text, old_text)
    if closest is None:
        return f"old does not occur in {name}, nor anything like its first line. Read it again."
    number, line = closest
    return f"old does not occur in {name}. Closest to its first line is line {number}: {line[:MAX_SHOWN_LINE_CHARS]!r}. Read that part again."


def edit_note(text: str, match: EditMatch) -> str:
    """Return a sentence for the model on the lines that an edit replaced, and how tolerant the match was."""
    lines = ", ".join(_line_range_text(text, span) for span in match.spans[:MAX_NAMED_PLACES])
    place_count = len(match.spans)
    note = (
        f"Replaced line {lines}."
        if place_count == 1
        else f"Replaced {place_count} places, at lines {lines}."
    )
    if match.tolerance != "exact":
        note += f" (It matched only when {match.tolerance} were overlooked; check the result.)"
    return note


def _line_range_text(text: str, span: SpanEdit) -> str:
    first, last = line_of(text, span.start), line_of(text, max(span.start, span.end_index - 1))
    return str(first) if first == last else f"{first} to {last}"


def unified_difference(old_text: str, new_text: str, name: str) -> str:
    """Return the unified diff that the user is asked about."""
    old_lines, new_lines = old_text.splitlines(keepends=True), new_text.splitlines(keepends=True)
    if len(old_lines) + len(new_lines) > MAX_DIFF_LINES:
        return f"--- {name}\n+++ {name}\n(too long to compare: {len(old_lines)} lines become {len(new_lines)})\n"
    lines = difflib.unified_diff(old_lines, new_lines, f"a/{name}", f"b/{name}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def limited_diff(diff: str) -> str:
    """Return a diff cut to ``MAX_DIFF_CHARS``, with a note."""
    return diff if len(diff) <= MAX_DIFF_CHARS else f"{diff[:MAX_DIFF_CHARS]}\n(cut here)\n"

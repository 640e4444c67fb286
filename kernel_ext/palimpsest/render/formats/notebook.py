"""Write a session as a notebook: messages as Markdown, the agent's Python as cells with outputs.

Border: pure; returns the notebook's JSON, format 4.5. Running its cells again calls no agent, unless
prompts were exported as ``%%agent`` cells.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from palimpsest.render.content.outline import (
    Caps,
    Item,
    OutlineCall,
    OutlineNotes,
    Scrub,
    outline_message,
    outline_message_error,
    outline_parts,
)
from palimpsest.render.content.tool_calls import sections
from palimpsest.render.content.work_rows import Row, fold_work, without_row
from palimpsest.render.formats.item_writer import begins_turn, turn_end
from palimpsest.render.formats.markdown import OPENING_WRITER, render_message
from palimpsest.render.formats.share_page import Embed
from palimpsest.render.safety.escaping import clean, escape_inline
from palimpsest.transcript.call_outcomes import call_outcome
from palimpsest.transcript.messages import Message, typed_texts
from palimpsest.transcript.parts import (
    Attachment,
    FilePart,
    Part,
    ToolCompleted,
    ToolFailed,
    ToolPart,
)
from palimpsest.transcript.values import Density

Json = dict[str, Any]
Prompts = Literal["markdown", "cells"]

NOTEBOOK_CAPS = Caps(
    bytes_per_call=40_000,
    max_lines=400,
    read_only_lines=40,
    bytes_per_turn=4_000_000,
    bytes_per_text=400_000,
)
MAX_OUTPUT_CHARS = 200_000
"""Maximum characters of one output; a notebook with longer outputs is slow to open."""

CELL_ID_CHARS = 12
_COLOUR_CODES = re.compile(r"\x1b\[[0-9;]*m")


def notebook(
    title: str,
    facts: Sequence[tuple[str, str]],
    messages: Iterable[Message],
    *,
    scrub: Scrub,
    embed: Embed,
    notes: OutlineNotes | None = None,
    prompts: Prompts = "markdown",
    density: Density = "quiet",
    metadata: Json | None = None,
) -> Json:
    """Return a session as a notebook that nbformat accepts as valid."""
    writer = _NotebookWriter(scrub, embed, notes, prompts, density)
    facts_text = " · ".join(
        f"{escape_inline(scrub(key))}: {escape_inline(scrub(value))}" for key, value in facts
    )
    writer.add_markdown(f"# {escape_inline(scrub(title)) or 'Session'}\n\n{facts_text}")
    if prompts == "cells":
        writer.add_code("%load_ext palimpsest")
    for message in messages:
        writer.add_message(message)
    writer.end_turn()
    return {
        "cells": writer.cells,
        "metadata": {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
            "palimpsest": metadata or {},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


@dataclass(eq=False)
class _NotebookWriter:
    _scrub: Scrub
    _embed: Embed
    _notes: OutlineNotes | None
    _prompts: Prompts
    _density: Density
    _execution_count: int = 0
    _unwritten_items: list[Item] = field(default_factory=list)
    """Items that the next Markdown cell will hold; in the density ``all steps`` those of one message at most."""
    _step_messages: list[Message] = field(default_factory=list)
    """The turn's messages so far, with their steps alone."""
    _rowless_items: list[Item] = field(default_factory=list)
    """Items of the turn without a row."""
    cells: list[Json] = field(default_factory=list)

    def add_markdown(self, text: str) -> None:
        """Add a Markdown cell, unless the text is blank."""
        if text.strip():
            self._add({"cell_type": "markdown", "source": text})

    def add_code(
        self, source: str, outputs: Sequence[Json] = (), *, execution_count: int | None = None
    ) -> None:
        """Add a code cell."""
        cell = {"cell_type": "code", "source": source, "outputs": list(outputs)}
        self._add({**cell, "execution_count": execution_count})

    def _add(self, cell: Json) -> None:
        source_hash = hashlib.sha256(f"{len(self.cells)} {cell['source']}".encode(errors="replace"))
        self.cells.append({"id": source_hash.hexdigest()[:CELL_ID_CHARS], "metadata": {}, **cell})

    def add_message(self, message: Message) -> None:
        """Add the cells of one message; items that can be folded wait for the next message."""
        if begins_turn(message):
            self.end_turn()
        steps = tuple(part for part in message.parts if part.type == "step-finish")
        self._step_messages.append(message.model_copy(update={"parts": steps}))
        other_parts = tuple(part for part in message.parts if part.type != "step-finish")
        shown_message = message.model_copy(update={"parts": other_parts})
        files = [part for part in message.parts if isinstance(part, FilePart)]
        prompt_text = _prompt_text(shown_message) if self._prompts == "cells" else ""
        if prompt_text:
            self._write_unwritten_items()
            self.add_code(f"%%agent\n{self._scrub(prompt_text)}")
        elif message.info.role == "user" or message.info.summary:
            self._write_unwritten_items()
            text = render_message(
                shown_message, caps=NOTEBOOK_CAPS, scrub=self._scrub, notes=self._notes
            )
            self.add_markdown(text)
        else:
            self._write_answer(shown_message)
        for file in files:
            self._write_unwritten_items()
            self.add_markdown(self._file_markdown(file))

    def end_turn(self) -> None:
        """Add the pending items of the turn, and its figures."""
        self._write_unwritten_items(is_whole=True)
        self._step_messages, self._rowless_items = [], []

    def _write_unwritten_items(self, *, is_whole: bool = False) -> None:
        """Write the pending items into a cell, folded unless all steps are shown, and below a whole turn (``is_whole``) its figures."""
        items, self._unwritten_items = self._unwritten_items, []
        rows: list[Row] = list(items)
        if self._density == "quiet":
            folded_rows = fold_work(items)
            self._rowless_items += without_row(items, folded_rows)
            rows = [row for _, row in folded_rows]
            rows += turn_end(self._step_messages, self._rowless_items) if is_whole else []
        self.add_markdown(OPENING_WRITER.rows(rows))

    def _write_answer(self, message: Message) -> None:
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolPart) and _kernel_code(part) is not None:
                self._write_parts(parts)
                self._add_call(part)
                parts = []
                continue
            parts.append(part)
            if files := _call_attachments(part):
                self._write_parts(parts)
                parts = []
                for file in files:
                    self.add_markdown(self._file_markdown(file))
        answer_message = message.model_copy(update={"parts": tuple(parts)})
        self._unwritten_items += outline_message(
            answer_message, caps=NOTEBOOK_CAPS, scrub=self._scrub, notes=self._notes
        )
        if error := outline_message_error(answer_message, self._scrub):
            self._unwritten_items.append(error)
        if self._density == "all steps":
            self._write_unwritten_items()

    def _write_parts(self, parts: Sequence[Part]) -> None:
        self._unwritten_items += self._outline_items(parts)
        self._write_unwritten_items()

    def _outline_items(self, parts: Sequence[Part]) -> Sequence[Item]:
        return outline_parts(parts, caps=NOTEBOOK_CAPS, scrub=self._scrub, notes=self._notes)

    def _add_call(self, part: ToolPart) -> None:
        self._execution_count += 1
        outputs = list(self._cell_outputs(part))
        self.add_code(
            self._clean_text(_kernel_code(part) or ""),
            outputs,
            execution_count=self._execution_count,
        )
        for call in self._outline_items([part]):
            for sentence in call.reductions if isinstance(call, OutlineCall) else ():
                self.add_markdown(OPENING_WRITER.render_reduction(sentence))

    def _cell_outputs(self, part: ToolPart) -> Iterator[Json]:
        state = part.state
        if isinstance(state, ToolFailed):
            printed = state.metadata.get("output")
            if isinstance(printed, str) and printed:
                yield from self._printed_outputs(printed)
            reply = self._notes.question_and_reply(part)[1] if self._notes is not None else None
            if call_outcome(part, reply).status == "error":
                yield self._error_output(state.error)
            else:
                yield self._stream_output("stdout", self._clean_text(state.error))
        elif isinstance(state, ToolCompleted):
            yield from self._printed_outputs(state.output)
            for attachment in state.attachments:
                yield self._figure_output(self._embed(attachment))

    def _printed_outputs(self, output: str) -> Iterator[Json]:
        sections_with_labels = sections(output)
        for name, body in (
            [("stdout", output)] if sections_with_labels is None else sections_with_labels
        ):
            text = self._clean_text(body)[:MAX_OUTPUT_CHARS]
            match name:
                case "result":
                    yield {
                        "output_type": "execute_result",
                        "data": {"text/plain": text},
                        "metadata": {},
                        "execution_count": self._execution_count,
                    }
                case "error" | "interrupted":
                    yield self._error_output(body)
                case _ if text.strip():
                    yield self._stream_output("stderr" if name == "stderr" else "stdout", text)
                case _:
                    pass

    def _stream_output(self, name: str, text: str) -> Json:
        return {"output_type": "stream", "name": name, "text": f"{text}\n"}

    def _error_output(self, error: str) -> Json:
        text = self._clean_text(error)
        lines = text.split("\n")
        last_line = next((line for line in reversed(lines) if line.strip()), "")
        name, colon, value = last_line.partition(": ")
        has_name = colon and name.replace(".", "").replace("_", "").isalnum()
        return {
            "output_type": "error",
            "ename": name if has_name else "Error",
            "evalue": value if has_name else last_line,
            "traceback": lines,
        }

    def _figure_output(self, embedded_file: Any) -> Json:
        name = self._clean_text(embedded_file.name)
        data = {"text/plain": f"<{name}>"}
        if embedded_file.kind == "picture":
            content = embedded_file.content.partition(",")[2]
            is_svg = embedded_file.mime == "image/svg+xml"
            data[embedded_file.mime] = base64.b64decode(content).decode() if is_svg else content
        elif embedded_file.kind == "text":
            data = {"text/plain": embedded_file.content}
        elif embedded_file.omission_reason:
            data = {"text/plain": f"<{name}: {embedded_file.omission_reason}>"}
        return {"output_type": "display_data", "data": data, "metadata": {}}

    def _file_markdown(self, file: FilePart | Attachment) -> str:
        embedded_file = self._embed(file)
        name = escape_inline(self._scrub(embedded_file.name)) or "file"
        if embedded_file.kind == "picture" and embedded_file.mime != "image/svg+xml":
            return f"![{name}]({embedded_file.content})"
        line = f"▤ *{name}* ({escape_inline(embedded_file.mime)})"
        return f"{line} {escape_inline(embedded_file.omission_reason)}".rstrip(" ")

    def _clean_text(self, text: str) -> str:
        return self._scrub(clean(_COLOUR_CODES.sub("", text)))


def _kernel_code(part: ToolPart) -> str | None:
    """Return the code that a call ran in the kernel; None for every other call."""
    if part.tool != "python" or not isinstance(part.state, ToolCompleted | ToolFailed):
        return None
    code = part.state.input.get("code")
    return code if isinstance(code, str) and code.strip() else None


def _call_attachments(part: Part) -> tuple[Attachment, ...]:
    """Return the attachments of a call, such as an image that was read."""
    if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
        return part.state.attachments
    return ()


def _prompt_text(message: Message) -> str:
    texts = typed_texts(message) if message.info.role == "user" else []
    return "\n\n".join(text for text in texts if text.strip())

"""Decide which cells of a notebook are hidden from the agent, and remove them from a notebook's text.

Border: pure; texts and values in, texts out. All readers of notebooks use this rule: the tools ``notebook``, ``read`` and
``grep``, files that a prompt names, and differences of files. A cell is hidden by its tag ``agent-hidden``, in any case and
at any depth of its metadata, or because the kernel recorded its run as hidden. A notebook is recognised by its content,
not by its file name; a broken notebook that may contain a hidden cell is not shown at all.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from palimpsest.transcript.context_values.cell_runs import (
    HIDDEN_TAG,
    NotebookRuns,
    has_hidden_tag,
    names_hidden_tag,
)
from palimpsest.transcript.errors import UserError

CELL_PLACEHOLDER = "(a cell that is kept from you)"
WIDGETS_PLACEHOLDER = (
    "(the state of widgets, which may hold outputs of cells that are kept from you)"
)
BROKEN_NOTEBOOK_MESSAGE = (
    "{name} is a broken notebook that names the tag agent-hidden or a cell that the user keeps from you, so which of its "
    "text you may read cannot be told, and none is shown. The user can save it anew in Jupyter."
)
MAX_START_CHARS = 1_000
"""Characters in which a notebook's first bracket is searched."""
_TAG = re.compile(re.escape(HIDDEN_TAG), re.IGNORECASE)
_TOKEN = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|[{}\[\]]', re.DOTALL)


class BrokenNotebook(UserError):
    """A file is a notebook with a hidden cell, but not valid JSON."""


@dataclass(frozen=True, slots=True)
class HiddenRuns:
    """The cells whose newest run in a kernel is hidden, by id or else by source."""

    ids: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    """Stripped sources of all these cells; cells of an older file format have no ids and are recognised by these."""
    without_id: frozenset[str] = frozenset()
    """Stripped sources of the cells that ran without an id."""


NONE_HIDDEN = HiddenRuns()


def hidden_runs(recorded_runs: NotebookRuns) -> HiddenRuns:
    """Return the cells that the kernel's record marks as hidden."""
    newest_runs = {run.cell_id or f"run {run.serial}": run for run in recorded_runs.runs}.values()
    hidden_cells = [run for run in newest_runs if run.hidden and run.source.strip()]
    return HiddenRuns(
        frozenset(run.cell_id for run in hidden_cells if run.cell_id),
        frozenset(run.source.strip() for run in hidden_cells),
        frozenset(run.source.strip() for run in hidden_cells if not run.cell_id),
    )


def is_hidden_cell(cell: Mapping[str, Any], hidden_runs: HiddenRuns = NONE_HIDDEN) -> bool:
    """Return whether a cell of a notebook file is hidden from the agent."""
    if has_hidden_tag(cell.get("metadata")) or names_hidden_tag(cell.get("tags")):
        return True
    cell_id = cell.get("id")
    if isinstance(cell_id, str) and cell_id in hidden_runs.ids:
        return True
    source = cell.get("source", cell.get("input"))
    text = ("".join(map(str, source)) if isinstance(source, list) else str(source)).strip()
    return text in (hidden_runs.without_id if isinstance(cell_id, str) else hidden_runs.sources)


@dataclass(frozen=True, slots=True)
class VisibleText:
    """A file's text without the cells that are hidden from the agent."""

    text: str
    hidden_count: int = 0
    """Number of cells that were removed."""


def without_hidden_cells(
    text: str, name: str, hidden_runs: HiddenRuns = NONE_HIDDEN, *, keep_lines: bool = True
) -> VisibleText:
    """Return the text of a file with a placeholder for each hidden cell; unchanged where it is no notebook.

    With ``keep_lines`` the text after a placeholder keeps its line numbers. Raises BrokenNotebook.
    """
    may_hide_cells = "\\u" in text or _names_hidden(text, hidden_runs) or bool(hidden_runs.sources)
    if not may_hide_cells or not _looks_like_notebook(text, name):
        return VisibleText(text)
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        if _names_hidden(text, hidden_runs):
            raise BrokenNotebook(BROKEN_NOTEBOOK_MESSAGE.format(name=name)) from None
        return VisibleText(text)
    spans = _hidden_spans(text, hidden_runs)
    if not any(placeholder == CELL_PLACEHOLDER for *_, placeholder in spans):
        return VisibleText(text)
    visible_pieces: list[str] = []
    copied_until = hidden_count = 0
    for span_start, span_end, placeholder in spans:
        if span_start < copied_until:
            continue  # The span lies within one that is removed already.
        line_ends = "\n" * (text.count("\n", span_start, span_end) if keep_lines else 0)
        visible_pieces += [text[copied_until:span_start], placeholder, line_ends]
        copied_until, hidden_count = span_end, hidden_count + (placeholder == CELL_PLACEHOLDER)
    return VisibleText("".join([*visible_pieces, text[copied_until:]]), hidden_count)


def _names_hidden(text: str, hidden_runs: HiddenRuns) -> bool:
    clean_text = text.replace("\0", "")
    return _TAG.search(clean_text) is not None or any(
        f'"{cell_id}"' in clean_text for cell_id in hidden_runs.ids
    )


def _looks_like_notebook(text: str, name: str) -> bool:
    if name.lower().endswith(".ipynb"):
        return True
    starts_as_json = text[:MAX_START_CHARS].replace("\0", "").lstrip("\ufeff \t\r\n")[:1] in (
        "{",
        "[",
    )
    clean_text = text.replace("\0", "") if "\0" in text else text
    return starts_as_json and ('"cells"' in clean_text or '"cell_type"' in clean_text)


@dataclass(slots=True)
class _UnclosedBracket:
    """An object or list whose closing bracket is not reached yet."""

    start: int
    parent_key: str
    """The key whose value the object or list is; in a list, the key of that list."""
    is_in_cell_list: bool
    key: str = ""
    is_cell: bool = False


def _hidden_spans(text: str, hidden_runs: HiddenRuns) -> list[tuple[int, int, str]]:
    """Return start, end and placeholder of each span to remove from a valid JSON text, outer spans first."""
    spans: list[tuple[int, int, str]] = []
    stack: list[_UnclosedBracket] = []
    for token in _TOKEN.finditer(text):
        character = token[0][0]
        if character == '"':
            if token[2] and stack:
                stack[-1].key = json.loads(f'"{token[1]}"') if "\\" in token[1] else token[1]
                stack[-1].is_cell |= stack[-1].key == "cell_type"
        elif character in "{[":
            outer = stack[-1] if stack else None
            parent_key = (outer.key or outer.parent_key) if outer is not None else ""
            is_in_cell_list = (
                outer is not None and text[outer.start] == "[" and outer.parent_key == "cells"
            )
            stack.append(_UnclosedBracket(token.start(), parent_key, is_in_cell_list))
        else:
            bracket = stack.pop()
            if character == "]":
                continue
            span = (bracket.start, token.end())
            if bracket.is_in_cell_list or bracket.is_cell:
                if is_hidden_cell(json.loads(text[slice(*span)]), hidden_runs):
                    spans.append((*span, CELL_PLACEHOLDER))
            elif bracket.parent_key == "widgets" and stack and stack[-1].parent_key == "metadata":
                spans.append((*span, WIDGETS_PLACEHOLDER))
    return sorted(spans, key=lambda span: (span[0], -span[1]))

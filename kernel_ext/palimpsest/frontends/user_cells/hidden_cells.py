"""Remember which cells are hidden from the agent, and mask their source in texts that it reads, such as tracebacks.

Border: loaded with ``%load_ext``, so no heavy module is imported; works on texts. Three kinds of cells are hidden: those
with the tag ``agent-hidden``, those after ``%agent private``, and those that ran before the extension was loaded, since
their tags are unknown. The traceback of a function from such a cell shows its lines, and in IPython's mode Verbose its
values.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from palimpsest.frontends.user_cells.text_buffer import ANSI

MASKED_LINE = "(a line of a cell that is kept from you)"
MASKED_FRAME = "    (a cell that is kept from you; its source and values are not shown)"
MIN_LINE_CHARS = 6
"""Minimum characters of a hidden line that is masked; ``else:`` and ``pass`` reveal nothing."""
MAX_LINES = 5_000
"""Maximum lines of hidden cells that are remembered; the oldest are dropped first."""
MAX_SEARCHED_CHARS = 60_000
"""Maximum characters of a text in which hidden lines are also searched within lines; others are compared by line."""
_SHELL_ATTRIBUTE = "_palimpsest_kept_cells"
_EDGES = re.compile(r"^[\W\d]+|\W+$")
_CELL_FRAME = re.compile(r"\s*(?:Cell In|Input In|In)\s?\[(\d+)\]")
_FILE_FRAME = re.compile(
    r'\s*(?:[|+ ]*)(?:File )?"?(?P<file><ipython-input-(?P<number>\d+)[^>"]*>|[^"\n]+?\.py)"?[:,]'
)
_ARROW = re.compile(r"\s*-+>\s*\d+ ?(?P<code>.*)")


class HiddenCells:
    """The sources of one kernel's hidden cells, and of the cells that the agent may see.

    Responsibilities: recognise file names of hidden cells' code; mask their lines in a text. A line that is also in a cell
    that is not hidden is not masked.
    """

    def __init__(self, shell: Any = None) -> None:
        self._compile = getattr(shell, "compile", None)
        self._hidden_lines: dict[str, None] = {}
        self._keys_by_form: dict[str, str] = {}
        """Key of a hidden line, by the forms in which it can be part of another line."""
        self._revealed_lines: dict[str, None] = {}
        self._hidden_numbers: dict[int, None] = {}
        self._hidden_files: dict[str, None] = {}
        self._last_recorded_number = 0
        """Number of the last cell that was recorded before the extension was unloaded."""

    def hide(self, source: str) -> None:
        """Add the source of a hidden cell."""
        if name := self._file_name(source):
            self._hidden_files[name] = None
        for line in source.splitlines():
            key = _comparable_line(line)
            if len(key) >= MIN_LINE_CHARS:
                self._hidden_lines[key] = None
                for form in (line.strip(), repr(line.strip())[1:-1]):
                    self._keys_by_form[form] = key
        for table in (self._hidden_lines, self._keys_by_form):
            while len(table) > MAX_LINES:
                del table[next(iter(table))]

    def hide_number(self, number: int) -> None:
        """Add the execution count of a hidden cell, by which tracebacks name it."""
        self._hidden_numbers[number] = None

    def hide_unrecorded(self, sources: Iterable[tuple[int, str]]) -> None:
        """Add the cells that ran while no recorder was registered, by number and source."""
        for number, source in sources:
            if number > self._last_recorded_number:
                self.hide(source)
                self.hide_number(number)
        numbers_by_file = dict(getattr(self._compile, "_filename_map", None) or {})
        for name, number in numbers_by_file.items():
            if isinstance(number, int) and number > self._last_recorded_number:
                self._hidden_files[name] = self._hidden_numbers[number] = None

    def end_recording(self, number: int) -> None:
        """Record that the cell with this number is the last recorded one."""
        self._last_recorded_number = number

    def reveal_source(self, source: str) -> None:
        """Add a source that the agent may see: a cell of the user, or the agent's own code."""
        for line in source.splitlines():
            if len(key := _comparable_line(line)) >= MIN_LINE_CHARS:
                self._revealed_lines.pop(key, None)
                self._revealed_lines[key] = None
        while len(self._revealed_lines) > MAX_LINES:
            del self._revealed_lines[next(iter(self._revealed_lines))]
        if name := self._file_name(source):
            self._hidden_files.pop(name, None)

    def hides_file(self, name: str) -> bool:
        """Return whether code with this file name was compiled from a hidden cell."""
        frame_match = _FILE_FRAME.match(f"{name},")
        number = frame_match["number"] if frame_match is not None else None
        is_hidden_number = number is not None and int(number) in self._hidden_numbers
        return name in self._hidden_files or is_hidden_number

    def masked_text(self, text: str) -> str:
        """Return a text with masked lines of hidden cells and masked frames of their code in tracebacks."""
        if not self._hidden_numbers and not self._hidden_lines:
            return text
        lines = ANSI.sub("", text).split("\n")
        hidden_forms = self._hidden_forms_in(text)
        masked_lines = [
            MASKED_LINE
            if self._is_hidden(line) or any(form in line for form in hidden_forms)
            else line
            for line in self._without_frames(lines)
        ]
        return "\n".join(masked_lines) if masked_lines != lines else text

    def _file_name(self, source: str) -> str | None:
        get_code_name = getattr(self._compile, "get_code_name", None)
        try:
            file_name = get_code_name(source, source, 0) if get_code_name is not None else None
        except Exception:  # noqa: BLE001  # another shell's compiler
            return None
        # In a terminal, the name holds the cell's number, which is stored instead.
        if isinstance(file_name, str) and not file_name.startswith("<ipython-input"):
            return file_name
        return None

    def _is_hidden(self, line: str) -> bool:
        keys = (_comparable_line(piece) for piece in line.split("\\n"))
        return any(key in self._hidden_lines and key not in self._revealed_lines for key in keys)

    def _hidden_forms_in(self, text: str) -> list[str]:
        """Return the hidden lines that occur within lines of a text, unchanged or as ``repr`` writes them."""
        if len(text) > MAX_SEARCHED_CHARS:
            return []
        return [
            form
            for form, key in self._keys_by_form.items()
            if form in text and key not in self._revealed_lines
        ]

    def _without_frames(self, lines: list[str]) -> Iterator[str]:
        """Yield the lines of a text, with a mask in place of each traceback frame of a hidden cell."""
        index = 0
        while index < len(lines):
            line, block = lines[index], _frame_lines(lines, index)
            if block and self._is_hidden_frame(line, block):
                yield MASKED_FRAME
            else:
                yield from [line, *block]
            index += 1 + len(block)

    def _is_hidden_frame(self, heading: str, block: list[str]) -> bool:
        cell_match, file_match = _CELL_FRAME.match(heading), _FILE_FRAME.match(heading)
        if file_match is not None and self.hides_file(file_match["file"]):
            return True
        if cell_match is None or int(cell_match[1]) not in self._hidden_numbers:
            return False
        # The agent's own code has the number of the user's next cell.
        arrow_lines = [
            _comparable_line(match["code"]) for line in block if (match := _ARROW.match(line))
        ]
        return not arrow_lines or not all(
            arrow_line in self._revealed_lines for arrow_line in arrow_lines
        )


NOTHING_HIDDEN = HiddenCells()


def hidden_cells(shell: Any) -> HiddenCells:
    """Return the hidden cells of a shell; empty where no recorder was registered."""
    cells = getattr(shell, _SHELL_ATTRIBUTE, None)
    return cells if isinstance(cells, HiddenCells) else NOTHING_HIDDEN


def attached_hidden_cells(shell: Any) -> HiddenCells:
    """Return the hidden cells of a shell, and store them in it, so that they outlive the recorder."""
    cells = getattr(shell, _SHELL_ATTRIBUTE, None)
    if not isinstance(cells, HiddenCells):
        cells = HiddenCells(shell)
        setattr(shell, _SHELL_ATTRIBUTE, cells)
    return cells


def _comparable_line(line: str) -> str:
    """Return a line without the arrows, numbers, blanks and marks that a traceback adds at its ends."""
    return _EDGES.sub("", line.strip())


def _frame_lines(lines: list[str], start: int) -> list[str]:
    """Return the lines that belong to the head of a traceback's frame; empty if the line begins no frame."""
    cell_match, file_match = _CELL_FRAME.match(lines[start]), _FILE_FRAME.match(lines[start])
    if cell_match is None and file_match is None:
        return []
    block: list[str] = []
    indent = len(lines[start]) - len(lines[start].lstrip(" |+"))
    for line in lines[start + 1 :]:
        is_deeper = len(line) - len(line.lstrip(" |+-")) > indent or line.lstrip().startswith("--")
        if not line.strip(" |") or _CELL_FRAME.match(line) or _FILE_FRAME.match(line):
            break
        if cell_match is None and not is_deeper:
            break
        block.append(line)
    return block

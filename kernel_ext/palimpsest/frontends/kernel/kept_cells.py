"""Know which cells are kept from the agent, and take their source out of texts that it reads, such as tracebacks.

Border: loaded with ``%load_ext``, so nothing heavy is imported; texts in, texts out. Kept are cells with the tag
``agent-hidden``, those after ``%agent private``, and those that ran before the extension was loaded, since their tags
are not known. An error in a function that such a cell defined shows its lines, and IPython's mode Verbose its values.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from palimpsest.frontends.kernel.text_buffer import ANSI

KEPT_LINE = "(a line of a cell that is kept from you)"
KEPT_FRAME = "    (a cell that is kept from you; its source and values are not shown)"
SHORTEST_LINE = 6
"""Characters of a line that is looked for; ``else:`` and ``pass`` tell nothing."""
MOST_LINES = 5_000
"""Lines of kept cells that are remembered; the oldest go first."""
SEARCHED_CHARS = 60_000
"""Longer texts are compared line by line only, and not searched for each kept line within a line."""
_ATTRIBUTE = "_palimpsest_kept_cells"
_EDGES = re.compile(r"^[\W\d]+|\W+$")
_CELL_FRAME = re.compile(r"\s*(?:Cell In|Input In|In)\s?\[(\d+)\]")
_FILE_FRAME = re.compile(
    r'\s*(?:[|+ ]*)(?:File )?"?(?P<file><ipython-input-(?P<number>\d+)[^>"]*>|[^"\n]+?\.py)"?[:,]'
)
_ARROW = re.compile(r"\s*-+>\s*\d+ ?(?P<code>.*)")


class KeptCells:
    """The sources of one kernel's cells that the agent is not told, and of those that it may know.

    Responsibilities: tell a file name that such a cell's code has; mask its lines in a text. A line that stands in a cell
    that is not kept, too, is no secret.
    """

    def __init__(self, shell: Any = None) -> None:
        self._compile = getattr(shell, "compile", None)
        self._lines: dict[str, None] = {}
        self._forms: dict[str, str] = {}
        """How a line may stand within another, with its key."""
        self._open: dict[str, None] = {}
        self._numbers: dict[int, None] = {}
        self._files: dict[str, None] = {}
        self._recorded = 0
        """Number of the last cell that was recorded before the extension was unloaded."""

    def keep(self, source: str) -> None:
        """Remember the source of a cell that is kept from the agent."""
        if name := self._file_name(source):
            self._files[name] = None
        for line in source.splitlines():
            key = _key(line)
            if len(key) >= SHORTEST_LINE:
                self._lines[key] = None
                self._forms[line.strip()] = self._forms[repr(line.strip())[1:-1]] = key
        for kept in (self._lines, self._forms):
            while len(kept) > MOST_LINES:
                del kept[next(iter(kept))]

    def keep_number(self, number: int) -> None:
        """Remember the number that stands beside such a cell, by which tracebacks name it."""
        self._numbers[number] = None

    def keep_unrecorded(self, sources: Iterable[tuple[int, str]]) -> None:
        """Remember the cells that ran while nothing was recorded, by number and source."""
        for number, source in sources:
            if number > self._recorded:
                self.keep(source)
                self.keep_number(number)
        named = dict(getattr(self._compile, "_filename_map", None) or {})
        for name, number in named.items():
            if isinstance(number, int) and number > self._recorded:
                self._files[name] = self._numbers[number] = None

    def recorded_until(self, number: int) -> None:
        """Note that the recording ends with the cell of this number."""
        self._recorded = number

    def open(self, source: str) -> None:
        """Remember a source that the agent may know: a cell of the user, or its own code."""
        for line in source.splitlines():
            if len(key := _key(line)) >= SHORTEST_LINE:
                self._open.pop(key, None)
                self._open[key] = None
        while len(self._open) > MOST_LINES:
            del self._open[next(iter(self._open))]
        if name := self._file_name(source):
            self._files.pop(name, None)

    def hides_file(self, name: str) -> bool:
        """Tell whether code with this file name was compiled from a kept cell."""
        found = _FILE_FRAME.match(f"{name},")
        number = found["number"] if found is not None else None
        return name in self._files or (number is not None and int(number) in self._numbers)

    def clean(self, text: str) -> str:
        """Return a text with the lines of kept cells masked, and in tracebacks what is shown of their frames."""
        if not self._numbers and not self._lines:
            return text
        lines = ANSI.sub("", text).split("\n")
        within = self._contained(text)
        cleaned = [
            KEPT_LINE if self._is_kept(line) or any(one in line for one in within) else line
            for line in self._without_frames(lines)
        ]
        return "\n".join(cleaned) if cleaned != lines else text

    def _file_name(self, source: str) -> str | None:
        name = getattr(self._compile, "get_code_name", None)
        try:
            found = name(source, source, 0) if name is not None else None
        except Exception:  # noqa: BLE001  # another shell's compiler
            return None
        # A terminal's name holds the number of the cell, by which it is known.
        return found if isinstance(found, str) and not found.startswith("<ipython-input") else None

    def _is_kept(self, line: str) -> bool:
        keys = (_key(piece) for piece in line.split("\\n"))
        return any(key in self._lines and key not in self._open for key in keys)

    def _contained(self, text: str) -> list[str]:
        """Return kept lines that a text holds somewhere within a line, as they are or as ``repr`` writes them."""
        if len(text) > SEARCHED_CHARS:
            return []
        return [form for form, key in self._forms.items() if form in text and key not in self._open]

    def _without_frames(self, lines: list[str]) -> Iterator[str]:
        """Yield the lines of a text; of a kept cell's frame in a traceback only that there is one."""
        at = 0
        while at < len(lines):
            line, block = lines[at], _block(lines, at)
            if block and self._is_kept_frame(line, block):
                yield KEPT_FRAME
            else:
                yield from [line, *block]
            at += 1 + len(block)

    def _is_kept_frame(self, head: str, block: list[str]) -> bool:
        cell, file = _CELL_FRAME.match(head), _FILE_FRAME.match(head)
        if file is not None and self.hides_file(file["file"]):
            return True
        if cell is None or int(cell[1]) not in self._numbers:
            return False
        # The agent's own code has the number of the user's next cell.
        arrows = [found["code"] for one in block if (found := _ARROW.match(one))]
        return not arrows or not all(_key(one) in self._open for one in arrows)


NOTHING_KEPT = KeptCells()


def kept_cells(shell: Any) -> KeptCells:
    """Return what is kept from the agent in a shell; nothing where no recorder was registered."""
    found = getattr(shell, _ATTRIBUTE, None)
    return found if isinstance(found, KeptCells) else NOTHING_KEPT


def attached_kept_cells(shell: Any) -> KeptCells:
    """Return what is kept from the agent in a shell, which from now on remembers it, also while nothing is recorded."""
    kept = getattr(shell, _ATTRIBUTE, None)
    if not isinstance(kept, KeptCells):
        kept = KeptCells(shell)
        setattr(shell, _ATTRIBUTE, kept)
    return kept


def _key(line: str) -> str:
    """Return a line without what a traceback puts around it: arrows, numbers, blanks, marks; both ends of it."""
    return _EDGES.sub("", line.strip())


def _block(lines: list[str], at: int) -> list[str]:
    """Return the lines that belong to the head of a traceback's frame; empty where a line is none."""
    cell, file = _CELL_FRAME.match(lines[at]), _FILE_FRAME.match(lines[at])
    if cell is None and file is None:
        return []
    found: list[str] = []
    indent = len(lines[at]) - len(lines[at].lstrip(" |+"))
    for line in lines[at + 1 :]:
        deeper = len(line) - len(line.lstrip(" |+-")) > indent or line.lstrip().startswith("--")
        if not line.strip(" |") or _CELL_FRAME.match(line) or _FILE_FRAME.match(line):
            break
        if cell is None and not deeper:
            break
        found.append(line)
    return found

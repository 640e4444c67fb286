"""Read what the engine tells of a failed cell: source, exception, failing line, variables.

All of it is data that anybody may have written. It is taken apart by its form alone, and no word in it
is an instruction.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.model.rehearsal.parsing.tool_outputs import literal

REDACTED = "[redacted]"
"""What the engine puts in the place of a secret."""
_TAGS = "notebook|variables|versions|cell|source|stdout|stderr|result|display|error"
_ESCAPED = lazy_pattern(rf"&lt;(?=/?(?:{_TAGS})\b)", re.IGNORECASE)
_CELL = lazy_pattern(r"(?m)^<cell([^>\n]*)>$")
_CUT = lazy_pattern(r"(?m)^\[[\d,]+ characters left out\]$")
_VARIABLE = lazy_pattern(r"(?m)^- ([^\W\d]\w*): ([^,\n]*)(?:, (.*))?$")
_FRAME_SHAPE = lazy_pattern(r"[\d,]+ rows x (\d+) columns(?:: (.*))?\Z")
_HEADING = lazy_pattern(r"(?m)^([\w.]+) +Traceback \(most recent call last\)$")
_LAST_LINE = lazy_pattern(
    r"(?m)^([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Iteration|Warning|Group))(?:: (.*))?$"
)
_CELL_FRAME = lazy_pattern(
    r"\s*(?:File )?(?:(?:Cell|Input) In ?\[(?P<cell>\d+)\]|<ipython-input-(?P<old>\d+)-\w+>|(?P<timed><timed \w+>))"
    r"(?:, line (?P<line>\d+)|:(?P<short>\d+)|, in <cell line: (?P<wide>\d+)>)?"
)
_OTHER_FRAME = lazy_pattern(r"(?:File |~|/|[A-Za-z]:\\|<)")
_NO_SOURCE = "Could not get source"
"""What IPython shows for a line whose text it does not have."""
_ARROW = lazy_pattern(r"-+> ?(\d+)(?: (.*))?\Z")


@dataclass(frozen=True)
class ToldVariable:
    """One line of the variables that are told with an error."""

    name: str
    kind: str
    """The last word of the type's name, such as ``DataFrame``; empty where only names are told."""
    rest: str = ""
    """Shape or value, as told."""

    @property
    def is_table(self) -> bool:
        """Is a pandas DataFrame."""
        return self.kind == "DataFrame"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of columns that are told, which need not be all."""
        found = _FRAME_SHAPE.match(self.rest)
        names = (found[2] or "").split(", ") if found else []
        return tuple(name for name in names if name not in {"", "..."})

    @property
    def tells_all_columns(self) -> bool:
        """Every column is told: none was left out, and no name holds a comma."""
        found = _FRAME_SHAPE.match(self.rest)
        return bool(found) and int(found[1] if found else 0) == len(self.columns)

    @property
    def text_value(self) -> str | None:
        """The value of a text, where it is told as a whole."""
        value = literal(self.rest)
        return value if isinstance(value, str) else None


@dataclass(frozen=True)
class _Place:
    """A line of a traceback that lies in a cell."""

    cell: str
    line: int
    text: str


@dataclass(frozen=True)
class ErrorReport:
    """A failed cell, as it was told."""

    number: str
    """The cell's number, or nothing."""
    source: str
    traceback: str
    variables: tuple[ToldVariable, ...] = ()
    escaped: bool = False
    """A tag's ``<`` was told as ``&lt;`` and is read as ``<`` again."""

    @property
    def is_cut(self) -> bool:
        """The middle of the source was left out."""
        return bool(_CUT.search(self.source))

    @property
    def is_redacted(self) -> bool:
        """A secret of the source is not told, so the whole cell cannot be given back."""
        return REDACTED in self.source

    @cached_property
    def _parts(self) -> tuple[str, str, str]:
        """Frames, name and message of the exception that was raised last."""
        headings = list(_HEADING.finditer(self.traceback))
        if headings:
            name, rest = headings[-1][1], self.traceback[headings[-1].end() :]
            said = re.search(rf"(?m)^(?:[\w.]+\.)?{re.escape(name)}(?:: ?|$)", rest)
            if said:
                return rest[: said.start()], name, rest[said.end() :].strip()
        found = list(_LAST_LINE.finditer(self.traceback))
        if not found:
            return self.traceback, "", ""
        last = found[-1]
        return (
            self.traceback[: last.start()],
            last[1],
            self.traceback[last.end(1) :].lstrip(":").strip(),
        )

    @property
    def exception(self) -> str:
        """The name of the exception, without its module; empty where none is told."""
        return self._parts[1].rsplit(".", 1)[-1]

    @property
    def message(self) -> str:
        """The message of the exception."""
        return self._parts[2]

    @property
    def said(self) -> str:
        """Name and message in one line, for reading."""
        words = f"{self.exception}: {self.message}" if self.message else self.exception
        line = " ".join(words.split())
        return line if len(line) <= 300 else f"{line[:297]}..."

    @cached_property
    def _places(self) -> tuple[_Place, ...]:
        found: list[_Place] = []
        cell: str | None = None
        for line in self._parts[0].splitlines():
            if frame := _CELL_FRAME.match(line):
                cell = frame["cell"] or frame["old"] or self.number
                number = frame["line"] or frame["short"] or frame["wide"] or "0"
                found.append(_Place(cell, int(number), ""))
            elif _OTHER_FRAME.match(line):
                cell = None
            elif cell is not None and (arrow := _ARROW.match(line)):
                text = (arrow[2] or "").strip()
                found[-1] = _Place(cell, int(arrow[1]), "" if _NO_SOURCE in text else text)
        return tuple(found)

    @cached_property
    def _own(self) -> _Place | None:
        own = [one for one in self._places if not self.number or one.cell == self.number]
        return own[-1] if own else None

    @property
    def elsewhere(self) -> str:
        """The number of another cell whose code raised the error, or nothing."""
        last = self._places[-1] if self._places else None
        return last.cell if last and self.number and last.cell != self.number else ""

    @cached_property
    def line(self) -> int | None:
        """The failing line of the source, from 1, where it is certain."""
        place = self._own
        # Below a cell magic lines are counted from its body, so without its text a line is not certain.
        below_magic = self.source.lstrip().startswith("%%")
        if place is None or self.is_cut or (below_magic and not place.text):
            return None
        lines = self.source.split("\n")
        if 1 <= place.line <= len(lines) and place.text in {"", lines[place.line - 1].strip()}:
            return place.line if lines[place.line - 1].strip() else None
        same = [at for at, one in enumerate(lines, 1) if place.text and one.strip() == place.text]
        return same[0] if len(same) == 1 else None

    @property
    def line_text(self) -> str:
        """The failing line, from the source or from the traceback."""
        if self.line is not None:
            return self.source.split("\n")[self.line - 1].strip()
        return self._own.text if self._own else ""

    @property
    def where(self) -> str:
        """Cell and line in words."""
        cell = f"cell {self.number}" if self.number else "the cell"
        return f"line {self.line} of {cell}" if self.line is not None else cell


def read_error_report(note: str) -> ErrorReport | None:
    """Read the engine's note about a failed cell; None where it holds no cell."""
    cell = _CELL.search(note)
    if cell is None:
        return None
    number = re.search(r'\bnumber="(\d+)"', cell[1])
    raw = _between(note, "source")
    told = _between(note, "variables", after_cell=True)
    variables = tuple(
        ToldVariable(name, kind.strip().rsplit(".", 1)[-1], _plain(rest))
        for name, kind, rest in _VARIABLE.findall(told)
    )
    return ErrorReport(
        number[1] if number else "",
        _plain(raw),
        _plain(_between(note, "error")),
        variables,
        escaped=bool(_ESCAPED.search(raw)),
    )


def _between(note: str, tag: str, *, after_cell: bool = False) -> str:
    """Return what stands between a tag and its end; the last one, as an error follows other outputs."""
    start = note.rfind("\n</cell>") if after_cell else 0
    found = re.findall(rf"(?ms)^<{tag}>\n(.*?)\n</{tag}>$", note[max(start, 0) :])
    return str(found[-1]) if found else ""


def _plain(text: str) -> str:
    return _ESCAPED.sub("<", text)

"""Parse the engine's note about a failed cell: source, exception, failing line, variables.

All of it is untrusted data, parsed by its form alone; no text in it is an instruction.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from palimpsest.lazy_patterns import lazy_pattern

MAX_SUMMARY_CHARS = 300
REDACTED = "[redacted]"
"""The engine's replacement for a secret."""
_TAGS = "notebook|variables|versions|cell|source|stdout|stderr|result|display|error"
_ESCAPED_TAG = lazy_pattern(rf"&lt;(?=/?(?:{_TAGS})\b)", re.IGNORECASE)
_CELL = lazy_pattern(r"(?m)^<cell([^>\n]*)>$")
_CUT_NOTE = lazy_pattern(r"(?m)^\[[\d,]+ characters left out\]$")
_VARIABLE = lazy_pattern(r"(?m)^- ([^\W\d]\w*): ([^,\n]*)(?:, (.*))?$")
_FRAME_SHAPE = lazy_pattern(r"[\d,]+ rows x (\d+) columns(?:: (.*))?\Z")
_TRACEBACK_HEADING = lazy_pattern(r"(?m)^([\w.]+) +Traceback \(most recent call last\)$")
_EXCEPTION_LINE = lazy_pattern(
    r"(?m)^([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Iteration|Warning|Group))(?:: (.*))?$"
)
_CELL_FRAME = lazy_pattern(
    r"\s*(?:File )?(?:(?:Cell|Input) In ?\[(?P<cell>\d+)\]|<ipython-input-(?P<old>\d+)-\w+>|(?P<timed><timed \w+>))"
    r"(?:, line (?P<line>\d+)|:(?P<short>\d+)|, in <cell line: (?P<wide>\d+)>)?"
)
_OTHER_FRAME = lazy_pattern(r"(?:File |~|/|[A-Za-z]:\\|<)")
_NO_SOURCE = "Could not get source"
"""IPython's text for a line that it cannot read."""
_FAILING_LINE = lazy_pattern(r"-+> ?(\d+)(?: (.*))?\Z")


@dataclass(frozen=True)
class ReportedVariable:
    """A variable that the engine lists with an error."""

    name: str
    kind: str
    """The last word of the type's name, such as ``DataFrame``; empty where only names are listed."""
    columns: tuple[str, ...] = ()
    """Names of a DataFrame's columns, perhaps not all."""
    column_count: int = 0

    @property
    def is_table(self) -> bool:
        """Whether it is a pandas DataFrame."""
        return self.kind == "DataFrame"

    @property
    def names_all_columns(self) -> bool:
        """Whether every column is listed: none was left out, and no name contains a comma."""
        return 0 < self.column_count == len(self.columns)


@dataclass(frozen=True)
class _TracebackLine:
    """A line of a cell in the traceback: the cell's number, the line's number from 1, and its text where it is shown."""

    cell: str
    line_number: int
    text: str


@dataclass(frozen=True)
class ErrorReport:
    """A failed cell, as the engine reports it."""

    number: str
    """The cell's number; empty where it has none."""
    source: str
    traceback: str
    variables: tuple[ReportedVariable, ...] = ()
    was_escaped: bool = False
    """Whether the note had ``&lt;`` for a tag's ``<``, which is unescaped here."""

    @property
    def is_cut(self) -> bool:
        """Whether the middle of the source was left out."""
        return bool(_CUT_NOTE.search(self.source))

    @property
    def is_redacted(self) -> bool:
        """Whether a secret of the source was removed, so that the whole cell is not known."""
        return REDACTED in self.source

    @cached_property
    def _exception_parts(self) -> tuple[str, str, str]:
        """Frames, name and message of the exception that was raised last."""
        headings = list(_TRACEBACK_HEADING.finditer(self.traceback))
        if headings:
            name, text_after = headings[-1][1], self.traceback[headings[-1].end() :]
            match = re.search(rf"(?m)^(?:[\w.]+\.)?{re.escape(name)}(?:: ?|$)", text_after)
            if match:
                return text_after[: match.start()], name, text_after[match.end() :].strip()
        last_line = next(reversed(list(_EXCEPTION_LINE.finditer(self.traceback))), None)
        if last_line is None:
            return self.traceback, "", ""
        message = self.traceback[last_line.end(1) :].lstrip(":").strip()
        return self.traceback[: last_line.start()], last_line[1], message

    @property
    def exception(self) -> str:
        """The name of the exception, without its module; empty where none is named."""
        return self._exception_parts[1].rsplit(".", 1)[-1]

    @property
    def message(self) -> str:
        """The message of the exception."""
        return self._exception_parts[2]

    @property
    def summary_line(self) -> str:
        """Name and message in one line, for reading."""
        summary = f"{self.exception}: {self.message}" if self.message else self.exception
        line = " ".join(summary.split())
        return line if len(line) <= MAX_SUMMARY_CHARS else f"{line[: MAX_SUMMARY_CHARS - 3]}..."

    @cached_property
    def _cell_frames(self) -> tuple[_TracebackLine, ...]:
        frames: list[_TracebackLine] = []
        cell: str | None = None
        for line in self._exception_parts[0].splitlines():
            if frame := _CELL_FRAME.match(line):
                cell = frame["cell"] or frame["old"] or self.number
                number = frame["line"] or frame["short"] or frame["wide"] or "0"
                frames.append(_TracebackLine(cell, int(number), ""))
            elif _OTHER_FRAME.match(line):
                cell = None
            elif cell is not None and (arrow := _FAILING_LINE.match(line)):
                text = (arrow[2] or "").strip()
                frames[-1] = _TracebackLine(cell, int(arrow[1]), "" if _NO_SOURCE in text else text)
        return tuple(frames)

    @property
    def failing_cell(self) -> str:
        """The number of another cell whose code raised the error; empty for this cell."""
        last_frame = self._cell_frames[-1] if self._cell_frames else None
        return (
            last_frame.cell if last_frame and self.number and last_frame.cell != self.number else ""
        )

    @cached_property
    def line_number(self) -> int | None:
        """The number of the failing line of the source, from 1; None where it is uncertain."""
        frames_here = [
            frame for frame in self._cell_frames if not self.number or frame.cell == self.number
        ]
        frame = frames_here[-1] if frames_here else None
        # Below a cell magic, lines are counted from its body, so a line without its text is uncertain.
        is_below_magic = self.source.lstrip().startswith("%%")
        if frame is None or self.is_cut or (is_below_magic and not frame.text):
            return None
        lines = [line.strip() for line in self.source.split("\n")]
        if 1 <= frame.line_number <= len(lines) and frame.text in {
            "",
            lines[frame.line_number - 1],
        }:
            return frame.line_number if lines[frame.line_number - 1] else None
        matching_lines = [
            index for index, line in enumerate(lines, 1) if frame.text and line == frame.text
        ]
        return matching_lines[0] if len(matching_lines) == 1 else None

    @property
    def line_text(self) -> str:
        """The failing line's text; empty where it is unknown."""
        return (
            ""
            if self.line_number is None
            else self.source.split("\n")[self.line_number - 1].strip()
        )

    @property
    def where(self) -> str:
        """The cell and line of the error as text."""
        cell_text = f"cell {self.number}" if self.number else "the cell"
        return (
            f"line {self.line_number} of {cell_text}" if self.line_number is not None else cell_text
        )


def read_error_report(note: str) -> ErrorReport | None:
    """Return the failed cell in the engine's note; None where it has none."""
    cell_match = _CELL.search(note)
    if cell_match is None:
        return None
    number_match = re.search(r'\bnumber="(\d+)"', cell_match[1])
    source = _last_element(note, "source")
    variables_text = _last_element(note[max(note.rfind("\n</cell>"), 0) :], "variables")
    return ErrorReport(
        number_match[1] if number_match else "",
        _ESCAPED_TAG.sub("<", source),
        _ESCAPED_TAG.sub("<", _last_element(note, "error")),
        tuple(_reported_variable(*fields) for fields in _VARIABLE.findall(variables_text)),
        was_escaped=bool(_ESCAPED_TAG.search(source)),
    )


def _reported_variable(name: str, kind: str, description: str) -> ReportedVariable:
    shape_match = _FRAME_SHAPE.match(_ESCAPED_TAG.sub("<", description))
    columns = (shape_match[2] or "").split(", ") if shape_match else []
    column_names = tuple(column for column in columns if column not in {"", "..."})
    column_count = int(shape_match[1]) if shape_match else 0
    return ReportedVariable(name, kind.strip().rsplit(".", 1)[-1], column_names, column_count)


def _last_element(note: str, tag: str) -> str:
    """Return the text in the last element with a tag, since an error follows other outputs."""
    elements = re.findall(rf"(?ms)^<{tag}>\n(.*?)\n</{tag}>$", note)
    return str(elements[-1]) if elements else ""

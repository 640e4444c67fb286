"""Parse tool outputs: whether the call worked, and which numbers its text holds.

Numbers are taken from the text unchanged and never computed here. Output that cannot be parsed with
certainty is quoted instead.
"""

import ast
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from palimpsest.lazy_patterns import lazy_pattern

_SECTION_HEADING = lazy_pattern(
    r"(?m)^\[(stdout|stderr|result|images|shown to the user|error|left behind|interrupted)\]$"
)
_REFUSED = lazy_pattern(
    r"(?i)\A\W*(?:error:\s*)?(?:the user (?:has )?(?:rejected|denied|declined|refused)|a permission rule denies"
    r"|permission denied|this call needs a person'?s permission|rejected by the user|not allowed by)"
)
_INTERRUPTED = lazy_pattern(
    r"(?i)\A\W*\[?(?:tool execution was interrupted|tool execution aborted)"
)
_CLEARED = lazy_pattern(
    r"(?i)\A\W*(?:\[?old tool result content cleared|\[?no result was recorded|\[?[\w ]*output[\w ,]*\b(?:cleared|pruned)\b)"
)
_ERROR_LINE = lazy_pattern(r"(?m)^(\w*(?:Error|Exception|Warning|Interrupt|Exit)): ?(.*)$")
_TOOL_ERROR = lazy_pattern(
    r"(?i)^(?:error\b|there is no\b|.*\b(?:does not exist|not found|no such file|cannot be (?:read|written|shown|changed)|is a folder|is a binary"
    r"|could not be|is not a valid|is neither|occurs \d+ times|outside the project|has only \d+ lines|is invalid|are invalid))"
)
_CUT_NOTE = lazy_pattern(
    r"(?m)^\.\.\.\d+ \w+ truncated\.\.\.|more characters were left out|the middle is left out|^\[\d+ characters left out\]$"
)
"""The notes that the engine puts in the place of omitted text."""
_ELIDED = lazy_pattern(
    r"(?m)^[ .]*\.\.[ .]*$|\.\.\.(?=\s|$)|^(?:Name: .*, )?Length: \d+|^\[\d+ rows x \d+ columns\]$"
)
"""Text that pandas prints in place of omitted rows, columns and long texts, and below a shortened table."""
MAX_LINE_CHARS = 200
MAX_ERROR_LINES = 3
MIN_TWO_DECIMALS = 10
"""Numbers from here on are shown with two decimals, smaller ones with more."""
MIN_SCIENTIFIC = 1e5
"""Numbers from here on that are printed in scientific notation stay in it."""
MAX_WHOLE = 1e15
"""Numbers from here on are not shown as whole numbers, since a float does not hold all their digits."""
NUMBER_PATTERN = lazy_pattern(
    r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?inf|nan|NaN|NaT|<NA>|None|True|False",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ToolResult:
    """A tool's output, and the values parsed from it."""

    text: str

    @cached_property
    def sections(self) -> dict[str, str]:
        """The labelled sections of a ``python`` output; the whole text as ``result`` when there are none."""
        headings = list(_SECTION_HEADING.finditer(self.text))
        if not headings:
            return {"result": "" if self.text.strip() == "(no output)" else self.text}
        ends = [heading.start() for heading in headings[1:]] + [len(self.text)]
        return {
            heading[1]: self.text[heading.end() : end].strip("\n")
            for heading, end in zip(headings, ends, strict=True)
        }

    @property
    def is_refused(self) -> bool:
        """Whether the user or a permission rule refused the call."""
        return bool(_REFUSED.match(self.text))

    @property
    def is_lost(self) -> bool:
        """Whether the output was interrupted, cleared or never recorded."""
        return bool(_CLEARED.match(self.text) or _INTERRUPTED.match(self.text))

    @cached_property
    def error(self) -> tuple[str, str] | None:
        """The type and the message of an error in Python code, if there is one."""
        traceback = self.sections.get("error") or (
            self.text if "Traceback (most recent" in self.text else ""
        )
        if not traceback:
            return None
        errors = _ERROR_LINE.findall(traceback)
        last_line = traceback.strip().splitlines()[-1]
        return (errors[-1][0], errors[-1][1]) if errors else ("Error", last_line)

    @property
    def error_text(self) -> str:
        """The error's type and message as inline code; empty without an error."""
        return inline_code(": ".join(self.error)) if self.error else ""

    @property
    def paths(self) -> list[str]:
        """The paths that the output lists, without remarks and without a leading ``./``."""
        lines = (line.strip().removeprefix("./") for line in self.text.splitlines())
        return [line for line in lines if line and not line.startswith(("No ", "("))]

    @property
    def is_tool_error(self) -> bool:
        """Whether the output is the error of a tool other than ``python``."""
        lines = self.text.strip().splitlines()
        return bool(lines) and len(lines) <= MAX_ERROR_LINES and bool(_TOOL_ERROR.match(lines[0]))

    @property
    def stdout(self) -> str:
        """The text that the code printed."""
        return self.sections.get("stdout", "")

    @property
    def value(self) -> str:
        """The text of the last expression's value."""
        return self.sections.get("result", "")

    @property
    def is_cut(self) -> bool:
        """Whether a part of the output was cut out because it was too long."""
        return bool(_CUT_NOTE.search(self.text))

    @property
    def is_shortened(self) -> bool:
        """Whether pandas or a cut left out rows, columns or texts of the value."""
        return self.is_cut or bool(_ELIDED.search(self.value))

    @cached_property
    def shown_text(self) -> str:
        """Printed text and value, without labels."""
        return "\n".join(text for text in (self.stdout, self.value) if text.strip())


def single_value(text: str) -> str | None:
    """Return the single value of an output as printed, or None when there are several."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if len(lines) != 1:
        return None
    line = re.sub(r"\A(?:Out\[\d*\]:|Result:|=>)\s*", "", lines[0])
    call_match = re.fullmatch(r"(?:np|numpy|pd)?\.?(?:\w+)\((.*)\)", line)
    value_text = call_match[1].strip("'\"") if call_match else line
    return value_text if NUMBER_PATTERN.fullmatch(value_text) or call_match else None


def number_pair(text: str) -> tuple[str, ...]:
    """Return the numbers of the first tuple such as ``(344, 8)`` in a text, as printed."""
    match = re.search(r"\((\d+), ?(\d*)\)", text)
    return tuple(number for number in match.groups() if number) if match else ()


def series_items(text: str) -> list[tuple[str, str]]:
    """Return the label and value of each line of a printed Series."""
    items: list[tuple[str, str]] = []
    for line in text.splitlines():
        if re.match(r"(?:Name|dtype|Length|Freq|Categories)\b.*(?:dtype|:)", line):
            continue
        match = re.fullmatch(r"(.*?)\s{2,}(\S+)\s*", line) or re.fullmatch(
            r"(.+?)\s+(\S+)\s*", line
        )
        if match and NUMBER_PATTERN.fullmatch(match[2]) and match[1].strip(" .") != "":
            items.append((match[1].strip(), match[2]))
    return items


INDEX_KEY = ""
"""The key of the index in the rows that ``frame_rows`` returns."""


def frame_rows(
    text: str, headers: Sequence[str], *, has_index: bool = False
) -> list[dict[str, str]] | None:
    """Parse the rows of a printed DataFrame with these columns; return None when that is not certain.

    Columns are found by their right edges, since pandas aligns them there. ``has_index`` means that the index holds
    text and the first column numbers; otherwise the index holds numbers.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and re.fullmatch(r"\[\d+ rows x \d+ columns\]", lines[-1]):
        lines.pop()
    edges = _column_edges(lines[0], headers) if lines else None
    if edges is None or len(edges) < len(headers):
        return None
    rows = [_row_cells(line, edges, has_index=has_index) for line in lines[1:]]
    return [row for row in rows if row] if all(rows) else None


def _column_edges(header: str, headers: Sequence[str]) -> list[tuple[str, int]] | None:
    """Return the columns in a header line, in order, each with its right edge; None where it has other text too."""
    edges: list[tuple[str, int]] = []
    position = 0
    for name in headers:
        match = re.compile(rf"(?<!\S){re.escape(name)}(?!\S)").search(header, position)
        if match:
            edges.append((name, match.end()))
            position = match.end()
    # With any other text in the header the edges are not certain.
    other_text = header
    for name, _ in reversed(edges):
        if other_text.count(name) == 1:
            other_text = other_text.replace(name, "", 1)
        else:
            other_text = re.sub(rf"{re.escape(name)}\s*\Z", "", other_text.rstrip())
    return edges if edges and not other_text.strip() else None


def _row_cells(
    line: str, edges: list[tuple[str, int]], *, has_index: bool
) -> dict[str, str] | None:
    row: dict[str, str] = {}
    previous_edge = 0
    for index, (name, edge) in enumerate(edges):
        if len(line) < edge and index < len(edges) - 1:
            return None
        cell = line[previous_edge:edge]
        if index == 0:
            row[INDEX_KEY], cell = _split_index(cell, has_index=has_index)
        row[name] = cell.strip()
        previous_edge = edge
        if line[edge : edge + 1].strip():
            return None
    return row


def _split_index(cell: str, *, has_index: bool) -> tuple[str, str]:
    """Return the index and the first cell of a row, given its text up to the first column's edge."""
    if has_index:
        label, _, value = cell.strip().rpartition(" ")
        return label.strip(), value
    match = re.match(r"\s*(\S+)\s+(\S.*)\Z", cell)
    return (match[1], match[2]) if match else ("", cell)


def shortened_number(number: str) -> str:
    """Return a printed number rounded: to two decimals, or to four digits when small.

    A large number in scientific notation stays in it, since its last digits are not known.
    """
    try:
        value = float(number.replace(",", ""))
    except ValueError:
        return "missing" if number.lower() in {"nan", "nat", "<na>", "none"} else number
    if math.isnan(value):
        return "missing"
    if math.isinf(value) or ("." not in number and "e" not in number.lower()):
        return number
    if "e" in number.lower() and abs(value) >= MIN_SCIENTIFIC:
        return f"{value:.6e}"
    if value == int(value) and abs(value) < MAX_WHOLE:
        return str(int(value))
    if abs(value) >= MIN_TWO_DECIMALS:
        return f"{value:.2f}"
    return f"{value:.4g}" if abs(value) < 1 else f"{value:.3f}"


def python_literal(text: str) -> object:
    """Return the value of a Python literal, or None where the text is not one."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def text_block(text: str, max_lines: int = 20) -> str:
    """Return text as a fenced code block of at most ``max_lines`` lines and a count of the others."""
    lines = text.strip("\n").splitlines()
    if len(lines) > max_lines:
        lines = [*lines[:max_lines], f"... ({len(lines) - max_lines} more lines)"]
    return code_block("\n".join(line[:MAX_LINE_CHARS] for line in lines), "text")


def code_block(body: str, language: str) -> str:
    """Return text as a fenced code block, with a fence longer than any run of backticks in it."""
    fence = "`" * max(3, 1 + _longest_tick_run(body))
    return f"{fence}{language}\n{body}\n{fence}"


def _longest_tick_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def inline_code(text: object) -> str:
    """Return text as inline code, also when it contains backticks."""
    body = " ".join(str(text).split()) or " "
    ticks = "`" * (1 + _longest_tick_run(body))
    padding = " " if body.startswith("`") or body.endswith("`") else ""
    return f"{ticks}{padding}{body}{padding}{ticks}"

"""Tables, columns and variables, and functions that parse them from a tool's output."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.rehearsal.parsing.tool_outputs import python_literal
from palimpsest.rehearsal.parsing.word_matching import Word, words_of

NUMERIC_DTYPE = lazy_pattern(r"u?int|float|decimal|complex|double|bigint", re.IGNORECASE)
TEMPORAL_DTYPE = lazy_pattern(r"datetime|period|timestamp|date\d*\b", re.IGNORECASE)
DTYPE_PATTERN = (
    r"u?int(?:8|16|32|64)|float(?:16|32|64)|bool(?:ean)?|object|str(?:ing)?|category|complex\d+"
    r"|datetime64\[[^\]]*\]|timedelta64\[[^\]]*\]|period\[[^\]]*\]|U?Int(?:8|16|32|64)|Float(?:32|64)"
)


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    key: Any
    """The key as used in square brackets: usually text, sometimes a number."""
    dtype: str = "object"

    @property
    def label(self) -> str:
        """The column's name as text."""
        return str(self.key)

    @property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers."""
        return bool(NUMERIC_DTYPE.match(self.dtype))

    @property
    def is_temporal(self) -> bool:
        """Whether the column holds dates."""
        return bool(TEMPORAL_DTYPE.match(self.dtype))

    @property
    def is_text(self) -> bool:
        """Whether the column holds neither numbers nor dates."""
        return not self.is_numeric and not self.is_temporal

    @cached_property
    def tokens(self) -> tuple[Word, ...]:
        """The words of the column's name."""
        return words_of(self.label)


@dataclass(frozen=True)
class Table:
    """A DataFrame variable, with its columns."""

    name: str
    columns: tuple[Column, ...]

    @property
    def numeric_columns(self) -> tuple[Column, ...]:
        """The columns that hold numbers."""
        return tuple(column for column in self.columns if column.is_numeric)

    @property
    def categories(self) -> tuple[Column, ...]:
        """The columns that hold neither numbers nor dates."""
        return tuple(column for column in self.columns if column.is_text)


@dataclass(frozen=True)
class Variable:
    """A variable, from one line of the ``variables`` tool's output."""

    name: str
    kind: str
    """The last part of the type's dotted name, such as ``DataFrame`` or ``list``."""
    line: str

    @property
    def is_table(self) -> bool:
        """Whether the variable is a pandas DataFrame."""
        return self.kind == "DataFrame"


_VARIABLE_LINE = lazy_pattern(r"^[\s*\-\u2022|]*[`']?([^\W\d]\w*)[`']?\s*[:|(=]\s*[`']?([\w.]+)")


def parse_variables(text: str) -> tuple[Variable, ...]:
    """Parse a list of variables, in which each line has the form ``name: type - summary``."""
    variables = []
    for line in text.splitlines():
        match = _VARIABLE_LINE.match(line)
        if match:
            kind = match[2].rstrip(".").rsplit(".", 1)[-1]
            variables.append(Variable(match[1], kind, line.strip(" -*\t")))
    return tuple(variables)


def parse_tables(text: str) -> list[Table]:
    """Parse ``{'table': {'column': 'dtype', ...}, ...}``."""
    tables = dict_in(text).items()
    return [
        Table(str(name), tuple(Column(key, str(dtype)) for key, dtype in dtypes.items()))
        for name, dtypes in tables
        if isinstance(dtypes, dict)
    ]


_COLUMN_COUNT = lazy_pattern(
    r"(?:\d[\d,]*)\s*(?:rows\s*)?(?:x|\u00d7|by|and|,)\s*(\d+)\s*columns|\(\d+, (\d+)\)|(\d+) columns",
    re.IGNORECASE,
)
_MISSING_VALUE = lazy_pattern(r"(?<=[\[ ,:(])(?:nan|NaT|<NA>)(?=[\],)}])")
_COLUMN_LINE = lazy_pattern(
    rf"^[\s*\-\u2022|]*(.+?)(?:\s*[:|(]\s*|\s{{2,}}|\t)({DTYPE_PATTERN})(?![\w.])"
)


def parse_description(text: str) -> tuple[Column, ...]:
    """Parse column names and types from a description; empty when a column may be missing."""
    dtypes: dict[str, str] = {}
    for line in text.splitlines():
        match = _COLUMN_LINE.match(line)
        if match:
            name = match[1].strip()
            if len(name) > 2 and name[0] == name[-1] and name[0] in "`'\"":
                name = name[1:-1]
            if name not in {"dtype", "dtypes", "Name", "type"}:
                dtypes.setdefault(name, match[2])
    count_match = _COLUMN_COUNT.search(text)
    column_count = (
        next((int(group) for group in count_match.groups() if group), None) if count_match else None
    )
    # A key that looks like a number may be text or a number; only a Python literal would show which.
    has_unclear_key = any(re.match(r"-?\d|\(|True$|False$|None$|nan$", name) for name in dtypes)
    is_certain = column_count == len(dtypes) and not has_unclear_key
    return tuple(Column(*item) for item in dtypes.items()) if is_certain else ()


def dict_in(text: str) -> dict[Any, Any]:
    """Return the dict that an output shows, with None for missing values; an empty dict for other outputs."""
    value = python_literal(_MISSING_VALUE.sub("None", text))
    return value if isinstance(value, dict) else {}

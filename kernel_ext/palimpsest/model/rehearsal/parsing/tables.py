"""Values for tables, columns and variables, and how they are parsed from a tool's output."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.model.rehearsal.parsing.tool_outputs import literal
from palimpsest.model.rehearsal.parsing.word_matching import Word, words_of

NUMERIC = lazy_pattern(r"u?int|float|decimal|complex|double|bigint", re.IGNORECASE)
TEMPORAL = lazy_pattern(r"datetime|period|timestamp|date\d*\b", re.IGNORECASE)
DTYPE = (
    r"u?int(?:8|16|32|64)|float(?:16|32|64)|bool(?:ean)?|object|str(?:ing)?|category|complex\d+"
    r"|datetime64\[[^\]]*\]|timedelta64\[[^\]]*\]|period\[[^\]]*\]|U?Int(?:8|16|32|64)|Float(?:32|64)"
)


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    key: Any
    """As Python writes it in square brackets: mostly text, sometimes a number."""
    dtype: str = "object"

    @property
    def label(self) -> str:
        """The column's name for reading."""
        return str(self.key)

    @property
    def numeric(self) -> bool:
        """Holds numbers."""
        return bool(NUMERIC.match(self.dtype))

    @property
    def temporal(self) -> bool:
        """Holds dates."""
        return bool(TEMPORAL.match(self.dtype))

    @cached_property
    def tokens(self) -> tuple[Word, ...]:
        """The words of its name."""
        return words_of(self.label)


@dataclass(frozen=True)
class Table:
    """A DataFrame of the user, or one that was just loaded."""

    name: str
    columns: tuple[Column, ...]
    values: dict[Any, tuple[Any, ...]] = field(default_factory=dict)
    """Known values of some columns."""

    @property
    def numeric(self) -> tuple[Column, ...]:
        """The columns that hold numbers."""
        return tuple(column for column in self.columns if column.numeric)

    @property
    def categories(self) -> tuple[Column, ...]:
        """The columns that hold neither numbers nor dates."""
        return tuple(c for c in self.columns if not c.numeric and not c.temporal)


@dataclass(frozen=True)
class Variable:
    """One line of the list of variables."""

    name: str
    kind: str
    """The last word of the type's name, such as ``DataFrame`` or ``list``."""
    line: str

    @property
    def is_table(self) -> bool:
        """Is a pandas DataFrame."""
        return self.kind == "DataFrame"


_LINE = lazy_pattern(r"^[\s*\-\u2022|]*[`']?([^\W\d]\w*)[`']?\s*[:|(=]\s*[`']?([\w.]+)")
DATA_KINDS = {
    "DataFrame", "Series", "ndarray", "list", "tuple", "set", "frozenset", "dict", "str", "int", "float",
    "bool", "complex", "bytes", "Index", "OrderedDict", "defaultdict", "Counter", "deque", "date",
    "datetime", "Timestamp", "range", "Decimal", "Fraction", "NoneType", "float64", "int64",
}  # fmt: skip


def parse_variables(text: str) -> tuple[Variable, ...]:
    """Read a list of variables, one a line as ``name: type - summary``, or a dict of type names."""
    # Only a text that is a dict as a whole: a line may well show a dict of the user.
    told = literal_in(text) if text.lstrip().startswith("{") else None
    lines = text.splitlines()
    if isinstance(told, dict):
        lines = [f"{name}: {kind}" for name, kind in told.items() if str(name).isidentifier()]
    found = []
    for line in lines:
        match = _LINE.match(line)
        if match:
            kind = match[2].rstrip(".").rsplit(".", 1)[-1]
            found.append(Variable(match[1], kind, line.strip(" -*\t")))
    return tuple(found)


def parse_dtypes(text: str) -> tuple[Column, ...]:
    """Read ``{'name': 'dtype', ...}``."""
    return _columns(dict_in(text))


def parse_tables(text: str) -> list[Table]:
    """Read ``{'table': {'name': 'dtype', ...}, ...}``."""
    told = dict_in(text).items()
    return [Table(str(name), _columns(each)) for name, each in told if isinstance(each, dict)]


def _columns(pairs: dict[Any, Any]) -> tuple[Column, ...]:
    return tuple(Column(key, str(dtype)) for key, dtype in pairs.items())


_COUNTED = lazy_pattern(
    r"(?:\d[\d,]*)\s*(?:rows\s*)?(?:x|\u00d7|by|and|,)\s*(\d+)\s*columns|\(\d+, (\d+)\)|(\d+) columns",
    re.IGNORECASE,
)
_INFO = lazy_pattern(rf"^\s*\d+\s+(.+?)\s+\d+ non-null\s+({DTYPE})\s*$")
_COLUMN = lazy_pattern(rf"^[\s*\-\u2022|]*(.+?)(?:\s*[:|(]\s*|\s{{2,}}|\t)({DTYPE})(?![\w.])")


def parse_description(text: str) -> tuple[Column, ...]:
    """Read column names and types from a description, if every column is certainly there."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _INFO.match(line) or _COLUMN.match(line)
        if match:
            name = match[1].strip()
            name = (
                name[1:-1] if len(name) > 2 and name[0] == name[-1] and name[0] in "`'\"" else name
            )
            if name not in {"dtype", "dtypes", "Name", "type"}:
                found.setdefault(name, match[2])
    sizes = _COUNTED.search(text)
    told = next((int(group) for group in sizes.groups() if group), None) if sizes else None
    # A name that looks like a number may be one; only a Python literal would show which.
    odd = any(re.match(r"-?\d|\(|True$|False$|None$|nan$", name) for name in found)
    return tuple(Column(*item) for item in found.items()) if told == len(found) and not odd else ()


def literal_in(text: str) -> Any:
    """Return the Python literal in an output, past labels and other lines, or None."""
    starts = [m.start() for m in re.finditer(r"(?m)(?<![\w'\"])[\[{(]", text)][:20]
    for start in starts:
        closing = {"{": "}", "[": "]", "(": ")"}[text[start]]
        end = text.rfind(closing) + 1
        if end <= start:
            continue
        found = literal(_plain(text[start:end]))
        if found is not None:
            return found
    return None


def dict_in(text: str) -> dict[Any, Any]:
    """Return the dict in an output, past labels and other lines; an empty one where there is none."""
    found = literal_in(text)
    return found if isinstance(found, dict) else {}


def _plain(text: str) -> str:
    """Unwrap what NumPy and pandas add to plain values, so that a literal can be read."""
    text = re.sub(r"\bnp\.(?:float|int|uint|bool|str)\w*\(([^()]*)\)", r"\1", text)
    text = re.sub(r"\b(?:Timestamp|datetime64)\('([^']*)'[^()]*\)", r"'\1'", text)
    return re.sub(r"(?<=[\[ ,:(])(?:nan|NaT|<NA>)(?=[\],)}])", "None", text)

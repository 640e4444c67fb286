"""Write frames, series and arrays as text: types, first rows, statistics; without running user code.

Border: runs on the main thread. Methods of classes derived from those of pandas or NumPy are not used: the data is read as
an object of the library. Columns with values or data of other classes are only named, since printing, counting or
comparing them would run code of those classes.
"""

import sys
from collections.abc import Callable
from typing import Any

from palimpsest.frontends.variables.held_values import (
    PLAIN_LABEL_TYPES,
    attributes_of,
    has_plain_labels,
)
from palimpsest.frontends.variables.plain_values import is_of_library
from palimpsest.frontends.variables.variable_types import (
    foreign_columns,
    is_array,
    is_frame,
    is_series,
    shape_of,
    type_name_of,
)
from palimpsest.transcript.redaction.secret_patterns import is_secret_variable

MAX_FIRST_ROWS = 5
MAX_COLUMNS = 60
MAX_OBJECTS = 2_000_000
"""Maximum values of a column or array of objects whose types are checked; a longer one is not described."""
MAX_ARRAY_CHARS = 2_000
_MISSING_TYPES = frozenset(
    {"pandas._libs.missing.NAType", "pandas._libs.tslibs.nattype.NaTType", "pandas.NAType"}
)
_MRO = type.__dict__["__mro__"]


def as_plain_table(value: Any) -> Any:
    """Return an object of a class derived from frame, series or array as the library's class; others unchanged."""
    bases = _MRO.__get__(type(value))
    array_type = getattr(sys.modules.get("numpy"), "ndarray", None)
    if array_type in bases:
        return value if type(value) is array_type else array_type.view(value, array_type)  # type: ignore[union-attr]
    pandas = sys.modules.get("pandas")
    for name in ("DataFrame", "Series"):
        table_type = getattr(pandas, name, None)
        if table_type not in bases or type(value) is table_type:
            continue
        manager = (attributes_of(value) or {}).get("_mgr")
        if type_name_of(manager).partition(".")[0] != "pandas":
            return value
        return table_type._from_mgr(manager, axes=manager.axes)  # type: ignore[union-attr]  # noqa: SLF001
    return value


def is_table(value: Any) -> bool:
    """Return whether a value is a frame, series or array of exactly the library's class."""
    return is_frame(value) or is_series(value) or is_array(value)


def table_text(value: Any) -> str:
    """Return the detailed text of a frame, series or array."""
    if is_frame(value):
        return _frame_text(value)
    return _series_text(value) if is_series(value) else _array_text(value)


def _array_text(value: Any) -> str:
    if value.dtype.hasobject and value.size > MAX_OBJECTS:
        return f"{shape_of(value)}\nIts objects are not shown: they are too many to check whether that would run code of their classes."
    if value.dtype.hasobject and not _are_plain(value.ravel().tolist()):
        return f"{shape_of(value)}\nIts objects are not shown, since that would run code of their classes."
    text = repr(value)
    return f"{shape_of(value)}\n{text if len(text) <= MAX_ARRAY_CHARS else text[: MAX_ARRAY_CHARS - 3] + '...'}"


def _series_text(value: Any) -> str:
    shape_text = shape_of(value)
    if foreign_columns(value) or not has_plain_labels(value.index) or not _is_plain_column(value):
        return (
            f"{shape_text}\nIts values are not shown, since that would run code of their classes."
        )
    statistics = _computed_or_default(lambda: value.describe().to_string())
    return f"{shape_text}\n\n{statistics}\n\n{_first_rows_text(value)}"


def _frame_text(value: Any) -> str:
    row_count, column_count = value.shape
    lines = [f"{row_count} rows x {column_count} columns"]
    if not has_plain_labels(value.columns) or not has_plain_labels(value.index):
        return (
            f"{lines[0]}\nIts labels are objects of other classes, so nothing else of it is shown."
        )
    foreign_numbers = foreign_columns(value)
    library_numbers = [number for number in range(column_count) if number not in foreign_numbers]
    types_by_number = dict(zip(library_numbers, value.iloc[:, library_numbers].dtypes, strict=True))
    names = list(value.columns)
    plain_numbers = [
        number for number in library_numbers if _is_plain_column(value.iloc[:, number])
    ]
    present_counts = _computed_or_default(lambda: value.iloc[:, plain_numbers].count(), [])
    counts_by_number = dict(zip(plain_numbers, present_counts, strict=False))
    lines += ["", "column: type, values present"]
    lines += [
        f"  {names[number]}: {types_by_number.get(number, 'of another class')}, {counts_by_number.get(number, '?')}"
        for number in range(min(column_count, MAX_COLUMNS))
    ]
    if column_count > MAX_COLUMNS:
        lines.append(f"  ({column_count - MAX_COLUMNS} more columns)")
    secret_numbers = [
        number
        for number in plain_numbers
        if isinstance(names[number], str) and is_secret_variable(names[number])
    ]
    if secret_numbers:
        names_text = ", ".join(str(names[number]) for number in secret_numbers)
        lines += ["", f"not shown, since their names say that they are secret: {names_text}"]
    if len(plain_numbers) < column_count:
        other_numbers = [number for number in range(column_count) if number not in plain_numbers]
        names_text = ", ".join(str(names[number]) for number in other_numbers)
        lines += ["", f"not shown, since they hold objects of other classes: {names_text}"]
    shown_numbers = [number for number in plain_numbers if number not in secret_numbers]
    shown_frame = value.iloc[:, shown_numbers]
    lines += ["", f"first {min(MAX_FIRST_ROWS, row_count)} rows:", _first_rows_text(shown_frame)]
    statistics = _computed_or_default(lambda: shown_frame.describe().to_string())
    return "\n".join([*lines, "", "statistics:", statistics])


def _is_plain_column(column: Any) -> bool:
    """Return whether a column's values can be printed, counted and compared without running user code."""
    dtype = column.dtype
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        return has_plain_labels(categories)
    if getattr(dtype, "kind", "") != "O" or not getattr(dtype, "hasobject", False):
        return True
    return len(column) <= MAX_OBJECTS and _are_plain(column.tolist())


def _are_plain(values: list[Any]) -> bool:
    other_values = [value for value in values if type(value) not in PLAIN_LABEL_TYPES]
    return all(is_of_library(value) or _is_type_or_missing(value) for value in other_values)


def _is_type_or_missing(value: Any) -> bool:
    """Return whether a value is a column's type or a missing value of NumPy or pandas."""
    dtype = getattr(sys.modules.get("numpy"), "dtype", None)
    type_name = type_name_of(value)
    is_type = dtype in _MRO.__get__(type(value)) and type_name.startswith("numpy.")
    return is_type or type_name in _MISSING_TYPES


def _first_rows_text(value: Any) -> str:
    return str(_computed_or_default(lambda: value.head(MAX_FIRST_ROWS).to_string()))


def _computed_or_default(compute: Callable[[], Any], default: Any = None) -> Any:
    try:
        return compute()
    except Exception as error:  # noqa: BLE001  # pandas and NumPy raise many kinds
        return f"(failed with {type(error).__name__})" if default is None else default

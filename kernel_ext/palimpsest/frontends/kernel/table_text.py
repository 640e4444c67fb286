"""Write frames, series and arrays as text: types, the first rows, statistics; without running code of the user.

Border: runs on the main thread. What a class derived from pandas' or NumPy's does is not used: the data is looked at as
one of theirs. Columns whose values or data are of other classes are named and left out, since to print, count or
compare them would run code of those.
"""

import sys
from collections.abc import Callable
from typing import Any

from palimpsest.frontends.kernel.held_values import LABELS, attributes_of, has_plain_labels
from palimpsest.frontends.kernel.plain_values import is_of_library
from palimpsest.frontends.kernel.variable_types import (
    foreign_columns,
    is_array,
    is_frame,
    is_series,
    kind_of,
    shape_of,
)
from palimpsest.transcript.redaction.secret_patterns import is_secret_variable

HEAD_ROWS = 5
MOST_COLUMNS = 60
MOST_OBJECTS = 2_000_000
"""Values of columns of objects whose types are looked at; those of a larger frame are not described."""
ARRAY_CHARS = 2_000
_MISSING = frozenset(
    {"pandas._libs.missing.NAType", "pandas._libs.tslibs.nattype.NaTType", "pandas.NAType"}
)
_MRO = type.__dict__["__mro__"]


def as_plain_table(value: Any) -> Any:
    """Return a value of a class derived from a frame, series or array as one of the library's own; others unchanged."""
    bases = _MRO.__get__(type(value))
    array = getattr(sys.modules.get("numpy"), "ndarray", None)
    if array in bases:
        return value if type(value) is array else array.view(value, array)  # type: ignore[union-attr]
    pandas = sys.modules.get("pandas")
    for name in ("DataFrame", "Series"):
        kind = getattr(pandas, name, None)
        if kind not in bases or type(value) is kind:
            continue
        manager = (attributes_of(value) or {}).get("_mgr")
        if kind_of(manager).partition(".")[0] != "pandas":
            return value
        return kind._from_mgr(manager, axes=manager.axes)  # type: ignore[union-attr]  # noqa: SLF001
    return value


def is_table(value: Any) -> bool:
    """Tell whether a value is a frame, a series or an array of pandas or NumPy themselves."""
    return is_frame(value) or is_series(value) or is_array(value)


def table_text(value: Any) -> str:
    """Return a frame, series or array at length."""
    if is_frame(value):
        return _frame(value)
    return _series(value) if is_series(value) else _array(value)


def _array(value: Any) -> str:
    if value.dtype.hasobject and not _are_plain(value.ravel()[:MOST_OBJECTS].tolist()):
        return f"{shape_of(value)}\nIts objects are not shown, since that would run code of their classes."
    text = repr(value)
    return f"{shape_of(value)}\n{text if len(text) <= ARRAY_CHARS else text[: ARRAY_CHARS - 3] + '...'}"


def _series(value: Any) -> str:
    head = shape_of(value)
    if foreign_columns(value) or not has_plain_labels(value.index) or not _is_plain_column(value):
        return f"{head}\nIts values are not shown, since that would run code of their classes."
    statistics = _safe(lambda: value.describe().to_string())
    return f"{head}\n\n{statistics}\n\n{_head(value)}"


def _frame(value: Any) -> str:
    rows, columns = value.shape
    lines = [f"{rows} rows x {columns} columns"]
    if not has_plain_labels(value.columns) or not has_plain_labels(value.index):
        return (
            f"{lines[0]}\nIts labels are objects of other classes, so nothing else of it is shown."
        )
    foreign = foreign_columns(value)
    own = [at for at in range(columns) if at not in foreign]
    types = dict(zip(own, value.iloc[:, own].dtypes, strict=True))
    names = list(value.columns)
    plain = [at for at in own if _is_plain_column(value.iloc[:, at])]
    counts = dict(zip(plain, _safe(lambda: value.iloc[:, plain].count(), []), strict=False))
    lines += ["", "column: type, values present"]
    lines += [
        f"  {names[at]}: {types.get(at, 'of another class')}, {counts.get(at, '?')}"
        for at in range(min(columns, MOST_COLUMNS))
    ]
    if columns > MOST_COLUMNS:
        lines.append(f"  ({columns - MOST_COLUMNS} more columns)")
    secret = [at for at in plain if isinstance(names[at], str) and is_secret_variable(names[at])]
    if secret:
        named = ", ".join(str(names[at]) for at in secret)
        lines += ["", f"not shown, since their names say that they are secret: {named}"]
    if len(plain) < columns:
        named = ", ".join(str(names[at]) for at in range(columns) if at not in plain)
        lines += ["", f"not shown, since they hold objects of other classes: {named}"]
    shown = value.iloc[:, [at for at in plain if at not in secret]]
    lines += ["", f"first {min(HEAD_ROWS, rows)} rows:", _head(shown)]
    return "\n".join([*lines, "", "statistics:", _safe(lambda: shown.describe().to_string())])


def _is_plain_column(column: Any) -> bool:
    """Tell whether a column's values are printed, counted and compared without code of the user."""
    dtype = column.dtype
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        return has_plain_labels(categories)
    if getattr(dtype, "kind", "") != "O" or not getattr(dtype, "hasobject", False):
        return True
    return len(column) <= MOST_OBJECTS and _are_plain(column.tolist())


def _are_plain(values: list[Any]) -> bool:
    others = [one for one in values if type(one) not in LABELS]
    return all(is_of_library(one) or _is_type_or_missing(one) for one in others)


def _is_type_or_missing(value: Any) -> bool:
    """Tell whether a value is a column's type or a missing value of NumPy or pandas."""
    dtype = getattr(sys.modules.get("numpy"), "dtype", None)
    kind = kind_of(value)
    return (dtype in _MRO.__get__(type(value)) and kind.startswith("numpy.")) or kind in _MISSING


def _head(value: Any) -> str:
    text: str = _safe(lambda: value.head(HEAD_ROWS).to_string())
    return text


def _safe(compute: Callable[[], Any], otherwise: Any = None) -> Any:
    try:
        return compute()
    except Exception as error:  # noqa: BLE001  # pandas and NumPy raise many kinds
        return f"(failed with {type(error).__name__})" if otherwise is None else otherwise

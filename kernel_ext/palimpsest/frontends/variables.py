"""Describe the user's variables in words, without changing them.

Border: runs on the main thread; of the user's code only ``repr`` is called, guarded and capped.
What IPython put into the namespace, private names, modules and the agent's own magic are left out.
"""

import inspect
import re
import sys
from collections.abc import Mapping, Sequence, Set
from types import ModuleType
from typing import Any

from palimpsest.tools.tool import VariableInfo
from palimpsest.transcript.errors import NotFound

SUMMARY_CHARS = 120
HEAD_ROWS = 5
MOST_COLUMNS = 60
MOST_ITEMS = 20
REPR_CHARS = 2_000

_STEP = re.compile(
    r"\.(?P<attribute>[A-Za-z_]\w*)|\[(?P<quote>['\"])(?P<key>.*?)(?P=quote)\]|\[(?P<index>-?\d+)\]"
)
_NAME = re.compile(r"[A-Za-z_]\w*")


def list_variables(shell: Any) -> Sequence[VariableInfo]:
    """Describe every variable of the user in one line each, by name."""
    hidden = shell.user_ns_hidden
    found = []
    for name, value in sorted(shell.user_ns.items()):
        if name.startswith("_") or (name in hidden and hidden[name] is value):
            continue
        if isinstance(value, ModuleType):
            continue
        found.append(VariableInfo(name, kind_of(value), summary_of(value), _size_of(value)))
    return found


def describe(shell: Any, name: str, max_chars: int = 4_000) -> str:
    """Describe one variable, or what a dotted or indexed path leads to, at length."""
    value = _look_up(shell.user_ns, name)
    text = f"{name}: {kind_of(value)}\n{_at_length(value)}"
    if len(text) > max_chars:
        text = text[: max_chars - 20].rstrip() + "\n[shortened]"
    return text


def kind_of(value: Any) -> str:
    """Return the qualified type name; pandas types by the name people use."""
    kind = type(value)
    module = kind.__module__ or ""
    if module == "builtins":
        return kind.__qualname__
    if module.startswith("pandas.core."):
        module = "pandas"
    return f"{module}.{kind.__qualname__}"


def summary_of(value: Any) -> str:
    """Return one line: shape, length or a short repr."""
    if _is_frame(value):
        rows, columns = value.shape
        names = ", ".join(str(column) for column in list(value.columns)[:8])
        more = ", ..." if columns > 8 else ""
        return f"{rows} rows x {columns} columns: {names}{more}"[:SUMMARY_CHARS]
    if _is_series(value):
        return f"{len(value)} values of {value.dtype}, named {value.name!r}"[:SUMMARY_CHARS]
    if _is_array(value):
        shape = " x ".join(str(n) for n in value.shape) or "scalar"
        return f"{shape} of {value.dtype}"
    if inspect.isroutine(value) or inspect.isclass(value):
        return _signature(value)
    if isinstance(value, Mapping | Set | Sequence) and not isinstance(value, str | bytes | range):
        length = _length(value)
        return f"{length} items: {_short(value, SUMMARY_CHARS - 20)}" if length else "empty"
    return _short(value, SUMMARY_CHARS)


def _at_length(value: Any) -> str:
    if _is_frame(value):
        return _frame(value)
    if _is_series(value):
        return f"{summary_of(value)}\n\n{_safe(lambda: value.describe().to_string())}\n\n{_head(value)}"
    if _is_array(value):
        return f"{summary_of(value)}\n{_short(value, REPR_CHARS)}"
    if inspect.isroutine(value) or inspect.isclass(value) or isinstance(value, ModuleType):
        return f"{_signature(value)}\n{inspect.getdoc(value) or ''}"
    if isinstance(value, Mapping):
        lines = [f"{_length(value)} items"]
        lines += [
            f"  {_short(key, 60)}: {kind_of(value[key])} {summary_of(value[key])}"
            for key in list(value)[:MOST_ITEMS]
        ]
        return "\n".join(lines)
    if isinstance(value, list | tuple):
        lines = [f"{len(value)} items"]
        lines += [f"  [{i}] {kind_of(v)} {summary_of(v)}" for i, v in enumerate(value[:MOST_ITEMS])]
        return "\n".join(lines)
    return _short(value, REPR_CHARS, lines=True)


def _frame(value: Any) -> str:
    rows, columns = value.shape
    lines = [f"{rows} rows x {columns} columns", "", "column: type, values present"]
    present = _safe(lambda: value.count(), {})
    for position, column in enumerate(list(value.columns)[:MOST_COLUMNS]):
        count = present.iloc[position] if hasattr(present, "iloc") else "?"
        lines.append(f"  {column}: {value.dtypes.iloc[position]}, {count}")
    if columns > MOST_COLUMNS:
        lines.append(f"  ({columns - MOST_COLUMNS} more columns)")
    lines += ["", f"first {min(HEAD_ROWS, rows)} rows:", _head(value)]
    numbers = _safe(lambda: value.describe().to_string())
    return "\n".join([*lines, "", "statistics:", numbers])


def _head(value: Any) -> str:
    text: str = _safe(lambda: value.head(HEAD_ROWS).to_string())
    return text


def _look_up(namespace: Mapping[str, Any], path: str) -> Any:
    """Follow a path of plain names, quoted keys and numbers; nothing is evaluated."""
    match = _NAME.match(path)
    name = match.group() if match else path
    if match is None or name not in namespace:
        raise NotFound(f"There is no variable {name!r} here.")
    value, end = namespace[name], match.end()
    while end < len(path):
        step = _STEP.match(path, end)
        if step is None:
            raise NotFound(
                f"{path!r} is not a path of names. Write a name, a.b, a['key'] or a[0]; use the python tool to compute."
            )
        try:
            value = _step(value, step)
        except Exception:  # noqa: BLE001  # the user's classes may raise anything
            raise NotFound(f"{path[:end]} has no {step.group()}.") from None
        end = step.end()
    return value


def _step(value: Any, step: "re.Match[str]") -> Any:
    if step["attribute"]:
        return getattr(value, step["attribute"])
    return value[int(step["index"]) if step["index"] else step["key"]]


def _is_frame(value: Any) -> bool:
    return _instance(value, "pandas", "DataFrame")


def _is_series(value: Any) -> bool:
    return _instance(value, "pandas", "Series")


def _is_array(value: Any) -> bool:
    return _instance(value, "numpy", "ndarray")


def _instance(value: Any, module: str, name: str) -> bool:
    """Tell a library's type without importing the library."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def _signature(value: Any) -> str:
    name = getattr(value, "__name__", "")
    if isinstance(value, ModuleType):
        return f"module {name}"
    try:
        return f"{name}{inspect.signature(value)}"[:SUMMARY_CHARS]
    except (TypeError, ValueError):
        return f"{name}(...)"


def _length(value: Any) -> int:
    length: int = _safe(lambda: len(value), 0)
    return length


def _size_of(value: Any) -> int | None:
    if _is_array(value):
        return int(value.nbytes)
    try:
        return sys.getsizeof(value)
    except Exception:  # noqa: BLE001  # a class may define __sizeof__ badly
        return None


def _short(value: Any, longest: int, *, lines: bool = False) -> str:
    """Return a capped repr; a class whose repr fails is described by that."""
    text: str = _safe(lambda: repr(value))
    if not lines:
        text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 3] + "..."


def _safe(compute: Any, otherwise: Any = None) -> Any:
    try:
        return compute()
    except Exception as error:  # noqa: BLE001  # the user's classes may raise anything
        return f"(failed with {type(error).__name__})" if otherwise is None else otherwise

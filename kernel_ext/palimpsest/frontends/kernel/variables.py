"""Describe the user's variables as text, without changing them.

Border: runs on the main thread. Names and types run no user code
(``frontends/kernel/variable_types.py``); a value is described by ``repr``, guarded and capped, and only
where it was requested, or by ``_repr_llm_`` where its class has one. What IPython put into the namespace, private names, modules and the agent's own
magic are left out. A value whose name or form marks it as a secret is never described.
"""

import ctypes
import inspect
import os
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from types import ModuleType
from typing import Any

from palimpsest.frontends.kernel.variable_fingerprints import Fingerprints
from palimpsest.frontends.kernel.variable_types import (
    SUMMARY_CHARS,
    is_array,
    is_frame,
    is_module,
    is_series,
    kind_of,
    llm_repr,
    shape_of,
)
from palimpsest.session.engine import KernelSecrets
from palimpsest.session.interfaces.prompt_mentions import NotCounted
from palimpsest.tools.tool import TYPES, ShownVariables, VariableInfo
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.redaction.secret_patterns import is_secret_variable
from palimpsest.transcript.redaction.secret_removal import REDACTED, scrub

HEAD_ROWS = 5
MOST_COLUMNS = 60
MOST_ITEMS = 20
REPR_CHARS = 2_000
LLM_SECONDS = 2.0
"""How long a class may take to describe an object to a model."""
LLM_CHARS = 20_000
SECRET = "Its name says that it is a secret, so its value is not told."

_SECRETS = KernelSecrets(os.environ)
_STEP = re.compile(
    r"\.(?P<attribute>[A-Za-z_]\w*)|\[(?P<quote>['\"])(?P<key>.*?)(?P=quote)\]|\[(?P<index>-?\d+)\]"
)
_NAME = re.compile(r"[A-Za-z_]\w*")


def list_variables(shell: Any, shown: ShownVariables = TYPES) -> Sequence[VariableInfo]:
    """Describe every variable of the user in one line each, by name."""
    fingerprints = Fingerprints()
    found = []
    for name, value in sorted(user_variables(shell), key=lambda one: one[0]):
        one = _listed(name, value, shown)
        if shown.marks:
            print_of = fingerprints.of(value)
            mark = print_of.mark or None
            one = replace(one, mark=mark, whole=print_of.whole)
        found.append(one)
    return found


def user_variables(shell: Any) -> list[tuple[str, Any]]:
    """Return names and values of the user's variables, in the order in which they were made; from any thread."""
    hidden = shell.user_ns_hidden
    return [
        (name, value)
        for name, value in list(shell.user_ns.items())
        if not name.startswith("_")
        and not (name in hidden and hidden[name] is value)
        and not is_module(value)
    ]


def _listed(name: str, value: Any, shown: ShownVariables) -> VariableInfo:
    wanted = shown.detail == "values" or name in shown.named
    if shown.detail == "names" and not wanted:
        return VariableInfo(name, "", "")
    if is_secret_variable(name):
        return VariableInfo(name, kind_of(value), "")
    plain = VariableInfo(name, kind_of(value), shape_of(value))
    if not wanted or _has_secret_key(value):
        return plain
    told = summary_of(value)
    return plain if REDACTED in told else replace(plain, value=told)


def _has_secret_key(value: Any) -> bool:
    return isinstance(value, dict) and any(
        isinstance(key, str) and is_secret_variable(key) for key in value
    )


def describe(shell: Any, name: str, max_chars: int = 4_000) -> str:
    """Describe one variable, or the value at a dotted or indexed path, at length."""
    return described(name, look_up(shell.user_ns, name), max_chars)


def described(name: str, value: Any, max_chars: int) -> str:
    """Describe a value at length under the name by which it was found."""
    if any(is_secret_variable(one) for one in _NAME.findall(name)):
        return f"{name}: {kind_of(value)}\n{SECRET}"
    text = _clean(f"{name}: {kind_of(value)}\n{_at_length(value)}")
    if len(text) > max_chars:
        text = text[: max_chars - 20].rstrip() + "\n[shortened]"
    return text


def _clean(text: str) -> str:
    return scrub(text, _SECRETS())


def summary_of(value: Any) -> str:
    """Return one line: shape, length or a short repr."""
    if shape := shape_of(value) if _is_data(value) else "":
        return shape
    if _is_frame(value):
        rows, columns = value.shape
        names = ", ".join(str(column) for column in list(value.columns)[:8])
        more = ", ..." if columns > 8 else ""
        return _clean(f"{rows} rows x {columns} columns: {names}{more}")[:SUMMARY_CHARS]
    if _is_series(value):
        return f"{len(value)} values of {value.dtype}, named {value.name!r}"[:SUMMARY_CHARS]
    if _is_array(value):
        return f"{' x '.join(str(n) for n in value.shape) or 'scalar'} of {value.dtype}"
    if inspect.isroutine(value) or inspect.isclass(value):
        return _signature(value)
    if isinstance(value, Mapping | Set | Sequence) and not isinstance(value, str | bytes | range):
        length = _length(value)
        return f"{length} items: {_short(value, SUMMARY_CHARS - 20)}" if length else "empty"
    return _short(value, SUMMARY_CHARS)


def _at_length(value: Any) -> str:
    told = _told_by_its_class(value)
    if told is not None:
        return told
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
            f"  {_short(key, 60)}: {kind_of(value[key])} {_item(key, value[key])}"
            for key in list(value)[:MOST_ITEMS]
        ]
        return "\n".join(lines)
    if isinstance(value, list | tuple):
        lines = [f"{len(value)} items"]
        lines += [f"  [{i}] {kind_of(v)} {summary_of(v)}" for i, v in enumerate(value[:MOST_ITEMS])]
        return "\n".join(lines)
    return _short(value, REPR_CHARS, lines=True)


def _told_by_its_class(value: Any) -> str | None:
    """Return what ``_repr_llm_`` of a value's class says, or why it says nothing; None where there is none."""
    method = llm_repr(value)
    if method is None:
        return None
    try:
        found = _within(LLM_SECONDS, lambda: method(value))
    except _TookTooLong:
        return f"Its _repr_llm_ took longer than {LLM_SECONDS:g} s and was stopped."
    except Exception as error:  # noqa: BLE001  # the user's classes may raise anything
        return f"Its _repr_llm_ failed with {kind_of(error)}."
    if found is not None and type(found) is not str:
        return f"Its _repr_llm_ returned {kind_of(found)} instead of text."
    return found if found is None else found[:LLM_CHARS]


class _TookTooLong(BaseException):  # no ``except Exception`` of the user's code holds it up
    """Code of the user ran too long."""


def _within(seconds: float, call: Callable[[], Any]) -> Any:
    """Return what a call returns; raises _TookTooLong after so many seconds, as soon as Python code runs in it.

    A pending exception is never taken back: Python 3.11 would look for it at each instruction from then on, which
    slows this thread down and never ends under a debugger or profiler.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    lock = threading.Lock()
    ended = fired = False

    def stop() -> None:
        nonlocal fired
        with lock:
            if not ended:
                fired = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(_TookTooLong))

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        return call()
    finally:
        with lock:
            ended = True
        timer.cancel()
        if fired:
            _let_come()


def _let_come() -> None:
    """Run code for a moment, so that an exception that is pending is raised here and nowhere else."""
    for _ in range(1_000):
        pass


def _item(key: Any, value: Any) -> str:
    return REDACTED if isinstance(key, str) and is_secret_variable(key) else summary_of(value)


def _frame(value: Any) -> str:
    rows, columns = value.shape
    lines = [f"{rows} rows x {columns} columns", "", "column: type, values present"]
    present = _safe(lambda: value.count(), {})
    for position, column in enumerate(list(value.columns)[:MOST_COLUMNS]):
        count = present.iloc[position] if hasattr(present, "iloc") else "?"
        lines.append(f"  {column}: {value.dtypes.iloc[position]}, {count}")
    if columns > MOST_COLUMNS:
        lines.append(f"  ({columns - MOST_COLUMNS} more columns)")
    secret = [one for one in value.columns if isinstance(one, str) and is_secret_variable(one)]
    if secret:
        value = value.drop(columns=secret)
        lines += ["", f"not shown, since their names say that they are secret: {', '.join(secret)}"]
    lines += ["", f"first {min(HEAD_ROWS, rows)} rows:", _head(value)]
    numbers = _safe(lambda: value.describe().to_string())
    return "\n".join([*lines, "", "statistics:", numbers])


def _head(value: Any) -> str:
    text: str = _safe(lambda: value.head(HEAD_ROWS).to_string())
    return text


def look_up(
    namespace: Mapping[str, Any],
    path: str,
    follow: Callable[[Any, "re.Match[str]"], Any] | None = None,
) -> Any:
    """Follow a path of plain names, quoted keys and numbers; nothing is evaluated. Raises NotFound."""
    follow = follow or _step
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
            value = follow(value, step)
        except NotCounted:
            raise
        except Exception:  # noqa: BLE001  # the user's classes may raise anything
            raise NotFound(f"{path[:end]} has no {step.group()}.") from None
        end = step.end()
    return value


def _step(value: Any, step: "re.Match[str]") -> Any:
    if step["attribute"]:
        return getattr(value, step["attribute"])
    return value[int(step["index"]) if step["index"] else step["key"]]


def quiet_step(value: Any, step: "re.Match[str]") -> Any:
    """Follow a step of a path without code of the user; raises NotCounted where that is not known."""
    kind = type(value)
    if kind in (dict, list, tuple) and not step["attribute"]:
        return _step(value, step)
    if is_frame(value) or is_series(value) or is_array(value):
        return _step(value, step)
    if kind is ModuleType and step["attribute"]:
        return vars(value)[step["attribute"]]
    raise NotCounted


def _is_data(value: Any) -> bool:
    return _is_frame(value) or _is_series(value) or _is_array(value)


def _is_frame(value: Any) -> bool:
    return _derives(value, "pandas", "DataFrame")


def _is_series(value: Any) -> bool:
    return _derives(value, "pandas", "Series")


def _is_array(value: Any) -> bool:
    return _derives(value, "numpy", "ndarray")


def _derives(value: Any, module: str, name: str) -> bool:
    """Tell whether a value has a library's type or one derived from it, without importing the library."""
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


def _short(value: Any, longest: int, *, lines: bool = False) -> str:
    """Return a capped repr, or the name of the error if the class's repr fails."""
    text = _clean(_safe(lambda: repr(value)))
    if not lines:
        text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 3] + "..."


def _safe(compute: Any, otherwise: Any = None) -> Any:
    try:
        return compute()
    except Exception as error:  # noqa: BLE001  # the user's classes may raise anything
        return f"(failed with {type(error).__name__})" if otherwise is None else otherwise

"""Describe the user's variables as text, without changing them.

Border: runs on the main thread. What can be reached is decided by ``frontends/kernel/reachable_values.py``, and texts are
made by ``value_text.py`` and ``table_text.py``, which run no code of the user. A class's own ``_repr_llm_``
or ``__repr__`` is called for a variable that was named and of which nothing else is known, guarded and capped, and for no
value within another. A value whose name or form marks it as a secret is never described.
"""

import ctypes
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from palimpsest.frontends.kernel.held_values import container_of, has_own_repr, items_of, length_of
from palimpsest.frontends.kernel.kept_cells import kept_cells
from palimpsest.frontends.kernel.kernel_objects import KernelObjects, reaches_kernel
from palimpsest.frontends.kernel.plain_values import is_library_kind
from palimpsest.frontends.kernel.reachable_values import look_up, own_attributes, user_variables
from palimpsest.frontends.kernel.table_text import as_plain_table, is_table, table_text
from palimpsest.frontends.kernel.value_text import (
    ValueText,
    cut,
    is_class,
    is_routine,
    is_written,
)
from palimpsest.frontends.kernel.variable_fingerprints import Fingerprints
from palimpsest.frontends.kernel.variable_types import (
    SUMMARY_CHARS,
    is_module,
    kind_of,
    llm_repr,
    shape_of,
)
from palimpsest.tools.tool import TYPES, ShownVariables, VariableInfo
from palimpsest.transcript.redaction.secret_patterns import REDACTED, is_secret_variable, scrub
from palimpsest.transcript.redaction.secret_removal import KernelSecrets

MOST_ITEMS = 20
REPR_CHARS = 2_000
LLM_SECONDS = 2.0
"""How long a class may take to describe an object to a model."""
LLM_CHARS = 20_000
SECRET = "Its name says that it is a secret, so its value is not told."

SHORTEST_KEY = 8
"""Bytes of a key that is taken out of texts; none, as in a test's kernel, is no key."""

_SECRETS = KernelSecrets(os.environ, time.monotonic)
_NAME = re.compile(r"[A-Za-z_]\w*")


class _NamespaceLook:
    """One look at the namespace: what is not looked at in it, and how values are written."""

    def __init__(self, shell: Any) -> None:
        self.kept = kept_cells(shell)
        self.kernels = KernelObjects(shell)
        self.text = ValueText(self.kernels, self.kept.hides_file)
        self._key = getattr(getattr(getattr(shell, "kernel", None), "session", None), "key", b"")

    def clean(self, text: str) -> str:
        """Return a text without secrets, the key of the kernel's messages, and lines of hidden cells."""
        if type(self._key) is bytes and len(self._key) >= SHORTEST_KEY:
            text = text.replace(self._key.decode("ascii", "backslashreplace"), REDACTED)
        return self.kept.clean(scrub(text, _SECRETS()))


def list_variables(shell: Any, shown: ShownVariables = TYPES) -> Sequence[VariableInfo]:
    """Describe every variable of the user in one line each, by name."""
    look = _NamespaceLook(shell)
    fingerprints = Fingerprints(kernels=look.kernels)
    found = []
    for name, value in sorted(user_variables(shell), key=lambda one: one[0]):
        one = _listed(look, name, value, shown)
        if shown.marks:
            print_of = fingerprints.of(value)
            mark = print_of.mark or None
            one = replace(one, mark=mark, whole=print_of.whole)
        found.append(one)
    return found


def _listed(look: _NamespaceLook, name: str, value: Any, shown: ShownVariables) -> VariableInfo:
    wanted = shown.detail == "values" or name in shown.named
    if shown.detail == "names" and not wanted:
        return VariableInfo(name, "", "")
    if is_secret_variable(name):
        return VariableInfo(name, kind_of(value), "")
    plain = VariableInfo(name, kind_of(value), shape_of(value))
    if not wanted or _has_secret_key(value):
        return plain
    told = look.clean(_line(look, value))[:SUMMARY_CHARS]
    return plain if REDACTED in told else replace(plain, value=told)


def _has_secret_key(value: Any) -> bool:
    return type(value) is dict and any(
        type(key) is str and is_secret_variable(key) for key in dict.keys(value)
    )


def describe(shell: Any, name: str, max_chars: int = 4_000) -> str:
    """Describe one variable, or the value at a dotted or indexed path, at length."""
    return described(shell, name, look_up(shell, name), max_chars)


def described(shell: Any, name: str, value: Any, max_chars: int) -> str:
    """Describe a value at length under the name by which it was found."""
    if any(is_secret_variable(one) for one in _NAME.findall(name)):
        return f"{name}: {kind_of(value)}\n{SECRET}"
    look = _NamespaceLook(shell)
    text = look.clean(f"{name}: {kind_of(value)}\n{_at_length(look, value)}")
    if len(text) > max_chars:
        text = text[: max_chars - 20].rstrip() + "\n[shortened]"
    return text


def _line(look: _NamespaceLook, value: Any) -> str:
    """Return one line about a named variable."""
    value = as_plain_table(value)
    if is_written(value) or value in look.kernels:
        return look.text.line(value)
    return cut(" ".join(_own_text(look, value).split()), SUMMARY_CHARS)


def _at_length(look: _NamespaceLook, value: Any) -> str:
    told = _told_by_its_class(value)
    if told is not None:
        return told
    value = as_plain_table(value)
    if is_table(value):
        return table_text(value)
    if is_routine(value) or is_class(value):
        return f"{look.text.signature(value)}\n{look.text.documentation(value)}"
    if is_module(value):
        return f"module\n{look.text.documentation(value)}"
    base = container_of(value)
    if base is dict:
        return "\n".join(
            [
                f"{length_of(value)} items",
                *(
                    f"  {look.text.short(key, 60)}: {kind_of(held)} {_item(look, key, held)}"
                    for key, held in items_of(value, MOST_ITEMS)
                ),
            ]
        )
    if base in (list, tuple):
        lines = [
            f"  [{at}] {kind_of(one)} {look.text.line(one)}"
            for at, one in enumerate(items_of(value, MOST_ITEMS))
        ]
        return "\n".join([f"{length_of(value)} items", *lines])
    if is_written(value):
        return cut(look.text.whole(value, REPR_CHARS), REPR_CHARS)
    return cut(_own_text(look, value), REPR_CHARS)


def _item(look: _NamespaceLook, key: Any, value: Any) -> str:
    return REDACTED if type(key) is str and is_secret_variable(key) else look.text.line(value)


def _own_text(look: _NamespaceLook, value: Any) -> str:
    """Return what the class of a named value says of it; its attributes where that says nothing or is not asked.

    A class is not asked about a value from which the kernel's own objects can be reached: it would print them.
    """
    asked = has_own_repr(value) and not is_library_kind(type(value))
    if asked and not reaches_kernel(value, look.kernels):
        try:
            return str(_within(LLM_SECONDS, lambda: repr(value)))
        except _TookTooLong:
            return f"Its __repr__ took longer than {LLM_SECONDS:g} s and was stopped."
        except Exception as error:  # noqa: BLE001  # the user's classes may raise anything
            return f"(failed with {kind_of(error).rpartition('.')[2]})"
    held = own_attributes(value, MOST_ITEMS)
    if not held:
        return f"<{kind_of(value)}>"
    lines = (f"  .{name}: {kind_of(one)} {_item(look, name, one)}" for name, one in held)
    return "\n".join([f"<{kind_of(value)}> that holds", *lines])


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

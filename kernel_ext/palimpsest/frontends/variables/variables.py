"""Describe the user's variables as text, without changing them.

Border: runs on the main thread. ``reachable_values.py`` decides which values can be read, and texts are
written by ``value_text.py`` and ``table_text.py``, which run no user code. A class's own ``_repr_llm_``
or ``__repr__`` is called, with a time limit, only for a named variable that cannot be described otherwise, and for no
value inside another. A value whose name or form marks it as a secret is never described.
"""

import ctypes
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from palimpsest.frontends.user_cells.hidden_cells import hidden_cells
from palimpsest.frontends.variables.held_values import (
    container_of,
    has_own_repr,
    items_of,
    length_of,
)
from palimpsest.frontends.variables.kernel_objects import KernelObjects, reaches_kernel
from palimpsest.frontends.variables.plain_values import is_library_type
from palimpsest.frontends.variables.reachable_values import own_attributes, user_variables, value_at
from palimpsest.frontends.variables.table_text import as_plain_table, is_table, table_text
from palimpsest.frontends.variables.value_text import (
    ValueText,
    cut_text,
    is_class,
    is_routine,
    is_writable,
)
from palimpsest.frontends.variables.variable_fingerprints import Fingerprints
from palimpsest.frontends.variables.variable_types import (
    MAX_SUMMARY_CHARS,
    is_module,
    llm_repr,
    shape_of,
    type_name_of,
)
from palimpsest.tools.tool import NAMES_AND_TYPES, ShownVariables, VariableInfo
from palimpsest.transcript.redaction.secret_patterns import REDACTED, is_secret_variable, scrub
from palimpsest.transcript.redaction.secret_removal import KernelSecrets

MAX_ITEMS = 20
MAX_REPR_CHARS = 2_000
MAX_KEY_CHARS = 60
SHORTENED_MARK = "\n[shortened]"
MAX_MARK_CHARS = 20
MAX_DESCRIPTION_SECONDS = 2.0
"""Maximum time that a class's description of an object may take."""
MAX_DESCRIPTION_CHARS = 20_000
SECRET_SENTENCE = "Its name says that it is a secret, so its value is not told."

MIN_KEY_BYTES = 8
"""Minimum length of a message key that is removed from texts; a test's kernel has an empty key."""

_SECRETS = KernelSecrets(os.environ, time.monotonic)
_NAME = re.compile(r"[A-Za-z_]\w*")


class _ValueDescriber:
    """Writes values of one namespace, without the kernel's objects and hidden texts."""

    def __init__(self, shell: Any) -> None:
        self.hidden_cells = hidden_cells(shell)
        self.kernel_objects = KernelObjects(shell)
        self.value_text = ValueText(self.kernel_objects, self.hidden_cells.hides_file)
        self._key = getattr(getattr(getattr(shell, "kernel", None), "session", None), "key", b"")

    def scrub(self, text: str) -> str:
        """Return a text without secrets, the key of the kernel's messages, and lines of hidden cells."""
        if type(self._key) is bytes and len(self._key) >= MIN_KEY_BYTES:
            text = text.replace(self._key.decode("ascii", "backslashreplace"), REDACTED)
        return self.hidden_cells.masked_text(scrub(text, _SECRETS()))


def list_variables(shell: Any, shown: ShownVariables = NAMES_AND_TYPES) -> Sequence[VariableInfo]:
    """Return a description of every variable of the user, sorted by name."""
    describer = _ValueDescriber(shell)
    fingerprints = Fingerprints(kernel_objects=describer.kernel_objects)
    variables = []
    for name, value in sorted(user_variables(shell), key=lambda pair: pair[0]):
        info = _variable_info(describer, name, value, shown)
        if shown.with_fingerprints:
            fingerprint = fingerprints.fingerprint_of(value)
            checksum, is_complete = fingerprint.checksum or None, fingerprint.is_complete
            info = replace(info, fingerprint=checksum, is_complete_fingerprint=is_complete)
        variables.append(info)
    return variables


def _variable_info(
    describer: _ValueDescriber, name: str, value: Any, shown: ShownVariables
) -> VariableInfo:
    with_value = shown.detail == "values" or name in shown.readable_names
    if shown.detail == "names" and not with_value:
        return VariableInfo(name, "", "")
    if is_secret_variable(name):
        return VariableInfo(name, type_name_of(value), "")
    without_value = VariableInfo(name, type_name_of(value), shape_of(value))
    if not with_value or _has_secret_key(value):
        return without_value
    summary = describer.scrub(_named_variable_line(describer, value))[:MAX_SUMMARY_CHARS]
    return without_value if REDACTED in summary else replace(without_value, value=summary)


def _has_secret_key(value: Any) -> bool:
    return type(value) is dict and any(
        type(key) is str and is_secret_variable(key) for key in dict.keys(value)
    )


def describe_variable(shell: Any, path: str, max_chars: int = 4_000) -> str:
    """Return a long description of one variable, or of the value at a dotted or indexed path."""
    return describe_value(shell, path, value_at(shell, path), max_chars)


def describe_value(shell: Any, path: str, value: Any, max_chars: int) -> str:
    """Return a long description of a value, with its name and type in the first line."""
    if any(is_secret_variable(word) for word in _NAME.findall(path)):
        return f"{path}: {type_name_of(value)}\n{SECRET_SENTENCE}"
    describer = _ValueDescriber(shell)
    text = describer.scrub(f"{path}: {type_name_of(value)}\n{_long_text(describer, value)}")
    if len(text) > max_chars:
        text = text[: max_chars - MAX_MARK_CHARS].rstrip() + SHORTENED_MARK
    return text


def _named_variable_line(describer: _ValueDescriber, value: Any) -> str:
    value = as_plain_table(value)
    if is_writable(value) or value in describer.kernel_objects:
        return describer.value_text.summary_line(value)
    return cut_text(" ".join(_repr_or_attributes_text(describer, value).split()), MAX_SUMMARY_CHARS)


def _long_text(describer: _ValueDescriber, value: Any) -> str:
    description = _class_description(value)
    if description is not None:
        return description
    value = as_plain_table(value)
    if is_table(value):
        return table_text(value)
    if is_routine(value) or is_class(value):
        return f"{describer.value_text.signature_text(value)}\n{describer.value_text.documentation(value)}"
    if is_module(value):
        return f"module\n{describer.value_text.documentation(value)}"
    container_type = container_of(value)
    if container_type is dict:
        rows = [
            f"  {describer.value_text.short_text(key, MAX_KEY_CHARS)}: {type_name_of(item)} {_item_text(describer, key, item)}"
            for key, item in items_of(value, MAX_ITEMS)
        ]
        return "\n".join([f"{length_of(value)} items", *rows])
    if container_type in (list, tuple):
        lines = [
            f"  [{number}] {type_name_of(item)} {describer.value_text.summary_line(item)}"
            for number, item in enumerate(items_of(value, MAX_ITEMS))
        ]
        return "\n".join([f"{length_of(value)} items", *lines])
    if is_writable(value):
        return cut_text(describer.value_text.long_text(value, MAX_REPR_CHARS), MAX_REPR_CHARS)
    return cut_text(_repr_or_attributes_text(describer, value), MAX_REPR_CHARS)


def _item_text(describer: _ValueDescriber, key: Any, value: Any) -> str:
    if type(key) is str and is_secret_variable(key):
        return REDACTED
    return describer.value_text.summary_line(value)


def _repr_or_attributes_text(describer: _ValueDescriber, value: Any) -> str:
    """Return a value's ``__repr__`` if its class defines one, else its attributes.

    ``__repr__`` is not called for a value that refers to the kernel's own objects, which it would print.
    """
    may_call_repr = has_own_repr(value) and not is_library_type(type(value))
    if may_call_repr and not reaches_kernel(value, describer.kernel_objects):
        try:
            return str(_call_with_limit(MAX_DESCRIPTION_SECONDS, lambda: repr(value)))
        except _TookTooLong:
            return f"Its __repr__ took longer than {MAX_DESCRIPTION_SECONDS:g} s and was stopped."
        except Exception as error:  # noqa: BLE001  # the user's classes may raise anything
            return f"(failed with {type_name_of(error).rpartition('.')[2]})"
    attributes = own_attributes(value, MAX_ITEMS)
    if not attributes:
        return f"<{type_name_of(value)}>"
    lines = (
        f"  .{name}: {type_name_of(attribute)} {_item_text(describer, name, attribute)}"
        for name, attribute in attributes
    )
    return "\n".join([f"<{type_name_of(value)}> that holds", *lines])


def _class_description(value: Any) -> str | None:
    """Return the text of the class's ``_repr_llm_``, or a sentence on why it failed; None without such a method."""
    method = llm_repr(value)
    if method is None:
        return None
    try:
        description = _call_with_limit(MAX_DESCRIPTION_SECONDS, lambda: method(value))
    except _TookTooLong:
        return f"Its _repr_llm_ took longer than {MAX_DESCRIPTION_SECONDS:g} s and was stopped."
    except Exception as error:  # noqa: BLE001  # the user's classes may raise anything
        return f"Its _repr_llm_ failed with {type_name_of(error)}."
    if description is not None and type(description) is not str:
        return f"Its _repr_llm_ returned {type_name_of(description)} instead of text."
    return description if description is None else description[:MAX_DESCRIPTION_CHARS]


class _TookTooLong(BaseException):
    """The user's code ran too long; ``except Exception`` in that code does not catch it."""


def _call_with_limit(seconds: float, call: Callable[[], Any]) -> Any:
    """Return the result of a call; raises _TookTooLong after the time limit, as soon as Python code runs in it.

    A pending exception is never withdrawn: Python 3.11 would check for it at each later instruction, which
    slows the thread down and does not end under a debugger or profiler.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    lock = threading.Lock()
    has_ended = has_fired = False

    def stop() -> None:
        nonlocal has_fired
        with lock:
            if not has_ended:
                has_fired = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(_TookTooLong))

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        return call()
    finally:
        with lock:
            has_ended = True
        timer.cancel()
        # Run a short loop, so that the pending exception is raised here.
        for _ in range(1_000 if has_fired else 0):
            pass

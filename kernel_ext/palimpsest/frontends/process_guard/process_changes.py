"""List the process-wide changes that code left, each with the code that undoes it.

Border: compares the settings read by ``process_settings`` before and after. Values of environment variables are
never shown, since they may be keys. Only the figure backend is restored, since the user's figures would not be
shown any more.
"""

import builtins
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from palimpsest.frontends.process_guard.attribute_patches import patched_attribute
from palimpsest.frontends.process_guard.process_settings import (
    SETTING_TABLES,
    broad_filters,
    figure_backend,
    interpreter_hooks,
    numpy_is_seeded,
    signal_handlers,
    single_settings,
)

MAX_NAMES = 5
"""Maximum names that one line lists; the others are counted."""
MAX_VALUE_CHARS = 200
"""Maximum characters of a value in a line."""
MAX_UNDO_CHARS = 800
"""Maximum characters of the code that undoes a change; longer code is omitted, since a part of it would not run."""
COMPARED_BY_VALUE = (str, int, float, bool, bytes, type(None))
"""Types that are compared by value; other objects are compared by identity."""


ORIGINALS: dict[str, Any] = {}
"""The original functions that pieces left replaced, by dotted name, for the code that undoes it."""
_REPLACEMENTS: dict[str, Any] = {}
"""The functions with which the newest piece replaced them, by dotted name."""
_UNDO_CODE = "{name} = __import__('{module}', fromlist=['ORIGINALS']).ORIGINALS[{name!r}]"


class ProcessState:
    """The settings of the process when a piece of code begins.

    Contract: creating it and computing the changes takes well under 2 ms together, and imports nothing.
    """

    def __init__(self) -> None:
        self._settings_before = dict(single_settings())
        self._hooks = interpreter_hooks()
        self._path = list(sys.path)
        self._environment = dict(os.environ)
        self._handlers = signal_handlers()
        self._filters = broad_filters()
        self._builtins = dict(vars(builtins))
        self._tables = [read() for _, read, _ in SETTING_TABLES]
        self._backend = figure_backend() or os.environ.get("MPLBACKEND")
        self._seeded: set[str] = set()
        self._numpy_seeded = numpy_is_seeded()
        self._seed_patches = ExitStack()
        for name in ("random", "numpy.random"):
            module: Any = sys.modules.get(name)
            if hasattr(module, "seed"):
                recording_seed = self._recording_seed(name, module.seed)
                self._seed_patches.enter_context(patched_attribute(module, "seed", recording_seed))

    def changed_settings(self) -> list[str]:
        """Return a line for each changed setting, and restore the figure backend."""
        self._seed_patches.close()
        sentences: list[str] = []
        for read in (
            self._plain_changes,
            self._hook_changes,
            self._path_changes,
            self._environment_changes,
            self._handler_changes,
            self._filter_changes,
            self._table_changes,
            self._builtin_changes,
            self._seeds,
            self._backend_change,
        ):
            with suppress(Exception):  # a library in an unknown version must not fail the call
                sentences += read()
        return sentences

    def _recording_seed(self, name: str, seed: Callable[..., Any]) -> Callable[..., Any]:
        def recording_seed(*arguments: Any, **options: Any) -> Any:
            is_random = not options and (not arguments or arguments[0] is None)
            (self._seeded.discard if is_random else self._seeded.add)(name)
            return seed(*arguments, **options)

        return recording_seed

    def _plain_changes(self) -> Iterator[str]:
        for (setting, undo), value in single_settings():
            before = self._settings_before.get((setting, undo), value)
            if value != before:
                yield _change_text(
                    f"left {setting} at {_short_repr(value)} (was {_short_repr(before)})",
                    _restoring_code(undo, before),
                )

    def _hook_changes(self) -> Iterator[str]:
        for (hook, undo), value in interpreter_hooks().items():
            before = self._hooks[hook, undo]
            if value is not before:
                is_name = hook.replace(".", "").isidentifier()
                yield _change_text(
                    f"replaced {hook}", _undo_replacement(hook, before, value) if is_name else undo
                )

    def _path_changes(self) -> Iterator[str]:
        added = [path for path in sys.path if path not in self._path]
        removed = [path for path in self._path if path not in sys.path]
        if added:
            undo = "; ".join(f"sys.path.remove({path!r})" for path in added[:MAX_NAMES])
            yield _change_text(f"added {_names_text(added)} to sys.path", undo)
        if removed:
            undo = "; ".join(f"sys.path.append({path!r})" for path in removed[:MAX_NAMES])
            yield _change_text(f"removed {_names_text(removed)} from sys.path", undo)

    def _environment_changes(self) -> Iterator[str]:
        before, now = self._environment, dict(os.environ)
        added = sorted(now.keys() - before.keys())
        changed = sorted(name for name in now.keys() & before.keys() if now[name] != before[name])
        removed = sorted(before.keys() - now.keys())
        if added:
            undo = "; ".join(f"del os.environ[{name!r}]" for name in added[:MAX_NAMES])
            yield _change_text(f"set environment variables: {_names_text(added)}", undo)
        for verb, names in (("changed", changed), ("removed", removed)):
            if names:
                undo = f"os.environ[{names[0]!r}] = ... with the old value, which is not kept"
                yield _change_text(f"{verb} environment variables: {_names_text(names)}", undo)

    def _handler_changes(self) -> Iterator[str]:
        for number, handler in signal_handlers().items():
            before = self._handlers.get(number)
            if handler != before:
                name = signal.Signals(number).name
                handler_name = (
                    f"signal.{before.name}" if isinstance(before, signal.Handlers) else None
                )
                undo = "restart the kernel"
                if handler_name:
                    undo = f"signal.signal(signal.{name}, {handler_name})"
                yield _change_text(f"left another handler for {name}", undo)

    def _filter_changes(self) -> Iterator[str]:
        now = broad_filters()
        added = [entry for entry in now if entry not in self._filters]
        removed = [entry for entry in self._filters if entry not in now]
        if added:
            filters = ", ".join(f"{action} {category}" for action, category, _ in added[:MAX_NAMES])
            yield _change_text(
                f"left a warning filter ({filters})", f"del warnings.filters[:{len(added)}]"
            )
        if removed:
            filters = ", ".join(
                f"{action} {category}" for action, category, _ in removed[:MAX_NAMES]
            )
            undo = "; ".join(
                f"warnings.simplefilter({action!r}, {category}, append=True)"
                for action, category, _ in removed[:MAX_NAMES]
            )
            yield _change_text(f"removed a warning filter ({filters})", undo)

    def _table_changes(self) -> Iterator[str]:
        for (table, read, undo), before in zip(SETTING_TABLES, self._tables, strict=True):
            now = read()
            if before is None or now is None:
                continue
            names = [
                name for name in now if name in before and not _is_same(before[name], now[name])
            ]
            if names:
                old = {name: before[name] for name in names[:MAX_NAMES]}
                yield _change_text(f"left {table} changed: {_names_text(names)}", undo(old))

    def _builtin_changes(self) -> Iterator[str]:
        now = vars(builtins)
        replaced = [
            name
            for name, value in self._builtins.items()
            if name != "_" and now.get(name, value) is not value
        ]
        if replaced:
            undo_codes = [
                _undo_replacement(f"builtins.{name}", self._builtins[name], now[name])
                for name in replaced
            ]
            undo = "; ".join(["import builtins", *undo_codes[:MAX_NAMES]])
            yield _change_text(f"replaced builtins: {_names_text(replaced)}", undo)

    def _seeds(self) -> Iterator[str]:
        if numpy_is_seeded() and not self._numpy_seeded:
            self._seeded.add("numpy.random")
        for name in sorted(self._seeded):
            yield _change_text(f"gave {name} a seed, so that its numbers repeat", f"{name}.seed()")

    def _backend_change(self) -> Iterator[str]:
        before, now = self._backend, figure_backend()
        if before is None or now is None or before.lower() == now.lower():
            return
        pyplot, matplotlib = sys.modules.get("matplotlib.pyplot"), sys.modules.get("matplotlib")
        if pyplot is not None:
            pyplot.switch_backend(before)
            inline = sys.modules.get("matplotlib_inline.backend_inline")
            if inline is not None:  # it shows figures only if it was the backend at its import
                inline._enable_matplotlib_integration()  # noqa: SLF001  # no public way
        elif matplotlib is not None:
            matplotlib.use(before)
        yield f"This set the figure backend to {now}; it was put back to {before}, so that figures are shown."


def _change_text(change: str, undo: str) -> str:
    return f"This {change}. Back: {undo if len(undo) <= MAX_UNDO_CHARS else 'restart the kernel'}"


def _undo_replacement(name: str, before: Any, now: Any) -> str:
    """Store the object from before the first replacement by a piece, and return the code that restores it."""
    if (
        name not in ORIGINALS or _REPLACEMENTS.get(name) is not before
    ):  # the user has set it meanwhile
        ORIGINALS[name] = before
    _REPLACEMENTS[name] = now
    return _UNDO_CODE.format(name=name, module=__name__)


def _restoring_code(template: str, before: Any) -> str:
    """Return the code that restores a setting to its old value."""
    when_true, _, when_false = template.partition("|")
    return when_false if when_false and not before else when_true.replace("{before}", repr(before))


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}..."


def _names_text(names: Sequence[str]) -> str:
    unnamed = len(names) - MAX_NAMES
    return ", ".join(map(str, names[:MAX_NAMES])) + (f" and {unnamed} more" if unnamed > 0 else "")


def _is_same(before: Any, now: Any) -> bool:
    if type(before) is not type(now):
        return False
    if type(now) in COMPARED_BY_VALUE:
        return bool(before == now)
    if type(now) in (list, tuple) and len(now) == len(before):
        return all(map(_is_same, before, now))
    return before is now

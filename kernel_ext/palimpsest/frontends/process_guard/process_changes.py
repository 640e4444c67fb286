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
        self._hooks_before = interpreter_hooks()
        self._import_paths = list(sys.path)
        self._environment_before = dict(os.environ)
        self._handlers_before = signal_handlers()
        self._filters_before = broad_filters()
        self._builtins_before = dict(vars(builtins))
        self._tables_before = [read_table() for _, read_table, _ in SETTING_TABLES]
        self._backend_before = figure_backend() or os.environ.get("MPLBACKEND")
        self._seeded_modules: set[str] = set()
        self._was_numpy_seeded = numpy_is_seeded()
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
        for find_changes in (
            *(self._plain_changes, self._hook_changes, self._path_changes),
            *(self._environment_changes, self._handler_changes, self._filter_changes),
            *(self._table_changes, self._builtin_changes, self._seed_changes, self._backend_change),
        ):
            with suppress(Exception):  # a library in an unknown version must not fail the call
                sentences += find_changes()
        return sentences

    def _recording_seed(self, name: str, seed: Callable[..., Any]) -> Callable[..., Any]:
        def recording_seed(*arguments: Any, **options: Any) -> Any:
            is_random = not options and (not arguments or arguments[0] is None)
            (self._seeded_modules.discard if is_random else self._seeded_modules.add)(name)
            return seed(*arguments, **options)

        return recording_seed

    def _plain_changes(self) -> Iterator[str]:
        for (setting, undo_code), value in single_settings():
            old_value = self._settings_before.get((setting, undo_code), value)
            if value != old_value:
                yield _change_text(
                    f"left {setting} at {_short_repr(value)} (was {_short_repr(old_value)})",
                    _restoring_code(undo_code, old_value),
                )

    def _hook_changes(self) -> Iterator[str]:
        for (hook, undo_code), value in interpreter_hooks().items():
            old_hook = self._hooks_before[hook, undo_code]
            if value is not old_hook:
                is_name = hook.replace(".", "").isidentifier()
                yield _change_text(
                    f"replaced {hook}",
                    _store_original(hook, old_hook, value) if is_name else undo_code,
                )

    def _path_changes(self) -> Iterator[str]:
        added_paths = [path for path in sys.path if path not in self._import_paths]
        removed_paths = [path for path in self._import_paths if path not in sys.path]
        if added_paths:
            undo_code = "; ".join(f"sys.path.remove({path!r})" for path in added_paths[:MAX_NAMES])
            yield _change_text(f"added {_names_text(added_paths)} to sys.path", undo_code)
        if removed_paths:
            undo_code = "; ".join(
                f"sys.path.append({path!r})" for path in removed_paths[:MAX_NAMES]
            )
            yield _change_text(f"removed {_names_text(removed_paths)} from sys.path", undo_code)

    def _environment_changes(self) -> Iterator[str]:
        environment_before, environment_now = self._environment_before, dict(os.environ)
        added_names = sorted(environment_now.keys() - environment_before.keys())
        common_names = environment_now.keys() & environment_before.keys()
        changed_names = sorted(
            name for name in common_names if environment_now[name] != environment_before[name]
        )
        removed_names = sorted(environment_before.keys() - environment_now.keys())
        if added_names:
            undo_code = "; ".join(f"del os.environ[{name!r}]" for name in added_names[:MAX_NAMES])
            yield _change_text(f"set environment variables: {_names_text(added_names)}", undo_code)
        for verb, names in (("changed", changed_names), ("removed", removed_names)):
            if names:
                undo_code = f"os.environ[{names[0]!r}] = ... with the old value, which is not kept"
                yield _change_text(f"{verb} environment variables: {_names_text(names)}", undo_code)

    def _handler_changes(self) -> Iterator[str]:
        for number, handler in signal_handlers().items():
            old_handler = self._handlers_before.get(number)
            if handler != old_handler:
                name = signal.Signals(number).name
                undo_code = "restart the kernel"
                if isinstance(old_handler, signal.Handlers):
                    undo_code = f"signal.signal(signal.{name}, signal.{old_handler.name})"
                yield _change_text(f"left another handler for {name}", undo_code)

    def _filter_changes(self) -> Iterator[str]:
        filters_now = broad_filters()
        added_filters = [entry for entry in filters_now if entry not in self._filters_before]
        removed_filters = [entry for entry in self._filters_before if entry not in filters_now]
        if added_filters:
            change = f"left a warning filter ({_filters_text(added_filters)})"
            yield _change_text(change, f"del warnings.filters[:{len(added_filters)}]")
        if removed_filters:
            undo_code = "; ".join(
                f"warnings.simplefilter({action!r}, {category}, append=True)"
                for action, category, _ in removed_filters[:MAX_NAMES]
            )
            filters_text = _filters_text(removed_filters)
            yield _change_text(f"removed a warning filter ({filters_text})", undo_code)

    def _table_changes(self) -> Iterator[str]:
        for (table, read_table, undo_code), old_table in zip(
            SETTING_TABLES, self._tables_before, strict=True
        ):
            table_now = read_table()
            if old_table is None or table_now is None:
                continue
            common_names = [name for name in table_now if name in old_table]
            names = [
                name for name in common_names if not _is_same(old_table[name], table_now[name])
            ]
            if names:
                old_values = {name: old_table[name] for name in names[:MAX_NAMES]}
                yield _change_text(
                    f"left {table} changed: {_names_text(names)}", undo_code(old_values)
                )

    def _builtin_changes(self) -> Iterator[str]:
        builtins_now = vars(builtins)
        old_builtins = {name: value for name, value in self._builtins_before.items() if name != "_"}
        replaced_names = [
            name
            for name, value in old_builtins.items()
            if builtins_now.get(name, value) is not value
        ]
        if replaced_names:
            undo_codes = [
                _store_original(f"builtins.{name}", self._builtins_before[name], builtins_now[name])
                for name in replaced_names
            ]
            undo_code = "; ".join(["import builtins", *undo_codes[:MAX_NAMES]])
            yield _change_text(f"replaced builtins: {_names_text(replaced_names)}", undo_code)

    def _seed_changes(self) -> Iterator[str]:
        if numpy_is_seeded() and not self._was_numpy_seeded:
            self._seeded_modules.add("numpy.random")
        for name in sorted(self._seeded_modules):
            yield _change_text(f"gave {name} a seed, so that its numbers repeat", f"{name}.seed()")

    def _backend_change(self) -> Iterator[str]:
        old_backend, new_backend = self._backend_before, figure_backend()
        if old_backend is None or new_backend is None or old_backend.lower() == new_backend.lower():
            return
        pyplot, matplotlib = sys.modules.get("matplotlib.pyplot"), sys.modules.get("matplotlib")
        if pyplot is not None:
            pyplot.switch_backend(old_backend)
            inline = sys.modules.get("matplotlib_inline.backend_inline")
            if inline is not None:  # it shows figures only if it was the backend at its import
                inline._enable_matplotlib_integration()  # noqa: SLF001  # no public way
        elif matplotlib is not None:
            matplotlib.use(old_backend)
        yield f"This set the figure backend to {new_backend}; it was put back to {old_backend}, so that figures are shown."


def _change_text(change: str, undo_code: str) -> str:
    return f"This {change}. Back: {undo_code if len(undo_code) <= MAX_UNDO_CHARS else 'restart the kernel'}"


def _store_original(name: str, original: Any, new_value: Any) -> str:
    """Store the object from before the first replacement by a piece, and return the code that restores it."""
    # Also where the user has set it meanwhile.
    if name not in ORIGINALS or _REPLACEMENTS.get(name) is not original:
        ORIGINALS[name] = original
    _REPLACEMENTS[name] = new_value
    return _UNDO_CODE.format(name=name, module=__name__)


def _restoring_code(template: str, old_value: Any) -> str:
    when_true, _, when_false = template.partition("|")
    if when_false and not old_value:
        return when_false
    return when_true.replace("{before}", repr(old_value))


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}..."


def _names_text(names: Sequence[str]) -> str:
    unnamed_count = len(names) - MAX_NAMES
    return ", ".join(map(str, names[:MAX_NAMES])) + (
        f" and {unnamed_count} more" if unnamed_count > 0 else ""
    )


def _filters_text(filters: Sequence[tuple[str, str, int]]) -> str:
    return ", ".join(f"{action} {category}" for action, category, _ in filters[:MAX_NAMES])


def _is_same(old_value: Any, new_value: Any) -> bool:
    if type(old_value) is not type(new_value):
        return False
    if type(new_value) in COMPARED_BY_VALUE:
        return bool(old_value == new_value)
    if type(new_value) in (list, tuple) and len(new_value) == len(old_value):
        return all(map(_is_same, old_value, new_value))
    return old_value is new_value

"""What a piece of code leaves changed in its process, each in a line with the way back.

Border: compares what ``process_settings`` reads before and after. Values of environment variables are
never named, since they may be keys. Only the figure backend is put back: figures of the user would not be
shown any more.
"""

import builtins
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from palimpsest.frontends.process_guard.attribute_patches import patched
from palimpsest.frontends.process_guard.process_settings import (
    TABLES,
    broad_filters,
    figure_backend,
    hooks,
    numpy_is_seeded,
    plain_settings,
    signal_handlers,
)

MOST_NAMES = 5
"""Names that one line lists; the rest is counted."""
MOST_CHARS = 200
"""Length of a value in a line."""
LONGEST_BACK = 800
"""Length of the way back; a longer one would be cut into code that does not run, so it is left out."""
EXACT = (str, int, float, bool, bytes, type(None))
"""Types whose values are compared; others are the same only if they are the same object."""


REPLACED: dict[str, Any] = {}
"""The functions of the process that pieces replaced and left replaced, by dotted name, for the way back."""
_LEFT: dict[str, Any] = {}
"""What the newest piece left instead of them."""
_BACK = "{name} = __import__('{module}', fromlist=['REPLACED']).REPLACED[{name!r}]"


class ProcessState:
    """The settings of the process when a piece of code begins.

    Contract: making it and asking for the changes takes well under 2 ms in all, and imports nothing.
    """

    def __init__(self) -> None:
        self._plain = dict(plain_settings())
        self._hooks = hooks()
        self._path = list(sys.path)
        self._environment = dict(os.environ)
        self._handlers = signal_handlers()
        self._filters = broad_filters()
        self._builtins = dict(vars(builtins))
        self._tables = [read() for _, read, _ in TABLES]
        self._backend = figure_backend() or os.environ.get("MPLBACKEND")
        self._seeded: set[str] = set()
        self._numpy_seeded = numpy_is_seeded()
        self._noted = ExitStack()
        for name in ("random", "numpy.random"):
            module: Any = sys.modules.get(name)
            if hasattr(module, "seed"):
                noting = self._noting(name, module.seed)
                self._noted.enter_context(patched(module, "seed", noting))

    def changes(self) -> list[str]:
        """Return a line for each setting that differs now, and put the figure backend back."""
        self._noted.close()
        found: list[str] = []
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
                found += read()
        return found

    def _noting(self, name: str, seed: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*arguments: Any, **options: Any) -> Any:
            fresh = not options and (not arguments or arguments[0] is None)
            (self._seeded.discard if fresh else self._seeded.add)(name)
            return seed(*arguments, **options)

        return noting

    def _plain_changes(self) -> Iterator[str]:
        for (what, back), value in plain_settings():
            before = self._plain.get((what, back), value)
            if value != before:
                yield _line(
                    f"left {what} at {_shown(value)} (was {_shown(before)})", _way(back, before)
                )

    def _hook_changes(self) -> Iterator[str]:
        for (what, back), value in hooks().items():
            before = self._hooks[what, back]
            if value is not before:
                is_name = what.replace(".", "").isidentifier()
                yield _line(
                    f"replaced {what}", _kept_back(what, before, value) if is_name else back
                )

    def _path_changes(self) -> Iterator[str]:
        added = [one for one in sys.path if one not in self._path]
        gone = [one for one in self._path if one not in sys.path]
        if added:
            back = "; ".join(f"sys.path.remove({one!r})" for one in added[:MOST_NAMES])
            yield _line(f"added {_listed(added)} to sys.path", back)
        if gone:
            back = "; ".join(f"sys.path.append({one!r})" for one in gone[:MOST_NAMES])
            yield _line(f"removed {_listed(gone)} from sys.path", back)

    def _environment_changes(self) -> Iterator[str]:
        before, now = self._environment, dict(os.environ)
        added = sorted(now.keys() - before.keys())
        other = sorted(name for name in now.keys() & before.keys() if now[name] != before[name])
        gone = sorted(before.keys() - now.keys())
        if added:
            back = "; ".join(f"del os.environ[{name!r}]" for name in added[:MOST_NAMES])
            yield _line(f"set environment variables: {_listed(added)}", back)
        for done, names in (("changed", other), ("removed", gone)):
            if names:
                back = f"os.environ[{names[0]!r}] = ... with the old value, which is not kept"
                yield _line(f"{done} environment variables: {_listed(names)}", back)

    def _handler_changes(self) -> Iterator[str]:
        for number, handler in signal_handlers().items():
            before = self._handlers.get(number)
            if handler != before:
                name = signal.Signals(number).name
                back = f"signal.{before.name}" if isinstance(before, signal.Handlers) else None
                way = f"signal.signal(signal.{name}, {back})" if back else "restart the kernel"
                yield _line(f"left another handler for {name}", way)

    def _filter_changes(self) -> Iterator[str]:
        now = broad_filters()
        added = [one for one in now if one not in self._filters]
        gone = [one for one in self._filters if one not in now]
        if added:
            words = ", ".join(f"{action} {category}" for action, category, _ in added[:MOST_NAMES])
            yield _line(f"left a warning filter ({words})", f"del warnings.filters[:{len(added)}]")
        if gone:
            words = ", ".join(f"{action} {category}" for action, category, _ in gone[:MOST_NAMES])
            back = "; ".join(
                f"warnings.simplefilter({action!r}, {category}, append=True)"
                for action, category, _ in gone[:MOST_NAMES]
            )
            yield _line(f"removed a warning filter ({words})", back)

    def _table_changes(self) -> Iterator[str]:
        for (what, read, back), before in zip(TABLES, self._tables, strict=True):
            now = read()
            if before is None or now is None:
                continue
            names = [one for one in now if one in before and not _same(before[one], now[one])]
            if names:
                old = {one: before[one] for one in names[:MOST_NAMES]}
                yield _line(f"left {what} changed: {_listed(names)}", back(old))

    def _builtin_changes(self) -> Iterator[str]:
        now = vars(builtins)
        other = [
            name
            for name, value in self._builtins.items()
            if name != "_" and now.get(name, value) is not value
        ]
        if other:
            ways = [
                _kept_back(f"builtins.{name}", self._builtins[name], now[name]) for name in other
            ]
            back = "; ".join(["import builtins", *ways[:MOST_NAMES]])
            yield _line(f"replaced builtins: {_listed(other)}", back)

    def _seeds(self) -> Iterator[str]:
        if numpy_is_seeded() and not self._numpy_seeded:
            self._seeded.add("numpy.random")
        for name in sorted(self._seeded):
            yield _line(f"gave {name} a seed, so that its numbers repeat", f"{name}.seed()")

    def _backend_change(self) -> Iterator[str]:
        before, now = self._backend, figure_backend()
        if before is None or now is None or before.lower() == now.lower():
            return
        pyplot, matplotlib = sys.modules.get("matplotlib.pyplot"), sys.modules.get("matplotlib")
        if pyplot is not None:
            pyplot.switch_backend(before)
            inline = sys.modules.get("matplotlib_inline.backend_inline")
            if (
                inline is not None
            ):  # it shows figures only if it was the backend when it was imported
                inline._enable_matplotlib_integration()  # noqa: SLF001  # no public way
        elif matplotlib is not None:
            matplotlib.use(before)
        yield f"This set the figure backend to {now}; it was put back to {before}, so that figures are shown."


def _line(what: str, back: str) -> str:
    return f"This {what}. Back: {back if len(back) <= LONGEST_BACK else 'restart the kernel'}"


def _kept_back(name: str, before: Any, now: Any) -> str:
    """Keep what was there before the first piece that replaced it, and return the code that sets it back."""
    if name not in REPLACED or _LEFT.get(name) is not before:  # the user has set it since
        REPLACED[name] = before
    _LEFT[name] = now
    return _BACK.format(name=name, module=__name__)


def _way(back: str, before: Any) -> str:
    """Fill the old value into the code that sets it back."""
    on, _, off = back.partition("|")
    return off if off and not before else on.replace("{before}", repr(before))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]}..."


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(map(str, names[:MOST_NAMES])) + (f" and {more} more" if more > 0 else "")


def _same(before: Any, now: Any) -> bool:
    if type(before) is not type(now):
        return False
    if type(now) in EXACT:
        return bool(before == now)
    if type(now) in (list, tuple) and len(now) == len(before):
        return all(map(_same, before, now))
    return before is now

"""Read process-wide settings of the interpreter and of imported libraries.

Border: reads through plain functions and dictionaries, and runs no user code; imports no library
and changes nothing. A library in an unknown version has no readable settings.
"""

import decimal
import faulthandler
import gc
import locale
import logging
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

Setting = tuple[str, str]
"""A setting's name, and the code that restores it, with the old value as ``{before}``, or as ``on()|off()``."""


def single_settings() -> Iterator[tuple[Setting, Any]]:
    """Yield each setting that consists of one value."""
    with suppress(OSError):  # the folder may be gone
        yield ("the working folder", "os.chdir({before})"), str(Path.cwd())
    root = logging.root
    yield ("logging.disable", "logging.disable({before})"), root.manager.disable
    yield ("the level of the root logger", "logging.getLogger().setLevel({before})"), root.level
    undo_code = "del logging.getLogger().handlers[{before}:]"
    yield ("the number of handlers of the root logger", undo_code), len(root.handlers)
    yield ("the recursion limit", "sys.setrecursionlimit({before})"), sys.getrecursionlimit()
    interval = sys.getswitchinterval()
    yield ("the thread switch interval", "sys.setswitchinterval({before})"), interval
    yield ("gc.isenabled()", "gc.enable()|gc.disable()"), gc.isenabled()
    yield ("the garbage collector's threshold", "gc.set_threshold(*{before})"), gc.get_threshold()
    undo_code = "faulthandler.enable()|faulthandler.disable()"
    yield ("faulthandler.is_enabled()", undo_code), faulthandler.is_enabled()
    timeout = socket.getdefaulttimeout()
    yield ("the default timeout of sockets", "socket.setdefaulttimeout({before})"), timeout
    locales = locale.setlocale(locale.LC_ALL)
    yield ("the locale", "locale.setlocale(locale.LC_ALL, {before})"), locales
    yield ("the time zone", "set os.environ['TZ'] as before; time.tzset()"), time.tzname
    context = decimal.getcontext()
    yield ("the precision of decimal", "decimal.getcontext().prec = {before}"), context.prec
    yield ("the rounding of decimal", "decimal.getcontext().rounding = {before}"), context.rounding
    digits = sys.get_int_max_str_digits()
    yield ("the longest text of an integer", "sys.set_int_max_str_digits({before})"), digits
    if hasattr(os, "umask"):
        # The strictest value meanwhile, since other threads may write files.
        umask = os.umask(0o077)
        os.umask(umask)
        yield ("the umask", "os.umask({before})"), umask


def interpreter_hooks() -> dict[Setting, Any]:
    """Return the functions that the interpreter calls, by name and the code that restores them."""
    threads_undo = "threading.excepthook = threading.__excepthook__"
    loop_policy = getattr(sys.modules.get("asyncio.events"), "_event_loop_policy", None)
    return {
        ("sys.excepthook", "sys.excepthook = sys.__excepthook__"): sys.excepthook,
        ("threading.excepthook", threads_undo): threading.excepthook,
        ("sys.unraisablehook", "sys.unraisablehook = sys.__unraisablehook__"): sys.unraisablehook,
        ("sys.breakpointhook", "sys.breakpointhook = sys.__breakpointhook__"): sys.breakpointhook,
        ("the trace function", "sys.settrace(None)"): sys.gettrace(),
        ("the profile function", "sys.setprofile(None)"): sys.getprofile(),
        ("the policy of event loops", "asyncio.set_event_loop_policy(None)"): loop_policy,
    }


def signal_handlers() -> dict[int, Any]:
    """Return the handler of each signal."""
    handlers = {}
    for number in _SIGNALS:
        with suppress(ValueError, OSError):
            handlers[number] = signal.getsignal(number)
    return handlers


_SIGNALS = [int(signal_number) for signal_number in signal.Signals]


def broad_filters() -> list[tuple[str, str, int]]:
    """Return action, category and line of the warning filters for every module and message.

    Narrower filters, and those for a library's own warnings, are omitted: libraries add them at import.
    """
    return [
        (action, category.__name__, line)
        for action, message, category, module, line in warnings.filters
        if message is None
        and module is None
        and isinstance(category, type)
        and category.__module__ == "builtins"
    ]


SettingTable = Mapping[str, Any]


def _pandas_options() -> SettingTable | None:
    """Return the options of pandas by dotted name."""
    module = sys.modules.get("pandas._config.config")
    options = getattr(module, "_global_config", None)
    if not isinstance(options, dict):
        return None
    values: dict[str, Any] = {}
    open_tables: list[tuple[str, dict[str, Any]]] = [("", options)]
    while open_tables:
        prefix, table = open_tables.pop()
        for name, value in table.items():
            if type(value) is dict:
                open_tables.append((f"{prefix}{name}.", value))
            else:
                values[prefix + name] = value
    return values


def _numpy_call(name: str) -> SettingTable | None:
    read_setting = getattr(sys.modules.get("numpy"), name, None)
    return dict(read_setting()) if callable(read_setting) else None


def _matplotlib_settings() -> dict[str, Any]:
    """Return matplotlib's rcParams; empty while it is not imported."""
    settings = getattr(sys.modules.get("matplotlib"), "rcParams", None)
    # By ``dict``'s own method: rcParams resolves an automatic backend when it is read.
    return dict(dict.items(settings)) if isinstance(settings, dict) else {}


def _figure_settings() -> SettingTable:
    """Return matplotlib's rcParams without its backend."""
    settings = _matplotlib_settings().items()
    return {name: value for name, value in settings if name not in _BACKEND_NAMES}


_BACKEND_NAMES = ("backend", "backend_fallback", "interactive")


def figure_backend() -> str | None:
    """Return matplotlib's backend, or None while it is not imported or not chosen."""
    backend = _matplotlib_settings().get("backend")
    return backend if isinstance(backend, str) else None


def numpy_is_seeded() -> bool:
    """Return whether NumPy's global generator was given a seed since its creation."""
    random = getattr(sys.modules.get("numpy.random.mtrand"), "_rand", None)
    generator = getattr(random, "_bit_generator", None)
    return generator is not None and getattr(generator, "_seed_seq", "") is None


def _update_code(function: str) -> Callable[[SettingTable], str]:
    return lambda old: f"{function}(**{dict(old)!r})"


def _pandas_options_code(old_options: SettingTable) -> str:
    return "; ".join(
        f"pandas.set_option({name!r}, {value!r})" for name, value in old_options.items()
    )


SETTING_TABLES: tuple[
    tuple[str, Callable[[], SettingTable | None], Callable[[SettingTable], str]], ...
] = (
    ("pandas options", _pandas_options, _pandas_options_code),
    (
        "numpy's print options",
        partial(_numpy_call, "get_printoptions"),
        _update_code("numpy.set_printoptions"),
    ),
    ("numpy's error handling", partial(_numpy_call, "geterr"), _update_code("numpy.seterr")),
    (
        "matplotlib's rcParams",
        _figure_settings,
        lambda old: f"matplotlib.rcParams.update({dict(old)!r})",
    ),
)
"""The name of a table of settings, its reader, and the code that restores old values."""

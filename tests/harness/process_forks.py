"""Run Python in processes that are forked from one that has already imported what they need.

``forked_python(...)`` is the beginning of a command line that takes the place of ``sys.executable``: what follows is
``-c CODE``, ``-m MODULE`` or a file, with its arguments. The process that is started passes signals on, and ends as
the forked one ended; when it is killed, so is the other. Tests of imports and of starting take a real interpreter.
"""

import atexit
import gc
import json
import os
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
APPLICATION = (
    "palimpsest.app.wiring",
    "palimpsest.frontends.frontend",
    "palimpsest.frontends.command_line.main",
    "palimpsest.rehearsal.rehearsal_model",
)
"""What a script that prompts a session imports."""
MCP_SERVER = ("mcp.server.mcpserver", "mcp.server.stdio", "uvicorn")
"""What a server that speaks MCP imports."""
KERNEL_OF = "JPY_PARENT_PID"
"""Environment variable of a kernel: the process that started it."""
PARENT_SECONDS = 1.0
"""As often as a kernel looks for its parent."""
NUMBER_BYTES = 16
"""Size of a message that is a number; fixed, since two of them may be received at once."""
PASSED_ON = (signal.SIGINT, signal.SIGTERM)
"""Signals that the started process passes on to the forked one."""


def forked_python(*modules: str) -> list[str]:
    """Return the beginning of a command line that runs Python with these modules imported."""
    if not hasattr(os, "pidfd_open"):
        return [sys.executable]
    return [sys.executable, "-IS", __file__, "start", fork_server(modules)]


@cache
def fork_server(prepared: tuple[str, ...], *options: str) -> str:
    """Start the process that imports and forks; it ends with this one. Return its address.

    ``MODULE:FUNCTION`` is imported and called. The options are the interpreter's.
    """
    # A socket's address is limited to about a hundred characters, fewer than pytest's folders have.
    folder = tempfile.TemporaryDirectory(prefix="forks-", ignore_cleanup_errors=True)
    address = str(Path(folder.name, "s"))
    paths = [str(ROOT / "kernel_ext"), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(
        [sys.executable, *options, __file__, "serve", address, *prepared],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline(), "The process that forks ended; its error is above."

    def end() -> None:
        process.communicate()
        folder.cleanup()

    atexit.register(end)
    return address


def start(address: str, *arguments: str) -> None:
    """Run as the process that a test or Jupyter started, until the forked one ends."""
    # Known before the forked process can tell anybody that it is there.
    parent = os.getppid()
    # A signal that comes before the forked process is known waits, and is then passed on.
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    order = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109
    wanted = json.dumps(order).encode()
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        socket.send_fds(line, [number_in_bytes(len(wanted))], [0, 1, 2])
        line.sendall(wanted)
        forked = received_number(line)
        if forked is None:
            sys.exit("The process that forks has ended; its error is above.")

        def pass_on(number: int, _frame: object) -> None:
            with suppress(ProcessLookupError):  # it has just ended
                os.killpg(forked, number)

        for number in PASSED_ON:
            signal.signal(number, pass_on)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        if KERNEL_OF in os.environ:
            _end_with_parent(line, parent)
        ended = received_number(line)
    if ended is None:
        sys.exit(1)
    if ended < 0:
        signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    sys.exit(ended)


def _end_with_parent(line: socket.socket, parent: int) -> None:
    """Wait until the forked process ended; exit, and so have it killed, where ``parent``, which started this, has ended.

    A kernel looks for its parent itself, but that of a forked one is the process that forks. Jupyter's server leaves a
    kernel behind that it restarts while it is told to end, and such a kernel held the server's output open.
    """
    while not select.select([line], [], [], PARENT_SECONDS)[0]:
        if os.getppid() != parent:
            sys.exit(1)


def number_in_bytes(number: int) -> bytes:
    """Return a number as a message."""
    return b"%*d" % (NUMBER_BYTES, number)


def received_number(line: socket.socket) -> int | None:
    """Receive a number; None where the other side has gone."""
    number_bytes = line.recv(NUMBER_BYTES, socket.MSG_WAITALL)
    return int(number_bytes) if len(number_bytes) == NUMBER_BYTES else None


def serve(address: str, prepared: list[str]) -> list[str]:
    """Fork for each order, until standard input ends; returns only in a forked process, with its arguments.

    Orders wait until what all forked processes need was imported.
    """
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(32)
        print("ready", flush=True)  # noqa: T201
        _prepare(prepared)
        waits = selectors.DefaultSelector()
        waits.register(sys.stdin, selectors.EVENT_READ)
        waits.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in waits.select():
                if key.fileobj is sys.stdin:
                    os._exit(0)
                elif key.fileobj is listener:
                    line, _ = listener.accept()
                    order, files = _received_order(line)
                    if order is None:  # who asked was killed meanwhile
                        line.close()
                    elif forked := _fork(line, order, files):
                        ends = os.pidfd_open(forked)
                        waits.register(ends, selectors.EVENT_READ, (forked, line))
                        waits.register(line, selectors.EVENT_READ, forked)
                    else:
                        waits.close()
                        return list(order["arguments"])
                # Not closed by the one before, in this round.
                elif waits.get_map().get(key.fd) is key:
                    _note(waits, key)


def _prepare(prepared: list[str]) -> None:
    """Import the modules, and call the functions that are named with theirs."""
    sys.path.insert(0, str(ROOT))
    for name in prepared:
        module, _, function = name.partition(":")
        found = import_module(module)
        if function:
            getattr(found, function)()
    sys.path.remove(str(ROOT))
    gc.collect()
    gc.freeze()  # the garbage collector of a forked process skips the objects it inherits


def _note(waits: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    """Tell who asked that a forked process ended, or end one whose asker has gone."""
    if not isinstance(key.data, tuple):
        with suppress(ProcessLookupError):
            os.killpg(key.data, signal.SIGKILL)
        waits.unregister(key.fileobj)
        return
    forked, line = key.data
    ended = os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1])
    with suppress(OSError):
        line.sendall(number_in_bytes(ended))
    waits.unregister(key.fd)
    os.close(key.fd)
    with suppress(KeyError):
        waits.unregister(line)
    line.close()


def _received_order(line: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Receive an order and the descriptors that the forked process speaks through; None where it is not whole."""
    size, files, _, _ = socket.recv_fds(line, NUMBER_BYTES, 3, socket.MSG_WAITALL)
    if len(size) == NUMBER_BYTES:
        wanted = line.recv(int(size), socket.MSG_WAITALL)
        if len(wanted) == int(size):
            return json.loads(wanted), list(files)
    for file in files:
        os.close(file)
    return None, []


def _fork(line: socket.socket, order: dict[str, Any], files: list[int]) -> int:
    """Fork; return the process id, and 0 in the forked process after applying the order."""
    # A lock held by another thread during the fork would stay locked for ever.
    assert threading.active_count() == 1
    if forked := os.fork():
        for file in files:
            os.close(file)
        return forked
    os.setsid()
    try:
        line.sendall(number_in_bytes(os.getpid()))
    except OSError:  # who asked was killed meanwhile
        os._exit(1)
    line.close()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    return 0


def run_as_python(arguments: list[str]) -> None:
    """Run ``-c CODE``, ``-m MODULE`` or a file as the main program."""
    states = sys.modules.get("palimpsest.session.config.state_folder")
    if states is not None:  # the one environment variable that is read at import time
        states._PATH_FROM_ENVIRONMENT = os.environ.get(states.ENVIRONMENT_VARIABLE)  # type: ignore[attr-defined]
    main = sys.modules["__main__"] = ModuleType("__main__")
    match arguments:
        case ["-c", code, *rest]:
            sys.argv[:] = ["-c", *rest]
            sys.path.insert(0, "")
            exec(compile(code, "<string>", "exec"), main.__dict__)
        case ["-m", module, *rest]:
            sys.argv[:] = [module, *rest]
            sys.path.insert(0, os.getcwd())  # noqa: PTH109
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case [file, *rest]:
            sys.argv[:] = [file, *rest]
            sys.path.insert(0, str(Path(file).resolve().parent))
            runpy.run_path(file, run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1] == "start":
        start(*sys.argv[2:])
    else:
        del sys.path[0]  # this folder
        run_as_python(serve(sys.argv[2], sys.argv[3:]))

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

ROOT = Path(__file__).resolve().parents[2]
APPLICATION = (
    "palimpsest.app.wiring",
    "palimpsest.frontends.frontend",
    "palimpsest.frontends.command_line.main",
    "palimpsest.model.rehearsal.streaming_handler",
)
"""What a script that prompts a session imports."""
MCP_SERVER = ("mcp.server.mcpserver", "mcp.server.stdio", "uvicorn")
"""What a server that speaks MCP imports."""
SIZE_BYTES = 8
"""Size of the length field before an order."""


def forked_python(*modules: str) -> list[str]:
    """Return the beginning of a command line that runs Python with these modules imported."""
    if not hasattr(os, "pidfd_open"):
        return [sys.executable]
    return [sys.executable, "-IS", __file__, "start", _server(modules)]


@cache
def _server(modules: tuple[str, ...]) -> str:
    """Start the process that imports and forks; it ends with this one. Return its address."""
    # A socket's address is limited to about a hundred characters, fewer than pytest's folders have.
    folder = tempfile.TemporaryDirectory(prefix="forks-", ignore_cleanup_errors=True)
    address = str(Path(folder.name, "s"))
    path = {"PYTHONPATH": str(ROOT / "kernel_ext")}
    process = subprocess.Popen(
        [sys.executable, __file__, "serve", address, *modules],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | path,
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
    """Run as the process that a test started, until the forked one ends."""
    order = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109
    wanted = json.dumps(order).encode()
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        socket.send_fds(line, [b"%8d" % len(wanted)], [0, 1, 2])
        line.sendall(wanted)
        forked = int(line.recv(16))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _frame: os.killpg(forked, number))
        ended = int(line.recv(16) or b"1")
    if ended < 0:
        signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    sys.exit(ended)


def serve(address: str, *modules: str) -> list[str]:
    """Fork for each order, until standard input ends; returns only in a forked process, with its arguments."""
    for name in modules:
        import_module(name)
    gc.collect()
    gc.freeze()  # the garbage collector of a forked process skips the objects it inherits
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(32)
        print("ready", flush=True)  # noqa: T201
        waits = selectors.DefaultSelector()
        waits.register(sys.stdin, selectors.EVENT_READ)
        waits.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in waits.select():
                if key.fileobj is sys.stdin:
                    os._exit(0)
                elif key.fileobj is listener:
                    line, _ = listener.accept()
                    forked, arguments = _fork(line)
                    if forked == 0:
                        waits.close()
                        line.detach()
                        return arguments
                    ends = os.pidfd_open(forked)
                    waits.register(ends, selectors.EVENT_READ, (forked, line))
                    waits.register(line, selectors.EVENT_READ, forked)
                else:
                    _note(waits, key)


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
        line.sendall(b"%d" % ended)
    waits.unregister(key.fd)
    os.close(key.fd)
    with suppress(KeyError):
        waits.unregister(line)
    line.close()


def _fork(line: socket.socket) -> tuple[int, list[str]]:
    """Fork; return the process id, and in the forked process 0 and its arguments, after taking its place."""
    size, files, _, _ = socket.recv_fds(line, SIZE_BYTES, 3)
    wanted = b""
    while len(wanted) < int(size):
        wanted += line.recv(1 << 20)
    # A lock held by another thread during the fork would stay locked for ever.
    assert threading.active_count() == 1
    if forked := os.fork():
        for file in files:
            os.close(file)
        return forked, []
    os.setsid()
    line.sendall(b"%d" % os.getpid())
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    order = json.loads(wanted)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    return 0, order["arguments"]


def run_as_python(arguments: list[str]) -> None:
    """Run ``-c CODE``, ``-m MODULE`` or a file as the main program."""
    states = sys.modules.get("palimpsest.session.config.state_folder")
    if states is not None:  # the one environment variable that is read at import time
        states._NAMED = os.environ.get(states.VARIABLE)  # type: ignore[attr-defined]
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
        run_as_python(serve(*sys.argv[2:]))

"""Fork test kernels from one process that has already imported the modules they need.

``python -m tests.harness.kernel_forks`` imports once, then forks a kernel for every order on its socket,
which saves a second for each. Tests with such a kernel are about what happens after its start; a kernel in
a hostile folder, or one whose imports or start are tested, is started as Jupyter starts it.
"""

import atexit
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from functools import cache
from importlib import import_module
from pathlib import Path

from tests.harness.kernel_imports import import_all
from tests.waiting import LAST_RESORT_SECONDS

ROOT = Path(__file__).resolve().parents[2]
IMPORTED = ("palimpsest.model.direct.http_clients", "tests.frontends.foreign_logs")
"""What kernels of these tests import besides: with the first answer of a server that is asked directly, and by a test."""


class KernelForkServer:
    """A client of the process that forks kernels."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        path = f"{ROOT / 'kernel_ext'}{os.pathsep}{ROOT}"
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-Xfrozen_modules=off",  # else the debugger would warn when it is imported
                "-m",
                "tests.harness.kernel_forks",
                str(theirs.fileno()),
            ],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
        )
        theirs.close()
        self._replies = self._socket.makefile("r")
        atexit.register(self.close)

    def start(self, file: str, cwd: Path, environment: dict[str, str]) -> int:
        """Start a kernel with this connection file; return its process id."""
        order = {"file": file, "cwd": str(cwd), "environment": environment}
        self._socket.sendall(json.dumps(order).encode() + b"\n")
        pid = self._replies.readline()
        assert pid, "The process that forks kernels ended; its error is above."
        return int(pid)

    def close(self) -> None:
        """Close the server; running kernels continue."""
        self._replies.close()
        self._socket.close()
        self._process.wait(LAST_RESORT_SECONDS)


@cache
def kernel_fork_server() -> KernelForkServer:
    """Return this test process's server."""
    return KernelForkServer()


def main() -> None:
    """Fork a kernel for each order until the tests end."""
    sys.path.remove(str(ROOT))  # python -m put it first; PYTHONPATH names it once more
    import_all()
    for name in IMPORTED:
        import_module(name)
    gc.collect()
    gc.freeze()  # the garbage collector of a kernel skips the objects it inherits
    orders = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGCHLD, _reap)
    for line in orders.makefile("r"):
        order = json.loads(line)
        # A lock held by another thread during the fork would stay locked in the kernel for ever.
        assert threading.active_count() == 1
        pid = os.fork()
        if pid == 0:
            orders.detach()
            _run_kernel(order["file"], order["cwd"], order["environment"])
        orders.sendall(f"{pid}\n".encode())


def _reap(*_: object) -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _run_kernel(file: str, cwd: str, environment: dict[str, str]) -> None:
    """Run a kernel as ``python -m ipykernel_launcher -f FILE`` does after its imports."""
    from palimpsest.session.config import state_folder  # noqa: PLC0415

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a run of the tests under nohup ignores it
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    os.closerange(3, 256)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv = ["ipykernel_launcher", "-f", file]

    from ipykernel.kernelapp import launch_new_instance  # noqa: PLC0415

    # The one environment variable that is read at import time.
    state_folder._PATH_FROM_ENVIRONMENT = environment.get(state_folder.ENVIRONMENT_VARIABLE)

    code = 1
    try:
        launch_new_instance()
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()

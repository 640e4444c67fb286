"""Fork test kernels from one process that has already imported the modules they need.

A kernel with the package takes one second for its imports, and four when its model needs litellm; each of a
hundred tests starts one. Forks have only the loaded modules in common: the application, the shell and every
connection are made in the fork. Tests about the start of kernels use ordinary kernels.

Jupyter starts ``forked_kernels.py start``: it asks the waiting process to fork, passes signals on, and ends
as the kernel ended. When it is killed, so is the kernel.
"""

import gc
import json
import os
import selectors
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

IMPORTED = (
    "ipykernel.kernelapp",
    "ipykernel.zmqshell",
    "palimpsest.app.wiring",
    "palimpsest.frontends.frontend",
    "palimpsest.frontends.kernel.main_thread",
    "palimpsest.model.rehearsal.streaming_handler",
    "palimpsest.testing.scripted_model",
    "palimpsest.session.engine",
)
STARTED = "started"
"""Name of the kernel spec with an ordinary start."""
SIZE_BYTES = 8
"""Size of the length field before a request."""


def start(address: str, *arguments: str) -> None:
    """Run as the process that Jupyter started, until the kernel ends."""
    wanted = json.dumps(
        {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109
    ).encode()
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        socket.send_fds(line, [b"%8d" % len(wanted)], [1, 2])
        line.sendall(wanted)
        kernel = int(line.recv(16))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _frame: os.killpg(kernel, number))
        ended = int(line.recv(16) or b"1")
    if ended < 0:
        signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    sys.exit(ended)


def serve(address: str) -> None:
    """Fork a kernel for each request, until standard input ends; returns only in a kernel."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{address}.new")
        listener.listen(32)
        Path(f"{address}.new").rename(address)  # from here on it accepts connections
        _import()
        waits = selectors.DefaultSelector()
        waits.register(sys.stdin, selectors.EVENT_READ)
        waits.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in waits.select():
                if key.fileobj is sys.stdin:
                    sys.exit()
                elif key.fileobj is listener:
                    line, _ = listener.accept()
                    kernel = _fork(line)
                    if kernel == 0:
                        waits.close()
                        return
                    ends = os.pidfd_open(kernel)
                    waits.register(ends, selectors.EVENT_READ, (kernel, line))
                    waits.register(line, selectors.EVENT_READ, kernel)
                elif isinstance(key.data, tuple):
                    kernel, line = key.data
                    ended = os.waitstatus_to_exitcode(os.waitpid(kernel, 0)[1])
                    with suppress(OSError):
                        line.sendall(b"%d" % ended)
                    waits.unregister(key.fd)
                    os.close(key.fd)
                    with suppress(KeyError):
                        waits.unregister(line)
                    line.close()
                else:  # the requester has gone, so the kernel must end
                    with suppress(ProcessLookupError):
                        os.killpg(key.data, signal.SIGKILL)
                    waits.unregister(key.fileobj)


def _import() -> None:
    """Import the modules that kernels of these tests import."""
    for name in IMPORTED:
        import_module(name)
    litellm_model = import_module("palimpsest.model.adapter.litellm_model")
    litellm_model.wait()
    for name in litellm_model.LATE_IMPORTS:
        with suppress(ImportError):
            import_module(name)
    import_module("palimpsest.model.tokenizer").counter("tiktoken/o200k_base")("loaded once")
    gc.collect()
    gc.freeze()  # the garbage collector of a kernel skips the objects it inherits


def _fork(line: socket.socket) -> int:
    """Fork; return the kernel's process id, and 0 in the kernel after applying the requested state."""
    size, files, _, _ = socket.recv_fds(line, SIZE_BYTES, 2)
    wanted = b""
    while len(wanted) < int(size):
        wanted += line.recv(1 << 20)
    if kernel := os.fork():
        for file in files:
            os.close(file)
        return kernel
    os.setsid()
    line.sendall(b"%d" % os.getpid())
    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    for number, file in enumerate(files, start=1):
        os.dup2(file, number)
        os.close(file)
    asked = json.loads(wanted)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    sys.argv[1:] = asked["arguments"]
    return 0


def kernel_specs(share: Path, address: Path | None) -> None:
    """Write kernel specs: ``python3`` is forked, and ``STARTED`` is this environment's ordinary kernel."""
    real = Path(sys.prefix, "share", "jupyter", "kernels", "python3", "kernel.json")
    ordinary = json.loads(real.read_text())
    specs = {STARTED: ordinary}
    if address is not None:
        start = [sys.executable, "-IS", __file__, "start", str(address)]
        start += ["-f", "{connection_file}"]
        specs["python3"] = ordinary | {"argv": start}
    for name, spec in specs.items():
        folder = share / "kernels" / name
        folder.mkdir(parents=True)
        (folder / "kernel.json").write_text(json.dumps(spec))


if __name__ == "__main__":
    if sys.argv[1] == "start":
        start(*sys.argv[2:])
    else:
        del sys.path[0]  # this folder, as ipykernel's launcher does
        serve(sys.argv[2])
        from ipykernel.kernelapp import launch_new_instance

        launch_new_instance()

"""A real kernel for tests: run cells, watch iopub, answer stdin, send control requests."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import zmq
from jupyter_client.connect import write_connection_file
from jupyter_client.session import Session
from tests.harness.kernel_forks import kernel_fork_server
from tests.waiting import LAST_RESORT_SECONDS, eventually

ROOT = Path(__file__).resolve().parents[2]
Message = dict[str, Any]


@dataclass
class Run:
    """The reply and the messages of one executed cell."""

    id: str
    reply: Message = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def status(self) -> str:
        return str(self.reply["content"]["status"])

    def of(self, kind: str) -> list[Message]:
        """Return the contents of the cell's messages of one type."""
        return [m["content"] for m in self.messages if m["header"]["msg_type"] == kind]

    def stream(self, name: str = "stdout") -> str:
        return "".join(c["text"] for c in self.of("stream") if c["name"] == name)

    def outputs(self) -> list[Message]:
        """Return the outputs as a notebook would hold them: displays, updated in place."""
        contents: list[Message] = []
        places: dict[str, Message] = {}
        for message in self.messages:
            kind, content = message["header"]["msg_type"], message["content"]
            name = content.get("transient", {}).get("display_id")
            if kind == "update_display_data" and name in places:
                places[name]["data"] = content["data"]
            elif kind in ("display_data", "execute_result"):
                output = {"kind": kind, "data": content["data"]}
                contents.append(output)
                if name is not None:
                    places[name] = output
            elif kind == "error":
                contents.append({"kind": "error", "data": content})
        return contents

    def markdown(self) -> str:
        """Return the Markdown or text of the cell's outputs, with figures as a placeholder."""
        texts = []
        for output in self.outputs():
            data = output["data"]
            if "image/png" in data:
                texts.append("[figure]")
            elif output["kind"] != "error":
                texts.append(data.get("text/markdown") or data.get("text/plain", ""))
        return "\n\n".join(texts)


BLOCKING = "print('begun')\nimport threading\nthreading.Event().wait()"
AWAITING = "print('begun')\nimport asyncio\nawait asyncio.Event().wait()"
"""Code that runs until it is interrupted."""


class Gate:
    """A point in a cell's code at which it waits until the test opens the gate."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"gate-{uuid.uuid4().hex[:8]}"
        self._there = self._path.with_suffix(".there")
        os.mkfifo(self._path)
        self.arrive = f"open({str(self._there)!r}, 'w').close()"
        """Code that reports its arrival without waiting."""
        self.blocking = f"{self.arrive}\nopen({str(self._path)!r}).read()"
        """Code that waits and blocks the main thread."""
        self.awaiting = (
            f"import asyncio\n{self.arrive}\n"
            f"await asyncio.to_thread(lambda: open({str(self._path)!r}).read())"
        )
        """Code that waits without blocking the main thread."""

    def reached(self) -> None:
        """Wait until the code has arrived."""
        eventually(self._there.exists)

    def open(self) -> None:
        """Let the code continue."""
        self._path.open("w").close()


OTHER_PACKAGES = [one for one in [os.environ.get("PALIMPSEST_TEST_KERNEL_PACKAGES", "")] if one]
"""A folder of packages that kernels import before the environment's, such as an older ipykernel."""
STARTS = 3
"""Attempts to start a kernel, since another process may take its ports first."""


class KernelEnded(AssertionError):
    """A kernel ended before it answered."""


class Client:
    """One client of a kernel: sends requests, reads iopub in a thread, answers questions."""

    def __init__(self, info: Message, folder: Path) -> None:
        self.info = info
        self._folder = folder
        self.session = Session(
            key=info["key"].encode() if isinstance(info["key"], str) else info["key"]
        )
        self._context = zmq.Context()
        identity = self.session.bsession
        self._sockets = {
            name: self._connect(name, zmq.DEALER, identity)
            for name in ("shell", "control", "stdin")
        }
        self._subscriber = self._connect("iopub", zmq.SUB)
        self._subscriber.subscribe(b"")
        self.iopub: list[Message] = []
        self._arrived = threading.Condition()
        self._lulls = 0
        self._open = True
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_until_ready(
        self, timeout: float = LAST_RESORT_SECONDS, *, runs: Callable[[], bool] = lambda: True
    ) -> None:
        """Wait until kernel and iopub respond; raises KernelEnded when it no longer ``runs``."""
        end = time.monotonic() + timeout
        asked: list[str] = []
        while time.monotonic() < end:
            if not runs():
                raise KernelEnded
            message = self.session.msg("kernel_info_request", {})
            self.session.send(self._sockets["shell"], message)
            asked.append(message["header"]["msg_id"])
            try:
                self._receive("shell", asked[-1], 1)
            except TimeoutError:
                continue
            with contextlib.suppress(AssertionError):  # iopub is not connected yet: repeat
                self.wait(lambda m: any(_idle(m, one) for one in asked), timeout=0.1)
                # A question to a client that is not connected yet is dropped without an error.
                if self._greeting.poll(1_000):
                    return
        raise AssertionError("The kernel did not start.")

    def close(self) -> None:
        """Close the sockets."""
        self._open = False
        self._reader.join(LAST_RESORT_SECONDS)
        self._sockets["stdin"].disable_monitor()
        self._greeting.close(linger=0)
        for socket in self._sockets.values():
            socket.close(linger=0)
        self._subscriber.close(linger=0)
        self._context.term()

    def _connect(self, name: str, kind: int, identity: bytes | None = None) -> Any:
        socket = self._context.socket(kind)
        if identity is not None:
            socket.setsockopt(zmq.IDENTITY, identity)
        if name == "stdin":
            self._greeting = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        socket.connect(f"{self.info['transport']}://{self.info['ip']}:{self.info[f'{name}_port']}")
        return socket

    def _read(self) -> None:
        while self._open:
            if not self._subscriber.poll(100):
                self._lulls += 1
                continue
            _, message = self.session.recv(self._subscriber, mode=0)
            message["arrived"] = time.monotonic()
            with self._arrived:
                self.iopub.append(message)
                self._arrived.notify_all()

    def _receive(self, channel: str, request: str | None, timeout: float) -> Message:
        """Return the next reply on a channel, to a request or to any."""
        end = time.monotonic() + timeout
        socket = self._sockets[channel]
        while True:
            left = end - time.monotonic()
            if left <= 0 or not socket.poll(max(1, int(left * 1000))):
                raise TimeoutError(f"No answer on {channel} within {timeout} s.")
            _, message = self.session.recv(socket, mode=0)
            if request is None or message["parent_header"].get("msg_id") == request:
                found: Message = message
                return found

    @contextmanager
    def subshell(self) -> Iterator[str]:
        """Yield the id of a subshell, whose cells run in parallel to those of the main shell."""
        made = self._control("create_subshell_request", {})
        yield str(made["subshell_id"])
        self._control("delete_subshell_request", {"subshell_id": made["subshell_id"]})

    def _control(self, kind: str, content: Message) -> Message:
        message = self.session.msg(kind, content)
        self.session.send(self._sockets["control"], message)
        reply = self._receive("control", message["header"]["msg_id"], 10)
        found: Message = reply["content"]
        return found

    def send(
        self,
        code: str,
        *,
        stdin: bool = False,
        subshell: str | None = None,
        console: bool = False,
        channel: str = "shell",
        **metadata: Any,
    ) -> str:
        """Send a cell without waiting; with ``stdin`` as a page does, unless as a ``console``."""
        if stdin and not console:
            metadata.setdefault("recordTiming", False)
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": stdin,
            "stop_on_error": True,
        }
        message = self.session.msg("execute_request", content, metadata=metadata)
        if subshell is not None:
            message["header"]["subshell_id"] = subshell
        self.session.send(self._sockets[channel], message)
        return str(message["header"]["msg_id"])

    def finish(
        self, run_id: str, timeout: float = LAST_RESORT_SECONDS, *, channel: str = "shell"
    ) -> Run:
        """Wait for a cell's reply and its idle status, and collect its messages."""
        run = Run(run_id, self._receive(channel, run_id, timeout))
        self.wait(lambda m: _idle(m, run_id), timeout=timeout)
        run.messages = [m for m in self.iopub if m["parent_header"].get("msg_id") == run_id]
        return run

    def run(
        self,
        code: str,
        *,
        timeout: float = LAST_RESORT_SECONDS,
        stdin: bool = False,
        **metadata: Any,
    ) -> Run:
        """Run a cell to its end."""
        began = time.monotonic()
        run = self.finish(self.send(code, stdin=stdin, **metadata), timeout)
        run.seconds = time.monotonic() - began
        return run

    def wait(
        self,
        test: Callable[[Message], Any],
        timeout: float = LAST_RESORT_SECONDS,
        *,
        since: int = 0,
    ) -> Message:
        """Wait for an iopub message that passes the test, among those from index ``since`` on."""
        end = time.monotonic() + timeout
        seen = since
        with self._arrived:
            while True:
                for message in self.iopub[seen:]:
                    if test(message):
                        return message
                seen = len(self.iopub)
                left = end - time.monotonic()
                if left <= 0 or not self._arrived.wait(left):
                    kinds = [m["header"]["msg_type"] for m in self.iopub[-12:]]
                    raise AssertionError(f"Nothing like it came; the last were {kinds}.")

    def wait_text(self, text: str, timeout: float = LAST_RESORT_SECONDS) -> Message:
        """Wait until some output contains a text."""
        return self.wait(lambda m: text in str(m["content"]), timeout)

    def request(self, **command: Any) -> Message:
        """Send a control request and return the reply's content."""
        command.setdefault("id", uuid.uuid4().hex)
        return self._control("palimpsest_request", command)

    def drain(self) -> None:
        """Wait until no more messages arrive."""
        lulls = self._lulls
        eventually(lambda: self._lulls > lulls + 1)

    def wait_until_running(self, function: str) -> None:
        """Wait until the main thread runs a function with that qualified name."""
        code = (
            "import sys, threading\n"
            "frame = sys._current_frames()[threading.main_thread().ident]\n"
            "while frame: print(frame.f_code.co_qualname); frame = frame.f_back"
        )
        with self.subshell() as subshell:
            eventually(lambda: function in self.finish(self.send(code, subshell=subshell)).stream())

    def question(self, timeout: float = LAST_RESORT_SECONDS) -> str:
        """Wait until the kernel asks for input; return its prompt."""
        self._asked = self._receive("stdin", None, timeout)
        return str(self._asked["content"]["prompt"])

    def answer(self, text: str) -> None:
        """Reply to the newest question."""
        content = {"value": text, "status": "ok"}
        message = self.session.msg("input_reply", content, parent=self._asked)
        self.session.send(self._sockets["stdin"], message)

    def complete(self, code: str) -> list[str]:
        """Return the completions at the end of a line."""
        content = {"code": code, "cursor_pos": len(code)}
        message = self.session.msg("complete_request", content)
        self.session.send(self._sockets["shell"], message)
        reply = self._receive("shell", message["header"]["msg_id"], 20)
        return [str(match) for match in reply["content"]["matches"]]

    def notices(self, kind: str) -> list[Message]:
        """Return the notices of one kind received so far."""
        return [
            m["content"]
            for m in self.iopub
            if m["header"]["msg_type"] == "palimpsest_notice" and m["content"].get("kind") == kind
        ]

    def gate(self) -> Gate:
        """Return a new gate for code of this kernel."""
        return Gate(self._folder)

    def value(self, expression: str) -> str:
        """Return the repr of an expression, evaluated without side effects on the history."""
        content = {
            "code": "",
            "silent": True,
            "store_history": False,
            "user_expressions": {"value": expression},
            "allow_stdin": False,
        }
        message = self.session.msg("execute_request", content)
        self.session.send(self._sockets["shell"], message)
        run = self.finish(message["header"]["msg_id"])
        found = run.reply["content"]["user_expressions"]["value"]
        return str(found["data"]["text/plain"]) if found["status"] == "ok" else str(found)


class Kernel:
    """One kernel process and one client of it.

    It speaks the protocol over plain sockets: a blocking client would leave event loops behind, and with
    two clients of one manager one loses its replies. The process is forked by
    ``kernel_forks``, unless it is ``fresh``.
    """

    def __init__(
        self,
        *,
        cwd: Path,
        env: dict[str, str] | None = None,
        fresh: bool = False,
    ) -> None:
        self.folder = cwd
        self._environment = {
            **os.environ,
            "PYTHONPATH": ":".join([*OTHER_PACKAGES, str(ROOT / "kernel_ext"), str(ROOT)]),
            "IPYTHONDIR": str(cwd / ".ipython"),
            **(env or {}),
        }
        self._environment.pop(
            "PYTEST_CURRENT_TEST", None
        )  # else ipykernel would not watch descriptors
        self._fresh = fresh or bool(OTHER_PACKAGES) or "PYTHONPATH" in (env or {})
        self._started: subprocess.Popen[bytes] | None = None
        for _ in range(STARTS - 1):
            with contextlib.suppress(KernelEnded):
                self._start()
                return
        self._start()

    def _start(self) -> None:
        """Start it on free ports; raises KernelEnded when another process took them first."""
        file = str(self.folder / f"kernel-{uuid.uuid4().hex[:8]}.json")
        _, info = write_connection_file(file)
        if self._fresh:
            self._started = subprocess.Popen(
                [sys.executable, "-m", "ipykernel_launcher", "-f", file],
                cwd=self.folder,
                env=self._environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            pid = self._started.pid
        else:
            pid = kernel_fork_server().start(file, self.folder, self._environment)
        self.process = psutil.Process(pid)
        self.client = Client(info, self.folder)
        try:
            self.client.wait_until_ready(runs=self._runs)
        except KernelEnded:
            self.client.close()
            raise

    def _runs(self) -> bool:
        with contextlib.suppress(psutil.NoSuchProcess):
            return bool(self.process.status() != psutil.STATUS_ZOMBIE)
        return False

    def second_client(self) -> "Client":
        """Return another client of the same kernel; the caller closes it."""
        return Client(self.client.info, self.folder)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def interrupt(self) -> float:
        """Send an interrupt, as the stop button does; return the time."""
        os.kill(self.process.pid, signal.SIGINT)
        return time.monotonic()

    def cpu_seconds(self) -> float:
        """Return the CPU time that the kernel has used."""
        used = psutil.Process(self.process.pid).cpu_times()
        return float(used.user + used.system)

    def memory_bytes(self) -> int:
        """Return the resident memory of the kernel in bytes."""
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def close(self) -> None:
        """End the kernel."""
        self.client.close()
        with contextlib.suppress(psutil.NoSuchProcess):
            self.process.terminate()
            try:
                self.process.wait(3)
            except psutil.TimeoutExpired:
                self.process.kill()
                self.process.wait(LAST_RESORT_SECONDS)
        if self._started is not None:
            self._started.wait(LAST_RESORT_SECONDS)

    def __enter__(self) -> "Kernel":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load_scripted_model(self) -> None:
        """Load the extension with a scripted model and an empty script."""
        run = self.client.run(
            "from palimpsest.model.script import says, calls, stalls, thinks, fails\n"
            "from tests.harness.kernel_session import load\n"
            "harness = load(get_ipython())"
        )
        assert run.status == "ok", run.reply["content"]

    def script(self, *answers: str) -> None:
        """Give the model these answers, and clear its recorded requests."""
        found = self.client.value(f"harness.script({', '.join(answers)})")
        assert found == "None", found

    def requests(self) -> str:
        """Return the requests that the model received since the last script."""
        return self.client.value("[r.messages for r in harness.model.requests]")


def _idle(message: Message, run_id: str) -> bool:
    return (
        message["header"]["msg_type"] == "status"
        and message["content"]["execution_state"] == "idle"
        and message["parent_header"].get("msg_id") == run_id
    )

"""A real kernel for tests: run cells, watch iopub, answer stdin, send control requests."""

import os
import queue
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

ROOT = Path(__file__).resolve().parents[2]
Message = dict[str, Any]


@dataclass
class Run:
    """What one cell gave."""

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
        found: list[Message] = []
        places: dict[str, Message] = {}
        for message in self.messages:
            kind, content = message["header"]["msg_type"], message["content"]
            name = content.get("transient", {}).get("display_id")
            if kind == "update_display_data" and name in places:
                places[name]["data"] = content["data"]
            elif kind in ("display_data", "execute_result"):
                output = {"kind": kind, "data": content["data"]}
                found.append(output)
                if name is not None:
                    places[name] = output
            elif kind == "error":
                found.append({"kind": "error", "data": content})
        return found

    def story(self) -> str:
        """Return the Markdown of the cell, figures as a word."""
        texts = []
        for output in self.outputs():
            data = output["data"]
            if "image/png" in data:
                texts.append("[figure]")
            elif output["kind"] != "error":
                texts.append(data.get("text/markdown") or data.get("text/plain", ""))
        return "\n\n".join(texts)


class Kernel:
    """One kernel and one client, with the iopub channel read in a thread."""

    def __init__(
        self, *, cwd: Path, python: str | None = None, env: dict[str, str] | None = None
    ) -> None:
        self.manager = KernelManager()
        if python is not None:
            self.manager.kernel_spec.argv[0] = python
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'kernel_ext'}:{ROOT}", **(env or {})}
        environment.setdefault("IPYTHONDIR", str(cwd / ".ipython"))
        self.manager.start_kernel(cwd=str(cwd), env=environment)
        self.client: BlockingKernelClient = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.iopub: list[Message] = []
        self._arrived = threading.Condition()
        self._open = True
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def close(self) -> None:
        self._open = False
        self._reader.join(5)
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def _read(self) -> None:
        while self._open:
            try:
                message = self.client.get_iopub_msg(timeout=0.1)
            except queue.Empty:
                continue
            except Exception:  # noqa: BLE001  # the channel was closed
                return
            message["arrived"] = time.monotonic()
            with self._arrived:
                self.iopub.append(message)
                self._arrived.notify_all()

    def send(self, code: str, *, stdin: bool = False, **metadata: Any) -> str:
        """Send a cell without waiting."""
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": stdin,
            "stop_on_error": True,
        }
        message = self.client.session.msg("execute_request", content, metadata=metadata)
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def finish(self, run_id: str, timeout: float = 60) -> Run:
        """Wait for a cell's reply and its idle, and collect what it gave."""
        end = time.monotonic() + timeout
        run = Run(run_id)
        while True:
            message = self.client.get_shell_msg(timeout=max(0.01, end - time.monotonic()))
            if message["parent_header"].get("msg_id") == run_id:
                run.reply = message
                break
        self.wait(lambda m: _idle(m, run_id), timeout=timeout)
        run.messages = [m for m in self.iopub if m["parent_header"].get("msg_id") == run_id]
        return run

    def run(self, code: str, *, timeout: float = 60, stdin: bool = False, **metadata: Any) -> Run:
        """Run a cell to its end."""
        began = time.monotonic()
        run = self.finish(self.send(code, stdin=stdin, **metadata), timeout)
        run.seconds = time.monotonic() - began
        return run

    def wait(self, test: Callable[[Message], Any], timeout: float = 30) -> Message:
        """Wait for an iopub message; looks at those that came already too."""
        end = time.monotonic() + timeout
        seen = 0
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

    def wait_text(self, text: str, timeout: float = 30) -> Message:
        """Wait until some output holds a text."""
        return self.wait(lambda m: text in str(m["content"]), timeout)

    def interrupt(self) -> float:
        """Press the stop button; returns the moment."""
        self.manager.interrupt_kernel()
        return time.monotonic()

    def request(self, timeout: float = 10, **command: Any) -> Message:
        """Send a control request and return the reply's content."""
        command.setdefault("id", uuid.uuid4().hex)
        message = self.client.session.msg("palimpsest_request", command)
        self.client.control_channel.send(message)
        end = time.monotonic() + timeout
        while True:
            reply = self.client.get_control_msg(timeout=max(0.01, end - time.monotonic()))
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                content: Message = reply["content"]
                return content

    def notices(self, kind: str) -> list[Message]:
        """Return the notices of one kind so far."""
        return [
            m["content"]
            for m in self.iopub
            if m["header"]["msg_type"] == "palimpsest_notice" and m["content"].get("kind") == kind
        ]

    def value(self, expression: str) -> str:
        """Return the repr of an expression, evaluated without leaving a trace."""
        content = {
            "code": "",
            "silent": True,
            "store_history": False,
            "user_expressions": {"value": expression},
            "allow_stdin": False,
        }
        message = self.client.session.msg("execute_request", content)
        self.client.shell_channel.send(message)
        run = self.finish(message["header"]["msg_id"])
        found = run.reply["content"]["user_expressions"]["value"]
        return str(found["data"]["text/plain"]) if found["status"] == "ok" else str(found)


def _idle(message: Message, run_id: str) -> bool:
    return (
        message["header"]["msg_type"] == "status"
        and message["content"]["execution_state"] == "idle"
        and message["parent_header"].get("msg_id") == run_id
    )


PYTHON = sys.executable

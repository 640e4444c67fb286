"""The process that is killed in a test: ``python -m tests.kill.victim MODULE:FUNCTION PIPE``.

Imports once, then forks a victim for every order that comes on standard input, one JSON object a
line: ``{"project", "session", "seed"}``. A victim runs the workload until it is killed. What
goes through the pipe is the truth that the harness holds the log to: ``pid N``, ``ack N`` for a
sequence number whose flush returned, ``dead N`` when a victim was reaped.

A workload is ``async def workload(project, session_id, seed, ack)``; it never returns.
"""

import asyncio
import importlib
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from palimpsest.model.tokenizer import counter

Ack = Callable[[int], None]
Workload = Callable[[Path, str, int, Ack], Awaitable[None]]


def main() -> None:
    """Fork a victim for each order until standard input ends."""
    module, _, function = sys.argv[1].partition(":")
    workload: Workload = getattr(importlib.import_module(module), function)
    pipe = int(sys.argv[2])
    # Loading it takes each victim a second, and on a machine under load many.
    counter("tiktoken/o200k_base")("loaded once")
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            try:
                asyncio.run(_victim(workload, order, pipe))
            finally:
                os._exit(3)
        os.write(pipe, f"pid {pid}\n".encode())
        _, status = os.waitpid(pid, 0)
        os.write(pipe, f"dead {status}\n".encode())


async def _victim(workload: Workload, order: dict[str, object], pipe: int) -> None:
    def ack(seq: int) -> None:
        os.write(pipe, f"ack {seq}\n".encode())

    seed = int(str(order["seed"]))
    await workload(Path(str(order["project"])), str(order["session"]), seed, ack)


if __name__ == "__main__":
    main()

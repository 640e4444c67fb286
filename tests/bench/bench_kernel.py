"""Measure delays and memory in a real kernel: loading, the first text of an answer, and the stop button."""

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.figure import Figure
from tests.harness.kernel import Kernel, Message

from palimpsest.model.script import says
from palimpsest.testing import FaultServer

FRESH_KERNELS = 7
STOPS = 5
FIRST_WORDS = 5
MEGABYTE = 1_000_000
LOAD = (
    "import time\nbegan = time.perf_counter()\nget_ipython().run_line_magic('load_ext', 'palimpsest')\n"
    "seconds = time.perf_counter() - began"
)
BLOCKING = "print('begun')\nimport time\ntime.sleep(30)"
AWAITING = "print('begun')\nimport asyncio\nawait asyncio.sleep(30)"


def measure() -> list[Figure]:
    """Run all measurements, each in kernels of its own."""
    return [loading(), rehearsing(), *stopping(), *speaking()]


@contextmanager
def kernel(**environment: str) -> Iterator[Kernel]:
    """Yield a kernel in a new folder."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        Kernel(cwd=Path(folder), env=environment, fresh=True) as running,
    ):
        yield running


def loading() -> Figure:
    """Measure %load_ext in new kernels."""
    times = []
    for _ in range(FRESH_KERNELS):
        with kernel() as fresh:
            fresh.run(LOAD)
            times.append(float(fresh.value("seconds")) * 1000)
    note = f"median of {FRESH_KERNELS} kernels, {min(times):.0f} to {max(times):.0f}"
    return Figure("%load_ext", statistics.median(times), "ms", 50, note)


def rehearsing() -> Figure:
    """Measure the rehearsal model's first text in new kernels, from the prompt to the cell."""
    times = []
    for _ in range(FRESH_KERNELS):
        with kernel() as fresh:
            fresh.run("%load_ext palimpsest")
            asked = time.monotonic()
            run_id = fresh.send("%%agent\nHello")
            shown = fresh.wait(_of(run_id, "Thought"))
            times.append((float(shown["arrived"]) - asked) * 1000)
            fresh.finish(run_id)
    note = f"slowest of {FRESH_KERNELS}, median {statistics.median(times):.0f}"
    return Figure("first words of the rehearsal in a fresh kernel", max(times), "ms", 1000, note)


def stopping() -> list[Figure]:
    """Measure the time from the interrupt signal to the end of the turn, the slowest of several."""
    cases = [
        ("stop in a model wait", "%%agent\nhi", "says('begun').stalls()"),
        (
            "stop in a blocking tool",
            "%%agent -y\nhi",
            f"calls('python', code={BLOCKING!r}).says('')",
        ),
        (
            "stop in an awaiting tool",
            "%%agent -y\nhi",
            f"calls('python', code={AWAITING!r}).says('')",
        ),
        (
            "stop under %%time",
            "%%time\n%agent -y hi",
            f"calls('python', code={BLOCKING!r}).says('')",
        ),
    ]
    figures = []
    with kernel() as running:
        running.load_scripted_model()
        for name, cell, answer in cases:
            times = [stop_cell(running, cell, answer) for _ in range(STOPS)]
            figures.append(_slowest(name, times))
        running.request(type="watch", client="bench")
        times = [stop_no_cell(running, number) for number in range(STOPS)]
        figures.append(_slowest("stop with no cell", times))
    return figures


def stop_cell(running: Kernel, cell: str, answer: str) -> float:
    """Return the milliseconds from the signal until the cell is idle."""
    running.script(answer)
    run_id = running.send(cell)
    running.wait(_of(run_id, "begun"))
    time.sleep(0.3)
    pressed = running.interrupt()
    run = running.finish(run_id)
    return (max(float(m["arrived"]) for m in run.messages) - pressed) * 1000


def stop_no_cell(running: Kernel, number: int) -> float:
    """Return the milliseconds from the signal to the outcome notice that pages receive."""
    running.script(f"calls('python', code={BLOCKING!r}).says('')")
    mark = len(running.iopub)
    name = f"bench-{number}"
    running.request(type="prompt", text="go", id=name)
    asked = running.wait(lambda m: "permission.asked" in str(m["content"]), since=mark)
    ask = next(r["ask"] for r in asked["content"]["records"] if r["type"] == "permission.asked")
    running.request(type="reply", ask_id=ask["id"], answer="once")
    running.wait(lambda m: "begun\\n" in str(m["content"].get("records")), since=mark)
    time.sleep(0.3)
    pressed = running.interrupt()
    over = running.wait(lambda m: m["content"].get("id") == name and "kind" in m["content"])
    return (float(over["arrived"]) - pressed) * 1000


def speaking() -> list[Figure]:
    """Measure the delay of the first text after the server's first byte, and memory, with and without litellm."""
    times, direct = spoken(is_direct=True)
    _, litellm = spoken(is_direct=False)
    note = f"slowest of {FIRST_WORDS} after the first ever ({times[0]:.0f} ms)"
    return [
        Figure("first words after the server's first byte", max(times[1:]), "ms", 100, note),
        Figure("kernel memory after some answers", direct, "MB", 150),
        Figure("kernel memory after some answers through litellm", litellm, "MB", 260),
    ]


def spoken(*, is_direct: bool) -> tuple[list[float], float]:
    """Return the delays of a kernel's first texts in milliseconds, and its memory after them in megabytes."""
    with FaultServer() as server:
        config = {
            "direct": is_direct,
            "model": "openai/bench",
            "titles": False,  # else a title would be requested beside the first answer
            "models": {"openai/bench": {"api_base": server.openai_base}},
        }
        environment = {
            "PALIMPSEST_CONFIG_CONTENT": json.dumps(config),
            "OPENAI_API_KEY": "sk-bench-bench-bench-bench",
        }
        with kernel(**environment) as running:
            running.run("%load_ext palimpsest")
            times = []
            for number in range(FIRST_WORDS + 1):
                server.script(says(f"word{number} and ").pauses(0.3).says("more words after it."))
                times.append(first_words(running, server, f"word{number}"))
            return times, running.memory_bytes() / MEGABYTE


def first_words(running: Kernel, server: FaultServer, word: str) -> float:
    """Return the milliseconds from the server's first byte to the first text in the cell."""
    run_id = running.send("%%agent\nhi")
    shown = running.wait(_of(run_id, word), 120)
    running.finish(run_id)
    sent = server.requests[-1].first_byte_at
    if sent is None:
        raise RuntimeError("The server sent nothing.")
    return (float(shown["arrived"]) - sent) * 1000


def _of(run_id: str, text: str) -> Callable[[Message], bool]:
    return lambda m: (
        m["parent_header"].get("msg_id") == run_id
        and "data" in m["content"]
        and text in str(m["content"]["data"])
    )


def _slowest(name: str, times: list[float]) -> Figure:
    return Figure(
        name,
        max(times),
        "ms",
        150,
        f"slowest of {len(times)}, median {statistics.median(times):.0f}",
    )

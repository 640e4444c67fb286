"""Measure the store on a session of 68 MB, each number beside its target."""

import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.generate_session import MESSAGES, PARTS, generate
from tests.store.builders import SESSION, assistant, session, text

from palimpsest.store.journal import Journal
from palimpsest.store.jsonl import JsonlStore
from palimpsest.store.layout import prepare
from palimpsest.store.memory import MemoryStore
from palimpsest.store.state import State
from palimpsest.store.store import Owner
from palimpsest.transcript.events import SessionCreated

OPEN_MS = 20.0
FOLD_MS = 500.0
FORK_MS = 5.0
DELTA_US = 5.0
DELTAS = 100_000
Figure = dict[str, Any]


def measure() -> dict[str, Figure]:
    """Return the figures by name: value, unit, target and whether it is met."""
    with tempfile.TemporaryDirectory() as folder:
        store = JsonlStore(prepare(Path(folder)))
        generate(store, "ses_long")
        figures = _long_session(store)
    figures["CPU per delta through the journal"] = _figure(_delta_us(), "us", DELTA_US)
    return figures


def _long_session(store: JsonlStore) -> dict[str, Figure]:
    log = next(store.layout.session("ses_long").glob("log-*.jsonl"))
    whole = store.load("ses_long")
    messages = whole.messages()
    assert len(messages) == MESSAGES
    assert sum(len(message.parts) for message in messages) == PARTS
    middle = whole.seq // 2
    counter = iter(range(1_000))

    def fork() -> None:
        record = session(f"ses_fork{next(counter)}")
        store.fork("ses_long", record)

    def fork_in_the_middle() -> None:
        record = session(f"ses_middle{next(counter)}")
        store.fork("ses_long", record, seq=middle)

    del whole, messages
    gc.collect()
    return {
        "size of the log": _figure(log.stat().st_size / 1e6, "MB", None),
        "open the live window": _figure(
            _ms(lambda: store.open_live("ses_long"), 15), "ms", OPEN_MS
        ),
        "open the live window and build its messages": _figure(
            _ms(lambda: store.open_live("ses_long").messages(), 15), "ms", OPEN_MS
        ),
        "messages in the live window": _figure(
            len(store.open_live("ses_long").messages()), "messages", None
        ),
        "fold the whole session": _figure(_ms(lambda: store.load("ses_long"), 5), "ms", FOLD_MS),
        "fold the whole session and build every message": _figure(
            _ms(lambda: store.load("ses_long").messages(), 3), "ms", None
        ),
        "fork at the end": _figure(_ms(fork, 15), "ms", FORK_MS),
        "fork in the middle": _figure(_ms(fork_in_the_middle, 15), "ms", FORK_MS),
        "list the sessions": _figure(_ms(store.list, 15), "ms", None),
        "read what follows the middle, first record": _figure(
            _ms(lambda: next(iter(store.read("ses_long", after=middle))), 15), "ms", None
        ),
    }


def _ms(work: Callable[[], object], times: int) -> float:
    work()
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        kept = work()
        taken.append((time.perf_counter() - begun) * 1_000)
        del kept
    return statistics.median(taken)


def _delta_us() -> float:
    """Return the CPU time of all threads per delta, at 200 deltas a tick."""
    owner = Owner(host="bench", pid=0, kernel_id="bench")
    writer = MemoryStore().acquire(SESSION, owner, create=True)
    journal = Journal(writer, State(), clock=lambda: 0)
    journal.append(SessionCreated(session=session()), assistant("msg_1"), text("prt_1", "msg_1"))
    journal.flush_sync()
    begun = time.process_time()
    for number in range(DELTAS):
        journal.delta("msg_1", "prt_1", "text", "penguin")
        if number % 1_000 == 999:
            time.sleep(0.005)
    journal.flush_sync()
    taken = time.process_time() - begun
    journal.close()
    return taken / DELTAS * 1e6


def _figure(value: float, unit: str, target: float | None) -> Figure:
    return {
        "value": round(value, 3),
        "unit": unit,
        "target": target,
        "met": target is None or value <= target,
    }


def main() -> None:
    """Print the figures."""
    for name, figure in measure().items():
        target = "" if figure["target"] is None else f"  (at most {figure['target']:g})"
        met = "" if figure["met"] else "  MISSED"
        print(f"{name:50} {figure['value']:10.2f} {figure['unit']}{target}{met}")


if __name__ == "__main__":
    main()

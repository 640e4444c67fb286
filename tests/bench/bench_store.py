"""Measure the store with a session of 68 MB, each number beside its target."""

import gc
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.bench.figure import Figure
from tests.bench.generate_session import MESSAGES, PARTS, generate
from tests.store.record_builders import SESSION, assistant, session, text

from palimpsest.session.records.session_search import Query, prompt_texts, search_page
from palimpsest.store.interface import Owner
from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.session_state.state import State
from palimpsest.transcript.session_record.events import PromptAdmitted, Record, SessionCreated

OPEN_MS = 20.0
FOLD_MS = 500.0
FORK_MS = 5.0
DELTA_US = 5.0
LIST_MS = 50.0
SESSIONS = 1_000
DELTAS = 100_000
SESSION_ID = "ses_long"


def measure() -> list[Figure]:
    """Return the figures of the store."""
    with tempfile.TemporaryDirectory() as folder:
        store = JsonlStore(open_project_folder(Path(folder)))
        generate(store, SESSION_ID)
        figures = _long_session(store)
    figures += _listing()
    figures.append(Figure("store: CPU per delta through the journal", _delta_us(), "us", DELTA_US))
    return figures


def _long_session(store: JsonlStore) -> list[Figure]:
    log = next(store.layout.session(SESSION_ID).glob("log-*.jsonl"))
    whole = store.load(SESSION_ID)
    assert len(whole.messages()) == MESSAGES
    assert sum(len(message.parts) for message in whole.messages()) == PARTS
    middle = whole.seq // 2
    megabytes = f"{log.stat().st_size / 1e6:.0f} MB"
    shape = f"{MESSAGES:,} messages, {PARTS:,} parts, {whole.seq:,} records"
    window = f"{len(store.open_live(SESSION_ID).messages())} messages"
    del whole
    gc.collect()
    counter = iter(range(1_000))

    def opened() -> object:
        return store.open_live(SESSION_ID)

    def shown() -> object:
        return store.open_live(SESSION_ID).messages()

    def folded() -> object:
        return store.load(SESSION_ID)

    def built() -> object:
        return store.load(SESSION_ID).messages()

    def forked(seq: int | None = None) -> object:
        return store.fork(SESSION_ID, session(f"ses_fork{next(counter)}"), seq=seq)

    def reread() -> object:
        return next(iter(store.read(SESSION_ID, after=middle)))

    title = f"store, {megabytes}"
    return [
        _timed(f"{title}: open the live window", opened, 15, OPEN_MS, window),
        _timed(f"{title}: open it and build its messages", shown, 15, OPEN_MS, window),
        _timed(f"{title}: fold the whole session", folded, 7, FOLD_MS, shape),
        _timed(f"{title}: fold it and build every message", built, 3),
        _timed(f"{title}: fork at the end", forked, 15, FORK_MS),
        _timed(f"{title}: fork in the middle", lambda: forked(middle), 15, FORK_MS),
        _timed(f"{title}: first record after the middle", reread, 15),
    ]


def _listing() -> list[Figure]:
    """Return the figures of listing and searching many sessions, with the index and without."""
    with tempfile.TemporaryDirectory() as folder:
        store = JsonlStore(open_project_folder(Path(folder)))
        _fill(store)
        note = f"{SESSIONS:,} sessions of {_size(store) / SESSIONS / 1_000:.0f} kB"
        first = time.perf_counter()
        sessions = store.list()
        made = (time.perf_counter() - first) * 1_000
        assert len(sessions) == SESSIONS

        def searched() -> object:
            query = Query("needle")
            return search_page(store.list(), query, partial(prompt_texts, store))

        return [
            _timed("store: list the sessions", store.list, 15, LIST_MS, note),
            Figure("store: list them the first time, without an index", made, "ms", None, note),
            _timed("store: search their titles and prompts", searched, 3, None, note),
        ]


def _fill(store: JsonlStore) -> None:
    """Write many equal sessions: one is written, and copied under other names."""
    owner = Owner(host="bench", pid=0, kernel_id="bench")
    name = "ses_0000"
    writer = store.acquire(name, owner, create=True)
    prompt = PromptAdmitted(prompt_id="pmt_1", text="Count the penguins.", delivery="queue")
    events = [SessionCreated(session=session(name)), prompt, assistant("msg_1")]
    events += [text(f"prt_{n}", "msg_1", "penguins " * 100) for n in range(9)]
    writer.append([Record(seq=n, ts=n, event=event) for n, event in enumerate(events, 1)])
    writer.close()
    log = next(store.layout.session(name).glob("log-*.jsonl"))
    content = log.read_bytes()
    for number in range(1, SESSIONS):
        other = f"ses_{number:04}"
        store.layout.session(other).mkdir(mode=0o700)
        copied = content.replace(name.encode(), other.encode())
        store.layout.session(other).joinpath(log.name).write_bytes(copied)


def _size(store: JsonlStore) -> int:
    return sum(path.stat().st_size for path in store.layout.sessions.glob("*/log-*.jsonl"))


def _timed(
    name: str, work: Callable[[], object], times: int, target: float | None = None, note: str = ""
) -> Figure:
    """Return the best time of several runs, with the CPU time beside it: on a busy machine they differ."""
    work()
    taken, used = [], []
    for _ in range(times):
        begun, used_before = time.perf_counter(), time.process_time()
        kept = work()
        used.append((time.process_time() - used_before) * 1_000)
        taken.append((time.perf_counter() - begun) * 1_000)
        del kept
    return Figure(name, min(taken), "ms", target, f"{note}; {min(used):.1f} ms CPU".lstrip("; "))


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

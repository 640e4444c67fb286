"""Faults of disks and other kernels are reported in one sentence, and nothing is lost."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.sample_size import sample_size
from tests.store.conformance import TALK, begin
from tests.store.record_builders import OWNER, SESSION, assistant, records, session, text
from tests.store.second_kernel import HEARTBEAT_SECONDS, WATCH_SECONDS
from tests.waiting import LAST_RESORT_SECONDS, eventually, until

from palimpsest.store.interface import TakenOver
from palimpsest.store.log import segment_start
from palimpsest.store.log.follower import Follower
from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.log.segment_writer import JsonlWriter
from palimpsest.store.log.segments import SegmentRange
from palimpsest.store.log.store_factory import open_store
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.project_folder.lease import this_owner
from palimpsest.store.session_state.state import State
from palimpsest.transcript.errors import LayoutTooNew, SessionHeld
from palimpsest.transcript.session_record.events import SessionCreated, SessionError

ROOT = Path(__file__).parents[3]
NEVER_SECONDS = 60.0
"""A lease watch that would exceed the test's timeout: outcomes that need no watching do not wait for it."""
ROB_SECONDS = float(os.environ.get("PALIMPSEST_ROB_SECONDS", sample_size(1, 60)))


@dataclass
class SlowHeader:
    """A thread that waits between creating its segment and writing the header."""

    reached: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)


class OtherKernel:
    """A second process that writes to a session."""

    def __init__(self, project: Path, kernel_id: str) -> None:
        paths = f"{ROOT}{os.pathsep}{ROOT / 'kernel_ext'}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.store.second_kernel", str(project), SESSION, kernel_id],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": paths},
            text=True,
        )
        self.said: list[dict[str, Any]] = []

    def hear(self, count: int = 1) -> dict[str, Any]:
        """Wait for so many output lines and return the last."""
        assert self.process.stdout is not None
        for _ in range(count):
            self.said.append(json.loads(self.process.stdout.readline()))
        return self.said[-1]

    def hear_until(self, good: Callable[[dict[str, Any]], bool]) -> None:
        """Wait for an output line that passes the test."""
        for _ in range(10_000):
            if good(self.hear()):
                return
        pytest.fail("The other kernel never said it.")

    def kept(self, session_id: str) -> list[str]:
        """Return the ids of messages that it acknowledged in a session."""
        return [line["kept"] for line in self.said if line.get("session") == session_id]

    def end(self) -> None:
        """Let it close its session, and wait for its end."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.said += [json.loads(line) for line in self.process.stdout]
        self.process.wait(LAST_RESORT_SECONDS)
        self.process.stdout.close()

    def stop(self) -> None:
        """Suspend it, and wait until all of its threads have stopped."""
        self.process.send_signal(signal.SIGSTOP)
        tasks = Path(f"/proc/{self.process.pid}/task")

        def stopped() -> bool:
            stats = [(task / "stat").read_text() for task in tasks.iterdir()]
            return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)

        eventually(stopped)

    def kill(self) -> None:
        """Kill it."""
        self.process.kill()
        self.end()


@contextlib.contextmanager
def other_kernel(project: Path, kernel_id: str = "kernel-b") -> Iterator[OtherKernel]:
    kernel = OtherKernel(project, kernel_id)
    try:
        yield kernel
    finally:
        if kernel.process.poll() is None:
            kernel.process.send_signal(signal.SIGCONT)
            kernel.kill()


@contextlib.contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """Mount a file system, or skip the test where that is not allowed."""
    answer = subprocess.run(["mount", *options, str(folder)], capture_output=True, check=False)
    if answer.returncode != 0:
        pytest.skip("This user may not mount file systems; a root shell may.")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def open_here(project: Path, watch_seconds: float = WATCH_SECONDS) -> JsonlStore:
    return JsonlStore(
        open_project_folder(project),
        heartbeat_seconds=HEARTBEAT_SECONDS,
        watch_seconds=watch_seconds,
    )


def names(store: JsonlStore, session_id: str = SESSION) -> list[str]:
    return [message.id for message in store.load(session_id).messages()]


@pytest.mark.slow
def test_a_held_session_can_be_read_followed_and_forked(tmp_path: Path) -> None:
    with other_kernel(tmp_path) as other:
        other.hear(3)
        store = open_here(tmp_path)
        with pytest.raises(SessionHeld, match=r"Another kernel \(process \d+ on .*\) writes"):
            store.acquire(SESSION, this_owner("kernel-a"))
        follower = Follower(store, SESSION)
        followed = [record.seq for record in follower.new_records()]
        store.fork(SESSION, session("ses_f"))
        other.hear(5)
        followed += [record.seq for record in follower.new_records()]
        fork = names(store, "ses_f")
        other.end()

    kept = other.kept(SESSION)
    assert followed == list(range(1, len(followed) + 1))
    assert len(followed) > 8
    assert fork[:3] == kept[:3]
    assert names(store) == kept
    writer = store.acquire("ses_f", this_owner("kernel-a"))
    writer.close()


@pytest.mark.slow
def test_a_dead_process_on_this_host_does_not_hold_its_session(tmp_path: Path) -> None:
    with other_kernel(tmp_path) as other:
        other.hear(2)
        other.kill()
    store = open_here(tmp_path, NEVER_SECONDS)
    begun = time.monotonic()
    writer = store.acquire(SESSION, this_owner("kernel-a"))
    took = time.monotonic() - begun
    writer.close()

    assert took < NEVER_SECONDS
    assert set(other.kept(SESSION)) <= set(names(store))


@pytest.mark.soak  # with each commit kernels that rob each other lose nothing, beside it; this adds one that was stopped and goes on
@pytest.mark.slow
def test_a_kernel_that_was_only_stopped_goes_on_in_a_fork(tmp_path: Path) -> None:
    with other_kernel(tmp_path) as other:
        other.hear(3)
        other.stop()
        store = open_here(tmp_path)
        writer = store.acquire(SESSION, this_owner("kernel-a"))
        before = store.load(SESSION).seq
        writer.append(records([assistant("msg_taken")], first=before + 1))
        other.process.send_signal(signal.SIGCONT)
        other.hear_until(lambda line: line.get("session") != SESSION)
        other.hear(3)
        other.end()

    fork_id = other.said[-1]["session"]
    assert "Another kernel writes session" in other.said[-1]["failed"]
    main, fork = names(store), names(store, fork_id)
    assert main[-1] == "msg_taken"
    assert set(other.kept(SESSION)) <= set(main)
    assert set(other.kept(SESSION)) | set(other.kept(fork_id)) <= set(fork)
    assert "msg_taken" not in fork
    forked = store.load(fork_id).session
    assert forked is not None
    assert forked.forked_from is not None
    assert forked.forked_from.session_id == SESSION
    assert {line.id for line in store.list()} == {SESSION, fork_id}
    writer.close()


@pytest.mark.slow
def test_kernels_that_rob_each_other_lose_nothing(tmp_path: Path) -> None:
    store = open_here(tmp_path)
    begin(store)
    paths = f"{ROOT}{os.pathsep}{ROOT / 'kernel_ext'}"
    command = [sys.executable, "-m", "tests.store.takeover_kernel", str(tmp_path), SESSION]
    robbers = [
        subprocess.Popen(
            [*command, f"kernel-{name}", str(ROB_SECONDS), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": paths},
            text=True,
        )
        for name in "abc"
    ]
    for robber in robbers:
        assert robber.stdout is not None
        robber.stdout.readline()
    for robber in robbers:
        assert robber.stdin is not None
        robber.stdin.write("\n")
        robber.stdin.flush()
    kept: dict[str, list[str]] = {}
    for robber in robbers:
        for line in robber.communicate(timeout=ROB_SECONDS + 60)[0].splitlines():
            said = json.loads(line)
            kept.setdefault(said["session"], []).append(said["kept"])
        assert robber.returncode == 0

    missing = {name: set(said) - set(names(store, name)) for name, said in kept.items()}
    assert {name: lost for name, lost in missing.items() if lost} == {}
    assert len(kept) > 1
    for line in store.list():
        numbers = [record.seq for record in store.read(line.id)]
        assert numbers == sorted(set(numbers))


@pytest.fixture
def slow_header(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowHeader]:
    """Make a thread named "slow" create a segment and wait before it writes the header."""
    slow = SlowHeader()
    write = segment_start.write_fully

    def wait_first(fd: int, content: bytes) -> None:
        if threading.current_thread().name == "slow":
            slow.reached.set()
            slow.go.wait(LAST_RESORT_SECONDS)
        write(fd, content)

    monkeypatch.setattr(segment_start, "write_fully", wait_first)
    monkeypatch.setattr(segment_start, "MAX_HEADER_WAIT_SECONDS", 0.2)
    yield slow
    slow.go.set()


def test_a_segment_whose_header_comes_late_is_never_passed_over(
    tmp_path: Path, slow_header: SlowHeader, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = open_here(tmp_path), open_here(tmp_path)
    begin(store)
    kept: list[str] = []
    forks: list[str] = []
    done = threading.Event()

    def slowly() -> None:
        writer = other.acquire(SESSION, this_owner("kernel-b"), steal=True)
        try:
            writer.append(records([assistant("msg_slow")], first=6))
            kept.append("msg_slow")
        except TakenOver as taken:
            forks.append(taken.fork.id)
            taken.writer.close()
        done.set()

    own = store.segments.own_ranges

    def own_then_let_go(session_id: str, *, below_epoch: int | None = None) -> list[SegmentRange]:
        found = own(session_id, below_epoch=below_epoch)
        if threading.current_thread() is not slow and not slow_header.go.is_set():
            slow_header.go.set()
            done.wait(0.5)
        return found

    slow = threading.Thread(target=slowly, name="slow")
    slow.start()
    assert slow_header.reached.wait(LAST_RESORT_SECONDS)
    monkeypatch.setattr(store.segments, "own_ranges", own_then_let_go)
    writer = store.acquire(SESSION, this_owner("kernel-a"), steal=True)
    slow.join(LAST_RESORT_SECONDS)
    writer.append(records([assistant("msg_new")], first=store.load(SESSION).seq + 1))
    writer.close()

    assert set(kept) <= set(names(store))
    assert [*kept, *(name for fork in forks for name in names(store, fork)[-1:])] == ["msg_slow"]
    assert names(store)[-1] == "msg_new"
    assert store.problems(SESSION) == []


def test_what_a_silent_writer_did_not_say_is_said_for_it_and_it_goes_on(
    tmp_path: Path, slow_header: SlowHeader
) -> None:
    store, other = open_here(tmp_path), open_here(tmp_path)
    begin(store)
    old = store.acquire(SESSION, this_owner("kernel-a"))
    old.append(records([assistant("msg_3")], first=6))
    taken: list[JsonlWriter] = []
    slow = threading.Thread(
        target=lambda: taken.append(other.acquire(SESSION, this_owner("kernel-b"), steal=True)),
        name="slow",
    )
    slow.start()
    assert slow_header.reached.wait(LAST_RESORT_SECONDS)
    with pytest.raises(TakenOver) as caught:
        old.append(records([assistant("msg_4")], first=7))
    slow_header.go.set()
    slow.join(LAST_RESORT_SECONDS)
    taken[0].append(records([assistant("msg_new")], first=7))
    taken[0].close()
    caught.value.writer.close()

    assert names(store) == ["msg_1", "msg_2", "msg_3", "msg_new"]
    assert names(store, caught.value.fork.id) == ["msg_1", "msg_2", "msg_3", "msg_4"]
    assert store.problems(SESSION) == []


def test_what_an_old_writer_wrote_after_the_cut_is_not_read_but_kept(tmp_path: Path) -> None:
    store, stale = open_here(tmp_path), open_here(tmp_path)
    begin(store)
    old = stale.acquire(SESSION, OWNER)
    old.append(records([assistant("msg_3")], first=6))
    new = store.acquire(SESSION, this_owner("kernel-a"), steal=True)
    fd = os.open(old.path, os.O_WRONLY | os.O_APPEND)
    late = records([assistant("msg_late")], first=7)[0]
    os.write(fd, late.line().encode() + b"\n")
    os.close(fd)
    new.append(records([assistant("msg_new")], first=7))
    with pytest.raises(SessionHeld) as caught:
        old.append(records([assistant("msg_later")], first=8))
    new.close()

    assert names(store) == ["msg_1", "msg_2", "msg_3", "msg_new"]
    fork = caught.value.fork.id  # type: ignore[attr-defined]
    assert names(store, fork) == ["msg_1", "msg_2", "msg_3", "msg_late", "msg_later"]


def test_a_follower_begins_again_when_what_it_told_was_cut_off(tmp_path: Path) -> None:
    store, stale = open_here(tmp_path), open_here(tmp_path)
    old = stale.acquire(SESSION, OWNER, create=True)
    old.append(records(TALK))
    follower = Follower(store, SESSION)
    told = [record.seq for record in follower.new_records()]
    segment = old.path.read_bytes()
    cut = segment.rindex(b'{"v":1,"seq":5')
    (old.path.parent / "log-2.jsonl").write_text(
        json.dumps(
            {"type": "segment", "session_id": SESSION, "epoch": 2}
            | {"previous": "log-1.jsonl", "cut": cut}
        )
        + "\n"
        + records([assistant("msg_other")], first=5)[0].line()
        + "\n"
    )
    again = [record.seq for record in follower.new_records()]

    assert (told, again) == ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])
    assert follower.reset_count == 1
    assert names(store) == ["msg_1", "msg_2", "msg_other"]


async def test_following_yields_what_another_writer_appends(tmp_path: Path) -> None:
    store = open_here(tmp_path)
    writer = store.acquire(SESSION, OWNER, create=True)
    writer.append(records(TALK))
    follower = Follower(store, SESSION, after=3)
    seen: list[int] = []

    async def follow() -> None:
        async for found in follower.records(poll_seconds=0.005):
            seen.extend(record.seq for record in found)
            if seen[-1] == 7:
                return

    following = asyncio.create_task(follow())
    await until(lambda: seen == [4, 5])
    writer.append(records([assistant("msg_3")], first=6))
    writer.close()
    writer = store.acquire(SESSION, OWNER)
    writer.append(records([assistant("msg_4")], first=7))
    await asyncio.wait_for(following, LAST_RESORT_SECONDS)

    assert seen == [4, 5, 6, 7]
    writer.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="Root may write everywhere; see the mounted test.")
def test_a_directory_that_may_not_be_written_means_memory(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    store, sentence = open_store(tmp_path)
    tmp_path.chmod(0o700)

    assert isinstance(store, MemoryStore)
    assert sentence is not None
    assert "cannot be written" in sentence


def test_a_read_only_mount_means_memory_even_for_root(tmp_path: Path) -> None:
    with mounted(tmp_path, "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs"):
        store, sentence = open_store(tmp_path)

    assert isinstance(store, MemoryStore)
    assert sentence == (
        f"The disk is read-only: {str(tmp_path)!r} cannot be written; this kernel keeps its"
        " sessions in memory only, and they end with it."
    )


def test_a_store_on_a_mount_that_became_read_only_means_memory(tmp_path: Path) -> None:
    with mounted(tmp_path, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        begin(open_here(tmp_path))
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path)], check=True)
        store, sentence = open_store(tmp_path)

    assert isinstance(store, MemoryStore)
    assert sentence is not None


def test_a_full_disk_is_said_once_and_nothing_is_lost(tmp_path: Path) -> None:
    with mounted(tmp_path, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        store = open_here(tmp_path)
        book = Journal(
            store.acquire(SESSION, OWNER, create=True), State(), clock=lambda: 1, tick_seconds=0
        )
        told: list[int] = []
        failures: list[str] = []

        def listen(batch: Any) -> None:
            told.extend(record.seq for record in batch)
            failures.extend(r.event.error.message for r in batch if r.event.type == "session.error")

        book.subscribe(listen)
        book.append(SessionCreated(session=session()), assistant("msg_1"))
        assert book.flush_sync(sync=True)
        filler = tmp_path / "filler"
        filler.write_bytes(b"x" * 700_000)
        book.append(*(text(f"prt_{n}", "msg_1", "y" * 50_000) for n in range(10)))
        assert not book.flush_sync(sync=True)
        book.append(text("prt_last", "msg_1", "the last words"))
        assert not book.flush_sync()
        assert book.failure is not None
        assert book.failure.startswith("The disk is full:")
        filler.unlink()
        assert book.flush_sync(sync=True)
        assert book.failure is None
        book.close()
        opened = open_here(tmp_path)
        whole = opened.load(SESSION)
        problems = opened.problems(SESSION)

    folder = str(tmp_path / ".palimpsest" / "sessions" / SESSION)
    sentence = (
        f"The disk is full: {folder!r} cannot be written. Everything is kept in memory and will be"
        " written as soon as it can."
    )
    assert failures == [sentence]
    assert told == list(range(1, len(told) + 1))
    assert whole.messages() == book.state.messages()
    assert len(problems) <= 1


def test_a_folder_that_vanished_keeps_everything_in_memory(tmp_path: Path) -> None:
    store = open_here(tmp_path)
    writer = store.acquire(SESSION, OWNER, create=True)
    book = Journal(writer, State(), clock=lambda: 1, tick_seconds=0)
    book.append(SessionCreated(session=session()), assistant("msg_1"))
    assert book.flush_sync()
    kept = tmp_path / "kept"
    content = writer.path.read_bytes()
    writer.path.rename(kept)
    kept.unlink()
    book.append(assistant("msg_2"))

    assert not book.flush_sync()
    assert book.failure is not None
    assert book.failure.startswith("The log of this session was removed")
    writer.path.write_bytes(content)
    assert book.flush_sync()
    assert names(store) == ["msg_1", "msg_2"]
    book.close()


def test_a_corrupt_line_is_skipped_and_reported(tmp_path: Path) -> None:
    store = open_here(tmp_path)
    begin(store)
    log = next(store.layout.session(SESSION).glob("log-*.jsonl"))
    lines = log.read_bytes().splitlines(keepends=True)
    damaged = lines[5].replace(b'"text":', b'"text"?')
    log.write_bytes(b"".join([*lines[:5], damaged, b"not json\n", *lines[6:]]))

    assert [record.seq for record in store.read(SESSION)] == [1, 2, 3, 4]
    assert [record.seq for record in store.stream(SESSION)] == [4, 3, 2, 1]
    state = store.load(SESSION)
    assert names(store) == ["msg_1", "msg_2"]
    assert state.messages()[1].parts == ()
    offset = sum(len(line) for line in lines[:5])
    problems = [(problem.where, problem.what) for problem in store.problems(SESSION)]
    assert problems == [
        (f"ses_a/log-1.jsonl, byte {offset}", "The line is not a JSON object."),
        (f"ses_a/log-1.jsonl, byte {offset + len(damaged)}", "The line is not a JSON object."),
    ]
    assert len(state.unreadable_records) == 2
    writer = store.acquire(SESSION, OWNER)
    writer.append(records([text("prt_2", "msg_2", "again")], first=6))
    assert store.load(SESSION).part("msg_2", "prt_2") is not None
    writer.close()


@pytest.mark.parametrize("first", [b"nonsense\n", b""])
def test_a_log_whose_first_line_is_damaged_or_gone_is_read(tmp_path: Path, first: bytes) -> None:
    store = open_here(tmp_path)
    begin(store)
    writer = store.acquire(SESSION, OWNER)
    writer.append(records([assistant("msg_3")], first=6))
    writer.close()
    before = store.load(SESSION).messages()
    for log in store.layout.session(SESSION).glob("log-*.jsonl"):
        lines = log.read_bytes().splitlines(keepends=True)
        log.write_bytes(first + b"".join(lines[1:]))

    again = open_here(tmp_path)

    assert again.load(SESSION).messages() == before
    assert [summary.id for summary in again.list()] == [SESSION]
    assert [(problem.where, problem.what) for problem in again.problems(SESSION)] == [
        ("ses_a/log-1.jsonl, byte 0", "The first line is no header."),
        ("ses_a/log-2.jsonl, byte 0", "The first line is no header."),
    ]
    third = again.acquire(SESSION, OWNER)
    third.append(records([assistant("msg_4")], first=7))
    third.close()
    assert names(again)[-2:] == ["msg_3", "msg_4"]


def test_a_damaged_newest_version_leaves_the_one_before(tmp_path: Path) -> None:
    store = open_here(tmp_path)
    begin(store, (*TALK, text("prt_2", "msg_2", "344 penguins.")))
    log = next(store.layout.session(SESSION).glob("log-*.jsonl"))
    log.write_bytes(log.read_bytes().replace(b'"344 penguins."', b"344 penguins."))

    part = store.load(SESSION).part("msg_2", "prt_2")
    assert part is not None
    assert part.text == "344."  # type: ignore[union-attr]
    assert store.load(SESSION).messages() == store.open_live(SESSION).messages()


def test_a_torn_tail_is_skipped_and_the_next_writer_goes_on(tmp_path: Path) -> None:
    store = open_here(tmp_path)
    begin(store)
    log = next(store.layout.session(SESSION).glob("log-*.jsonl"))
    whole = log.read_bytes()
    log.write_bytes(whole + records([assistant("msg_torn")], first=6)[0].line().encode()[:60])
    writer = store.acquire(SESSION, OWNER)
    writer.append(records([assistant("msg_3")], first=6))

    assert names(store) == ["msg_1", "msg_2", "msg_3"]
    assert log.read_bytes().startswith(whole)
    assert [(problem.where, problem.what) for problem in store.problems(SESSION)] == [
        (f"ses_a/log-1.jsonl, byte {len(whole)}", "The last line was never finished.")
    ]
    writer.close()


def test_a_newer_layout_is_refused_in_one_sentence(tmp_path: Path) -> None:
    open_project_folder(tmp_path)
    layout = tmp_path / ".palimpsest" / "layout"
    layout.write_text(json.dumps({"version": 2, "project_id": "p"}))

    with pytest.raises(LayoutTooNew, match=r"written by a newer Palimpsest .* update Palimpsest"):
        open_store(tmp_path)


def test_a_record_of_a_newer_version_is_passed_over(tmp_path: Path) -> None:
    store = open_here(tmp_path)
    begin(store)
    log = next(store.layout.session(SESSION).glob("log-*.jsonl"))
    newer = b'{"v":1,"seq":6,"ts":1,"type":"session.dreamed","dream":"sheep"}\n'
    part = (
        b'{"v":1,"seq":7,"ts":1,"type":"message.part.updated","part":{"id":"prt_9",'
        b'"session_id":"ses_a","message_id":"msg_2","type":"hologram","beam":1}}\n'
    )
    log.write_bytes(log.read_bytes() + newer + part)

    state = store.load(SESSION)
    assert [message.id for message in state.messages()] == ["msg_1", "msg_2"]
    assert state.seq == 7
    assert state.unreadable_records == []
    assert store.problems(SESSION) == []


async def test_a_failed_write_reaches_listeners_as_an_error(tmp_path: Path) -> None:
    store = open_here(tmp_path)
    writer = store.acquire(SESSION, OWNER, create=True)
    book = Journal(writer, State(), clock=lambda: 1, tick_seconds=0)
    heard: list[Any] = []
    book.subscribe(heard.extend)
    writer.close()
    book.append(assistant("msg_1"))
    assert not await book.flush()
    await book.flush()
    book.close()

    assert SessionError in [type(record.event) for record in heard]

"""Kill processes at random moments, and check that their logs hold every acknowledged record.

This process starts victims, chooses the moment, notes every acknowledgement that arrives through the pipe,
sends SIGKILL, and then reads the log in a new store.
"""

import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.kill.journal_workload import now
from tests.store.record_builders import user

from palimpsest.store.interface import Owner
from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.segments import lines_forward
from palimpsest.store.log_lines import seq_of
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.session_state.interrupted_work import close_interrupted
from palimpsest.store.session_state.state import State
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import (
    ReasoningPart,
    TextPart,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
)

ROOT = Path(__file__).parents[2]
MAX_LIFE_SECONDS = 0.06
MAX_ACKNOWLEDGEMENTS = 20
"""A victim lives for up to so many acknowledgements and then for up to so many seconds: by time alone, those on a
machine under load would all be killed before they had done anything."""
START_SECONDS = 120.0
"""A last resort: a victim fills a whole conversation before its first acknowledgement."""


@dataclass
class VictimRun:
    """The acknowledgements of one victim."""

    acknowledged: int = 0
    acks: int = 0
    status: int | None = None


@dataclass
class KillTally:
    """The totals of many kills."""

    kills: int = 0
    acks: int = 0
    unreadable: int = 0
    interrupted: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


class VictimForkServer:
    """A process that has imported everything and forks victims."""

    def __init__(self, workload: str) -> None:
        self._read, write = os.pipe()
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'kernel_ext'}"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.kill.victim", workload, str(write)],
            stdin=subprocess.PIPE,
            pass_fds=(write,),
            cwd=ROOT,
            env=environment,
        )
        os.close(write)
        self._rest = b""

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End the process, after all of its victims."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(START_SECONDS)
        os.close(self._read)

    def kill_one(
        self, project: Path, session_id: str, seed: int, *, acks: int, life_seconds: float
    ) -> VictimRun:
        """Start a victim, let it run for a time after some acknowledgements, and kill it."""
        assert self._process.stdin is not None
        order = {"project": str(project), "session": session_id, "seed": seed}
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        life, pid = VictimRun(), 0
        until = time.monotonic() + START_SECONDS
        while life.status is None:
            for word, number in self._words(0.002 if life.acks else 0.005):
                if word == "pid":
                    pid = number
                elif word == "ack":
                    life.acknowledged, life.acks = number, life.acks + 1
                    if life.acks == acks:
                        until = time.monotonic() + life_seconds
                else:
                    life.status = number
            if pid and time.monotonic() >= until and life.status is None:
                os.kill(pid, signal.SIGKILL)
                pid = 0
        return life

    def _words(self, seconds: float) -> list[tuple[str, int]]:
        os.set_blocking(self._read, False)
        try:
            data = os.read(self._read, 1 << 16)
        except BlockingIOError:
            select.select([self._read], [], [], seconds)
            return []
        if not data:
            raise RuntimeError("The process that forks victims ended; its error is above.")
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [(word.decode(), int(number)) for word, number in (line.split() for line in lines)]


def examine(
    project: Path, session_id: str, acknowledged: int, *, thorough: bool = True
) -> tuple[list[str], int, int]:
    """Check a victim's log; return its faults, and the numbers of unreadable lines and interrupted items.

    A thorough check also parses every record of the log.
    """
    store = JsonlStore(open_project_folder(project))
    wrong: list[str] = []
    stored = {
        seq_of(line)
        for piece in store.segments.segment_ranges(session_id)
        for _, line in lines_forward(piece)
    }
    missing = set(range(1, acknowledged + 1)) - stored
    if missing:
        wrong.append(f"acknowledged records are missing: {sorted(missing)[:5]}")
    numbers = [record.seq for record in store.read(session_id)] if thorough else []
    if numbers != sorted(stored - {None}) and thorough:
        wrong.append("reading the records gives other sequence numbers than the lines")
    whole, live = store.load(session_id), store.open_live(session_id)
    shown = live.messages()
    if whole.messages()[len(whole.messages()) - len(shown) :] != shown or live.seq != whole.seq:
        wrong.append("the live window differs from the whole fold")
    wrong += [fault for message in shown for part in message.parts if (fault := _hole(part))]
    problems = store.problems(session_id) if thorough else ()
    events = close_interrupted(live, now_ms=1)
    wrong += _go_on(store, session_id, live, len(events))
    return wrong, len(problems), len(events)


def _go_on(store: JsonlStore, session_id: str, state: State, expected: int) -> list[str]:
    """Close the interrupted items and append, as the next kernel would."""
    writer = store.acquire(session_id, Owner("victim", 1, "kernel-victim"))
    journal = Journal(writer, state, clock=lambda: 1, tick_seconds=0)
    journal.append(*close_interrupted(state, now_ms=1))
    last = journal.append(user(f"msg_after{state.seq}", created=now()), sync=True)
    is_written = journal.flush_sync(sync=True)
    journal.close()
    reopened = store.open_live(session_id)
    wrong = [] if is_written and reopened.seq >= last else ["appending after the kill failed"]
    if close_interrupted(reopened, now_ms=2):
        wrong.append(f"{expected} interrupted things were closed and some were left")
    return wrong + [fault for m in reopened.messages() if (fault := _open(m.info, m.parts))]


def _open(info: object, parts: tuple[object, ...]) -> str | None:
    if isinstance(info, AssistantMessage) and info.time.completed is None:
        return f"message {info.id} is still open"
    for part in parts:
        if isinstance(part, ToolPart) and isinstance(part.state, ToolPending | ToolRunning):
            return f"tool part {part.id} still runs"
        failed = part.state if isinstance(part, ToolPart) else None
        if isinstance(failed, ToolFailed) and not failed.metadata.get("interrupted"):
            return f"a tool part of {getattr(info, 'id', '')} failed without being interrupted"
    return None


def _hole(part: object) -> str | None:
    """Return a fault if streamed numbers are not 0 1 2 3 ... without a gap."""
    words = ""
    if isinstance(part, TextPart) and (part.synthetic or part.text.startswith("go on")):
        return None  # text of the engine, or of the user
    if isinstance(part, TextPart | ReasoningPart):
        words = part.text
    elif isinstance(part, ToolPart) and isinstance(part.state, ToolPending):
        words = part.state.raw
    elif isinstance(part, ToolPart) and isinstance(part.state, ToolRunning):
        words = str(part.state.metadata.get("output", ""))
    if words.startswith("{"):
        return None  # the input of a real call
    expected = "".join(f"{number} " for number in range(words.count(" ")))
    return None if words == expected else f"streamed words have a hole or a repeat: {words[:80]!r}"


def kill_many(
    folder: Path,
    count: int,
    *,
    workload: str = "tests.kill.journal_workload:journal",
    seed: int = 1,
    per_session: int = 10,
) -> KillTally:
    """Kill victims one after the other, several on each session, and check every log."""
    rng, tally, begun = random.Random(seed), KillTally(), time.monotonic()
    with VictimForkServer(workload) as victims:
        for number in range(count):
            group = number // per_session
            project, session_id = folder / f"project{group}", f"ses_{group}"
            project.mkdir(exist_ok=True)
            life = victims.kill_one(
                project,
                session_id,
                number,
                acks=rng.randint(1, MAX_ACKNOWLEDGEMENTS),
                life_seconds=rng.uniform(0, MAX_LIFE_SECONDS),
            )
            tally.kills += 1
            tally.acks += life.acks
            if life.status != signal.SIGKILL:
                tally.failures.append(f"victim {number} ended by itself: {life.status}")
            last = number % per_session == per_session - 1 or number == count - 1
            wrong, torn, interrupted = examine(
                project, session_id, life.acknowledged, thorough=last
            )
            tally.unreadable += torn
            tally.interrupted += interrupted
            tally.failures += [f"victim {number}: {fault}" for fault in wrong]
            if last:
                shutil.rmtree(project)
    tally.seconds = time.monotonic() - begun
    return tally

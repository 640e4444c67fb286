"""A workload for a process that will be killed: a journal with streams, tools and checkpoints."""

import asyncio
import random
import time
from pathlib import Path

from tests.kill.victim import Ack
from tests.store.record_builders import assistant, compaction, session, text, tool, user

from palimpsest.store.interface import Owner
from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.session_state.interrupted_work import close_interrupted
from palimpsest.store.session_state.state import State
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import Span, ToolCompleted, ToolPending, ToolRunning
from palimpsest.transcript.session_record.events import MessageUpdated, SessionCreated

TICK_SECONDS = 0.004
"""Ten times faster than in production, so that a kill more often hits a half-written record."""


def now() -> int:
    """Return milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def open_journal(project: Path, session_id: str) -> Journal:
    """Open or create the session, as a restarted kernel does."""
    store = JsonlStore(open_project_folder(project))
    writer = store.acquire(session_id, Owner("victim", 1, "kernel-victim"), create=True)
    try:
        state = store.open_live(session_id)
    except NotFound:
        state = State()
    journal = Journal(writer, state, clock=now, tick_seconds=TICK_SECONDS)
    if state.session is None:
        journal.append(SessionCreated(session=session(session_id)))
    journal.append(*close_interrupted(state, now()))
    return journal


async def journal(project: Path, session_id: str, seed: int, ack: Ack) -> None:
    """Stream answers and run tools, acknowledging the records that were written."""
    rng = random.Random(seed)
    book = open_journal(project, session_id)
    first = book.state.seq
    await book.flush(sync=True)
    ack(first)
    for number in range(1_000_000):
        turn = f"{seed:06d}_{number:04d}"
        if number % 7 == 6:
            await _compact(book, turn, ack)
        await _turn(book, turn, rng, ack)


async def _turn(book: Journal, turn: str, rng: random.Random, ack: Ack) -> None:
    asked, answered = f"msg_{turn}u", f"msg_{turn}a"
    seq = book.append(
        user(asked, created=now()), text(f"prt_{turn}u", asked, "go on " * 20), sync=True
    )
    assert await book.flush(sync=True)
    ack(seq)
    book.append(assistant(answered, asked, created=now()))
    await _stream(book, answered, f"prt_{turn}t", "text", rng, ack)
    for call in range(2):
        part_id = f"prt_{turn}c{call}"
        book.append(tool(part_id, answered, ToolPending()))
        await _stream(book, answered, part_id, "state.raw", rng, ack)
        running = ToolRunning(input={"code": "x"}, time=Span(start=now()))
        seq = book.append(tool(part_id, answered, running), sync=True)
        assert await book.flush(sync=True)
        ack(seq)
        await _stream(book, answered, part_id, "state.metadata.output", rng, ack)
        output = "y" * rng.choice([10, 1_000, 100_000])
        done = ToolCompleted(input={"code": "x"}, output=output, time=Span(start=now(), end=now()))
        book.append(tool(part_id, answered, done))
    info = book.state.message(answered)
    assert info is not None
    assert isinstance(info.info, AssistantMessage)
    ended = info.info.time.model_copy(update={"completed": now()})
    seq = book.append(MessageUpdated(info=info.info.model_copy(update={"time": ended})))
    assert await book.flush()
    ack(seq)


async def _stream(
    book: Journal, message_id: str, part_id: str, field: str, rng: random.Random, ack: Ack
) -> None:
    """Stream ascending numbers, so that a gap or a repetition is detected."""
    if field == "text":
        book.append(text(part_id, message_id, time=Span(start=now())))
    for number in range(rng.randrange(20, 80)):
        book.delta(message_id, part_id, field, f"{number} ")
        if number % 10 == 9:
            await asyncio.sleep(0)
        if number % 25 == 24:
            is_written = await book.flush()
            assert is_written
            ack(book.state.seq)


async def _compact(book: Journal, turn: str, ack: Ack) -> None:
    marker, summary = f"msg_{turn}m", f"msg_{turn}s"
    book.append(
        user(marker, created=now()),
        compaction(f"prt_{turn}m", marker),
        assistant(summary, marker, created=now(), completed=now(), summary=True),
    )
    book.checkpoint()
    assert await book.flush(sync=True)
    ack(book.state.seq)

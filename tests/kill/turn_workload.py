"""A workload for a process that will be killed: whole turns, through runner, loop, processor and tools."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

from tests.harness.session import SessionHarness
from tests.kill.journal_workload import open_journal
from tests.kill.victim import Ack

from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import ModelAnswer, says
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.session_record.events import Record


def numbers(rng: random.Random) -> str:
    """Return ascending numbers, so that a gap or a repetition is detected."""
    return "".join(f"{number} " for number in range(rng.randrange(20, 80)))


def scripted(rng: random.Random) -> ModelAnswer:
    """Return text and some tool calls; without calls it ends the turn.

    No call is made twice: of one that is repeated a person would be asked, and nobody answers.
    """
    answer = says(numbers(rng))
    for _ in range(rng.randrange(3)):
        answer = answer.calls(rng.choice(["glob", "grep"]), pattern=f"x{rng.random()}")
    return answer


async def turns(project: Path, session_id: str, seed: int, ack: Ack) -> None:
    """Run turns, acknowledging the records that subscribers received."""
    rng = random.Random(seed)
    (project / "x.txt").write_text("x\n" * 200)

    def answer(_request: ModelRequest) -> ModelAnswer:
        return scripted(rng)

    book = open_journal(project, session_id)
    first = book.state.seq
    await book.flush(sync=True)
    ack(first)
    harness = SessionHarness(project, ScriptedModel(*[answer] * 100_000))
    session = LiveSession(harness.services, book, asyncio.get_running_loop())

    def told(records: Sequence[Record]) -> None:
        ack(records[-1].seq)

    session.subscribe(told)
    for _ in range(10_000):
        await session.prompt("go on " * 20, PromptOptions(yes=True, max_steps=50))

"""A workload for a process that will be killed: summarise a conversation too long for one request."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tests.harness.compacted_sessions import DEFAULT, INFO
from tests.harness.session import SessionHarness
from tests.kill.journal_workload import open_journal
from tests.kill.victim import Ack

from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import ModelAnswer, says
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.session_record.events import Record

WIDE = INFO.model_copy(update={"window": 60_000})
TURNS = 9


def numbers(count: int) -> str:
    """Return ascending numbers, so that a gap or a repetition is detected."""
    return "".join(f"{number} " for number in range(count))


async def compactions(project: Path, session_id: str, seed: int, ack: Ack) -> None:
    """Fill a wide window, then prompt in a narrow one; acknowledge from the first summary on."""
    told = [0]
    begun = []

    def answer(request: ModelRequest) -> ModelAnswer:
        if request.purpose != "compaction":
            return says(numbers(900)).in_pieces(4_000)
        if not begun:
            ack(told[0])
        begun.append(request)
        return says(numbers(120)).in_pieces(30)

    book = open_journal(project, session_id)
    model = ScriptedModel(*[answer] * 100_000)
    harness = SessionHarness(
        project, model, info=WIDE, store=JsonlStore(open_project_folder(project))
    )
    object.__setattr__(harness.services.rules, "policy", DEFAULT)
    session = LiveSession(harness.services, book, asyncio.get_running_loop())

    def listen(records: Sequence[Record]) -> None:
        told[0] = records[-1].seq
        if begun:
            ack(told[0])

    session.subscribe(listen)
    for turn in range(10_000):
        harness.narrow(WIDE)
        for number in range(TURNS):
            text = f"go on {seed} {turn} {number} " + "and on " * 150
            await session.prompt(text, PromptOptions(yes=True))
        harness.narrow(INFO)
        await session.prompt(f"go on {seed} {turn} now", PromptOptions(yes=True))

"""A recorded no to what a turn asks while nobody is there to answer.

Border: who is there is said by the caller; a cell that waits puts its questions itself.
"""

import asyncio
import sys
import time
from collections.abc import Callable

from palimpsest.session.interfaces.kernel_session import KernelSession
from palimpsest.transcript.values import Reply

AWAY_SECONDS = 600.0
"""How long a question waits for a person who was there and went away: a closed lid, a lunch."""
PROGRAM_SECONDS = 5.0
"""How long it waits for a program that may answer by itself, where no terminal is."""
LOOK_SECONDS = 0.5

NOBODY = (
    "Nobody is here to be asked. Do without this call, or tell the user to allow it in the settings or to ask "
    "again with --yes."
)


def has_terminal() -> bool:
    """Tell whether somebody can type into this process."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


async def refuse_unattended(
    session: KernelSession, attended: Callable[[], bool], patience_seconds: float
) -> None:
    """Answer what a turn asks that belongs to no cell with a recorded no, when nobody is there.

    Runs until it is cancelled; ``patience_seconds`` is how long somebody may be away.
    """
    away_since: float | None = None
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        picture = session.snapshot()
        if not (picture.asks or picture.questions) or attended():
            away_since = None
            continue
        now = time.monotonic()
        away_since = now if away_since is None else away_since
        if now - away_since < patience_seconds:
            continue
        for ask in picture.asks:
            session.reply(ask.id, Reply(answer="reject", feedback=NOBODY, by="headless"))
        for asked in picture.questions:
            session.nobody_answers(asked.question_id)

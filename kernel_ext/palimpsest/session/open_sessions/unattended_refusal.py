"""Reject a turn's questions while no user is present to answer.

Border: the caller knows whether a user is present; a cell that waits asks its questions itself.
"""

import asyncio
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from palimpsest.transcript.values import Reply

if TYPE_CHECKING:
    from palimpsest.session.open_sessions.followed_session import KernelSession

MAX_AWAY_SECONDS = 600.0
"""How long a question waits for a user who was present and left: a closed lid, a lunch break."""
MAX_PROGRAM_SECONDS = 5.0
"""How long a question waits for a program that may answer, where there is no terminal."""
CHECK_SECONDS = 0.5

NOBODY = (
    "Nobody is here to be asked. Do without this call, or tell the user to allow it in the settings or to ask "
    "again with --yes."
)


def has_terminal() -> bool:
    """Return whether a user can type into this process."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


async def refuse_unattended(
    session: "KernelSession", is_attended: Callable[[], bool], patience_seconds: float
) -> None:
    """Reject a session's open questions once no user has been present for ``patience_seconds``.

    A request that step mode holds is released then, unless a user was present while it was held: a user who saw it
    and left finds it again. Runs until it is cancelled. Not for the questions of a waiting cell.
    """
    away_since: float | None = None
    seen_ids: set[str] = set()
    while True:
        await asyncio.sleep(CHECK_SECONDS)
        snapshot = session.snapshot(messages=False)
        unseen_ids = [request.id for request in session.held if request.id not in seen_ids]
        if not (snapshot.asks or snapshot.questions or unseen_ids) or is_attended():
            seen_ids.update(unseen_ids)
            away_since = None
            continue
        now = time.monotonic()
        away_since = now if away_since is None else away_since
        if now - away_since < patience_seconds:
            continue
        for ask in snapshot.asks:
            session.reply(ask.id, Reply(answer="reject", feedback=NOBODY, by="headless"))
        for question in snapshot.questions:
            session.nobody_answers(question.question_id)
        for hold_id in unseen_ids:
            session.step_mode.release_unattended(hold_id)

"""Whether somebody can answer a question now, and the recorded no where nobody can.

A page that watches may be gone for 20 seconds before its watch ends, and one in a hidden tab renews
late; so it is pinged while a question is open, and counts as there when it answers in time.

Border: says who is there; who asks, and how, is decided by its callers.
"""

import asyncio
import time
from collections.abc import Callable

from palimpsest.session.api import LiveSession
from palimpsest.transcript.values import Reply

PING_SECONDS = 5.0
"""A page that has not answered a ping by then is not there."""
FORGOTTEN_SECONDS = 120.0
"""A page not heard for so long is no more pinged; in a hidden tab one renews its watch once a minute."""
AWAY_SECONDS = 600.0
"""How long a question waits for a person who was there and went away: a closed lid, a lunch."""
LOOK_SECONDS = 0.5

NOBODY = (
    "Nobody is here to be asked. Do without this call, or tell the user to allow it in the settings or to ask "
    "again with --yes."
)


class Presence:
    """Which pages answer pings, and when they did last; from any thread.

    Contract: ``present`` returns at once. It is true while a ping is on its way, so a caller asks
    again until it is false or the question is answered.
    """

    def __init__(
        self,
        fresh: Callable[[str], bool],
        ping: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fresh = fresh
        self._ping = ping
        self._clock = clock
        self._heard: dict[tuple[str, str | None], float] = {}
        self._pinged = float("-inf")
        self._silent_since: float | None = None

    def heard(self, client: str, session: str | None) -> None:
        """Note that a page said something, and that it is one that answers pings."""
        self._heard = {**self._heard, (client, session): self._clock()}
        self._silent_since = None

    def gone(self, client: str) -> None:
        """Note that a page said goodbye."""
        self._heard = {key: at for key, at in self._heard.items() if key[0] != client}

    def present(self, session_id: str) -> bool:
        """Tell whether a page that watches the session is there, or may be."""
        now = self._clock()
        times = [
            at
            for (_, one), at in self._heard.items()
            if one in (None, session_id) and now - at < FORGOTTEN_SECONDS
        ]
        if not times:
            return self._fresh(session_id)  # of pages that answer no pings, this is all one knows
        if now - max(times) < PING_SECONDS:
            return True
        if now - self._pinged >= PING_SECONDS:
            self._pinged = now
            self._ping()
        if self._silent_since is None:
            self._silent_since = now
        return now - self._silent_since < PING_SECONDS


async def refuse_unattended(
    session: LiveSession, attended: Callable[[], bool], patience_seconds: float
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

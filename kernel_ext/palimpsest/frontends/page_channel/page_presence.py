"""Track which pages watch sessions and which of them can answer a question now.

A page that watches may be gone for 20 seconds before its watch ends, and one in a hidden tab renews
late; so it is pinged while a question is open, and counts as present when it answers in time.

Border: reports which pages are present; its callers decide where and how to ask.
"""

import time
from collections.abc import Callable

from palimpsest.frontends.protocol.connection import WATCH_SECONDS

PING_SECONDS = 5.0
"""A page that was not heard for that long is pinged."""
ANSWER_SECONDS = 5.0
"""A page that has not answered a ping by then counts as absent."""
FORGOTTEN_SECONDS = 120.0
"""A page silent for longer is not pinged any more; in a hidden tab one renews its watch once a minute."""


class PagePresence:
    """Records which pages answer pings, and when they did last; from any thread.

    Contract: ``present`` returns at once. It is true while a ping is unanswered, so a caller calls it
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
        """Record a message from a page that answers pings."""
        self._heard = {**self._heard, (client, session): self._clock()}
        self._silent_since = None

    def gone(self, client: str) -> None:
        """Record that a page ended its watch."""
        self._heard = {key: at for key, at in self._heard.items() if key[0] != client}

    def present(self, session_id: str) -> bool:
        """Tell whether a page that watches the session is present, or may be."""
        now = self._clock()
        times = [
            at
            for (_, one), at in self._heard.items()
            if one in (None, session_id) and now - at < FORGOTTEN_SECONDS
        ]
        if not times:
            return self._fresh(session_id)  # nothing more is known of pages that answer no pings
        if now - max(times) < PING_SECONDS:
            return True
        if now - self._pinged >= PING_SECONDS:
            self._pinged = now
            self._ping()
        if self._silent_since is None:
            self._silent_since = now
        return now - self._silent_since < ANSWER_SECONDS


class PageWatches:
    """Records which pages watch which sessions, and until when."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[tuple[str, str | None], float] = {}

    def renew(self, client: str, session: str | None, seconds: float = WATCH_SECONDS) -> None:
        """Record that a page watches a session for some seconds from now on."""
        now = self._clock()
        kept = {key: until for key, until in self._until.items() if until > now}
        kept[client, session] = max(now + seconds, kept.get((client, session), 0.0))
        self._until = kept

    def end(self, client: str, session: str | None) -> None:
        """End a page's watch of a session; None ends all its watches."""
        self._until = {
            key: until
            for key, until in self._until.items()
            if key[0] != client or session not in (None, key[1])
        }

    def newest(self) -> str | None:
        """Return the page that watches now and renewed its watch last; None where none does."""
        now = self._clock()
        known = [(until, client) for (client, _), until in self._until.items() if until > now]
        return max(known)[1] if known else None

    def fresh(self, session_id: str | None = None) -> bool:
        """Tell whether a page watches the session now, or any session when None."""
        now = self._clock()
        return any(
            until > now and (session_id is None or session in (None, session_id))
            for (_, session), until in self._until.items()
        )

"""Whether a page is there that can answer a question now.

A page that watches may be gone for 20 seconds before its watch ends, and one in a hidden tab renews
late; so it is pinged while a question is open, and counts as there when it answers in time.

Border: says who is there; who asks, and how, is decided by its callers.
"""

import time
from collections.abc import Callable

from palimpsest.frontends.protocol.connection import WATCH_SECONDS

PING_SECONDS = 5.0
"""A page that has not answered a ping by then is not there."""
FORGOTTEN_SECONDS = 120.0
"""A page not heard for so long is no more pinged; in a hidden tab one renews its watch once a minute."""


class PagePresence:
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


class PageWatches:
    """Which pages look at which sessions, for how long still."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[tuple[str, str | None], float] = {}

    def renew(self, client: str, session: str | None, seconds: float = WATCH_SECONDS) -> None:
        """A page watches, from now on for a while."""
        now = self._clock()
        kept = {key: until for key, until in self._until.items() if until > now}
        kept[client, session] = max(now + seconds, kept.get((client, session), 0.0))
        self._until = kept

    def end(self, client: str, session: str | None) -> None:
        """A page watches no more; None ends all its watches."""
        self._until = {
            key: until
            for key, until in self._until.items()
            if key[0] != client or session not in (None, key[1])
        }

    def fresh(self, session_id: str | None = None) -> bool:
        """Tell whether a page watches the session (or anything) now."""
        now = self._clock()
        return any(
            until > now and (session_id is None or session in (None, session_id))
            for (_, session), until in self._until.items()
        )

"""Track which pages watch sessions and which of them can answer a question now.

A page that watches may be closed for 20 seconds before its watch ends, and a page in a hidden tab renews
late; so it is pinged while a question is open, and counts as present when it answers in time.

Border: reports which pages are present; its callers decide where and how to ask.
"""

import time
from collections.abc import Callable

from palimpsest.frontends.protocol.connection import WATCH_SECONDS

MAX_SILENT_SECONDS = 5.0
"""A page that was silent for this time is pinged."""
MAX_ANSWER_SECONDS = 5.0
"""A page that has not answered a ping within this time counts as absent."""
MAX_REMEMBERED_SECONDS = 120.0
"""A page silent for this time is no longer pinged; in a hidden tab, a page renews its watch once a minute."""


class PagePresence:
    """Records which pages answer pings, and when each was last heard; from any thread.

    Contract: ``may_answer`` returns at once. It returns True while a ping is unanswered, so a caller calls it
    again until it returns False or the question is answered.
    """

    def __init__(
        self,
        is_watched: Callable[[str], bool],
        ping: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._is_watched = is_watched
        self._ping = ping
        self._clock = clock
        self._heard_times: dict[tuple[str, str | None], float] = {}
        """When each page was last heard, by the page and the session that it watches."""
        self._pinged_at = float("-inf")
        self._silent_since: float | None = None

    def record_message(self, client: str, session_id: str | None) -> None:
        """Record a message from a page that answers pings."""
        self._heard_times = {**self._heard_times, (client, session_id): self._clock()}
        self._silent_since = None

    def record_leave(self, client: str) -> None:
        """Record that a page ended its watch."""
        self._heard_times = {
            key: heard_at for key, heard_at in self._heard_times.items() if key[0] != client
        }

    def may_answer(self, session_id: str) -> bool:
        """Return whether a page that watches the session is present, or may still answer a ping."""
        now = self._clock()
        heard_times = [
            heard_at
            for (_, watched_id), heard_at in self._heard_times.items()
            if watched_id in (None, session_id) and now - heard_at < MAX_REMEMBERED_SECONDS
        ]
        if not heard_times:
            # Of pages that answer no pings, only their watch is known.
            return self._is_watched(session_id)
        if now - max(heard_times) < MAX_SILENT_SECONDS:
            return True
        if now - self._pinged_at >= MAX_SILENT_SECONDS:
            self._pinged_at = now
            self._ping()
        if self._silent_since is None:
            self._silent_since = now
        return now - self._silent_since < MAX_ANSWER_SECONDS


class PageWatches:
    """Records which pages watch which sessions, and until when."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._watch_ends: dict[tuple[str, str | None], float] = {}
        """When each watch ends, by the page and the session that it watches."""

    def renew_watch(
        self, client: str, session_id: str | None, seconds: float = WATCH_SECONDS
    ) -> None:
        """Record that a page watches a session for some seconds from now on."""
        now = self._clock()
        watches = {key: until for key, until in self._watch_ends.items() if until > now}
        watches[client, session_id] = max(now + seconds, watches.get((client, session_id), 0.0))
        self._watch_ends = watches

    def end_watch(self, client: str, session_id: str | None) -> None:
        """End a page's watch of a session; None ends all its watches."""
        self._watch_ends = {
            key: until
            for key, until in self._watch_ends.items()
            if key[0] != client or session_id not in (None, key[1])
        }

    def is_watched(self, session_id: str | None = None) -> bool:
        """Return whether a page watches the session now, or any session when None."""
        now = self._clock()
        return any(
            until > now and (session_id is None or watched_id in (None, session_id))
            for (_, watched_id), until in self._watch_ends.items()
        )

"""Count which child sessions are in use, so that those not needed any more are closed.

A task's session is open while it works, and stays open once a front end opened it, which may continue
to watch it. Otherwise it is closed when its work ends: an open session costs a thread, a file and
a lease. Its log keeps everything, so it can be opened again.

Border: counts, and decides when; ``Workspace`` opens and closes. On the engine's loop.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable


class OpenChildren:
    """Counts the work in each child session, and remembers which ones a front end opened."""

    def __init__(self, close: Callable[[str], Awaitable[None]]) -> None:
        self._close_session = close
        self._work_counts: Counter[str] = Counter()
        self._viewed_ids: set[str] = set()
        self._closing_futures: set[asyncio.Future[None]] = set()

    def begin_work(self, session_id: str) -> None:
        """Record that a task begins to work in a session."""
        self._work_counts[session_id] += 1

    def end_work(self, session_id: str) -> None:
        """Record that a task's work ended, and close the session when it is not needed any more.

        The close is not awaited: closing the parent session waits for the end of this call, while it
        holds the lock needed to close another session.
        """
        self._work_counts[session_id] -= 1
        if self.is_needed(session_id):
            return
        del self._work_counts[session_id]
        closing_future = asyncio.ensure_future(self._close_session(session_id))
        self._closing_futures.add(closing_future)
        closing_future.add_done_callback(self._closing_futures.discard)

    def mark_viewed(self, session_id: str) -> None:
        """Record that a front end has a session open, from now on."""
        self._viewed_ids.add(session_id)

    def is_needed(self, session_id: str) -> bool:
        """Return whether a session has to stay open."""
        return self._work_counts[session_id] > 0 or session_id in self._viewed_ids

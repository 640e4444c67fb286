"""Which sessions of tasks are open for whom, so that those that nobody needs are closed.

A task's session is open while it works, and stays open once a front end opened it, which may go on
to watch it. Otherwise it is closed when its work ends: an open session costs a thread, a file and
its lease. Its log keeps everything, so it is opened again by whoever asks for it.

Border: counts, and says when; ``Workspace`` opens and closes. On the engine's loop.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable


class OpenChildren:
    """Who needs which session of a task."""

    def __init__(self, close: Callable[[str], Awaitable[None]]) -> None:
        self._close = close
        self._working: Counter[str] = Counter()
        self._looked_at: set[str] = set()
        self._closing: set[asyncio.Future[None]] = set()

    def begin(self, session_id: str) -> None:
        """Note that work begins in a session."""
        self._working[session_id] += 1

    def end(self, session_id: str) -> None:
        """Note that the work of one call ended, and let the session be closed when nobody needs it.

        Not awaited by the call: whoever closes the calling session waits for the call's end, and
        holds what is needed to close another session.
        """
        self._working[session_id] -= 1
        if self.is_needed(session_id):
            return
        del self._working[session_id]
        closing = asyncio.ensure_future(self._close(session_id))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def look_at(self, session_id: str) -> None:
        """Note that a front end has a session, now and from now on."""
        self._looked_at.add(session_id)

    def is_needed(self, session_id: str) -> bool:
        """Tell whether a session has to stay open."""
        return self._working[session_id] > 0 or session_id in self._looked_at

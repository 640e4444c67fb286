"""Show a tool's output so far while it runs, with a limited rate of updates.

Border: gets the call's context and a function that returns its output so far; updates can be scheduled from any thread.
"""

import asyncio
from collections.abc import Callable

from palimpsest.tools.tool import ToolContext

MIN_INTERVAL_SECONDS = 0.1
MAX_PREVIEW_CHARS = 8_000
"""Maximum characters of partial output that are shown; each update is journaled."""


class Progress:
    """Updates a running call's card with its partial output, at most every ``MIN_INTERVAL_SECONDS``."""

    def __init__(self, context: ToolContext, current_text: Callable[[], str]) -> None:
        self._context = context
        self._current_text = current_text
        self._loop = asyncio.get_running_loop()
        self._shown_at = float("-inf")
        self._is_planned = False
        self._is_closed = False

    def schedule_update(self) -> None:
        """Schedule an update, since there is more output."""
        if not self._is_planned and not self._is_closed:
            self._is_planned = True
            self._loop.call_soon_threadsafe(self._plan_update)

    def close(self) -> None:
        """Stop updating."""
        self._is_closed = True

    def _plan_update(self) -> None:
        wait_seconds = self._shown_at + MIN_INTERVAL_SECONDS - self._loop.time()
        if wait_seconds > 0:
            self._loop.call_later(wait_seconds, self._show_progress)
        else:
            self._show_progress()

    def _show_progress(self) -> None:
        self._is_planned = False
        if not self._is_closed:
            self._shown_at = self._loop.time()
            self._context.metadata(None, {"output": self._current_text()})

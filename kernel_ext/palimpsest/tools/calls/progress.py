"""Show what a tool has printed so far, not more often than the eye can follow.

Border: knows a context and a function that tells the text; may be told from any thread.
"""

import asyncio
from collections.abc import Callable

from palimpsest.tools.tool import ToolContext

INTERVAL_SECONDS = 0.1
PREVIEW_CHARS = 8_000
"""A screenful or two; every refresh of it is journaled."""


class Progress:
    """Updates the running card with partial output, at most every 100 ms."""

    def __init__(self, context: ToolContext, text: Callable[[], str]) -> None:
        self._context = context
        self._text = text
        self._loop = asyncio.get_running_loop()
        self._last = float("-inf")
        self._planned = False
        self._closed = False

    def touch(self) -> None:
        """Say that there is more to show."""
        if not self._planned and not self._closed:
            self._planned = True
            self._loop.call_soon_threadsafe(self._plan)

    def close(self) -> None:
        """Show nothing more."""
        self._closed = True

    def _plan(self) -> None:
        wait = self._last + INTERVAL_SECONDS - self._loop.time()
        if wait > 0:
            self._loop.call_later(wait, self._show)
        else:
            self._show()

    def _show(self) -> None:
        self._planned = False
        if not self._closed:
            self._last = self._loop.time()
            self._context.metadata(None, {"output": self._text()})

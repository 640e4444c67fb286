"""Show a tool's output so far while it runs, with a limited rate of updates.

Border: knows a context and a function that returns the text; can be called from any thread.
"""

import asyncio
from collections.abc import Callable

from palimpsest.tools.tool import ToolContext

INTERVAL_SECONDS = 0.1
PREVIEW_CHARS = 8_000
"""Characters of partial output that are shown; each update of it is journaled."""


class Progress:
    """Updates a running call's card with its partial output, at most every 100 ms."""

    def __init__(self, context: ToolContext, text: Callable[[], str]) -> None:
        self._context = context
        self._text = text
        self._loop = asyncio.get_running_loop()
        self._last = float("-inf")
        self._planned = False
        self._closed = False

    def touch(self) -> None:
        """Schedule an update, since there is more output."""
        if not self._planned and not self._closed:
            self._planned = True
            self._loop.call_soon_threadsafe(self._plan)

    def close(self) -> None:
        """Stop updating."""
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

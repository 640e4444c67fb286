"""The project's files, as the steps of one session look at them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.transcript.errors import UserError


@dataclass
class ProjectFiles:
    """The project's files, as one session's steps look at them."""

    snapshots: Snapshots
    leave_out: Callable[[], frozenset[str]]
    """Files that are the page's to write, such as the session's notebook."""
    problem: str = ""
    """Why no snapshot was taken at the last step; empty when one was."""
    background: set[asyncio.Task[Any]] = field(default_factory=set)
    """What is still being told of turns that have ended."""

    async def take(self) -> str | None:
        """Take a snapshot; None where there can be none, and ``problem`` says why."""
        try:
            name = await asyncio.to_thread(self.snapshots.take, self.leave_out())
        except UserError as problem:
            self.problem = str(problem)
            return None
        self.problem = ""
        return name

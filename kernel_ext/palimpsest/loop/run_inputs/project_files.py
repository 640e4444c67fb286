"""Take snapshots of the project's files for the steps of one session."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.transcript.errors import UserError


@dataclass
class ProjectFiles:
    """Snapshots of the project's files for one session's steps."""

    snapshots: Snapshots
    leave_out: Callable[[], frozenset[str]]
    """Files that the Jupyter page writes, such as the session's notebook; snapshots leave them out."""
    problem: str = ""
    """Why no snapshot was taken at the last step; empty when one was."""
    background: set[asyncio.Task[Any]] = field(default_factory=set)
    """Tasks that still write the changes of turns that have ended."""

    async def take(self) -> str | None:
        """Take a snapshot; None where that fails, and ``problem`` says why."""
        try:
            name = await asyncio.to_thread(self.snapshots.take, self.leave_out())
        except UserError as problem:
            self.problem = str(problem)
            return None
        self.problem = ""
        return name

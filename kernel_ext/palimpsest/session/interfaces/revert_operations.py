"""The revert operations of a session."""

from collections.abc import Collection
from typing import Protocol

from palimpsest.transcript.session_record.reverts import FileDiff, RevertPreview


class RevertOperations(Protocol):
    """Contract: revert, undo that, or make it final; one at a time, and only in an idle session.

    Raises SessionBusy while a turn runs, SessionHeld where another kernel writes the session, and
    UserError with a sentence for what is impossible.
    """

    async def preview(self, name: str = "") -> RevertPreview:
        """Return what a revert would do; a name is an id, the beginning or end of one, or ``last``."""
        ...

    async def revert(self, name: str = "", overwrite: Collection[str] = ()) -> RevertPreview:
        """Hide a message or part and what follows, and restore files; ``overwrite`` names files with conflicts."""
        ...

    async def unrevert(self, overwrite: Collection[str] = ()) -> RevertPreview:
        """Undo the revert that is in effect."""
        ...

    async def cleanup(self) -> int:
        """Remove what is reverted permanently; returns the number of messages removed."""
        ...

    async def diff(self, name: str = "") -> tuple[FileDiff, ...]:
        """Return what a turn, or without a name the whole session, changed in files."""
        ...

"""What can be asked of a session about taking back."""

from collections.abc import Collection
from typing import Protocol

from palimpsest.transcript.session_record.reverts import FileDiff, RevertPreview


class RevertOperations(Protocol):
    """Contract: take back, undo that, make it final; one at a time, and only in an idle session.

    Raises SessionBusy while a turn runs, SessionHeld where another kernel writes the session, and
    UserError with a sentence for what cannot be.
    """

    async def preview(self, name: str = "") -> RevertPreview:
        """Say what taking back would do; a name is an id, the beginning or end of one, or ``last``."""
        ...

    async def revert(self, name: str = "", overwrite: Collection[str] = ()) -> RevertPreview:
        """Take back a message or part and what follows; ``overwrite`` names files with conflicts."""
        ...

    async def unrevert(self, overwrite: Collection[str] = ()) -> RevertPreview:
        """Undo the revert that stands."""
        ...

    async def cleanup(self) -> int:
        """Remove what is taken back for good; returns how many messages went."""
        ...

    async def diff(self, name: str = "") -> tuple[FileDiff, ...]:
        """Return what a turn, or without a name the whole session, changed in files."""
        ...

"""What somebody needs of a session that works for another one.

Border: the interface alone. ``LiveSession`` implements it; it stands here, since a live session
begins children and so lies above whoever runs them.
"""

from collections.abc import Callable
from typing import Protocol

from palimpsest.session.api import RecordsCallback
from palimpsest.session.archive import SessionArchive
from palimpsest.session.asks import Asks
from palimpsest.session.log import SessionLog
from palimpsest.session.runner import Runner
from palimpsest.session.undo_api import Undoing
from palimpsest.tools.workflow.question import Interview


class SettledUndoing(Undoing, Protocol):
    """Contract: as ``Undoing``; of a session that this kernel writes, so it can be settled too."""

    async def settle(self) -> None:
        """Make a revert final, since something new is about to be said."""
        ...


class ChildSession(Protocol):
    """A session that a task call began.

    Contract: on the engine's loop; open until the factory is told that the task's work is over.
    """

    archive: SessionArchive
    asks: Asks
    interview: Interview
    """Who is asked what the model asks."""
    log: SessionLog
    runner: Runner

    @property
    def id(self) -> str:
        """The session's id."""
        ...

    @property
    def undoing(self) -> SettledUndoing:
        """Takes back what was said and done; settled before the next prompt."""
        ...

    def subscribe(self, callback: RecordsCallback) -> Callable[[], None]:
        """Be told every record after it was written, on the writer thread; returns a way out."""
        ...

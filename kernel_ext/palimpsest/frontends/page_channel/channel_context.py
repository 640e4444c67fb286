"""The interface through which the modules of single command groups use the channel.

Border: the interface alone; ``frontends/page_channel/channel.py`` implements it, and nothing here
depends on a command.
"""

from typing import Protocol

from palimpsest.frontends.protocol.outcome import OutcomeNotice
from palimpsest.frontends.protocol.sharing import ImportProgressNotice
from palimpsest.session.open_sessions.followed_session import KernelSession


class ChannelContext(Protocol):
    """What a group of commands may use of the channel that receives them.

    Contract: called on the engine's loop; nothing here waits for a page.
    """

    async def session(self, identifier: str | None) -> KernelSession:
        """Return a session by id, or the notebook's."""
        ...

    def notebook(self) -> str | None:
        """Return the path of the kernel's notebook."""
        ...

    def adopt(self, session: KernelSession) -> None:
        """Make a session the notebook's current one, and notify the pages."""
        ...

    def forget(self, session_id: str) -> None:
        """Drop a session that was deleted."""
        ...

    def publish(self, notice: OutcomeNotice | ImportProgressNotice) -> None:
        """Send a notice to the pages."""
        ...

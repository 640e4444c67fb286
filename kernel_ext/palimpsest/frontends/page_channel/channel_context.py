"""What ``channel`` does for the commands of a page that stand in files of their own.

Border: the interface alone; ``channel`` implements it, and nothing here knows a command.
"""

from typing import Protocol

from palimpsest.frontends.protocol.outcome import OutcomeNotice
from palimpsest.session.interfaces.kernel_session import KernelSession


class ChannelContext(Protocol):
    """What a group of commands is given of the channel that takes them in.

    Contract: called on the engine's loop; nothing here waits for a page.
    """

    async def session(self, identifier: str | None) -> KernelSession:
        """Return a session by id, or the notebook's."""
        ...

    def notebook(self) -> str | None:
        """Name the kernel's notebook."""
        ...

    def adopt(self, session: KernelSession) -> None:
        """Note the session that the notebook goes on with, and tell the pages."""
        ...

    def forget(self, session_id: str) -> None:
        """Go on without a session that is gone."""
        ...

    def publish(self, notice: OutcomeNotice) -> None:
        """Tell the pages."""
        ...

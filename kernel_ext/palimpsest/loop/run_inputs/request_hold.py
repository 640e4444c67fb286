"""The protocol through which the loop holds a request before it is sent; the session layer implements it.

Border: a protocol. ``loop/context_management/request_proposals.py`` makes the proposals that are shown meanwhile.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from palimpsest.tools.tool import Abort
from palimpsest.transcript.context_values.proposed_request import ProposedRequest

Propose = Callable[[], Awaitable[ProposedRequest]]


class RequestHold(Protocol):
    """Holds the requests of one session.

    Contract: while ``on`` is true every request waits in ``hold`` before anything of it is journaled as decided
    or sent. ``hold`` raises Aborted when the turn is stopped; it writes nothing.
    """

    @property
    def on(self) -> bool:
        """Whether requests are held."""
        ...

    async def hold(self, propose: Propose, abort: Abort) -> None:
        """Return when a person lets the request go; ``propose`` is called again after each change.

        Raises Aborted, and whatever ``propose`` raises.
        """
        ...

    async def beside(self) -> None:
        """Return when a request outside of the turns may be sent: with the next request that is let go."""
        ...

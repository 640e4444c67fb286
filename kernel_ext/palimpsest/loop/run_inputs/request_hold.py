"""The protocol through which the loop holds a request before it is sent; the session layer implements it.

Border: a protocol. ``loop/context_management/request_proposals.py`` makes the proposals that are shown meanwhile.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from palimpsest.tools.tool import Abort
from palimpsest.transcript.context_values.proposed_request import ProposedRequest

Propose = Callable[[], Awaitable[ProposedRequest]]

Release = Literal["send", "another-summary", "older-summary"]
"""``another-summary``: the new summary that the request would be the first to use is put aside, and another is
requested; ``older-summary``: the one that was put aside is used, and nothing else is requested in its place."""


@dataclass(slots=True)
class PostponedPruning:
    """What a policy prunes when a turn has ended, while requests are held: it waits for the next released one."""

    until: str = ""
    """The id of the newest message of that turn; empty where nothing waits."""
    keep: Callable[[str], None] = lambda _until: None
    """Keeps it beyond the kernel, outside the log."""

    def put(self, until: str) -> None:
        """Postpone the pruning of the turn that ends with a message; empty where nothing waits any more."""
        self.until = until
        self.keep(until)


class RequestHold(Protocol):
    """Holds the requests of one session.

    Contract: while ``on`` is true every request waits in ``hold`` before anything of it is journaled as decided
    or sent. ``hold`` raises Aborted when the turn is stopped; it writes nothing.
    """

    @property
    def on(self) -> bool:
        """Whether requests are held."""

    async def hold(self, propose: Propose, abort: Abort) -> Release:
        """Return what a person decides about the request; ``propose`` is called again after each change.

        Raises Aborted, and whatever ``propose`` raises.
        """

    async def beside(self) -> None:
        """Return when a request outside of the turns may be sent: with the next request that is let go."""

"""The protocol through which the loop holds a request before it is sent; the session layer implements it.

Border: a protocol. ``loop/context_management/request_proposals.py`` makes the proposals that the user sees meanwhile.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from palimpsest.tools.tool import Abort
from palimpsest.transcript.context_values.proposed_request import ProposedRequest

Propose = Callable[[], Awaitable[ProposedRequest]]

Release = Literal["send", "another-summary", "older-summary"]
"""``another-summary``: the new, still unused summary is set aside, and another is requested; ``older-summary``: the
summary that was set aside is used, and no other is requested."""


@dataclass(slots=True)
class PostponedPruning:
    """The pruning at a turn's end that waits, in step mode, for the next released request."""

    last_message_id: str = ""
    """Id of the newest message of the turn whose pruning waits; empty where none waits."""
    store: Callable[[str], None] = lambda _last_message_id: None
    """Saves ``last_message_id`` outside the log, so that the pruning still waits after the kernel has restarted."""

    def postpone(self, last_message_id: str) -> None:
        """Postpone the pruning of the turn that ends with a message; an empty id ends the wait."""
        self.last_message_id = last_message_id
        self.store(last_message_id)


class RequestHold(Protocol):
    """Holds the requests of one session.

    Contract: while ``is_on`` is true every request waits in ``await_release`` before any of its decisions, or the request itself, is
    journaled. ``await_release`` raises Aborted when the turn is stopped; it writes nothing.
    """

    @property
    def is_on(self) -> bool:
        """Whether requests are held."""

    async def await_release(self, propose: Propose, abort: Abort) -> Release:
        """Return the user's decision about the request; ``propose`` is called again after each change.

        Raises Aborted, and every error of ``propose``.
        """

    async def wait_for_next_release(self) -> None:
        """Wait until the next held request is released; a request outside of the turns may be sent then."""

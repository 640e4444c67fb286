"""What the loop needs of hooks; they are called above.

Border: a protocol. What becomes of the answers is in ``consult``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from palimpsest.transcript.session_record.hook_values import (
    Compacting,
    CompactingEvent,
    DecideEvent,
    HookDecision,
)


class Hooks(Protocol):
    """Calls the hooks of a session.

    Contract: returns what they answered, in their order; never raises. What fails, is slow or
    answers nonsense is skipped, and ``told`` then returns a sentence about it, once in a turn.
    """

    def any(self, name: str) -> bool:
        """Tell whether there is a hook of this name at all."""
        ...

    async def decide(self, event: DecideEvent) -> Sequence[HookDecision]:
        """Ask what to leave out or keep."""
        ...

    async def compacting(self, event: CompactingEvent) -> Compacting | None:
        """Ask what a summary is to keep."""
        ...

    async def request(
        self, model: str, messages: Sequence[Mapping[str, Any]]
    ) -> tuple[str, tuple[dict[str, Any], ...]] | None:
        """Ask for the messages of a request; returns the rule of who answered last, and all of them."""
        ...

    def skipped(self, rule: str, why: str) -> None:
        """Note that the answer of a hook could not be used."""
        ...

    def told(self) -> tuple[tuple[str, str], ...]:
        """Take what a person is to be told: what it is about, and a sentence."""
        ...


class NoHooks:
    """A session without hooks."""

    def any(self, name: str) -> bool:  # noqa: ARG002  the protocol's
        """Tell that there is none."""
        return False

    async def decide(self, event: DecideEvent) -> Sequence[HookDecision]:  # noqa: ARG002
        """Leave out nothing."""
        return ()

    async def compacting(self, event: CompactingEvent) -> Compacting | None:  # noqa: ARG002
        """Add nothing."""
        return None

    async def request(
        self,
        model: str,  # noqa: ARG002
        messages: Sequence[Mapping[str, Any]],  # noqa: ARG002
    ) -> tuple[str, tuple[dict[str, Any], ...]] | None:
        """Leave the request as it is."""
        return None

    def skipped(self, rule: str, why: str) -> None:
        """Note nothing."""

    def told(self) -> tuple[tuple[str, str], ...]:
        """Tell nothing."""
        return ()

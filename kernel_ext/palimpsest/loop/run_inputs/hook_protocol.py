"""The protocol through which the loop calls hooks; the session layer implements it.

Border: a protocol. ``loop/model_requests/hook_decisions.py`` handles the answers.
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

    Contract: returns the hooks' answers in their order; never raises. A hook that fails, is slow or gives an
    invalid answer is skipped, and ``take_notices`` then returns a sentence about it, once in a turn.
    """

    def has_hook(self, name: str) -> bool:
        """Return whether there is a hook of this name at all."""

    async def decide(self, event: DecideEvent) -> Sequence[HookDecision]:
        """Return the decisions of hooks about what to leave out or keep."""

    async def compacting(self, event: CompactingEvent) -> Compacting | None:
        """Return the hooks' additions to the request for a summary."""

    async def request(
        self, model: str, messages: Sequence[Mapping[str, Any]]
    ) -> tuple[str, tuple[dict[str, Any], ...]] | None:
        """Return the rule of the last hook that changed a request's messages, and the messages; else None."""

    def note_skipped(self, rule: str, reason: str) -> None:
        """Note that the answer of a hook could not be used."""

    def take_notices(self) -> tuple[tuple[str, str], ...]:
        """Return and clear the pending notices for the user: a topic and a sentence each."""

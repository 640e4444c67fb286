"""The protocol through which the loop asks a person's own policy before a request; ``review`` implements it.

Border: a protocol and the values it takes. ``loop/model_requests/own_policy.py`` journals the answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import CompactPolicy, OwnPolicy
from palimpsest.transcript.values import ModelInfo


@dataclass(frozen=True, slots=True)
class PolicyMoment:
    """The session just before a request, as a person's own policy is asked about it."""

    session_id: str
    view: View
    compact: CompactPolicy
    """By which the messages after the newest summary are found."""
    model: ModelInfo
    reserve: int
    now: int
    """Milliseconds since 1970."""
    system: tuple[str, ...]
    tools: str
    """The tool specs as JSON."""
    tools_tokens: int
    count: Callable[[str], int]
    """Counts a text as the session's own policy does; for the numbers of the decisions."""
    new_id: Callable[[], str]


@dataclass(frozen=True, slots=True)
class PolicyProposal:
    """What a person's own policy would decide now, or why it cannot."""

    decisions: tuple[Decision, ...] = ()
    problem: str = ""
    """One sentence where it breaks a law, fails, takes too long or is switched off; nothing is decided then."""


class PolicyStage(Protocol):
    """A person's own policy in a live session.

    Contract: never raises. Where the policy breaks a law, fails or takes too long it is switched off for the
    turn, nothing is decided, and ``told`` returns one sentence about it.
    """

    @property
    def record(self) -> OwnPolicy:
        """What is recorded of it."""

    def turn_began(self) -> None:
        """Begin a turn: a policy that was switched off is asked again."""

    async def decide(self, moment: PolicyMoment) -> Sequence[Decision]:
        """Return what is shown otherwise from this request on."""

    async def propose(self, moment: PolicyMoment) -> PolicyProposal:
        """Return what ``decide`` would return now; changes nothing, and switches nothing off."""

    def told(self) -> tuple[str, ...]:
        """Return and clear the sentences for the user."""


PolicyStageFactory = Callable[[object], PolicyStage | None]
"""Makes a stage of a policy, or of the words that name one; None where it is none, ConfigError where it cannot
be used in a live session."""


def no_policy_stage(policy: object) -> PolicyStage | None:  # noqa: ARG001  the signature of the factory
    """Return that nothing is known as a policy."""
    return None

"""The protocol through which the loop runs the user's own policy before a request; ``live_policies`` implements it.

Border: a protocol and its values. ``loop/model_requests/own_policy.py`` journals the decisions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import CompactPolicy, OwnPolicy
from palimpsest.transcript.values import ModelInfo


@dataclass(frozen=True, slots=True)
class PolicyMoment:
    """The session just before a request: the input of the user's own policy."""

    session_id: str
    view: View
    compact: CompactPolicy
    """The policy by which the messages after the newest summary are found."""
    model: ModelInfo
    reserved_tokens: int
    now_milliseconds: int
    """Milliseconds since 1970."""
    system: tuple[str, ...]
    tools: str
    """The tool specs as JSON."""
    opening_tokens: Mapping[str, int]
    """Tokens of system prompt and tools by kind, counted as a request's record counts them."""
    count: Callable[[str], int]
    """Counts a text's tokens like the session's context policy, for the numbers of the decisions."""
    new_id: Callable[[], str]


@dataclass(frozen=True, slots=True)
class PolicyProposal:
    """The decisions that the user's own policy would make now, or the reason why it cannot."""

    decisions: tuple[Decision, ...] = ()
    problem: str = ""
    """Why the policy decides nothing: it breaks a law, fails, takes too long or is switched off; else empty."""


class PolicyStage(Protocol):
    """The user's own policy in a live session.

    Contract: never raises. Where the policy breaks a law, fails or takes too long it is switched off for the
    turn, nothing is decided, and ``take_notices`` returns one sentence about it.
    """

    @property
    def record(self) -> OwnPolicy:
        """The record of the policy on the session."""

    def begin_turn(self) -> None:
        """Begin a turn, and switch the policy on again."""

    async def decide(self, moment: PolicyMoment) -> Sequence[Decision]:
        """Return the decisions that hold from this request on."""

    async def propose(self, moment: PolicyMoment) -> PolicyProposal:
        """Return the result of ``decide`` without changing any state."""

    def take_notices(self) -> tuple[str, ...]:
        """Return and clear the sentences for the user."""


PolicyStageFactory = Callable[[object], PolicyStage | None]
"""Makes the stage of a policy, given as an object or by name; None for anything else, ConfigError for a policy that
cannot be used in a live session."""


def no_policy_stage(policy: object) -> PolicyStage | None:  # noqa: ARG001  the signature of the factory
    """Return None, for sessions without own policies."""
    return None

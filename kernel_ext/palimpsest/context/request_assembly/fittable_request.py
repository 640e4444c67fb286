"""The next request as ``fit`` sees it, whatever it is made of."""

from typing import Literal, Protocol, Self

from palimpsest.context.budget.request_tokens import BudgetCheck
from palimpsest.context.reduction.request_outputs import RequestOutputs, RuleAnswer
from palimpsest.transcript.context_values.decisions import Decision, Facts
from palimpsest.transcript.context_values.policies import Policy

Cause = Literal["size", "full", "refused", "failed"]
"""Why the context must shrink: the estimate of the request, the tokens that an answer reported, a provider
that refused the request as too long, or a summary that failed and cannot be requested again."""


class FittableRequest(Protocol):
    """The next request as ``fit`` sees it: made of messages, or of the items of a timeline.

    Contract: sizes are those of the request as it would be sent now. ``reminded``, ``reduced`` and ``within_limits`` alone change it, and
    return it as it is then, with what is to be journalled: nothing where there is no journal.
    """

    @property
    def policy(self) -> Policy:
        """The policy that it is made under."""

    @property
    def facts(self) -> Facts:
        """As they are before anything is decided; ``used_tokens`` is that of the previous request."""

    @property
    def outputs(self) -> RequestOutputs:
        """What the rules see of it."""

    @property
    def total(self) -> int:
        """Its tokens, as the policy's estimator counts them."""

    def conservative(self) -> int:
        """Return its tokens on the safe side, as ``conservative_estimate.py`` counts them."""

    def has_history(self, cause: Cause) -> bool:
        """Return whether there is more to summarise than a prompt."""

    def reminded(self) -> tuple[tuple[Decision, ...], Self]:
        """Add the reminders of the policy."""

    def reduced(self, rule: str, answer: RuleAnswer) -> tuple[tuple[Decision, ...], Self]:
        """Apply what a rule answered."""

    def within_limits(self) -> tuple[tuple[Decision, ...], Self]:
        """Keep the provider's limits on what one request may hold."""

    def judged(self, route: BudgetCheck) -> None:
        """Take note of the numbers by which it was found to fit, or not to."""

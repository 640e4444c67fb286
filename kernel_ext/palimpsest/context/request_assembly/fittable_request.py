"""The interface of a request that ``fit_request`` shrinks to the budget, made of messages or of items."""

from typing import Literal, Protocol, Self

from palimpsest.context.budget.request_tokens import BudgetCheck
from palimpsest.context.reduction.request_outputs import RequestOutputs, RuleAnswer
from palimpsest.transcript.context_values.decisions import Decision, Facts
from palimpsest.transcript.context_values.policies import Policy

Cause = Literal["size", "full", "refused", "failed"]
"""Why the context must shrink: the estimate of the request, the tokens that an answer reported, a provider
that refused the request as too long, or a summary that failed and cannot be requested again."""


class FittableRequest(Protocol):
    """The next request, made of messages or of the items of a timeline.

    Contract: sizes are those of the request as it would be sent now. ``with_reminders``, ``with_reductions`` and
    ``with_limits`` return a changed request, and the decisions to journal: none where there is no journal.
    """

    @property
    def policy(self) -> Policy:
        """The context policy of the request."""

    @property
    def facts(self) -> Facts:
        """The facts before any decision; ``used_tokens`` are those of the previous request."""

    @property
    def outputs(self) -> RequestOutputs:
        """The outputs that the request shows, for pruning rules."""

    @property
    def total(self) -> int:
        """Tokens of the request, as the policy's estimator counts them."""

    def conservative_tokens(self) -> int:
        """Return a conservative estimate of the request's tokens, by ``conservative_estimate.py``."""

    def has_history(self, cause: Cause) -> bool:
        """Return whether there is more to summarise than a prompt."""

    def with_reminders(self) -> tuple[tuple[Decision, ...], Self]:
        """Add the reminders of the policy."""

    def with_reductions(self, rule: str, answer: RuleAnswer) -> tuple[tuple[Decision, ...], Self]:
        """Apply a rule's reductions."""

    def with_limits(self) -> tuple[tuple[Decision, ...], Self]:
        """Keep the provider's limits on one request."""

    def note_check(self, check: BudgetCheck) -> None:
        """Record the comparison with the budget."""

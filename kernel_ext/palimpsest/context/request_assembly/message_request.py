"""The next request as it is made of messages, so that ``fit`` can reduce it: live, and where a replay is exact.

Border: pure. What ``fit`` decides about it becomes decisions, which the caller journals.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from palimpsest.context.budget.conservative_estimate import conservative_tokens
from palimpsest.context.budget.request_tokens import BudgetCheck, Count
from palimpsest.context.engine_text.reminders import remind
from palimpsest.context.reduction.message_outputs import MessageOutputs
from palimpsest.context.reduction.request_outputs import RuleAnswer
from palimpsest.context.request_assembly.fit import Cause, has_history_to_summarise
from palimpsest.context.request_assembly.projection import Projection
from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Decision, Facts
from palimpsest.transcript.context_values.policies import Policy


@dataclass(frozen=True)
class MessageRequest:
    """A request that is made of messages, by values and pure functions alone; see ``FittableRequest``."""

    view: View
    policy: Policy
    facts: Facts
    """As they are before anything is decided; ``used_tokens`` is that of the previous request."""
    count: Count
    project: Callable[[View], Projection]
    """Make the request of a view, with this model, system prompt and tools."""
    new_id: Callable[[], str]
    """The id of the next decision."""

    @cached_property
    def outputs(self) -> MessageOutputs:
        """What the rules see of it."""
        return MessageOutputs(self.view, self.policy, self.count)

    @cached_property
    def projection(self) -> Projection:
        """The request as it would be sent now."""
        return self.project(self.view)

    @property
    def total(self) -> int:
        """Its tokens."""
        return self.projection.total

    def conservative(self) -> int:
        """Return its tokens on the safe side."""
        return conservative_tokens(self.projection.messages, self.policy.overflow)

    def has_history(self, cause: Cause) -> bool:
        """Return whether there is more to summarise than a prompt."""
        return has_history_to_summarise(self.view.messages, cause)

    def reminded(self) -> tuple[tuple[Decision, ...], Self]:
        """Add the reminders of the policy."""
        return self._decided(remind(self.view, self.policy.reminders, self.new_id, self.count))

    def reduced(self, rule: str, answer: RuleAnswer) -> tuple[tuple[Decision, ...], Self]:
        """Make decisions of what a rule answered."""
        return self._decided(self.outputs.decisions(rule, answer.reductions, self.new_id))

    def judged(self, route: BudgetCheck) -> None:
        """Note nothing: what was compared is journalled with the request."""

    def _decided(self, made: Sequence[Decision]) -> tuple[tuple[Decision, ...], Self]:
        after = replace(self, view=self.view.decided(*made)) if made else self
        return tuple(made), after

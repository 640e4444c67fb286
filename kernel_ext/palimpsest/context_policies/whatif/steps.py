"""Values for the steps of a session, recorded or simulated, so that both can be compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.model.interface import ModelRequest
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import Policy


@dataclass(frozen=True, slots=True)
class Compaction:
    """A summary that replaced, or would have replaced, older messages."""

    marker_id: str
    covered_count: int
    """Messages that the summary covers."""
    tokens_before: int
    """Tokens of the messages, without system prompt and tools."""
    tokens_after: int
    requested_tokens: int
    """Input tokens of the requests for the summary; for a placeholder, those of one request with the whole history."""
    stand_in: bool
    """Whether no model wrote this summary: it is a placeholder of the stated size."""
    succeeded: bool = True
    """Whether the compaction succeeded; a failed compaction replaces nothing."""
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One model request of a step."""

    number: int
    """Number of the step, from 1."""
    seq: int
    """Sequence number of the request's record; 0 where it is estimated."""
    request_id: str
    """Id of the recorded request, or of its answer where it is estimated."""
    model: str
    tokens: int
    """Tokens by the recording's estimator, so that both sides are comparable."""
    estimate: int
    """Tokens by the policy's own estimator, corrected by reported usage; ``fits`` compares these."""
    budget: int
    """The limit of ``estimate``."""
    fits: bool
    cached: int
    """Tokens of the prefix shared with the request of the step before."""
    sha256: str
    """Digest of the request; where it is estimated, a value that is equal for requests that show the same."""
    tokens_by_kind: Mapping[str, int] = field(default_factory=dict)
    """``tokens`` by kind: system, tools, summary, user, assistant, reasoning, output."""
    decisions: tuple[Decision, ...] = ()
    """Decisions since the step before."""
    compactions: tuple[Compaction, ...] = ()
    """Compactions since the step before."""
    refused: str = ""
    """Why the request would not have been sent: the window is too small for the policy; empty where it would."""
    request: ModelRequest | None = None
    """The request that would have been sent; ``recordings/reconstruction/requests.py`` rebuilds recorded ones."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A session's steps under one policy."""

    session_id: str
    policy: Policy | ContextPolicy | str | None
    """The policy; None where each step has its recorded one, ``raw`` where every item is whole."""
    counterfactual: bool
    """Whether no model answered these requests, so that the answers are unknown."""
    steps: tuple[Step, ...]
    decisions_after: tuple[Decision, ...] = ()
    """Decisions made after the last step."""
    compactions_after: tuple[Compaction, ...] = ()
    """Compactions after the last step."""

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Every decision, in order."""
        all_decisions = [decision for step in self.steps for decision in step.decisions]
        return (*all_decisions, *self.decisions_after)

    @property
    def compactions(self) -> tuple[Compaction, ...]:
        """Every compaction, in order."""
        step_compactions = [compaction for step in self.steps for compaction in step.compactions]
        return (*step_compactions, *self.compactions_after)

    @property
    def tokens(self) -> int:
        """Input tokens of all steps together."""
        return sum(step.tokens for step in self.steps)

    @property
    def requested(self) -> int:
        """Input tokens of the requests for summaries, which are paid for too."""
        return sum(compaction.requested_tokens for compaction in self.compactions)

    @property
    def cached(self) -> int:
        """Input tokens that a provider's cache may hold already."""
        return sum(step.cached for step in self.steps)

    @property
    def peak(self) -> int:
        """Tokens of the largest request."""
        return max((step.tokens for step in self.steps), default=0)

    @property
    def overflows(self) -> int:
        """Number of requests that would not have fitted."""
        return sum(not step.fits or bool(step.refused) for step in self.steps)

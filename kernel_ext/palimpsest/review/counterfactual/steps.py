"""A session's requests as they were, or would have been: one value for each step, to be compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from palimpsest.model.interface import ModelRequest
from palimpsest.review.policies.policy import ContextPolicy
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import Policy


@dataclass(frozen=True, slots=True)
class Compaction:
    """A summary that replaced, or would have replaced, older messages."""

    marker_id: str
    covered: int
    """Messages that the summary covers."""
    tokens_before: int
    """Of the messages, without system prompt and tools."""
    tokens_after: int
    requested: int
    """Input tokens of the requests for it; for a stand-in, those of one request with the whole history."""
    stand_in: bool
    """No model wrote this summary: it is a text of the stated size."""
    good: bool = True
    """A failed one cuts nothing."""
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One model request of a step."""

    number: int
    """1 for the first of the session."""
    seq: int
    """Sequence number of the record of the recorded request; 0 where it is estimated."""
    request_id: str
    """Id of the recorded request, or of its answer where it is estimated."""
    model: str
    tokens: int
    """Estimated with the counter that the session recorded, so that both sides compare."""
    estimate: int
    """Tokens by the policy's own estimator, corrected by reported usage; ``fits`` compares these."""
    budget: int
    fits: bool
    cached: int
    """Tokens of the prefix shared with the request of the step before."""
    sha256: str
    """Digest of the request, or what stands for it where it is estimated: equal where it shows the same."""
    kinds: Mapping[str, int] = field(default_factory=dict)
    """``tokens`` by kind: system, tools, summary, user, assistant, reasoning, output."""
    decisions: tuple[Decision, ...] = ()
    """Decisions since the step before."""
    compactions: tuple[Compaction, ...] = ()
    """Compactions since the step before."""
    refused: str = ""
    """Why nothing would have been sent: the window is too small for the policy."""
    request: ModelRequest | None = None
    """The request that would have been sent; ``review/reconstruction/requests.py`` rebuilds recorded ones."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A session's steps under one policy."""

    session_id: str
    policy: Policy | ContextPolicy | str | None
    """None where each step has the policy that it was recorded under; ``raw`` where every item is whole."""
    counterfactual: bool
    """No model answered these requests: the answers it would have given are unknown."""
    steps: tuple[Step, ...]
    after: tuple[Decision, ...] = ()
    """Decisions made after the last step."""
    compactions_after: tuple[Compaction, ...] = ()
    """Compactions after the last step."""

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Every decision, in order."""
        made = [decision for step in self.steps for decision in step.decisions]
        return (*made, *self.after)

    @property
    def compactions(self) -> tuple[Compaction, ...]:
        """Every compaction, in order."""
        done = [compaction for step in self.steps for compaction in step.compactions]
        return (*done, *self.compactions_after)

    @property
    def tokens(self) -> int:
        """Input tokens of all steps together."""
        return sum(step.tokens for step in self.steps)

    @property
    def requested(self) -> int:
        """Input tokens of the requests for summaries, which are paid for too."""
        return sum(one.requested for one in self.compactions)

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

"""What a session's requests were, or would have been: one value per step, ready to be compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from palimpsest.model.interface import ModelRequest
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import Policy


@dataclass(frozen=True, slots=True)
class Compaction:
    """A summary that took, or would have taken, the place of older messages."""

    marker_id: str
    covered: int
    """Messages that the summary stands for."""
    tokens_before: int
    """Of the messages, without system prompt and tools."""
    tokens_after: int
    requested: int
    """Input tokens of the requests for it; of a stand-in, those of one request that tells everything."""
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
    """Record of the recorded request."""
    request_id: str
    model: str
    tokens: int
    """Estimated with the counter that the session recorded, so that both sides compare."""
    estimate: int
    """As the policy itself estimates, corrected by what providers reported: what ``fits`` is about."""
    budget: int
    fits: bool
    cached: int
    """Tokens in common with the request of the step before, from the beginning on."""
    sha256: str
    kinds: Mapping[str, int] = field(default_factory=dict)
    """``tokens`` by kind: system, tools, summary, user, assistant, reasoning, output."""
    decisions: tuple[Decision, ...] = ()
    """Made since the step before."""
    compactions: tuple[Compaction, ...] = ()
    """Since the step before."""
    refused: str = ""
    """Why nothing would have been sent: the window is too small for the policy."""
    request: ModelRequest | None = None
    """What would have been sent; a recorded request is rebuilt by ``review/reconstruction/requests.py``."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A session's steps under one policy."""

    session_id: str
    policy: Policy | None
    """None where each step has the policy that it was recorded under."""
    counterfactual: bool
    """No model answered these requests: what it would have said is not known."""
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
        """The input of all steps together."""
        return sum(step.tokens for step in self.steps)

    @property
    def requested(self) -> int:
        """Input tokens of the requests for summaries, which are paid for too."""
        return sum(one.requested for one in self.compactions)

    @property
    def cached(self) -> int:
        """What of it a provider's cache may hold already."""
        return sum(step.cached for step in self.steps)

    @property
    def peak(self) -> int:
        """The largest request."""
        return max((step.tokens for step in self.steps), default=0)

    @property
    def overflows(self) -> int:
        """Requests that would not have fitted."""
        return sum(not step.fits or bool(step.refused) for step in self.steps)

"""A model request that is held until the user releases it, as a value for pages and cells.

Border: no log has a proposal. When the request is released, everything is decided again, so a proposal shows
only what would have been sent at the moment when it was made.
"""

from palimpsest.transcript.context_values.decisions import Decision, Purpose
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.values import Value


class ProposedNumber(Value):
    """A number of the context policy that a person may change while the request is held."""

    name: str
    """As ``%agent policy`` takes it, such as ``prune.protect_tokens``."""
    value: float
    meaning: str = ""


class CacheForecast(Value):
    """What the provider's prompt cache would hold of a proposed request."""

    tokens: int = 0
    """Tokens that equal the beginning of the request before, and were read or written by it."""
    cools_at: int | None = None
    """Until when the provider keeps it at least, in milliseconds since 1970; None where that is not known."""
    cold_at: int | None = None
    """When it is cold for certain; later than ``cools_at`` where the provider promises no exact time."""


class ProposedRequest(Value):
    """A request as it would be sent now, why it looks so, and what it would cost."""

    id: str
    """Names the held request; it stays the same while its proposals change."""
    session_id: str
    version: int = 1
    """Counts the proposals for this request, from 1."""
    number: int
    """The place of the request in its session, from 1."""
    purpose: Purpose = "step"
    agent: str
    subagent: bool = False
    """It belongs to a task that another agent handed on."""
    model: str
    policy: str
    now: int
    """When it was proposed, in milliseconds since 1970."""
    sha256: str = ""
    """Of its messages, as the log has it of a request that was sent."""
    tokens: int
    """Estimated, with the ratio of reported to estimated tokens of the request before."""
    tokens_before: int | None = None
    """The same of the request before; None for the first of a model."""
    window: int
    """0 where the model has no limit."""
    budget: int
    """Tokens that fit."""
    fits: bool
    summary_first: bool = False
    """When it is let go, a summary is requested first, whose own request is held too."""
    new_summary: Decision | None = None
    """The report on a summary that no request has used yet, and this one would; restoring its message keeps the
    older context."""
    older_summary: Decision | None = None
    """The report on the summary that the person put aside, for it or for the one that this requests, and can take
    back."""
    last: bool = False
    """It is the last step of its turn, so no tool is offered."""
    hooked: bool = False
    """A hook may change the messages when they are sent."""
    beside: bool = False
    """The title or turn summary that waits for it is requested with it."""
    kinds: dict[str, int] = {}
    items: tuple[RequestItem, ...] = ()
    """The newest ones, where there are many."""
    items_left_out: int = 0
    """Older items, which are not listed."""
    new_tokens: int = 0
    """Tokens of the items that are new."""
    decisions: tuple[Decision, ...] = ()
    """What would be decided before it is sent."""
    cache: CacheForecast = CacheForecast()
    cost: float | None = None
    """US dollars for the prompt with what the cache holds; None where the price is unknown."""
    cost_cold: float | None = None
    """The same when the cache is cold."""
    limit_usd: float | None = None
    """The session's spending limit in US dollars, which is checked when it is let go; None where there is none."""
    limit_tokens: int | None = None
    """The same in tokens."""
    policy_problem: str = ""
    """Why a policy of the person's own would decide nothing; one sentence."""
    again: bool = False
    """The provider refused the request before as too long, or no summary came of it, so results are cut first."""
    prunes_after: bool = False
    """Its policy prunes when the turn has ended; that waits for the next request that is let go."""
    numbers: tuple[ProposedNumber, ...] = ()

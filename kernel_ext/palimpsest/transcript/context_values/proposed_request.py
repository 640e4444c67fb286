"""A model request that is held until the user releases it, as a value for pages and cells.

Border: no log has a proposal. When the request is released, everything is decided again, so a proposal shows
only what would have been sent at the moment when it was made.
"""

from palimpsest.transcript.context_values.decisions import Decision, Purpose
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.values import Value


class ProposedNumber(Value):
    """A number of the context policy that the user may change while the request is held."""

    name: str
    """The dotted name that ``%agent policy`` accepts, such as ``prune.protect_tokens``."""
    value: float
    meaning: str = ""


class CacheForecast(Value):
    """The part of a proposed request that the provider's prompt cache would hold."""

    tokens: int = 0
    """Tokens that equal the beginning of the request before, and were read or written by it."""
    cools_at: int | None = None
    """The time until which the provider certainly keeps the cache, in milliseconds since 1970; None where unknown."""
    cold_at: int | None = None
    """The time at which the cache is certainly gone; later than ``cools_at`` where the provider states no exact time."""


class ProposedRequest(Value):
    """A request as it would be sent now, why it looks so, and what it would cost."""

    id: str
    """Id of the held request; it stays the same while the proposals for it change."""
    session_id: str
    version: int = 1
    """Number of this proposal for the request, from 1."""
    number: int
    """Number of the request in its session, from 1."""
    purpose: Purpose = "step"
    agent: str
    subagent: bool = False
    """Whether the request belongs to a task that another agent delegated."""
    model: str
    policy: str
    now: int
    """The time of the proposal, in milliseconds since 1970."""
    sha256: str = ""
    """Hash of the messages, as the log records it for a request that was sent."""
    tokens: int
    """Estimated tokens, multiplied by the ratio of reported to estimated tokens of the request before."""
    tokens_before: int | None = None
    """The same for the request before; None for the first request of a model."""
    window: int
    """0 where the model has no limit."""
    budget: int
    """Maximum tokens of the request."""
    fits: bool
    summary_first: bool = False
    """Whether a summary is requested first when the request is released; the request for it is held, too."""
    new_summary: Decision | None = None
    """The report on a summary that this request would be the first to use; restoring its message keeps the older
    context."""
    older_summary: Decision | None = None
    """The report on the summary that the user set aside, for ``new_summary`` or for the summary that this request is
    about; the user can restore it."""
    last: bool = False
    """Whether this is the last step of its turn, so that no tool is offered."""
    hooked: bool = False
    """Whether a hook may change the messages when they are sent."""
    beside: bool = False
    """Whether a title or turn summary waits for this request, and is requested together with it."""
    kinds: dict[str, int] = {}
    items: tuple[RequestItem, ...] = ()
    """The items of the request; only the newest where there are many."""
    items_left_out: int = 0
    """Number of older items, which are not listed."""
    new_tokens: int = 0
    """Tokens of the items that are new."""
    decisions: tuple[Decision, ...] = ()
    """Decisions that would be made before the request is sent."""
    cache: CacheForecast = CacheForecast()
    cost: float | None = None
    """US dollars for the prompt where the cache is still warm; None where the price is unknown."""
    cost_cold: float | None = None
    """US dollars for the prompt where the cache is cold."""
    limit_usd: float | None = None
    """The session's spending limit in US dollars, which is checked when the request is released; None for no limit."""
    limit_tokens: int | None = None
    """The session's limit in tokens; None for no limit."""
    policy_problem: str = ""
    """Why the user's own policy would decide nothing, in one sentence; empty where there is no problem."""
    again: bool = False
    """Whether results are cut first, since the provider refused the request before as too long, or a summary failed."""
    prunes_after: bool = False
    """Whether the policy prunes at the end of the turn; that pruning waits for the next released request."""
    numbers: tuple[ProposedNumber, ...] = ()

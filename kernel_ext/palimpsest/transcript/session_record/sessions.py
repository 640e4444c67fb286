"""A session's record: its title, model, mode and status, its spending limit, and its spending.

Border: values only; callers decide what happens when a limit is reached.
"""

import math
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

from palimpsest.transcript.context_values.policies import OwnPolicy, Policy, PolicyChoice
from palimpsest.transcript.messages import AssistantMessage, MessageInfo
from palimpsest.transcript.session_record.reverts import RevertState
from palimpsest.transcript.values import COUNTS, ModelRef, Rule, Usage, Value

Measure = Literal["usd", "tokens", "price"]
"""The kind of limit that is reached; ``price`` when dollars are limited and a price is not known."""


class Spent(Value):
    """The tokens and money that were spent on requests."""

    cost: float | None = None
    """US dollars of the requests whose price is known; None where there was no such request."""
    tokens: Usage = Usage()
    unpriced: int = 0
    """Requests whose price is unknown; ``cost`` leaves them out."""

    def plus(self, other: "Spent") -> "Spent":
        """Return the sum of both."""
        known_costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Spent.unchecked(
            cost=sum(known_costs) if known_costs else None,
            tokens=self.tokens.plus(other.tokens),
            unpriced=self.unpriced + other.unpriced,
        )

    @property
    def all_tokens(self) -> int:
        """All tokens that were read and written, cached or not."""
        return self.tokens.prompt + self.tokens.output + self.tokens.reasoning


def sane_spending(spending: Spent) -> Spent:
    """Return spending without impossible values: negative or not finite."""
    cost = spending.cost
    if cost is not None and not (math.isfinite(cost) and cost >= 0):
        cost = None
    return Spent(cost=cost, tokens=_sane_usage(spending.tokens), unpriced=max(spending.unpriced, 0))


def _sane_usage(usage: Usage) -> Usage:
    # Unlike ``Usage.with_possible_numbers``, without an upper bound: a sum may exceed any single request.
    corrections = {name: 0 for name in COUNTS if getattr(usage, name) < 0}
    return usage.model_copy(update=corrections) if corrections else usage


def recorded_spending(infos: Iterable[MessageInfo], spending_before: Spent | None = None) -> Spent:
    """Return the sum of the tokens and cost of answers, and of the spending ``spending_before`` them."""
    spending = spending_before or Spent()
    for info in infos:
        if isinstance(info, AssistantMessage):
            spending = spending.plus(sane_spending(Spent(cost=info.cost, tokens=info.tokens)))
    return spending


class Budget(Value):
    """The spending limit of a session, and how far the user extended it."""

    usd: float | None = None
    tokens: int | None = None
    usd_until: float | None = None
    """The limit in effect; more than ``usd`` when the user extended it."""
    tokens_until: int | None = None
    unpriced: tuple[str, ...] = ()
    """Models of unknown price that the user allowed nevertheless."""
    own: bool = False
    """Whether the limit was set for this session; else it is the configured one."""

    def reached_limit(self, spent: Spent) -> Measure | None:
        """Return the limit that is reached; None where none is."""
        usd = self.usd_until if self.usd_until is not None else self.usd
        if usd is not None and spent.cost is not None and spent.cost >= usd:
            return "usd"
        tokens = self.tokens_until if self.tokens_until is not None else self.tokens
        if tokens is not None and spent.all_tokens >= tokens:
            return "tokens"
        return None

    def with_raised_limit(self, measure: Measure, spent: Spent) -> "Budget":
        """Return the budget with its limit raised to the next multiple of the configured amount."""
        if measure == "usd" and self.usd is not None:
            steps = int((spent.cost or 0.0) / self.usd) + 1
            usd_until = max(self.usd * steps, self.usd_until or self.usd)
            return self.model_copy(update={"usd_until": round(usd_until, 6)})
        if measure == "tokens" and self.tokens is not None:
            steps = spent.all_tokens // self.tokens + 1
            tokens_until = max(self.tokens * steps, self.tokens_until or self.tokens)
            return self.model_copy(update={"tokens_until": tokens_until})
        return self


class SessionTime(Value):
    """Moments of a session, in milliseconds since 1970."""

    created: int
    updated: int
    compacting: int | None = None
    archived: int | None = None


class ForkedFrom(Value):
    """Where a fork begins: everything of the parent up to and including ``seq``."""

    session_id: str
    seq: int
    segment: str
    offset: int
    """Byte offset in the parent's segment just after the last shared record."""
    message_id: str | None = None


class Claims(Value):
    """Permissions and settings that a log claims and that were not granted here: kept, but never applied."""

    permission: tuple[Rule, ...] = ()
    mode: str | None = None
    budget: Budget | None = None
    model: ModelRef | None = None
    agent: str | None = None


class SessionInfo(Value):
    """One agent conversation belonging to one notebook."""

    id: str
    project_id: str
    directory: str
    """Working directory when the session was created."""
    notebook: str | None = None
    """The notebook's path relative to the kernel's start directory; None for a console."""
    parent_id: str | None = None
    """The session whose ``task`` call started this one."""
    forked_from: ForkedFrom | None = None
    title: str
    version: str
    time: SessionTime
    agent: str | None = None
    model: ModelRef | None = None
    policy: Policy | None = None
    """The context policy, in older sessions whose record has all of it."""
    policy_choice: PolicyChoice | None = None
    """The context policy that was chosen for this session; None means the configured policy."""
    own_policy: OwnPolicy | None = None
    """The user's own policy that acts before the context policy; a log never makes it run."""
    permission: tuple[Rule, ...] = ()
    """Rules of "always" replies, as the log claims them; the effective ones are kept outside the project."""
    limits: tuple[tuple[Rule, ...], ...] = ()
    """Rule sets of the sessions or callers that began this one: a denial in any of them applies here."""
    mode: str | None = None
    """The permission mode that was shown last: ask, plan, accept-edits or bypass."""
    mode_own: bool | None = None
    """Whether the mode was chosen for this session; else it is the configured mode."""
    cost: float | None = None
    tokens: Usage = Usage()
    unpriced: int | None = None
    """Requests whose price is unknown; ``cost`` leaves them out."""
    below: Spent | None = None
    """Spending of the sessions that this one began."""
    budget: Budget | None = None
    """The spending limit that was shown last."""
    claimed: Claims | None = None
    """Claims of this record that were not granted when it was opened."""
    share: dict[str, Any] | None = None
    revert: dict[str, Any] | None = None
    summary: dict[str, Any] | None = None
    """The session's changes as counts (``additions``, ``deletions``, ``files``), and its work as text in ``body``, up to
    the turn of ``message_id``."""
    metadata: dict[str, Any] | None = None
    warned_of: tuple[str, ...] = ()
    """Models whose small window the user was warned of in this session."""

    @property
    def is_child(self) -> bool:
        """Whether another session created this one, as a task call does."""
        return self.parent_id is not None

    @property
    def shared(self) -> bool:
        """Whether this session has a share page; a fork's record may name its parent's."""
        share = self.share or {}
        return bool(share.get("secret")) and share.get("session") == self.id

    @property
    def imported_from(self) -> str:
        """The agent that recorded this imported session, such as ``pi``; empty for our own sessions and forks."""
        note = self._import_note
        return str(note.get("from") or "") if note.get("session") == self.id else ""

    @property
    def read_only(self) -> bool:
        """Whether it is a recording of another agent, which cannot be continued; a fork of it can."""
        return bool(self.imported_from) and self._import_note.get("read_only") is True

    @property
    def _import_note(self) -> dict[str, Any]:
        note = (self.metadata or {}).get("imported")
        return note if isinstance(note, dict) else {}

    @property
    def about(self) -> str:
        """A model's text about the session so far; empty where none was written."""
        body = (self.summary or {}).get("body")
        return body if isinstance(body, str) else ""


class Idle(Value):
    """Nothing runs."""

    type: Literal["idle"] = "idle"


class Busy(Value):
    """A turn runs."""

    type: Literal["busy"] = "busy"
    loading: int | None = None
    """The time since which the turn waits for the import of the model's libraries, in milliseconds since 1970; else None."""


class Retrying(Value):
    """A model request failed; the next attempt begins at ``next``."""

    type: Literal["retry"] = "retry"
    attempt: int
    message: str
    next: int
    """Milliseconds since 1970."""


Status = Annotated[Idle | Busy | Retrying, Field(discriminator="type")]


def standing_revert(session: SessionInfo | None) -> RevertState | None:
    """Return the revert in effect, which can be undone or made final; None where there is none."""
    if session is None or session.revert is None:
        return None
    return RevertState.model_validate(session.revert)

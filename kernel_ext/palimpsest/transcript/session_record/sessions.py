"""A session's own record and its status."""

from typing import Annotated, Any, Literal

from pydantic import Field

from palimpsest.transcript.context_values.policies import Policy, PolicyChoice
from palimpsest.transcript.session_record.budgets import Budget, Spent
from palimpsest.transcript.values import ModelRef, Rule, Usage, Value


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
    """The context policy, in sessions that hold it whole."""
    policy_choice: PolicyChoice | None = None
    """The context policy that was chosen for this session; None takes the configured one."""
    permission: tuple[Rule, ...] = ()
    """Rules of "always" replies, as the log claims them; the effective ones are kept outside the project."""
    limits: tuple[tuple[Rule, ...], ...] = ()
    """Rule sets of the sessions or callers that began this one: what one of them denies is denied here."""
    mode: str | None = None
    """How freely the agent works: ask, plan, accept-edits or bypass, as it was shown last."""
    mode_own: bool | None = None
    """It was chosen for this session; else it is the configured one."""
    cost: float | None = None
    tokens: Usage = Usage()
    unpriced: int | None = None
    """Requests whose price is unknown; ``cost`` leaves them out."""
    below: Spent | None = None
    """What the sessions that this one began have spent."""
    budget: Budget | None = None
    """The spending limit that was shown last."""
    claimed: Claims | None = None
    """What was withheld of this record when it was opened."""
    share: dict[str, Any] | None = None
    revert: dict[str, Any] | None = None
    summary: dict[str, Any] | None = None
    """What it did: counts of its changes (``additions``, ``deletions``, ``files``), and ``body`` as text,
    which covers it up to the turn of ``message_id``."""
    metadata: dict[str, Any] | None = None
    warned_of: tuple[str, ...] = ()
    """Models whose small window the user was warned of in this session."""

    @property
    def shared(self) -> bool:
        """Whether a page was made of this session; a fork's record may name its parent's."""
        share = self.share or {}
        return bool(share.get("secret")) and share.get("session") == self.id

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


class Retrying(Value):
    """A model request failed; the next attempt begins at ``next``."""

    type: Literal["retry"] = "retry"
    attempt: int
    message: str
    next: int
    """Milliseconds since 1970."""


Status = Annotated[Idle | Busy | Retrying, Field(discriminator="type")]

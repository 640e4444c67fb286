"""The mode, the spending limit, step mode, what is always allowed, and whether the project is trusted."""

from typing import Literal

from pydantic import Field

from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.transcript.values import Value


class SetMode(CommandBase):
    """Choose how freely the agent works in this session, from the next call on."""

    type: Literal["mode"] = "mode"
    session: str | None = None
    mode: str = Field(max_length=40)
    """ask, plan, accept-edits or bypass; ``default`` takes the configured one."""


class SetBudget(CommandBase):
    """Limit what this session may spend in all; without ``usd`` and ``tokens`` the limit is removed."""

    type: Literal["budget"] = "budget"
    session: str | None = None
    usd: float | None = None
    tokens: int | None = None


class SetStepMode(CommandBase):
    """Hold each request of this session until a person lets it go, or do so no more."""

    type: Literal["step"] = "step"
    session: str | None = None
    on: bool


class ReleaseRequest(CommandBase):
    """Let a held request go; it is decided anew and sent."""

    type: Literal["release"] = "release"
    session: str | None = None
    hold: str = Field(max_length=100)
    """The id of the held request."""


class AskForAnotherSummary(CommandBase):
    """Put the new summary aside that a held request would be the first to use, and request another."""

    type: Literal["another-summary"] = "another-summary"
    session: str | None = None
    hold: str = Field(max_length=100)
    """The id of the held request."""


class UseOlderSummary(CommandBase):
    """Use the summary that was put aside, in place of a newer one or of the held request for one."""

    type: Literal["older-summary"] = "older-summary"
    session: str | None = None
    hold: str = Field(max_length=100)
    """The id of the held request."""


class ListApprovals(CommandBase):
    """List what is always allowed here, after revoking the given entries."""

    type: Literal["approvals"] = "approvals"
    session: str | None = None
    revoke: tuple[int, ...] | None = None
    """Numbers in the list as it was shown last; an empty list revokes all of it."""


class TrustProject(CommandBase):
    """Trust what this project's files say about permissions, or withdraw that trust."""

    type: Literal["trust"] = "trust"
    trusted: bool = True


class ApprovalRow(Value):
    """Something that is always allowed."""

    number: int
    """The number by which it is revoked."""
    permission: str
    pattern: str
    scope: Literal["session", "project"]
    where: str
    """Where and when it was allowed, as text."""


class RuleRow(Value):
    """A rule that holds for every agent; of those that match a call, the last one decides."""

    permission: str
    pattern: str
    action: Literal["allow", "ask", "deny"]
    origin: str

"""Rows for standing approvals and rules."""

from typing import Literal

from palimpsest.transcript.values import Value


class ApprovalRow(Value):
    """A standing approval."""

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

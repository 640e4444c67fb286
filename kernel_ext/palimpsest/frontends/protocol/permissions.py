"""The mode, the spending limit, step mode, what is always allowed, and whether the project is trusted."""

from typing import Literal

from palimpsest.transcript.values import Value


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

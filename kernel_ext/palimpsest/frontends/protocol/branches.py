"""The branches of a session side by side, for a page."""

from typing import Literal

from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.transcript.values import Usage, Value


class ListBranches(CommandBase):
    """Compare all branches of a session's tree since the first two part: what it was forked from, and all forks."""

    type: Literal["branches"] = "branches"
    session: str


class BranchColumn(Value):
    """What one branch did after the point where the branches part."""

    session: str
    title: str
    models: tuple[str, ...]
    policy: str
    """The policy that was chosen for the session; empty for the configured one."""
    requests: int
    usage: Usage
    cost: float | None = None
    """US dollars; None where a request has no known price."""
    units: float | None = None
    """About what it cost in units of an uncached input token, where ``cost`` is None."""
    decisions: int
    answer: str
    """The newest answer, or its beginning; empty where there is none."""
    sizes: tuple[int, ...]
    """Tokens of each request, in order."""
    estimates: int = 0
    """How many of these are estimates: no provider reported the tokens of their requests."""
    window: int
    """Tokens that the newest request's model takes; 0 where it has no limit."""
    parent: str | None = None
    """The branch that it was forked from; None for the first of all, and by an older kernel."""
    parent_title: str = ""
    forked_after: int = 0
    """Requests that it shares with that branch."""


class BranchTable(Value):
    """Branches side by side."""

    parted_at: int
    """Requests that all branches share."""
    branches: tuple[BranchColumn, ...]
    """Each after the one that it was forked from."""
    left_out: int = 0
    """Older branches, which are not shown."""

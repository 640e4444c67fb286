"""The branches of a session side by side, for a page."""

from typing import Literal

from palimpsest.frontends.protocol.connection import CommandBase


class ListBranches(CommandBase):
    """Compare all branches of a session's tree since the first two part: what it was forked from, and all forks."""

    type: Literal["branches"] = "branches"
    session: str

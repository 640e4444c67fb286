"""Values of a comparison of one session's branches, for a table, a program and a page."""

from dataclasses import dataclass

from palimpsest.transcript.values import Usage


@dataclass(frozen=True)
class Branch:
    """One branch after the point where the branches part."""

    session: str
    title: str
    models: tuple[str, ...]
    policy: str
    """The policy that was chosen for the session; empty for the configured one."""
    requests: int
    usage: Usage
    cost: float | None
    """US dollars; None where a request has no known price."""
    units: float | None
    """An estimate in units of an uncached input token, where ``cost`` is None; None where no tokens are reported."""
    decisions: int
    answer: str
    """The beginning of the newest answer on one line; empty where there is none."""
    text: str = ""
    """The newest answer with its lines, and more of it."""
    sizes: tuple[int, ...] = ()
    """Tokens of each request, in order: reported where the provider did, else estimated."""
    window: int = 0
    """Tokens that the newest request's model takes; 0 where it has no limit."""
    estimates: int = 0
    """How many of ``sizes`` are estimates: those of requests for which no provider reported its tokens."""
    parent: str = ""
    """The branch that it was forked from; empty for the first of all."""
    parent_title: str = ""
    forked_after: int = 0
    """Requests that it shares with that branch."""

    @property
    def largest(self) -> int:
        """Tokens of the largest request."""
        return max(self.sizes, default=0)

    @property
    def last(self) -> int:
        """Tokens of the newest request."""
        return self.sizes[-1] if self.sizes else 0


@dataclass(frozen=True)
class BranchFigure:
    """One figure of all branches, as text."""

    name: str
    values: tuple[str, ...]
    """The value of each branch; empty where it has none."""
    differ: bool
    """Whether the branches differ in it, for figures that are worth comparing."""


@dataclass(frozen=True)
class BranchTable:
    """Branches side by side."""

    parted_at: int
    """Requests that all branches share."""
    branches: tuple[Branch, ...]
    """Each after the one that it was forked from."""
    left_out: int = 0
    """Older branches, which are not shown."""
    figures: tuple[BranchFigure, ...] = ()

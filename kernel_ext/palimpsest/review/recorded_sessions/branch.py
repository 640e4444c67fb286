"""Values of a comparison of one session's branches, for a table, JSON and a page."""

from dataclasses import dataclass

from palimpsest.transcript.values import Usage


@dataclass(frozen=True)
class Branch:
    """One branch after the point where the branches part."""

    session: str
    title: str
    models: tuple[str, ...]
    policy: str
    """The policy that was chosen for the session; empty for the configured policy."""
    requests: int
    usage: Usage
    cost: float | None
    """US dollars; None where a request has no known price."""
    units: float | None
    """An estimate in units of an uncached input token, where ``cost`` is None; None where no tokens are reported."""
    decisions: int
    """Number of decisions about the context since the branches part."""
    answer: str
    """The beginning of the newest answer on one line; empty where there is none."""
    text: str = ""
    """A longer beginning of the newest answer, with its line breaks."""
    sizes: tuple[int, ...] = ()
    """Tokens of each request, in order: reported, or estimated where the provider reported none."""
    window: int = 0
    """Maximum tokens that the newest request's model accepts; 0 where it has no limit."""
    estimates: int = 0
    """Number of estimates among ``sizes``."""
    parent: str = ""
    """Id of the branch from which this one was forked; empty for the first branch."""
    parent_title: str = ""
    forked_after: int = 0
    """Number of requests that it shares with the parent branch."""

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
    branches_differ: bool
    """Whether the branches differ in this figure, for figures that are worth comparing."""


@dataclass(frozen=True)
class BranchTable:
    """Branches side by side."""

    parted_at: int
    """Number of requests that all branches share."""
    branches: tuple[Branch, ...]
    """The branches, each after its parent."""
    left_out: int = 0
    """Number of older branches, which are not shown."""
    figures: tuple[BranchFigure, ...] = ()

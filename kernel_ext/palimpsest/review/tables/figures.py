"""Values for the figures of a policy and the wastes of a session, for a table, a program and a page."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFigures:
    """One row of a comparison; tokens by the ruler, money by the price profile; None where a recording reports nothing."""

    name: str
    requests: int
    input: float
    """Sum of all requests' tokens."""
    peak: float
    over: int | None = None
    """Requests that would not fit the window: as reported where they are the recorded ones, else by the ruler."""
    cached: float
    """Share of the input that was read from the cache."""
    breaks: int
    """Requests whose beginning changed while the cache was warm."""
    break_tokens: float
    """Tokens that these breaks wrote again, beyond the new ones."""
    rewrite: float
    """Tokens written to the cache as a multiple of the peak: 1 where nothing is written twice."""
    cost: float
    """With the cache, without the calls for summaries."""
    summaries: float | None = None
    """Cost of the calls for summaries."""
    repair: float | None = None
    """Cost of fetching results again that were needed and no longer shown."""
    cost_uncached: float
    """Cost if no provider cached anything."""
    repeated: int | None = None
    retention: float | None = None
    fired: int | None = None
    first_fired: int | None = None
    """The first request at which it acted."""
    distance: float | None = None
    """The highest value of its signal as a share of the threshold; None where it has none."""
    verdict: str
    """How often the rule acted, or why it never did, with numbers."""
    facts_until: int | None = None
    cost_is_fact: bool = False
    """Whether the cost was recorded; else it is an estimate, also where the tokens were reported."""
    retention_by_kind: Mapping[str, float] = field(default_factory=dict)
    """Retention of each kind of names, as far as some were used."""

    @property
    def fits(self) -> bool:
        """Whether every request would fit its window, as far as that is known."""
        return not self.over

    @property
    def cost_with_repair(self) -> float:
        """Cost of requests, summaries, and fetching again."""
        return self.cost + (self.summaries or 0) + (self.repair or 0)


@dataclass(frozen=True, slots=True)
class Waste:
    """Something that was paid for without use."""

    cost: float
    """In the profile's money."""
    sentence: str
    link: str
    request: int
    is_fact: bool
    """Whether it is from reported usage; else it is an estimate."""
    cost_is_fact: bool
    """Whether its cost was recorded, or is at recorded prices; else it is an estimate, also for reported tokens."""
    item: int | None = None
    """The wasted item, from 0; None for a whole request."""


@dataclass(frozen=True, slots=True)
class WasteKind:
    """All wastes of one kind together, also those that are not among the largest."""

    words: str
    """Their number and kind."""
    cost: float
    cost_is_fact: bool
    """Whether the cost of all of them was recorded, or is at recorded prices."""

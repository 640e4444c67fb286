"""The figures of a policy and the wastes of a session, as a table, a program and a page have them."""

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
    """Tokens written to the cache as a multiple of the peak: 1 is never writing anything twice."""
    cost: float
    """With the cache, without the calls for summaries."""
    summaries: float | None = None
    """What the calls for summaries cost."""
    repair: float | None = None
    """What fetching again costs, of what was needed and gone."""
    cost_uncached: float
    """As if no provider cached anything."""
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
    """It was recorded; else it is an estimate, also where the tokens were reported."""
    retention_by_kind: Mapping[str, float] = field(default_factory=dict)
    """Retention of each kind of names, as far as some were used."""

    @property
    def fits(self) -> bool:
        """Every request would fit its window, as far as that is known."""
        return not self.over

    @property
    def cost_with_repair(self) -> float:
        """Everything: requests, summaries, and fetching again."""
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
    """From reported usage; else an estimate."""
    cost_is_fact: bool
    """What it cost was recorded, or is at recorded prices; else an estimate, also where the tokens were reported."""
    item: int | None = None
    """What it is about, from 0; None for a whole request."""


@dataclass(frozen=True, slots=True)
class WasteKind:
    """All wastes of one kind together, also those that are not among the largest."""

    words: str
    """What they are, with their number."""
    cost: float
    cost_is_fact: bool
    """The cost was recorded of all of them, or is at recorded prices."""

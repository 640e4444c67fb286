"""Values for the figures of a policy and the wastes of a session, for a table, JSON and a page."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFigures:
    """One row of a comparison; tokens by the ruler, money by the price profile; None where a recording reports nothing."""

    name: str
    requests: int
    input: float
    """Tokens of all requests together."""
    peak: float
    over: int | None = None
    """Number of requests that would not fit the window, by reported tokens where unchanged, else by the ruler."""
    cached: float
    """Share of the input that was read from the cache."""
    breaks: int
    """Number of requests whose beginning changed while the cache was warm."""
    break_tokens: float
    """Tokens that the breaks had written anew, without new tokens."""
    rewrite: float
    """Tokens written to the cache as a multiple of the peak: 1 where nothing is written twice."""
    cost: float
    """Cost with the cache, without the calls for summaries."""
    summaries: float | None = None
    """Cost of the calls for summaries."""
    refetching: float | None = None
    """Cost of fetching results again that were needed and no longer shown."""
    cost_uncached: float
    """Cost if no provider cached anything."""
    repeated: int | None = None
    retention: float | None = None
    fired: int | None = None
    first_fired: int | None = None
    """The first request at which the rule acted."""
    distance: float | None = None
    """The highest value of the rule's signal as a share of its threshold; None without a threshold."""
    verdict: str
    """How often the rule acted, or why it never did, with numbers."""
    facts_until: int | None = None
    cost_is_fact: bool = False
    """Whether the cost was recorded; else it is an estimate, even where the tokens were reported."""
    retention_by_kind: Mapping[str, float] = field(default_factory=dict)
    """Retention of each kind of used names."""

    @property
    def fits(self) -> bool:
        """Whether every request would fit its window, as far as that is known."""
        return not self.over

    @property
    def cost_with_refetching(self) -> float:
        """Cost of requests, summaries, and fetching again."""
        return self.cost + (self.summaries or 0) + (self.refetching or 0)


@dataclass(frozen=True, slots=True)
class Waste:
    """Tokens that were paid for without use."""

    cost: float
    """Cost in the profile's unit."""
    sentence: str
    link: str
    request: int
    """Index of the request, from 0."""
    is_fact: bool
    """Whether the waste is known from reported usage; else it is an estimate."""
    cost_is_fact: bool
    """Whether the cost was recorded, or follows recorded prices; else it is an estimate, even for reported tokens."""
    item: int | None = None
    """The wasted item, from 0; None for a whole request."""


@dataclass(frozen=True, slots=True)
class WasteKind:
    """All wastes of one kind together, including those that are not among the largest."""

    words: str
    """Number and kind of the wastes."""
    cost: float
    cost_is_fact: bool
    """Whether all costs were recorded, or follow recorded prices."""
    kind: str
    """``break``, ``again``, ``unused``, ``large``, ``idle``, ``aborted`` or ``subagent``."""
    count: int


_WASTE_KINDS: Mapping[str, tuple[str, str]] = {
    "break": ("break of the cache", "breaks of the cache"),
    "again": (
        "result that came again while the first was still shown",
        "results that came again while the first was still shown",
    ),
    "unused": (
        "result of which no later answer used a name",
        "results of which no later answer used a name",
    ),
    "large": ("large result without any name", "large results without any name"),
    "idle": (
        "large result that stayed after its last use",
        "large results that stayed after their last use",
    ),
    "aborted": ("aborted or refused request", "aborted or refused requests"),
    "subagent": (
        "subagent that brought nothing that was used",
        "subagents that brought nothing that was used",
    ),
}


def waste_text(kind: str, number: int) -> str:
    """Return a number of wastes with the name of their kind."""
    return f"{number:,} {_WASTE_KINDS[kind][0 if number == 1 else 1]}"

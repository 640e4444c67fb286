"""Values of a context window report: its items, and the reductions.

Border: ``review/context_report/report_builder.py`` fills them, ``review/context_report/context_report.py`` turns them
into text. Tokens are calibrated as in the live loop, and the items add up to the request, exactly.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from palimpsest.render.reports.context_window import FILL_KINDS
from palimpsest.transcript.context_values.request_items import RequestItem, ShownAs

Way = Literal[
    "truncate", "clear", "drop", "summarise", "limit", "exclude", "fail", "shrink", "omit", "tell"
]
"""How an item was reduced. ``shrink`` and ``omit`` concern the pictures of an output whose text is sent whole; ``tell``
replaces a call in a provider's own format by text."""
WAY_OF_STATE: Mapping[ShownAs, Way] = {
    "truncated": "truncate",
    "cleared": "clear",
    "masked": "clear",
    "offloaded": "clear",
    "summarised": "summarise",
    "out": "drop",
    "reverted": "exclude",
    "pictures smaller": "shrink",
    "pictures left out": "omit",
}
"""The reduction that leads to each state in which an item is shown."""


@dataclass(frozen=True, slots=True)
class DecisionTime:
    """The time of a decision: moment, turn and step."""

    time: int
    """Milliseconds since 1970."""
    turn: int
    step: int | None
    """The first step of the turn to which the decision applies; None when it was decided after the turn's last step."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """A message or part that the model no longer sees, or sees only in part."""

    way: Way
    name: str
    text: str
    rule: str
    reason: str
    """A sentence that explains the reduction with the rule's numbers."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    tokens_before: int | None = None
    """Estimated tokens at the time of the decision; None where they were not counted."""
    tokens_after: int | None = None
    decided_at: DecisionTime | None = None
    """Time of the decision; None for a reduction that the policy repeats at every request."""
    message_id: str | None = None
    part_id: str | None = None

    @property
    def saved(self) -> int:
        """Tokens that the reduction saves; 0 where they were not counted."""
        return (self.tokens_before or 0) - (self.tokens_after or 0)


@dataclass(frozen=True)
class WindowContents:
    """A context window: its items, the free tokens, and the reductions."""

    session_id: str
    request_id: str
    """Id of the recorded request; empty for the request that would be sent now."""
    model: str
    policy: str
    """The policy's name, and how many of its numbers were changed."""
    window: int
    """Tokens of the window; 0 where the model has no limit, so that no token is free, reserved or over."""
    window_assumed: bool
    """Whether the window is the default one, since the model is unknown."""
    reserve: int
    """Tokens kept free for the answer."""
    estimator: str
    calibration: float
    """Ratio of reported to estimated tokens."""
    reported_tokens: int | None
    """Tokens that the provider reported for the newest answered request; None without a report."""
    items: tuple[RequestItem, ...]
    """The items, in the order in which they are sent."""
    reductions: tuple[Reduction, ...] = ()
    hidden_cells: int = 0
    """Number of runs of cells that the user kept from the agent, by a tag or by ``%agent private``."""
    omitted_cells: int = 0
    """Number of runs of cells that were only named, since there were too few tokens."""
    hidden_variables: int = 0
    """Number of variables of the kernel that the setting ``hidden_variables`` kept from the newest list."""
    recorded_by: str = ""
    """The agent whose recording the request is from; empty for a Palimpsest session."""
    tools_left_out: tuple[str, ...] = ()
    """Sentences about tools that are not offered."""
    opaque_by: str = ""
    """The rule of the hook that wrote the whole request, so that the origin of the text is unknown; else empty."""

    @cached_property
    def tokens_by_kind(self) -> dict[str, int]:
        """Tokens by kind, in the order of every gauge."""
        by_kind = dict.fromkeys(FILL_KINDS, 0)
        for item in self.items:
            by_kind[item.kind] += round(item.tokens)
        return {kind: tokens for kind, tokens in by_kind.items() if tokens}

    @cached_property
    def used_tokens(self) -> int:
        """Tokens of the request: the sum of its items."""
        return round(sum(item.tokens for item in self.items))

    @property
    def budget(self) -> int:
        """Tokens that a request may take."""
        return max(self.window - self.reserve, 0)

    @property
    def free_tokens(self) -> int:
        """Tokens of the budget that are still free."""
        return max(self.budget - self.used_tokens, 0)

    @property
    def excess_tokens(self) -> int:
        """Tokens that do not fit the budget."""
        return max(self.used_tokens - self.budget, 0) if self.window else 0


def whole_tokens(items: Iterable[RequestItem], ratio: float = 1.0) -> tuple[RequestItem, ...]:
    """Return the items with their tokens times a ratio, rounded so that they add up to the rounded total."""
    rounded_sum, exact_sum, rounded_items = 0, 0.0, []
    for item in items:
        exact_sum += item.tokens
        rounded_total = round(exact_sum * ratio)
        rounded_items.append(item.model_copy(update={"tokens": rounded_total - rounded_sum}))
        rounded_sum = rounded_total
    return tuple(rounded_items)

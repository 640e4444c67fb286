"""Policies of the provider's cache: the requests are the recorded ones, and the cache keeps them otherwise.

``cache.lifetime seconds=3600`` keeps a prefix for another time, at the price of writes for that time; ``cache.all``,
``cache.system`` and ``cache.no_results`` choose how much of a prompt is kept.
"""

import math
import re
from dataclasses import dataclass
from typing import Literal

from palimpsest.review.policies.policy import PolicyView
from palimpsest.review.replay.cache_lifetime import HOUR
from palimpsest.review.replay.recorded_policy import RecordedPolicy
from palimpsest.review.replay.ruler import RequestRuler
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import Timeline

Part = Literal["recorded", "all", "system", "no_results"]
PREFIX = "cache."
_PARTS: dict[str, Part] = {
    "cache.lifetime": "recorded",
    "cache.all": "all",
    "cache.system": "system",
    "cache.no_results": "no_results",
}
CACHE_POLICIES = (
    "cache.lifetime seconds=300",
    "cache.lifetime seconds=3600",
    "cache.all",
    "cache.system",
    "cache.no_results",
)
"""The policies of the cache as they are offered."""
_SECONDS = re.compile(r"seconds=(\d+(?:\.\d+)?)")
_FIXED = frozenset({"system", "tools", "instructions"})
"""Kinds of items that stand in front of a conversation."""
_WORDS: dict[Part, str] = {
    "recorded": "The requests are the recorded ones",
    "all": "The requests are the recorded ones; all of each is kept in the cache",
    "system": "The requests are the recorded ones; only what stands before the conversation is kept in the cache",
    "no_results": "The requests are the recorded ones; what stands before the first tool result is kept in the cache,"
    " and no result is",
}


@dataclass(frozen=True, slots=True)
class CachePlan:
    """What a cache keeps, and for how long."""

    part: Part = "recorded"
    seconds: float | None = None
    """As recorded or concluded, where it is None."""

    @property
    def sentence(self) -> str:
        """What it does, and what that needs of the provider."""
        told = _WORDS[self.part]
        if self.seconds is not None:
            told += f"; the cache keeps a prefix for {self.seconds:,.0f} s after its last use"
            told += (
                ", written at the price of an hour"
                if self.is_hourly
                else ", written at the usual price"
            )
        return f"{told}."

    @property
    def is_hourly(self) -> bool | None:
        """Whether writes are at the price of an hour; None: as recorded."""
        return None if self.seconds is None else self.seconds >= HOUR

    def changed(self, ruler: RequestRuler) -> RequestRuler:
        """Return how a request is cached by this plan."""
        if self.seconds is not None:
            # Where prompts are written and were never read, pauses may be why.
            is_cached = ruler.is_cached or ruler.uncached is not None
            ruler = ruler._replace(lifetime_seconds=self.seconds, is_cached=is_cached)
        if self.part != "recorded":
            ruler = ruler._replace(is_cached=True, uncached=ruler.uncached or 0.0)
        return ruler

    def first_left_out(self, view: PolicyView) -> int | None:
        """Return the first shown item that is not kept; None where all are."""
        if self.part == "no_results":
            return next((one for one in view.outputs if view.shows(one)), None)
        if self.part == "system":
            items = view.timeline.items
            return next((one for one in view.shown_items if items[one].kind not in _FIXED), None)
        return None


class CachePolicy(RecordedPolicy):
    """The recording with another cache."""

    source = "the recording, with another cache; arXiv 2601.06007 compares what is kept"

    def __init__(self, timeline: Timeline, name: str) -> None:
        """Read a name such as ``cache.lifetime seconds=3600``; raises UserError."""
        super().__init__(timeline)
        first, _, rest = " ".join(name.split()).partition(" ")
        seconds = _SECONDS.fullmatch(rest)
        number = float(seconds[1]) if seconds is not None else None
        is_read = first in _PARTS and (not rest or number is not None)
        if not is_read or (first == "cache.lifetime" and number is None) or number == math.inf:
            raise UserError(
                f"There is no policy {name!r} of the cache; there are {', '.join(CACHE_POLICIES)}."
            )
        self.plan = CachePlan(_PARTS[first], number)
        self.name = first if number is None else f"{first} seconds={number:g}"


def is_cache_policy(name: str) -> bool:
    """Return whether a name is that of a policy of the cache."""
    return name.strip().startswith(PREFIX)

"""Policies of the provider's cache: the requests are the recorded ones, and the cache keeps them otherwise.

``cache.lifetime seconds=300`` keeps a prefix for another time, at the price of writes for that time; ``cache.all``,
``cache.system`` and ``cache.no_results`` choose how much of a prompt is kept. What that does to a request is computed by
``replay/kept_prompts.py``.
"""

from typing import ClassVar

from palimpsest.review.policies.policy import PolicyView
from palimpsest.review.policies.recorded_policy import RecordedPolicy
from palimpsest.review.policies.settings import Preset

SOURCE = "the provider's cache, as arXiv 2601.06007 compares what it keeps"
HOUR = 3_600
"""Seconds from which on writes are at the price of an hour."""
_FIXED = frozenset({"system", "tools", "instructions"})
"""Kinds of items that stand in front of a conversation."""


class CacheKeeping(Preset, RecordedPolicy):
    """The recorded requests, kept otherwise by the cache."""

    source = SOURCE
    sliders = ("seconds",)
    seconds: int = 0
    """How long, after its last use; 0: as recorded."""
    words: ClassVar[str] = "The requests are the recorded ones"
    """What is kept of a prompt, the beginning of a sentence."""
    keeps_as_recorded: ClassVar[bool] = False
    """As much of each prompt is kept as the recording shows."""
    start = RecordedPolicy.start
    step = RecordedPolicy.step

    @property
    def lifetime(self) -> float | None:
        """Seconds for which a prefix is kept after its last use; None: as recorded or concluded."""
        return float(self.seconds) or None

    @property
    def is_hourly(self) -> bool | None:
        """Whether writes are at the price of an hour; None: as recorded."""
        return None if self.lifetime is None else self.lifetime >= HOUR

    @property
    def sentence(self) -> str:
        """What it does, and what that needs of the provider."""
        told = self.words
        if self.lifetime is not None:
            told += f"; the cache keeps a prefix for {self.lifetime:,.0f} s after its last use"
            price = "at the price of an hour" if self.is_hourly else "at the usual price"
            told += f", written {price}"
        return f"{told}."

    def first_left_out(self, view: PolicyView) -> int | None:  # noqa: ARG002
        """Return the first shown item that is not kept; None where all are."""
        return None


class ChosenLifetime(CacheKeeping):
    """Keep each prefix in the provider's cache for another time, at the price of writes for that time."""

    preset = "cache.lifetime"
    keeps_as_recorded = True
    seconds: int = HOUR
    """How long, after its last use."""

    @property
    def name(self) -> str:
        """Its name with the seconds, also where they are its own."""
        told = super().name
        if self.seconds != HOUR:
            return told
        return told.replace(self.preset, f"{self.preset} seconds={HOUR}", 1)

    @property
    def lifetime(self) -> float:
        """The seconds, also where they are none."""
        return float(self.seconds)


class CacheAll(CacheKeeping):
    """Keep all of each prompt in the provider's cache."""

    preset = "cache.all"
    words = "The requests are the recorded ones; all of each is kept in the cache"


class CacheSystem(CacheKeeping):
    """Keep of each prompt only what stands before the conversation in the provider's cache."""

    preset = "cache.system"
    words = "The requests are the recorded ones; only what stands before the conversation is kept in the cache"

    def first_left_out(self, view: PolicyView) -> int | None:
        """Return the first item of the conversation."""
        items = view.timeline.items
        return next((one for one in view.shown_items if items[one].kind not in _FIXED), None)


class CacheNoResults(CacheKeeping):
    """Keep of each prompt what stands before the first tool result in the provider's cache, and no result."""

    preset = "cache.no_results"
    words = (
        "The requests are the recorded ones; what stands before the first tool result is kept in the cache,"
        " and no result is"
    )

    def first_left_out(self, view: PolicyView) -> int | None:
        """Return the first result."""
        return next((one for one in view.outputs if view.shows(one)), None)

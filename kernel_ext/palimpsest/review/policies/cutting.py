"""Policies that drop old messages, whole, and call no model.

Rules and numbers follow spec/review.md 2.1, read from the projects at the versions named in each ``source``.
"""

from dataclasses import dataclass
from typing import ClassVar

from palimpsest.review.policies.policy import Change, Decided, PolicyView, Probe, SessionFacts
from palimpsest.review.policies.settings import Preset
from palimpsest.transcript.timeline import TimelineItem


@dataclass(frozen=True, kw_only=True)
class StrandsSlidingWindow(Preset):
    """Strands' sliding window: only the newest ``messages`` stay, and none of them is a result without its call."""

    preset: ClassVar[str] = "strands.sliding_window"
    source: ClassVar[str] = (
        "Strands Agents SDK 1.x, sliding_window_conversation_manager.py: window_size"
    )
    sticky: ClassVar[bool] = False
    messages: int = 40

    def start(self, facts: SessionFacts) -> int:  # noqa: ARG002
        """Return the first item that is shown: the first of all."""
        return 0

    def step(self, state: int, view: PolicyView) -> Decided:
        """Drop what is older than the newest messages."""
        newest = view.item(view.count - 1).block
        first = state
        while first < view.count and view.item(first).block <= newest - self.messages:
            first += 1
        while first < view.count and view.item(first).kind == "output":
            first += 1
        probe = Probe("messages", newest, self.messages, "messages")
        if first <= state:
            return Decided(state, probe=probe)
        changes = [Change(one, "out") for one in range(state, first)]
        return Decided(first, changes, probe, fired=True)


@dataclass(frozen=True, kw_only=True)
class KeepEnds(Preset):
    """The first ``first`` messages and the newest ones stay; what lies between is dropped.

    Once ``most`` messages are reached, so many are dropped that ``left`` are left over.
    """

    preset: ClassVar[str] = "openhands.recent"
    source: ClassVar[str] = "OpenHands 611629e, condenser/impl/recent_events_condenser.py"
    sticky: ClassVar[bool] = False
    first: int = 1
    most: int = 100
    left: int = 100

    def start(self, facts: SessionFacts) -> tuple[int, int]:  # noqa: ARG002
        """Return the border of what is dropped, as an item and as a message: none."""
        return 0, 0

    def step(self, state: tuple[int, int], view: PolicyView) -> Decided:
        """Drop the middle where there are too many messages."""
        item, border = state
        last = view.item(view.count - 1)
        messages = _number(last) - border + (self.first if border else 0)
        probe = Probe("messages", messages, self.most, "messages")
        if messages <= self.most:
            return Decided(state, probe=probe)
        border = _number(last) - (self.left - self.first)
        until = item
        while until < view.count and _number(view.item(until)) <= border:
            until += 1
        while until < view.count and view.item(until).kind == "output":
            until += 1
        changes = [
            Change(one, "out")
            for one in range(item, until)
            if _number(view.item(one)) > self.first and view.state(one) != "out"
        ]
        return Decided((until, _number(view.item(until - 1))), changes, probe, fired=bool(changes))


@dataclass(frozen=True, kw_only=True)
class OpenHandsAmortized(KeepEnds):
    """OpenHands' amortised forgetting: over ``most`` events, half of them are dropped, so it seldom acts."""

    preset: ClassVar[str] = "openhands.amortized"
    source: ClassVar[str] = "OpenHands 611629e, condenser/impl/amortized_forgetting_condenser.py"
    sticky: ClassVar[bool] = True
    left: int = 50


@dataclass(frozen=True, kw_only=True)
class DropOldest(Preset):
    """Above ``trigger`` tokens the oldest messages are dropped until ``left`` of the tokens remain.

    The first message stays with ``first``; a result is never left without its call.
    """

    preset: ClassVar[str] = "inspect.compaction_trim"
    source: ClassVar[str] = (
        "Inspect 499e615, model/_compaction: CompactionTrim, threshold 0.9, preserve 0.8"
    )
    window: int = 200_000
    at: float = 0.9
    left: float = 0.8
    first: int = 1

    def start(self, facts: SessionFacts) -> int:  # noqa: ARG002
        """Return the first item that may be dropped."""
        return 0

    def step(self, state: int, view: PolicyView) -> Decided:
        """Drop the oldest messages where the request is too large."""
        trigger = self.at * self.window
        probe = Probe("tokens of the request", view.total, trigger)
        if view.total <= trigger:
            return Decided(state, probe=probe)
        total, until = view.total, state
        goal = self.left * view.total
        changes: list[Change] = []
        while until < view.count - 1 and (total > goal or view.item(until).kind == "output"):
            if _number(view.item(until)) > self.first:
                total -= view.tokens(until)
                changes.append(Change(until, "out"))
            until += 1
        return Decided(until, changes, probe, fired=bool(changes))


def _number(item: TimelineItem) -> int:
    """Return the number of an item's message, from 1."""
    return item.block


PRESETS: tuple[type[Preset], ...] = (StrandsSlidingWindow, KeepEnds, OpenHandsAmortized, DropOldest)

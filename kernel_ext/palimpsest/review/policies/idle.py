"""Policies that act when the provider's cache is cold anyway, so that they break no live prefix."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from palimpsest.review.policies.policy import Change, Decided, PolicyView, Probe, SessionFacts
from palimpsest.review.policies.settings import Preset

CUT = (
    "\n...\n[Tool result trimmed: kept first {head} chars and last {tail} chars of {chars} chars.]"
)
CLEARED = "[Old tool result content cleared]"


@dataclass(frozen=True, kw_only=True)
class OpenClawCacheTtl(Preset):
    """OpenClaw's cache-ttl pruning: after a pause long results are trimmed, and cleared if that is not enough.

    It acts after ``ttl_seconds`` without a request, on results before the newest ``keep_assistants`` answers.
    """

    preset: ClassVar[str] = "openclaw.cache_ttl"
    source: ClassVar[str] = "OpenClaw 2026.2, agents/pi-extensions/context-pruning"
    window: int = 200_000
    ttl_seconds: float = 300
    soft: float = 0.3
    hard: float = 0.5
    keep_assistants: int = 3
    longest: int = 4_000
    """Characters above which a result is trimmed."""
    head: int = 1_500
    tail: int = 1_500
    least_chars: int = 50_000
    """Characters that can be cleared, below which nothing is."""

    def start(self, facts: SessionFacts) -> float:  # noqa: ARG002
        """Return the longest pause so far."""
        return 0.0

    def step(self, state: float, view: PolicyView) -> Decided:
        """Trim and clear after a pause."""
        gap = view.gap_seconds or 0.0
        probe = Probe("seconds since the request before", gap, self.ttl_seconds, "seconds")
        if gap < self.ttl_seconds:
            return Decided(state, probe=probe)
        chars = self.window * 4
        border = self._border(view)
        first = self._first_user(view)
        able = [one for one in view.outputs if first <= one < border and not view.item(one).pinned]
        total = sum(view.chars(one) for one in range(view.count))
        if total / chars < self.soft:
            return Decided(gap, probe=probe)
        changes: dict[int, Change] = {}
        for one in able:
            if view.state(one) == "whole" and view.item(one).chars > self.longest:
                cut = CUT.format(head=self.head, tail=self.tail, chars=view.item(one).chars)
                size = self.head + self.tail + len(cut)
                total += size - view.item(one).chars
                changes[one] = Change(one, "truncated", chars=size)
        if total / chars >= self.hard:
            self._clear(able, view, total, changes)
        found = list(changes.values())
        return Decided(gap, found, probe, fired=bool(found))

    def _clear(
        self, able: Sequence[int], view: PolicyView, total: int, changes: dict[int, Change]
    ) -> None:
        def length(index: int) -> int:
            change = changes.get(index)
            return change.length if change is not None else view.chars(index)

        if sum(length(one) for one in able if view.state(one) != "cleared") < self.least_chars:
            return
        for one in able:
            if total / (self.window * 4) < self.hard:
                return
            if view.state(one) != "cleared":
                total += len(CLEARED) - length(one)
                changes[one] = Change(one, "cleared", CLEARED)

    def _border(self, view: PolicyView) -> int:
        """Return the first item of the newest answers that are kept, empty ones counted."""
        oldest = view.request.index - self.keep_assistants
        return view.timeline.requests[oldest].answer[0] if oldest >= 0 else 0

    def _first_user(self, view: PolicyView) -> int:
        return next((one for one in range(view.count) if view.item(one).kind == "user"), 0)


PRESETS: tuple[type[Preset], ...] = (OpenClawCacheTtl,)

"""Policies that act when the provider's cache is cold anyway, so that they break no live prefix."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from palimpsest.review.policies.policy import Change, Decided, PolicyView, Probe
from palimpsest.review.policies.settings import ActsAt, Preset

CUT = (
    "\n...\n[Tool result trimmed: kept first {head} chars and last {tail} chars of {chars} chars.]"
)
CLEARED = "[Old tool result content cleared]"
OLD_IMAGE = "[image data removed - already processed by model]"
COMPACTABLE = frozenset(
    {"Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write", "read", "bash",
     "grep", "glob", "edit", "write", "ls", "find", "webfetch", "websearch"}
)  # fmt: skip
"""Tools whose results can be had again; Claude Code's own names and those of agents like it."""


@dataclass(frozen=True, kw_only=True)
class OpenClawCacheTtl(Preset):
    """OpenClaw's cache-ttl pruning: after a pause long results are trimmed, and cleared if that is not enough.

    It acts after ``ttl_seconds`` without a request, on results before the newest ``keep_assistants`` answers.
    Images older than ``image_turns`` turns are replaced by a sentence at the same time.
    """

    preset: ClassVar[str] = "openclaw.cache_ttl"
    source: ClassVar[str] = "OpenClaw, agents/pi-extensions/context-pruning"
    version: ClassVar[str] = "2026.2"
    acts_at: ClassVar[ActsAt] = "pause"
    changes_what: ClassVar[str] = "tool results, images"
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
    image_turns: int = 3

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Trim and clear after a pause."""
        gap = view.gap_seconds or 0.0
        probe = Probe("seconds since the request before", gap, self.ttl_seconds, "seconds")
        if gap < self.ttl_seconds:
            return Decided(state, probe=probe)
        changes = {one: Change(one, "cleared", OLD_IMAGE) for one in self._old_images(view)}
        chars = self.window * 4
        border = self._border(view)
        first = self._first_user(view)
        able = [one for one in view.outputs if first <= one < border and not view.item(one).pinned]
        total = sum(view.chars(one) for one in range(view.count))
        if total / chars >= self.soft:
            for one in able:
                if view.state(one) == "whole" and view.item(one).chars > self.longest:
                    cut = CUT.format(head=self.head, tail=self.tail, chars=view.item(one).chars)
                    size = min(self.head + self.tail + len(cut), view.item(one).chars)
                    total += size - view.item(one).chars
                    changes[one] = Change(one, "truncated", chars=size)
            if total / chars >= self.hard:
                self._clear(able, view, total, changes)
        found = list(changes.values())
        return Decided(state, found, probe, fired=bool(found))

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

    def _old_images(self, view: PolicyView) -> list[int]:
        return [
            one
            for one in range(view.count)
            if view.item(one).kind == "media"
            and view.item(one).turn <= view.turn - self.image_turns
            and view.state(one) == "whole"
        ]

    def _border(self, view: PolicyView) -> int:
        """Return the first item of the newest answers that are kept, empty ones counted."""
        oldest = view.request.index - self.keep_assistants
        return view.timeline.requests[oldest].answer[0] if oldest >= 0 else 0

    def _first_user(self, view: PolicyView) -> int:
        return next((one for one in range(view.count) if view.item(one).kind == "user"), 0)


@dataclass(frozen=True, kw_only=True)
class ClaudeCodeMicrocompact(Preset):
    """Claude Code's microcompaction, as others describe it: after an hour's pause all but 5 results are cleared.

    Only results of tools that can be run again count. The variant that edits the provider's cache is not modelled.
    """

    preset: ClassVar[str] = "claude_code.microcompact"
    source: ClassVar[str] = "analyses of Claude Code by others, not the vendor"
    version: ClassVar[str] = "2.1"
    third_party: ClassVar[bool] = True
    acts_at: ClassVar[ActsAt] = "pause"
    pause_seconds: float = 3_600
    keep: int = 5

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Clear after a pause."""
        gap = view.gap_seconds or 0.0
        probe = Probe("seconds since the request before", gap, self.pause_seconds, "seconds")
        if gap <= self.pause_seconds:
            return Decided(state, probe=probe)
        able = [one for one in view.outputs if view.item(one).tool in COMPACTABLE]
        border = max(0, len(able) - self.keep)
        found = [Change(one, "cleared", CLEARED) for one in able[:border] if _is_shown(view, one)]
        return Decided(state, found, probe, fired=bool(found))


def _is_shown(view: PolicyView, index: int) -> bool:
    return view.state(index) in ("whole", "truncated")

"""Where the compactors of the field cut: a summary of stated size replaces what lies before.

The rule of the cut is the project's own (spec/review.md 2.2); the summary is a placeholder, since none was
written: its size is the same for all policies of one table.
"""

from dataclasses import dataclass
from typing import ClassVar

from palimpsest.review.policies.policy import Change, Decided, PolicyView, Probe, SessionFacts
from palimpsest.review.policies.settings import Preset

SUMMARY_TOKENS = 1_500


@dataclass(frozen=True, kw_only=True)
class CutAtTokens(Preset):
    """Over a threshold of tokens a summary replaces all but the newest ``keep`` tokens.

    ``window`` is assumed, whatever model was recorded: 0 takes the recorded one.
    """

    window: int = 200_000
    reserve: int = 0
    """Tokens of the window that are kept free."""
    at: float = 1.0
    """Share of the window, without the reserve, above which it acts."""
    keep: int = 20_000
    keep_share: float = 0.0
    """Share of the tokens that stays word for word, where it is no fixed number."""
    summary: int = SUMMARY_TOKENS

    def start(self, facts: SessionFacts) -> tuple[int, int]:
        """Return the first item that is shown word for word, and the window."""
        return 0, self.window or facts.window

    def step(self, state: tuple[int, int], view: PolicyView) -> Decided:
        """Cut where the request is over the threshold."""
        first, window = state
        trigger = (window - self.reserve) * self.at
        probe = Probe("tokens of the request", view.total, trigger)
        if view.total <= trigger:
            return Decided(state, probe=probe)
        cut = self._cut(first, view)
        if cut <= first:
            return Decided(state, probe=probe)
        changes = [Change(0, "summarised", tokens=self.summary, numbers={"covers": cut})]
        changes += [Change(one, "summarised", tokens=0) for one in range(max(first, 1), cut)]
        return Decided((cut, window), changes, probe, fired=True)

    def _cut(self, first: int, view: PolicyView) -> int:
        """Return the first item that stays: never a result, whose call would be gone."""
        keep = self.keep_share * view.total if self.keep_share else self.keep
        kept, cut = 0, view.count
        while cut > first and (kept < keep or not self._begins(view, cut)):
            cut -= 1
            kept += view.tokens(cut)
        while cut < view.count and view.item(cut).kind == "output":
            cut += 1
        return first if cut == view.count else cut

    def _begins(self, view: PolicyView, index: int) -> bool:
        """Return whether an item is the first of its message."""
        return index == 0 or view.item(index - 1).block != view.item(index).block


@dataclass(frozen=True, kw_only=True)
class PiCompact(CutAtTokens):
    """pi's compaction: over the window less 16,384 tokens, the newest 20,000 stay."""

    preset: ClassVar[str] = "pi.compact"
    source: ClassVar[str] = "pi 83378aa, core/compaction.ts: reserveTokens, keepRecentTokens"
    reserve: int = 16_384


@dataclass(frozen=True, kw_only=True)
class GeminiCompress(CutAtTokens):
    """Gemini CLI's compression: over half of the window, the newest 30 per cent stay."""

    preset: ClassVar[str] = "gemini.compress"
    source: ClassVar[str] = "Gemini CLI 5411f11, services/chatCompressionService.ts"
    window: int = 1_048_576
    at: float = 0.5
    keep_share: float = 0.3


PRESETS: tuple[type[Preset], ...] = (PiCompact, GeminiCompress)

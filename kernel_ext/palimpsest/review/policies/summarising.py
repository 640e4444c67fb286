"""Where the compactors of the field cut: over a threshold of tokens a summary of stated size replaces the rest.

The rule of the cut is the project's own; the summary is a placeholder, since none was written: its size is the
same for all policies of one table. Rules and numbers were read from the projects at the versions named in each
``source``.
"""

from dataclasses import dataclass
from typing import ClassVar

from palimpsest.review.policies.permitted import permitted_to_go
from palimpsest.review.policies.policy import Change, Decided, PolicyView, Probe
from palimpsest.review.policies.settings import ActsAt, Preset, window_of

SUMMARY_TOKENS = 1_500


@dataclass(frozen=True, kw_only=True)
class CutRule(Preset):
    """Where a rule says so, a summary replaces all items before a cut, from the first that may go.

    A subclass says when it acts (``signal``) and where it cuts (``cut``).
    """

    acts_at: ClassVar[ActsAt] = "threshold"
    changes_what: ClassVar[str] = "everything before a cut"
    summary: int = SUMMARY_TOKENS
    """Tokens of the placeholder."""

    def start(self, facts: object) -> tuple[int, int]:  # noqa: ARG002
        """Return the first item that is shown word for word, and the item that holds the summary (-1: none)."""
        return 0, -1

    def decide(self, state: tuple[int, int], view: PolicyView) -> Decided:
        """Cut where the rule acts."""
        first, holder = state
        probe = self.signal(view)
        if probe.threshold <= 0 or probe.value <= probe.threshold:
            return Decided(state, probe=probe)
        cut = self.cut(first, view)
        gone = permitted_to_go(view, self.covered(first, cut, view))
        if not gone:
            return Decided(state, probe=probe)
        holder = gone[0] if holder < 0 else holder
        changes = [Change(holder, "summarised", tokens=self.summary, numbers={"covers": cut})]
        changes += [Change(one, "summarised", tokens=0) for one in gone if one != holder]
        return Decided((cut, holder), changes, probe, fired=True)

    def signal(self, view: PolicyView) -> Probe:
        """Return what the rule looks at."""
        raise NotImplementedError

    def cut(self, first: int, view: PolicyView) -> int:
        """Return the first item that stays word for word."""
        raise NotImplementedError

    def covered(self, first: int, cut: int, view: PolicyView) -> list[int]:  # noqa: ARG002
        """Return the items that the summary replaces."""
        return list(range(first, cut))


@dataclass(frozen=True, kw_only=True)
class CutAtTokens(CutRule):
    """Over a threshold of tokens a summary replaces all but the newest ``keep`` tokens.

    ``window`` is assumed, whatever model was recorded: 0 takes the recorded one.
    """

    window: int = 200_000
    reserve: int = 0
    """Tokens of the window that are kept free."""
    at: float = 1.0
    """Share of the window, without the reserve, above which it acts."""
    keep: int = 20_000
    """Tokens that stay word for word; 0 for none."""
    keep_share: float = 0.0
    """Share of the tokens that stays word for word, where it is no fixed number."""

    def signal(self, view: PolicyView) -> Probe:
        """Compare the request with the window."""
        trigger = (window_of(self.window, view) - self.reserve) * self.at
        return Probe("tokens of the request", view.total, trigger)

    def cut(self, first: int, view: PolicyView) -> int:
        """Return the first item that stays: never a result, whose call would be gone."""
        keep = self.kept(view)
        if not keep:
            return view.count
        kept, cut = 0.0, view.count
        while cut > first and (kept < keep or not _begins(view, cut)):
            cut -= 1
            kept += view.tokens(cut)
        while cut < view.count and view.item(cut).kind == "output":
            cut += 1
        return first if cut == view.count else cut

    def kept(self, view: PolicyView) -> float:
        """Return how many tokens stay word for word."""
        return self.keep_share * view.total if self.keep_share else self.keep


@dataclass(frozen=True, kw_only=True)
class PiCompact(CutAtTokens):
    """pi's compaction: over the window less 16,384 tokens, the newest 20,000 stay."""

    preset: ClassVar[str] = "pi.compact"
    source: ClassVar[str] = "pi, core/compaction.ts: reserveTokens, keepRecentTokens"
    version: ClassVar[str] = "83378aa"
    reserve: int = 16_384


@dataclass(frozen=True, kw_only=True)
class OpenClawCompact(CutAtTokens):
    """OpenClaw's compaction: pi's rule with 20,000 tokens kept free; its turn that saves memory is not modelled."""

    preset: ClassVar[str] = "openclaw.compact"
    source: ClassVar[str] = "OpenClaw, agents/pi-settings.ts: reserveTokensFloor"
    version: ClassVar[str] = "2026.2"
    reserve: int = 20_000


@dataclass(frozen=True, kw_only=True)
class GeminiCompress(CutAtTokens):
    """Gemini CLI's compression: over half of the window, the newest 30 per cent stay."""

    preset: ClassVar[str] = "gemini.compress"
    source: ClassVar[str] = "Gemini CLI, services/chatCompressionService.ts"
    version: ClassVar[str] = "5411f11"
    window: int = 1_048_576
    at: float = 0.5
    keep_share: float = 0.3


@dataclass(frozen=True, kw_only=True)
class OpenCodeCompact(CutAtTokens):
    """OpenCode's compaction: without the answer and 20,000 tokens kept free, a quarter of the rest stays.

    That quarter is at least ``keep`` and at most ``keep_most`` tokens, and may split a turn.
    """

    preset: ClassVar[str] = "opencode.compact"
    source: ClassVar[str] = "OpenCode, session/compaction.ts, V1: preserve_recent, tail_turns"
    version: ClassVar[str] = "31e22f65"
    reserve: int = 52_000
    """The longest answer (32,000) and ``min(20,000, that)``."""
    keep: int = 2_000
    keep_most: int = 15_000
    keep_share: float = 0.25

    def kept(self, view: PolicyView) -> float:
        """Return a share of the usable window, within its bounds."""
        usable = window_of(self.window, view) - self.reserve
        return min(max(self.keep_share * usable, self.keep), self.keep_most)


@dataclass(frozen=True, kw_only=True)
class OpenCodeCompact2(CutAtTokens):
    """OpenCode's second compaction: over the window less the longest answer, the newest 8,000 tokens stay."""

    preset: ClassVar[str] = "opencode.compact_v2"
    source: ClassVar[str] = "OpenCode, session/compaction.ts, V2: keep.tokens, buffer"
    version: ClassVar[str] = "31e22f65"
    reserve: int = 32_000
    """The longest answer, or 20,000 where that is more."""
    keep: int = 8_000


@dataclass(frozen=True, kw_only=True)
class ClaudeCodeAuto(CutAtTokens):
    """Claude Code's automatic compaction, as others describe it: at about 167,000 of 200,000 tokens nothing stays.

    The files and skills that it puts in front of the model again are not modelled.
    """

    preset: ClassVar[str] = "claude_code.auto"
    source: ClassVar[str] = "analyses of Claude Code by others, not the vendor"
    version: ClassVar[str] = "2.1"
    third_party: ClassVar[bool] = True
    reserve: int = 33_000
    """20,000 for the answer and 13,000 kept free."""
    keep: int = 0


@dataclass(frozen=True, kw_only=True)
class AnthropicCompact(CutAtTokens):
    """Anthropic's compaction on the server: over 150,000 tokens a summary replaces everything before it."""

    preset: ClassVar[str] = "anthropic.compact"
    source: ClassVar[str] = "Anthropic API: compact_20260112"
    version: ClassVar[str] = "20260112"
    window: int = 150_000
    """The number that triggers it, whatever the model's window."""
    keep: int = 0


@dataclass(frozen=True, kw_only=True)
class AnthropicSdkCompact(AnthropicCompact):
    """The Anthropic SDK's deprecated CompactionControl: over 100,000 tokens a summary replaces everything."""

    preset: ClassVar[str] = "anthropic_sdk.compaction_control"
    source: ClassVar[str] = "anthropic-sdk-python, lib/tools/_beta_compaction_control.py"
    version: ClassVar[str] = "0.x"
    window: int = 100_000


@dataclass(frozen=True, kw_only=True)
class CodexCompact(CutAtTokens):
    """Codex' compaction: at 0.9 of the window only a summary and the newest 20,000 tokens of prompts stay."""

    preset: ClassVar[str] = "codex.compact"
    source: ClassVar[str] = "Codex, core/src/compact.rs: COMPACT_USER_MESSAGE_MAX_TOKENS"
    version: ClassVar[str] = "0.x"
    window: int = 272_000
    at: float = 0.9
    keep: int = 0
    prompts: int = 20_000
    """Tokens of the newest prompts, which stay."""

    def start(self, facts: object) -> tuple[int, int]:  # noqa: ARG002
        """Return that nothing is covered; what stays between is looked at again each time."""
        return 0, -1

    def covered(self, first: int, cut: int, view: PolicyView) -> list[int]:  # noqa: ARG002
        """Return everything but the newest prompts."""
        kept, stays = 0, set[int]()
        for index in range(cut - 1, -1, -1):
            if view.item(index).kind != "user" or view.state(index) != "whole":
                continue
            kept += view.tokens(index)
            if kept > self.prompts:
                break
            stays.add(index)
        return [one for one in range(cut) if one not in stays and view.state(one) != "summarised"]


@dataclass(frozen=True, kw_only=True)
class ClineCompact(CutAtTokens):
    """Cline SDK's compaction: at 0.9 of 0.9 of the window the newest 20,000 tokens stay."""

    preset: ClassVar[str] = "cline.compact"
    source: ClassVar[str] = "Cline SDK, compaction"
    version: ClassVar[str] = "21cb8d2"
    at: float = 0.81


@dataclass(frozen=True, kw_only=True)
class RooCondense(CutAtTokens):
    """Roo Code's condensing: at the threshold of the profile a summary replaces what lies before."""

    preset: ClassVar[str] = "roo.condense"
    source: ClassVar[str] = "Roo Code, core/condense: autoCondenseContextPercent"
    version: ClassVar[str] = "3.x"
    at: float = 1.0
    """The profile's per cent, from 0.05 to 1."""
    keep: int = 0


@dataclass(frozen=True, kw_only=True)
class GooseCompact(CutAtTokens):
    """Goose's compaction: at 0.8 of the window a summary replaces everything."""

    preset: ClassVar[str] = "goose.compact"
    source: ClassVar[str] = "Goose, context_mgmt: GOOSE_AUTO_COMPACT_THRESHOLD"
    version: ClassVar[str] = "1.x"
    at: float = 0.8
    keep: int = 0


@dataclass(frozen=True, kw_only=True)
class InspectSummary(CutAtTokens):
    """Inspect's CompactionSummary: at 0.9 of the window a summary replaces everything."""

    preset: ClassVar[str] = "inspect.compaction_summary"
    source: ClassVar[str] = "Inspect, model/_compaction: CompactionSummary"
    version: ClassVar[str] = "499e615"
    at: float = 0.9
    keep: int = 0


def _begins(view: PolicyView, index: int) -> bool:
    """Return whether an item is the first of its message."""
    return index == 0 or view.item(index - 1).block != view.item(index).block

"""Where the compactors of the field cut by tokens: a summary of stated size replaces what lies before.

The rule of the cut is the project's own (spec/review.md 2.2); the summary is a placeholder, since none was
written: its size is the same for all policies of one table. The newest answer and what came after it stay, also
where a project would summarise them as well.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from palimpsest.review.policies.measured import REPORTED, Measure, Measured
from palimpsest.review.policies.policy import (
    NO_LIMIT,
    Change,
    Decided,
    PolicyView,
    Probe,
    SessionFacts,
    none_of,
)
from palimpsest.review.policies.reducible import (
    begins_message,
    call_of_result,
    is_reducible,
    is_result,
    newest_that_fit,
    shortened,
    shown_turns,
    tokens_in,
    with_partners,
)
from palimpsest.review.policies.tool_calls import FILE_TOOLS, READ_TOOLS, path_of

SUMMARY_TOKENS = 1_500
COVERED = "older messages that a summary may replace"
OPENCODE_CUT = "\n[truncated]"
CODEX_CUT = "…{} tokens truncated…"


def enough_to_summarise(tokens: int, summary: int, after: Probe) -> Probe:
    """Return that a summary pays only where it replaces more tokens than it has."""
    return Probe("tokens that a summary would replace", tokens, summary, after=after)


class SummaryState(NamedTuple):
    """What a compactor remembers between requests."""

    window: int
    place: int = -1
    """The item in whose place the summary stands; -1 where there is none."""


class Summarise(Measured):
    """Over a threshold a summary replaces what lies before a cut; where that lies, a subclass says.

    ``window`` is assumed, whatever model was recorded: 0 takes the recorded one.
    """

    window: int = 200_000
    reserve: int = 0
    """Tokens of the window that are kept free."""
    at: float = 1.0
    """Share of the window, without the reserve, at or above which it acts."""
    summary: int = SUMMARY_TOKENS

    def start(self, facts: SessionFacts) -> SummaryState:
        """Return the window, and that nothing is summarised."""
        return SummaryState(self.window_of(facts))

    def step(self, state: SummaryState, view: PolicyView) -> Decided:
        """Cut where the request is over the threshold."""
        probe = self.probe(state, view)
        if probe.threshold <= 0 and state.window <= 0:
            return Decided(state, probe=NO_LIMIT)
        if not probe.passed:
            return Decided(state, probe=probe)
        cut = self.cut(state, view)
        leaving = with_partners(view, self.covered(view, cut))
        place = state.place
        if place < 0 or view.state(place) != "summarised":
            place = leaving[0] if leaving else -1
        freed = sum(view.tokens(one) for one in {*leaving, place} if one >= 0)
        if not leaving:
            return Decided(state, probe=none_of(COVERED, probe))
        if freed <= self.summary:
            return Decided(state, probe=enough_to_summarise(freed, self.summary, probe))
        changes = [
            Change(place, "summarised", tokens=self.summary, numbers={"covers": len(leaving)})
        ]
        changes += [Change(one, "summarised", tokens=0) for one in leaving if one != place]
        changes += self.beside(view, cut, leaving)
        return Decided(SummaryState(state.window, place), changes, probe, fired=True)

    def probe(self, state: SummaryState, view: PolicyView) -> Probe:
        """Return what is looked at, and its threshold."""
        return self.over(view, self.limit(state.window))

    def limit(self, window: int) -> float:
        """Return the tokens above which it acts."""
        return max(0.0, round((window - self.reserve) * self.at, 6))

    def cut(self, state: SummaryState, view: PolicyView) -> int:
        """Return the first item that stays word for word."""
        raise NotImplementedError

    def covered(self, view: PolicyView, cut: int) -> Sequence[int]:
        """Return the items that the summary replaces; those alone that may be reduced are."""
        return view.shown_items[: bisect_left(view.shown_items, cut)]

    def beside(self, view: PolicyView, cut: int, leaving: Sequence[int]) -> list[Change]:  # noqa: ARG002
        """Return what else is shown otherwise when it acts."""
        return []


class CutAtTokens(Summarise):
    """Over a threshold of tokens a summary replaces all but the newest ``keep`` tokens."""

    keep: int = 20_000
    keep_share: float = 0.0
    """Share of the tokens that stays word for word, where it is no fixed number."""

    def kept(self, state: SummaryState, view: PolicyView) -> float:  # noqa: ARG002
        """Return the tokens that stay word for word."""
        return self.keep_share * view.total if self.keep_share else self.keep

    def cut(self, state: SummaryState, view: PolicyView) -> int:
        """Return the first item that stays: the beginning of a message and never a result.

        Where only results follow, it is the message with their calls.
        """
        keep = self.kept(state, view)
        if not keep:
            return view.count
        cut = self._newest(state, view, keep)
        while not begins_message(view, cut):
            cut -= 1
        forward = cut
        while forward < view.count and view.item(forward).kind == "output":
            forward += 1
        if forward < view.count:
            return forward
        while cut > 0 and (cut == view.count or view.item(cut).kind == "output"):
            cut -= 1
        while not begins_message(view, cut):
            cut -= 1
        return cut

    def _newest(self, state: SummaryState, view: PolicyView, keep: float) -> int:
        """Return the first of the newest items that have so many tokens together; 0 where all have fewer."""
        kept = 0
        place = state.place
        if place >= 0 and view.shows(place):  # its summary was undone
            place = -1
        for one in reversed(view.shown_items):
            if one < place:
                kept += view.tokens(place)
                if kept >= keep:
                    return place
                place = -1
            kept += view.tokens(one)
            if kept >= keep:
                return one
        return 0


class PiCompact(CutAtTokens):
    """pi's compaction: at the end of a turn over the window less 16,384 tokens, the newest 20,000 stay.

    Within a turn it acts only over the whole window, where the provider refuses a request.
    """

    preset = "pi.compact"
    source = (
        "pi 83378aa, core/agent-session.ts, core/compaction.ts: reserveTokens, keepRecentTokens"
    )
    counted = "pi 83378aa, core/compaction.ts: calculateContextTokens and estimateContextTokens"
    when = "both"
    reserve: int = 16_384

    def probe(self, state: SummaryState, view: PolicyView) -> Probe:
        """Return the size at the end of a turn; within one what the provider counts, beside the whole window."""
        if view.turn != view.request.turn:
            return CutAtTokens.probe(self, state, view)
        counted = view.reported(answer=self.with_answer, since="counted")
        if counted is None or self.measure == "estimated":
            return self.over(view, state.window)
        return Probe(REPORTED, counted, state.window)


class OpenClawCompact(PiCompact):
    """OpenClaw's compaction: pi's, with at least 20,000 tokens free."""

    preset = "openclaw.compact"
    source = "OpenClaw 2026.2, agents/pi-settings.ts: reserveTokensFloor"
    counted = "OpenClaw 2026.2, as pi does: calculateContextTokens"
    reserve: int = 20_000


class OpenCodeCompact(CutAtTokens):
    """OpenCode's compaction: at the window less the answer and 20,000 tokens, up to a quarter of that stays, within bounds.

    The newest turns stay that fit, and of the turn before them its newest messages; where nothing fits, nothing stays.
    """

    preset = "opencode.compact"
    source = (
        "OpenCode 31e22f65, session/overflow.ts: usable; session/compaction.ts: select, splitTurn"
    )
    counted = "OpenCode 31e22f65, session/overflow.ts: isOverflow of the finished step"
    since = "nothing"
    inclusive = True
    reserve: int = 52_000
    """The longest answer, 32,000 tokens, and 20,000 more; of a model with a limit of its input it is 20,000 of that."""
    keep: int = 15_000
    keep_least: int = 2_000
    keep_share: float = 0.25

    def kept(self, state: SummaryState, view: PolicyView) -> float:  # noqa: ARG002
        share = int(self.keep_share * max(0, state.window - self.reserve))
        return min(self.keep, max(self.keep_least, share))

    def cut(self, state: SummaryState, view: PolicyView) -> int:
        """Return the first of the newest messages that fit; a result belongs to the answer that called it."""
        starts = answers_with_results(view)
        place = newest_that_fit(view, starts, self.kept(state, view))
        return starts[place] if 0 < place < len(starts) else view.count


class OpenCodeCompactV2(CutAtTokens):
    """OpenCode's second compaction: over the window less the answer, up to 8,000 of the newest tokens stay.

    These stay as text, in which a result has 2,000 characters at most.
    """

    preset = "opencode.compact_v2"
    source = "OpenCode 31e22f65, core/session/compaction.ts: compactIfNeeded, select, serialize"
    counted = (
        "OpenCode 31e22f65, core/session/compaction.ts: estimate of system, messages and tools"
    )
    measure: Measure = "estimated"
    reserve: int = 32_000
    """The longest answer, or 20,000 tokens where that is less."""
    keep: int = 8_000
    longest: int = 2_000
    """Characters of a result that stay."""

    def cut(self, state: SummaryState, view: PolicyView) -> int:  # noqa: ARG002
        """Return the first of the newest messages that fit; a result belongs to the answer that called it."""
        starts = answers_with_results(view)
        place = newest_that_fit(view, starts, self.keep, self._tokens)
        return starts[place] if place < len(starts) else view.count

    def beside(self, view: PolicyView, cut: int, leaving: Sequence[int]) -> list[Change]:
        gone = {*leaving}
        size = self.longest + len(OPENCODE_CUT)
        stay = (one for one in view.outputs[bisect_left(view.outputs, cut) :] if one not in gone)
        return shortened(view, ((one, size) for one in stay if view.chars(one) > self.longest))

    def _tokens(self, view: PolicyView, first: int, until: int) -> int:
        """Return the tokens of a range of items, as they stay."""
        found = tokens_in(view, first, until)
        cut = -(-(self.longest + len(OPENCODE_CUT)) // 4)
        for one in view.outputs[
            bisect_left(view.outputs, first) : bisect_left(view.outputs, until)
        ]:
            if view.shows(one) and view.chars(one) > self.longest:
                found -= max(0, view.tokens(one) - cut)
        return found


class ClaudeCodeAuto(CutAtTokens):
    """Claude Code's auto-compaction: nothing stays, and the files that were read or changed last are shown again.

    It acts at the window less 20,000 tokens for the answer and 13,000 more. A file over 5,000 tokens is named only.
    """

    preset = "claude_code.auto"
    source = (
        "Claude Code 2.1.112, its published cli.js: isAboveAutoCompactThreshold, 13000, 5 and 5000"
    )
    counted = "Claude Code 2.1.112, its published cli.js: the usage of the last answer and an estimate of later messages"
    third_party = True
    inclusive = True
    reserve: int = 33_000
    """The longest answer, 20,000 tokens at most, and 13,000 more."""
    keep: int = 0
    files: int = 5
    """The newest files that are shown again."""
    file_tokens: int = 5_000
    """Tokens above which such a file is named only."""

    def covered(self, view: PolicyView, cut: int) -> Sequence[int]:
        stay: set[int] = set()
        for result in self._shown_files(view):
            call = call_of_result(view, result)
            stay |= {result} if call is None else {result, call}
        return [one for one in Summarise.covered(self, view, cut) if one not in stay]

    def _shown_files(self, view: PolicyView) -> list[int]:
        """Return the newest reads of the files that are shown again."""
        newest: list[str] = []
        reads: dict[str, int] = {}
        for one in reversed(view.outputs):
            tool = view.item(one).tool.lower()
            if tool not in FILE_TOOLS or view.item(one).is_error or not view.shows(one):
                continue
            path = path_of(view, one)
            if path not in newest:
                if not path or len(newest) == self.files:
                    continue
                newest.append(path)
            if tool in READ_TOOLS:
                reads.setdefault(path, one)
        return [one for one in reads.values() if view.tokens(one) <= self.file_tokens]


class CodexCompact(CutAtTokens):
    """Codex's compaction: at nine tenths of the window only the newest 20,000 tokens of prompts stay.

    The oldest of these prompts is cut to what is left of them.
    """

    preset = "codex.compact"
    source = (
        "Codex CLI 2026, core/compact.rs: COMPACT_USER_MESSAGE_MAX_TOKENS; auto_compact_token_limit"
    )
    counted = "Codex CLI 2026, core/context_manager/history.rs: get_total_token_usage"
    inclusive = True
    window: int = 272_000
    at: float = 0.9
    keep: int = 0
    prompts: int = 20_000
    """Tokens of the newest prompts, which stay."""

    def limit(self, window: int) -> float:
        return int(CutAtTokens.limit(self, window))

    def covered(self, view: PolicyView, cut: int) -> Sequence[int]:
        shown = view.shown_items
        stay = {one for one, _ in self._prompts(view, cut)}
        return [one for one in shown[: bisect_left(shown, cut)] if one not in stay]

    def beside(self, view: PolicyView, cut: int, leaving: Sequence[int]) -> list[Change]:  # noqa: ARG002
        over = ((one, left, view.tokens(one) - left) for one, left in self._prompts(view, cut))
        long = (
            (one, 4 * left + len(CODEX_CUT.format(more))) for one, left, more in over if more > 0
        )
        return shortened(view, long)

    def _prompts(self, view: PolicyView, cut: int) -> list[tuple[int, int]]:
        """Return the newest prompts that stay, each with the tokens that are left for it."""
        left = self.prompts
        shown = view.shown_items
        found: list[tuple[int, int]] = []
        for one in reversed(shown[: bisect_left(shown, cut)]):
            if view.item(one).kind != "user" or not is_reducible(view, one):
                continue
            if left <= 0:
                break
            found.append((one, left))
            left -= view.tokens(one)
        return found


def answers_with_results(view: PolicyView) -> list[int]:
    """Return the first shown item of each message, a result being part of the answer that called it."""
    return [one for one in shown_turns(view) if not is_result(view, one)]

"""Compaction rules of other agents that cut by tokens: a summary of stated size replaces the older messages.

Each cut follows the other agent's own rule (docs/policies.md); the summary is a placeholder, since none was written:
its size is the same for all policies of one table. The newest answer and the items after it stay, even where the agent
would summarise them as well.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from palimpsest.context_policies.interface.policy import (
    NO_LIMIT,
    Change,
    PolicyResult,
    PolicyView,
    Probe,
    SessionFacts,
    nothing_to_reduce,
)
from palimpsest.context_policies.items.measured import REPORTED_SIGNAL, Measure, Measured
from palimpsest.context_policies.items.reducible import (
    begins_message,
    call_of_result,
    is_reducible,
    is_result,
    newest_that_fit,
    shortening_changes,
    shown_merged_messages,
    tokens_in,
    with_partners,
)
from palimpsest.context_policies.items.tool_calls import FILE_TOOLS, READ_TOOLS, path_of
from palimpsest.context_policies.summary_size import SUMMARY_TOKENS
from palimpsest.transcript.values import CHARS_PER_TOKEN

COVERABLE = "older messages that a summary may replace"
OPENCODE_CUT = "\n[truncated]"
CODEX_CUT = "…{} tokens truncated…"


def gain_probe(tokens: int, summary_tokens: int, passed_probe: Probe) -> Probe:
    """Return the probe of a summary's gain: it must replace more tokens than it contains."""
    return Probe(
        "tokens that a summary would replace", tokens, summary_tokens, passed_before=passed_probe
    )


class SummaryState(NamedTuple):
    """The state of a compaction rule between requests."""

    window: int
    summary_place: int = -1
    """The item that the summary replaces; -1 where there is none."""


class Summarise(Measured):
    """Over a threshold a summary replaces the items before a cut, which subclasses choose.

    ``window`` is assumed for every recorded model; 0 takes the recorded window.
    """

    window: int = 200_000
    reserve: int = 0
    """Tokens of the window that are reserved."""
    window_share: float = 1.0
    """Share of the window, without the reserve, at or above which it acts."""
    summary: int = SUMMARY_TOKENS
    """Tokens of the summary."""

    def start(self, facts: SessionFacts) -> SummaryState:
        """Return the initial state: the window, and nothing summarised."""
        return SummaryState(self.window_of(facts))

    def step(self, state: SummaryState, view: PolicyView) -> PolicyResult:
        """Replace the items before the cut by a summary, if the request is over the threshold."""
        probe = self.probe(state, view)
        if probe.threshold <= 0 and state.window <= 0:
            return PolicyResult(state, probe=NO_LIMIT)
        if not probe.is_passed:
            return PolicyResult(state, probe=probe)
        first_kept = self.first_to_keep(state, view)
        covered_items = with_partners(view, self.covered_items(view, first_kept))
        summary_place = state.summary_place
        if summary_place < 0 or view.state(summary_place) != "summarised":
            summary_place = covered_items[0] if covered_items else -1
        freed_tokens = sum(
            view.tokens(index) for index in {*covered_items, summary_place} if index >= 0
        )
        if not covered_items:
            return PolicyResult(state, probe=nothing_to_reduce(COVERABLE, probe))
        if freed_tokens <= self.summary:
            return PolicyResult(state, probe=gain_probe(freed_tokens, self.summary, probe))
        changes = [
            Change(
                summary_place,
                "summarised",
                tokens=self.summary,
                numbers={"covers": len(covered_items)},
            )
        ]
        changes += [
            Change(index, "summarised", tokens=0)
            for index in covered_items
            if index != summary_place
        ]
        changes += self.further_changes(view, first_kept, covered_items)
        return PolicyResult(SummaryState(state.window, summary_place), changes, probe, fired=True)

    def probe(self, state: SummaryState, view: PolicyView) -> Probe:
        """Return the probe of the request against the threshold."""
        return self.probe_against(view, self.threshold_tokens(state.window))

    def threshold_tokens(self, window: int) -> float:
        """Return the tokens above which the rule acts."""
        return max(0.0, round((window - self.reserve) * self.window_share, 6))

    def first_to_keep(self, state: SummaryState, view: PolicyView) -> int:
        """Return the first item that stays word for word."""
        raise NotImplementedError

    def covered_items(self, view: PolicyView, first_kept: int) -> Sequence[int]:
        """Return the items that the summary replaces; only those that may be reduced are replaced."""
        return view.shown_items[: bisect_left(view.shown_items, first_kept)]

    def further_changes(
        self,
        view: PolicyView,  # noqa: ARG002
        first_kept: int,  # noqa: ARG002
        covered_items: Sequence[int],  # noqa: ARG002
    ) -> list[Change]:
        """Return changes beside the summary, such as shortened results."""
        return []


class CutAtTokens(Summarise):
    """Over a threshold of tokens a summary replaces all but the newest ``keep_tokens``."""

    keep_tokens: int = 20_000
    keep_share: float = 0.0
    """Share of the request's tokens that stays word for word; 0 uses ``keep_tokens``."""

    def tokens_to_keep(self, state: SummaryState, view: PolicyView) -> float:  # noqa: ARG002
        """Return the tokens that stay word for word."""
        return self.keep_share * view.total if self.keep_share else self.keep_tokens

    def first_to_keep(self, state: SummaryState, view: PolicyView) -> int:
        """Return the first item that stays: the beginning of a message and never a result.

        Where only results follow the cut, it is the message with their calls.
        """
        tokens_to_keep = self.tokens_to_keep(state, view)
        if not tokens_to_keep:
            return view.count
        first_kept = self._first_of_newest(state, view, tokens_to_keep)
        while not begins_message(view, first_kept):
            first_kept -= 1
        after_results = first_kept
        while after_results < view.count and view.item(after_results).kind == "output":
            after_results += 1
        if after_results < view.count:
            return after_results
        while first_kept > 0 and (
            first_kept == view.count or view.item(first_kept).kind == "output"
        ):
            first_kept -= 1
        while not begins_message(view, first_kept):
            first_kept -= 1
        return first_kept

    def _first_of_newest(self, state: SummaryState, view: PolicyView, min_tokens: float) -> int:
        """Return the oldest of the newest items that together have ``min_tokens`` tokens; 0 where all items have fewer."""
        tokens_kept = 0
        summary_place = state.summary_place
        if summary_place >= 0 and view.shows(summary_place):  # the summary was undone
            summary_place = -1
        for index in reversed(view.shown_items):
            if index < summary_place:
                tokens_kept += view.tokens(summary_place)
                if tokens_kept >= min_tokens:
                    return summary_place
                summary_place = -1
            tokens_kept += view.tokens(index)
            if tokens_kept >= min_tokens:
                return index
        return 0


class PiCompact(CutAtTokens):
    """pi's compaction: at the end of a turn over the window less 16,384 tokens, the newest 20,000 stay.

    Within a turn it acts only over the whole window, where the provider refuses a request.
    """

    preset = "pi.compact"
    source = (
        "pi 83378aa, core/agent-session.ts, core/compaction.ts: reserveTokens, keepRecentTokens"
    )
    token_source = (
        "pi 83378aa, core/compaction.ts: calculateContextTokens and estimateContextTokens"
    )
    when = "both"
    reserve: int = 16_384

    def probe(self, state: SummaryState, view: PolicyView) -> Probe:
        """Return the usual probe at the end of a turn; within a turn, the provider's count against the whole window."""
        if view.turn != view.request.turn:
            return CutAtTokens.probe(self, state, view)
        counted_tokens = view.reported(answer=self.with_answer, later_items="counted")
        if counted_tokens is None or self.measure == "estimated":
            return self.probe_against(view, state.window)
        return Probe(REPORTED_SIGNAL, counted_tokens, state.window)


class OpenClawCompact(PiCompact):
    """OpenClaw's compaction: pi's, with at least 20,000 tokens free."""

    preset = "openclaw.compact"
    source = "OpenClaw 2026.2, agents/pi-settings.ts: reserveTokensFloor"
    token_source = "OpenClaw 2026.2, as pi does: calculateContextTokens"
    reserve: int = 20_000


class OpenCodeCompact(CutAtTokens):
    """OpenCode's compaction: at the window less the answer and 20,000 tokens, up to a quarter of that stays, within bounds.

    The newest turns that fit stay, and the newest messages of the turn before them; where nothing fits, nothing stays.
    """

    preset = "opencode.compact"
    source = (
        "OpenCode 31e22f65, session/overflow.ts: usable; session/compaction.ts: select, splitTurn"
    )
    token_source = "OpenCode 31e22f65, session/overflow.ts: isOverflow of the finished step"
    later_items = "nothing"
    inclusive = True
    reserve: int = 52_000
    """Tokens reserved for the answer: the longest one, up to 32,000, and 20,000 more."""
    keep_tokens: int = 15_000
    min_keep_tokens: int = 2_000
    keep_share: float = 0.25

    def tokens_to_keep(self, state: SummaryState, view: PolicyView) -> float:  # noqa: ARG002
        share_tokens = int(self.keep_share * max(0, state.window - self.reserve))
        return min(self.keep_tokens, max(self.min_keep_tokens, share_tokens))

    def first_to_keep(self, state: SummaryState, view: PolicyView) -> int:
        """Return the first of the newest messages that fit; a result belongs to the answer that called it."""
        message_starts = answers_with_results(view)
        first_message = newest_that_fit(view, message_starts, self.tokens_to_keep(state, view))
        return (
            message_starts[first_message] if 0 < first_message < len(message_starts) else view.count
        )


class OpenCodeCompactV2(CutAtTokens):
    """OpenCode's second compaction: over the window less the answer, up to 8,000 of the newest tokens stay.

    These stay as text, in which a result has 2,000 characters at most.
    """

    preset = "opencode.compact_v2"
    source = "OpenCode 31e22f65, core/session/compaction.ts: compactIfNeeded, select, serialize"
    token_source = (
        "OpenCode 31e22f65, core/session/compaction.ts: estimate of system, messages and tools"
    )
    measure: Measure = "estimated"
    reserve: int = 32_000
    """Tokens reserved for the answer: the longest one, 20,000 at most."""
    keep_tokens: int = 8_000
    longest_chars: int = 2_000
    """Characters of a result that stay."""

    def first_to_keep(self, state: SummaryState, view: PolicyView) -> int:  # noqa: ARG002
        """Return the first of the newest messages that fit; a result belongs to the answer that called it."""
        message_starts = answers_with_results(view)
        first_message = newest_that_fit(
            view, message_starts, self.keep_tokens, self._tokens_when_cut
        )
        return message_starts[first_message] if first_message < len(message_starts) else view.count

    def further_changes(
        self, view: PolicyView, first_kept: int, covered_items: Sequence[int]
    ) -> list[Change]:
        removed_items = {*covered_items}
        cut_chars = self.longest_chars + len(OPENCODE_CUT)
        long_outputs = (
            index
            for index in view.outputs[bisect_left(view.outputs, first_kept) :]
            if index not in removed_items and view.chars(index) > self.longest_chars
        )
        return shortening_changes(view, ((index, cut_chars) for index in long_outputs))

    def _tokens_when_cut(self, view: PolicyView, start: int, end: int) -> int:
        """Return the tokens of a range of items, with long results cut."""
        tokens = tokens_in(view, start, end)
        cut_result_tokens = -(-(self.longest_chars + len(OPENCODE_CUT)) // CHARS_PER_TOKEN)
        for index in view.outputs[
            bisect_left(view.outputs, start) : bisect_left(view.outputs, end)
        ]:
            if view.shows(index) and view.chars(index) > self.longest_chars:
                tokens -= max(0, view.tokens(index) - cut_result_tokens)
        return tokens


class ClaudeCodeAuto(CutAtTokens):
    """Claude Code's auto-compaction: nothing stays, and the files that were read or changed last are shown again.

    It acts at the window less 20,000 tokens for the answer and 13,000 more. A file over 5,000 tokens is named only.
    """

    preset = "claude_code.auto"
    source = (
        "Claude Code 2.1.112, its published cli.js: isAboveAutoCompactThreshold, 13000, 5 and 5000"
    )
    token_source = "Claude Code 2.1.112, its published cli.js: the usage of the last answer and an estimate of later messages"
    third_party = True
    inclusive = True
    reserve: int = 33_000
    """Tokens reserved for the answer: the longest one, 20,000 at most, and 13,000 more."""
    keep_tokens: int = 0
    files: int = 5
    """Number of files that are shown again."""
    file_tokens: int = 5_000
    """Tokens above which such a file is only named."""

    def covered_items(self, view: PolicyView, first_kept: int) -> Sequence[int]:
        remaining_items: set[int] = set()
        for result_index in self._reads_shown_again(view):
            call_index = call_of_result(view, result_index)
            remaining_items |= {result_index} if call_index is None else {result_index, call_index}
        covered_items = Summarise.covered_items(self, view, first_kept)
        return [index for index in covered_items if index not in remaining_items]

    def _reads_shown_again(self, view: PolicyView) -> list[int]:
        """Return the newest reads of the files that are shown again."""
        newest_paths: list[str] = []
        newest_reads: dict[str, int] = {}
        for index in reversed(view.outputs):
            tool = view.item(index).tool.lower()
            if tool not in FILE_TOOLS or view.item(index).is_error or not view.shows(index):
                continue
            path = path_of(view, index)
            if path not in newest_paths:
                if not path or len(newest_paths) == self.files:
                    continue
                newest_paths.append(path)
            if tool in READ_TOOLS:
                newest_reads.setdefault(path, index)
            if len(newest_reads) == self.files:
                break
        return [index for index in newest_reads.values() if view.tokens(index) <= self.file_tokens]


class CodexCompact(CutAtTokens):
    """Codex's compaction: at nine tenths of the window only the newest 20,000 tokens of prompts stay.

    The oldest of these prompts is cut to the tokens that remain for it.
    """

    preset = "codex.compact"
    source = (
        "Codex CLI 2026, core/compact.rs: COMPACT_USER_MESSAGE_MAX_TOKENS; auto_compact_token_limit"
    )
    token_source = "Codex CLI 2026, core/context_manager/history.rs: get_total_token_usage"
    inclusive = True
    window: int = 272_000
    window_share: float = 0.9
    keep_tokens: int = 0
    prompt_tokens: int = 20_000
    """Tokens of the newest prompts that stay."""

    def threshold_tokens(self, window: int) -> float:
        return int(CutAtTokens.threshold_tokens(self, window))

    def covered_items(self, view: PolicyView, first_kept: int) -> Sequence[int]:
        kept_prompts = {prompt_index for prompt_index, _ in self._kept_prompts(view, first_kept)}
        covered_items = Summarise.covered_items(self, view, first_kept)
        return [index for index in covered_items if index not in kept_prompts]

    def further_changes(
        self,
        view: PolicyView,
        first_kept: int,
        covered_items: Sequence[int],  # noqa: ARG002
    ) -> list[Change]:
        cut_lengths = (
            (
                prompt_index,
                CHARS_PER_TOKEN * remaining_tokens
                + len(CODEX_CUT.format(view.tokens(prompt_index) - remaining_tokens)),
            )
            for prompt_index, remaining_tokens in self._kept_prompts(view, first_kept)
            if view.tokens(prompt_index) > remaining_tokens
        )
        return shortening_changes(view, cut_lengths)

    def _kept_prompts(self, view: PolicyView, first_kept: int) -> list[tuple[int, int]]:
        """Return the newest prompts that stay, each with the tokens that remain for it."""
        tokens_left = self.prompt_tokens
        kept_prompts: list[tuple[int, int]] = []
        for prompt_index in reversed(Summarise.covered_items(self, view, first_kept)):
            if view.item(prompt_index).kind != "user" or not is_reducible(view, prompt_index):
                continue
            if tokens_left <= 0:
                break
            kept_prompts.append((prompt_index, tokens_left))
            tokens_left -= view.tokens(prompt_index)
        return kept_prompts


def answers_with_results(view: PolicyView) -> list[int]:
    """Return the first shown item of each message; a result is part of the answer that called it."""
    return [start for start in shown_merged_messages(view) if not is_result(view, start)]

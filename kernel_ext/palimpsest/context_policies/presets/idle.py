"""Policies that act when the provider's cache is cold anyway, so that they break no live prefix."""

from palimpsest.context_policies.interface.policy import (
    Change,
    PolicyResult,
    PolicyView,
    Probe,
    SessionFacts,
)
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.interface.stage_view import StageView
from palimpsest.context_policies.items.reducible import (
    decided_with_reason,
    is_reducible,
    is_shown,
    placeholder_changes,
)
from palimpsest.context_policies.presets.clearing import RESULT_CLEARED
from palimpsest.transcript.values import CHARS_PER_TOKEN

TRIM_NOTICE = (
    "\n...\n[Tool result trimmed: kept first {head} chars and last {tail} chars of {chars} chars.]"
)
IMAGE_REMOVED = "[image data removed - already processed by model]"
CLEARABLE_TOOLS = (
    "read",
    "bash",
    "grep",
    "glob",
    "websearch",
    "webfetch",
    "edit",
    "write",
    "powershell",
)
"""Tools whose results Claude Code clears, in lower case."""


class OpenClawCacheTtl(Preset):
    """OpenClaw's cache-ttl pruning: after a pause long results are trimmed, and cleared if that is not enough.

    It acts after ``ttl_seconds`` without a request, on results before the newest ``keep_assistants`` answers.
    Images older than ``image_turns`` turns go before the first request of any turn.
    """

    preset = "openclaw.cache_ttl"
    source = "OpenClaw 2026.2, agents/pi-extensions/context-pruning"
    window: int = 200_000
    ttl_seconds: float = 300
    trim_share: float = 0.3
    """Share of the window from which long results are trimmed."""
    clear_share: float = 0.5
    """Share of the window from which results are cleared, if trimming was not enough."""
    keep_assistants: int = 3
    longest_chars: int = 4_000
    """Characters above which a result is trimmed."""
    head: int = 1_500
    tail: int = 1_500
    """Characters of the end of a trimmed result that are shown; ``head``: of its beginning."""
    least_chars: int = 50_000
    """Fewest clearable characters for which anything is cleared."""
    image_turns: int = 3

    def start(self, facts: SessionFacts) -> tuple[int, int]:
        """Return the initial state: the window in tokens, and the index of the first item whose images were not considered."""
        return self.window_of(facts), 0

    def step(self, state: tuple[int, int], view: PolicyView) -> PolicyResult:
        window, image_border = state
        pause = probe = pause_probe(view, self.ttl_seconds)
        image_border, changes = self._image_changes(image_border, view)
        if changes:
            probe = Probe(f"images older than {self.image_turns} turns", len(changes), 0, "images")
        if pause.is_passed and window > 0:
            request_chars = sum(
                view.chars(index) for index in range(view.count) if is_shown(view, index)
            )
            min_chars = self.trim_share * window * CHARS_PER_TOKEN
            if request_chars >= min_chars:
                changes += self._result_changes(window * CHARS_PER_TOKEN, request_chars, view)
            elif not changes:
                signal = "characters of the request"
                probe = Probe(signal, request_chars, min_chars, "characters", probe)
        candidates_text = "older results that may be trimmed"
        return decided_with_reason((window, image_border), changes, probe, candidates_text)

    def _image_changes(self, first_item: int, view: PolicyView) -> tuple[int, list[Change]]:
        border = first_item
        while border < view.count and view.item(border).turn < view.turn - self.image_turns:
            border += 1
        return border, [
            Change(index, "cleared", chars=min(len(IMAGE_REMOVED), view.chars(index)))
            for index in range(first_item, border)
            if view.item(index).kind == "media" and is_reducible(view, index)
        ]

    def _result_changes(
        self, window_chars: int, request_chars: int, view: PolicyView
    ) -> list[Change]:
        oldest_kept_request = view.request.index - self.keep_assistants  # empty answers are counted
        border = (
            view.timeline.requests[oldest_kept_request].items if oldest_kept_request >= 0 else 0
        )
        first_user_item = next(
            (index for index in range(view.count) if view.item(index).kind == "user"), 0
        )
        candidates = [
            output_index
            for output_index in view.outputs
            if first_user_item <= output_index < border and is_reducible(view, output_index)
        ]
        changes: dict[int, Change] = {}
        shown_view = StageView(view, changes, self.estimator, self.estimator)
        for output_index in candidates:
            chars = view.item(output_index).chars
            if view.state(output_index) == "whole" and chars > self.longest_chars:
                notice = TRIM_NOTICE.format(head=self.head, tail=self.tail, chars=chars)
                trimmed_chars = self.head + self.tail + len(notice)
                request_chars += trimmed_chars - chars
                changes[output_index] = Change(output_index, "truncated", chars=trimmed_chars)
        if request_chars / window_chars >= self.clear_share:
            excess_chars = request_chars - self.clear_share * window_chars
            candidates = [
                output_index for output_index in candidates if view.state(output_index) != "cleared"
            ]
            if sum(map(shown_view.chars, candidates)) >= self.least_chars:
                for output_index in candidates:
                    if excess_chars < 0:
                        break
                    excess_chars += len(RESULT_CLEARED) - shown_view.chars(output_index)
                    changes[output_index] = Change(output_index, "cleared", RESULT_CLEARED)
        return list(changes.values())


class ClaudeCodeMicrocompact(Preset):
    """Claude Code's microcompaction after a pause: all but the newest results of its file and web tools are cleared.

    It is switched off unless the vendor switches it on. In 2.1.17 another rule kept three results, near the
    auto-compaction; since 2.1.112 no rule depends on a pause.
    """

    preset = "claude_code.microcompact"
    source = "Claude Code 2.1.96, its published cli.js: gapThresholdMinutes 60, keepRecent 5"
    third_party = True
    idle_seconds: float = 3_600
    keep_results: int = 5
    tools: tuple[str, ...] = CLEARABLE_TOOLS
    """Tools whose results may be cleared, in lower case."""

    def step(self, state: None, view: PolicyView) -> PolicyResult:  # noqa: ARG002
        probe = pause_probe(view, self.idle_seconds)
        if not probe.is_passed:
            return PolicyResult(None, probe=probe)
        candidates = [
            index
            for index in view.outputs
            if view.item(index).tool.lower() in self.tools and view.shows(index)
        ]
        old_results = [
            index
            for index in candidates[: -max(1, self.keep_results)]
            if view.state(index) == "whole"
        ]
        changes = placeholder_changes(view, old_results, "cleared", RESULT_CLEARED)
        candidates_text = (
            f"results of its tools beyond the newest {self.keep_results} that may be cleared"
        )
        return decided_with_reason(None, changes, probe, candidates_text)


def pause_probe(view: PolicyView, seconds: float) -> Probe:
    """Return the probe of a rule that acts after a pause since the last request; an unknown pause counts as 0 seconds."""
    gap_seconds = view.gap_seconds or 0.0
    return Probe(
        "seconds since the request before", gap_seconds, seconds, "seconds", inclusive=True
    )

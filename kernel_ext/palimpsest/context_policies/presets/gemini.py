"""Gemini CLI's own rules: a new long result is cut, old results are masked, and a full window is compressed.

Read from Gemini CLI at the commit that each ``source`` names.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from palimpsest.context_policies.interface.policy import (
    Change,
    PolicyResult,
    PolicyView,
    Probe,
    SessionFacts,
)
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.items.reducible import (
    ASSUMED_PATH_CHARS,
    FIXED_KINDS,
    begins_message,
    decided_with_reason,
    is_reducible,
    shortening_changes,
    start_of_unanswered,
)
from palimpsest.context_policies.items.tool_calls import SHELL_TOOLS, is_of_server
from palimpsest.context_policies.presets.summarising import CutAtTokens, SummaryState
from palimpsest.transcript.values import CHARS_PER_TOKEN

PREVIEW_GAP_CHARS = 25
"""Characters between the head and the tail of a preview."""
PREVIEW_NOTE_CHARS = 90 + ASSUMED_PATH_CHARS
"""Characters of the note around a preview: that it was masked, and the name of its file."""
CUT_NOTE_CHARS = 130 + ASSUMED_PATH_CHARS
"""Characters of the note around a cut result: the lengths, and the file with the whole text."""


class GeminiTruncate(Preset):
    """Gemini CLI shows 40,000 characters of a result of a shell or an MCP server, and writes the whole to a file.

    Less is shown where the window is nearly full: four characters for each token that was free after the request
    before. Results of other tools stay, and results with a picture.
    """

    preset = "gemini.truncate"
    source = "Gemini CLI 5411f11, scheduler/tool-executor.ts, getTruncateToolOutputThreshold"
    window: int = 1_048_576
    """The window in tokens; 0 takes the recorded one; where none is known, the window is never full."""
    longest_chars: int = 40_000
    """Characters up to which a result is shown whole, and to which a longer one is cut."""
    note_chars: int = CUT_NOTE_CHARS
    """Characters of the note with the whole length and the file's name."""

    def start(self, facts: SessionFacts) -> tuple[int, int]:
        """Return the window, the recorded one where none is assumed, and the number of results considered: none."""
        return self.window_of(facts), 0

    def step(self, state: tuple[int, int], view: PolicyView) -> PolicyResult:
        window, considered_count = state
        cuttable_outputs = [
            index for index in view.outputs[considered_count:] if self._may_cut(view, index)
        ]
        max_chars = self.longest_chars
        if window > 0:
            max_chars = min(max_chars, free_chars(view, window))
        if max_chars <= 0:
            cuttable_outputs = []
        shown_chars = max_chars + self.note_chars
        long_results = (
            (index, shown_chars) for index in cuttable_outputs if view.chars(index) > max_chars
        )
        changes = shortening_changes(view, long_results, "offloaded")
        longest_result_chars = max((view.chars(index) for index in cuttable_outputs), default=0)
        signal = "characters of a shell's or a server's result"
        probe = Probe(signal, longest_result_chars, max_chars, "characters")
        candidates_text = (
            f"results that {shown_chars} characters of head, tail and note would shorten"
        )
        return decided_with_reason((window, len(view.outputs)), changes, probe, candidates_text)

    def _may_cut(self, view: PolicyView, index: int) -> bool:
        item = view.item(index)
        if not is_reducible(view, index):
            return False
        if item.tool.lower() in SHELL_TOOLS:
            return True
        return is_of_server(item.tool) and not has_media(view, index)


class MaskedUntil(NamedTuple):
    """How far results are masked, and the counts of the results before the protected ones."""

    first_unmasked: int = 0
    """Index in ``view.outputs`` of the first result that is not masked."""
    protected_from: int = 0
    """Index in ``view.outputs`` of the first protected result; earlier ones that are not masked were counted."""
    freed_tokens: int = 0
    """Tokens of the counted results."""
    changes: int | None = None
    """``PolicyView.changes`` when they were counted."""
    protected_tokens: int = 0
    """Tokens of the protected results."""
    counted_results: int = 0
    """Number of results that were counted for ``protected_tokens``."""


class GeminiMask(Preset):
    """Gemini CLI's masking: results older than the newest ``protect`` tokens become a head, a tail and a file.

    Nothing is masked below ``minimum`` tokens. Results that are sent for the first time are not masked, nor are the
    results of ``spared_tools``.
    """

    preset = "gemini.mask"
    source = "Gemini CLI 5411f11, services/toolOutputMaskingService.ts"
    initial_state = MaskedUntil()
    """Nothing is masked and nothing was counted."""
    protect: int = 50_000
    minimum: int = 30_000
    preview_chars: int = 250
    """Characters of head and of tail that stay."""
    shell_lines: int = 10
    """Lines of head and of tail that stay of a shell's output, which stays whole if it has no more."""
    spared_tools: tuple[str, ...] = (
        "activate_skill",
        "ask_user",
        "enter_plan_mode",
        "exit_plan_mode",
    )

    def step(self, state: MaskedUntil, view: PolicyView) -> PolicyResult:
        # Results before the protected ones stay unprotected, unless another item changed since.
        is_unchanged = view.changes is not None and view.changes == state.changes
        counts = self._with_new_counts(
            state if is_unchanged else MaskedUntil(state.first_unmasked, state.first_unmasked), view
        )
        probe = Probe(
            "tokens of results that may be masked",
            counts.freed_tokens,
            self.minimum,
            inclusive=True,
        )
        if not probe.is_passed:
            return PolicyResult(counts, probe=probe)
        outputs = view.outputs
        candidates = [
            index
            for index in outputs[state.first_unmasked : counts.protected_from]
            if self._may_mask(view, index)
        ]
        shown_lengths = ((index, self._masked_chars(view, index)) for index in reversed(candidates))
        changes = shortening_changes(view, shown_lengths, "masked")
        return decided_with_reason(
            MaskedUntil(counts.protected_from), changes, probe, "longer results among them"
        )

    def _masked_chars(self, view: PolicyView, index: int) -> int:
        if view.item(index).tool.lower() not in SHELL_TOOLS:
            return 2 * self.preview_chars + PREVIEW_GAP_CHARS + PREVIEW_NOTE_CHARS
        lines = view.read(index).split("\n")
        if len(lines) <= 2 * self.shell_lines:
            return view.chars(index) + PREVIEW_NOTE_CHARS
        ends = [*lines[: self.shell_lines], *lines[len(lines) - self.shell_lines :]]
        return sum(len(line) + 1 for line in ends) + PREVIEW_GAP_CHARS + PREVIEW_NOTE_CHARS

    def _may_mask(self, view: PolicyView, index: int) -> bool:
        """Return whether a result may be masked and is not yet."""
        item = view.item(index)
        return (
            view.shows(index)
            and view.state(index) != "masked"
            and not item.pinned
            and item.tool not in self.spared_tools
        )

    def _with_new_counts(self, counts: MaskedUntil, view: PolicyView) -> MaskedUntil:
        """Return where the protected results begin now, counting only results that are new or no longer protected.

        A result that an earlier policy of a pipeline shortened counts with its shortened length.
        """
        outputs = view.outputs
        sent_count = bisect_left(outputs, start_of_unanswered(view))
        first_unmasked, protected_from, freed_tokens, _, protected_tokens, counted_results = counts
        for index in outputs[max(counted_results, protected_from) : sent_count]:
            if self._may_mask(view, index):
                protected_tokens += view.tokens(index)
        position = protected_from
        while protected_tokens > self.protect and position < sent_count:
            index = outputs[position]
            position += 1
            if not self._may_mask(view, index):
                continue
            protected_tokens -= view.tokens(index)
            freed_tokens += view.tokens(index)
            protected_from = position
        return MaskedUntil(
            first_unmasked, protected_from, freed_tokens, view.changes, protected_tokens, sent_count
        )


class GeminiCompress(CutAtTokens):
    """Gemini CLI's compression: at half of the window, a summary replaces the turns before the newest 30 per cent.

    It cuts only before prompts: if the newest 30 per cent contain no prompt, before the newest prompt if its turn still
    runs, else after everything. Remaining results beyond 50,000 tokens are cut as by ``gemini.truncate``, but of every
    tool.
    """

    preset = "gemini.compress"
    source = "Gemini CLI 5411f11, context/chatCompressionService.ts"
    token_source = "Gemini CLI 5411f11, context/chatCompressionService.ts: getLastPromptTokenCount"
    with_answer = False
    later_items = "nothing"
    inclusive = True
    window: int = 1_048_576
    window_share: float = 0.5
    keep_share: float = 0.3
    whole_result_tokens: int = 50_000
    """Tokens of results that stay whole."""
    longest_chars: int = 40_000
    """Characters that are shown of each result beyond ``whole_result_tokens``."""

    def first_to_keep(self, state: SummaryState, view: PolicyView) -> int:
        """Return the first prompt that stays, by the characters of the requests and answers so far."""
        if not view.request.index:
            return 0
        previous_request = view.timeline.requests[view.request.index - 1]
        answer_end = previous_request.answer[1]
        history = [
            index
            for index in view.shown_items[: bisect_left(view.shown_items, answer_end)]
            if view.item(index).kind not in FIXED_KINDS
        ]
        has_summary = state.summary_place >= 0 and not view.shows(state.summary_place)
        summary_chars = CHARS_PER_TOKEN * self.summary if has_summary else 0
        goal_chars = (1 - self.keep_share) * (summary_chars + sum(map(view.chars, history)))
        passed_chars, newest_prompt = summary_chars, 0
        for index in history:
            if view.item(index).kind == "user" and begins_message(view, index):
                if passed_chars >= goal_chars:
                    return index
                newest_prompt = index
            passed_chars += view.chars(index)
        answer_items = range(*previous_request.answer)
        is_turn_running = any(view.item(index).kind == "call" for index in answer_items)
        return newest_prompt if is_turn_running else answer_end

    def further_changes(
        self, view: PolicyView, first_kept: int, covered_items: Sequence[int]
    ) -> list[Change]:
        removed_items, outputs = {*covered_items}, view.outputs
        max_chars = min(self.longest_chars, free_chars(view, self.window or view.request.window))
        shown_chars = max_chars + CUT_NOTE_CHARS
        passed_tokens = 0
        changes: list[Change] = []
        sent_count = bisect_left(outputs, start_of_unanswered(view))
        for index in reversed(outputs[bisect_left(outputs, first_kept) : sent_count]):
            if index in removed_items or not view.shows(index):
                continue
            tokens = view.tokens(index)
            if passed_tokens + tokens > self.whole_result_tokens and view.chars(index) > max_chars:
                changes += shortening_changes(view, [(index, shown_chars)], "offloaded")
                tokens = -(-shown_chars // CHARS_PER_TOKEN)
            passed_tokens += tokens
        return changes


def free_chars(view: PolicyView, window: int) -> int:
    """Return the characters that fit into the window after the previous request."""
    first_new = view.timeline.requests[view.request.index - 1].items if view.request.index else 0
    new_tokens = sum(view.tokens(index) for index in range(first_new, view.count))
    return CHARS_PER_TOKEN * (window - (view.total - new_tokens))


def has_media(view: PolicyView, result_index: int) -> bool:
    """Return whether pictures or files came with a result."""
    if result_index + 1 >= view.count:
        return False
    next_item = view.item(result_index + 1)
    return next_item.kind == "media" and next_item.group == view.item(result_index).group

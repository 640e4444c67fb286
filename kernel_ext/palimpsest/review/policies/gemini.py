"""Gemini CLI's own rules: a long result is cut when it comes, old ones are masked, and a full window is compressed.

Read from Gemini CLI at the commit that each ``source`` names.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from palimpsest.review.policies.policy import (
    Change,
    Decided,
    PolicyView,
    Probe,
    SessionFacts,
)
from palimpsest.review.policies.reducible import (
    BESIDE,
    PATH_CHARS,
    begins_message,
    decided,
    is_reducible,
    shortened,
    start_of_unanswered,
)
from palimpsest.review.policies.settings import Preset
from palimpsest.review.policies.summarising import CutAtTokens, SummaryState
from palimpsest.review.policies.tool_calls import SHELL_TOOLS, is_of_server

PREVIEW_GAP_CHARS = 25
"""Characters between the head and the tail of a preview."""
PREVIEW_NOTE_CHARS = 90 + PATH_CHARS
"""Characters around a preview: that it was masked, and in which file it is."""
CUT_NOTE_CHARS = 130 + PATH_CHARS
"""Characters around the head and the tail of a result that was cut: their lengths, and the file of the whole."""


class GeminiTruncate(Preset):
    """Gemini CLI shows 40,000 characters of what a shell or an MCP server returned, and writes the whole to a file.

    Less is shown where the window is nearly full: four characters for each token that was free after the request
    before. What other tools return stays, and what came with a picture.
    """

    preset = "gemini.truncate"
    source = "Gemini CLI 5411f11, scheduler/tool-executor.ts, getTruncateToolOutputThreshold"
    window: int = 1_048_576
    """0 takes the recorded one; where none is known, the window is never full."""
    longest: int = 40_000
    """Characters of a result up to which it is shown whole, and that are shown of a longer one."""
    note_chars: int = CUT_NOTE_CHARS
    """Characters of the note that says how long the whole is and in which file it lies."""

    def start(self, facts: SessionFacts) -> tuple[int, int]:
        """Return the window, the recorded one where none is assumed, and how many results were looked at: none."""
        return self.window_of(facts), 0

    def step(self, state: tuple[int, int], view: PolicyView) -> Decided:
        window, seen = state
        new = [one for one in view.outputs[seen:] if self._is_cut(view, one)]
        most = min(self.longest, free_chars(view, window)) if window > 0 else self.longest
        size = most + self.note_chars
        long = ((one, size) for one in new if view.chars(one) > most > 0)
        changes = shortened(view, long, "offloaded")
        longest = max((view.chars(one) for one in new), default=0) if most > 0 else 0
        probe = Probe("characters of a shell's or a server's result", longest, most, "characters")
        able = f"results that {size} characters of head, tail and note would shorten"
        return decided((window, len(view.outputs)), changes, probe, able)

    def _is_cut(self, view: PolicyView, index: int) -> bool:
        item = view.item(index)
        if not is_reducible(view, index):
            return False
        if item.tool.lower() in SHELL_TOOLS:
            return True
        return is_of_server(item.tool) and not has_media(view, index)


class MaskedUntil(NamedTuple):
    """How far results are masked, and what was weighed beyond the protected tokens."""

    masked: int = 0
    """The place of the first result that is not masked."""
    beyond: int = 0
    """The place before which all that is not masked was weighed."""
    freed: int = 0
    """The tokens of these."""
    changes: int | None = None
    """``PolicyView.changes`` when they were weighed."""
    protected: int = 0
    """The tokens of the results from there on."""
    seen: int = 0
    """How many results there were then."""


class GeminiMask(Preset):
    """Gemini CLI's masking: results older than the newest ``protect`` tokens become a head, a tail and a file.

    Nothing is masked below ``minimum`` tokens. What is about to be sent for the first time is not looked at, nor
    what its tools in ``spared`` returned.
    """

    preset = "gemini.mask"
    source = "Gemini CLI 5411f11, services/toolOutputMaskingService.ts"
    at_first = MaskedUntil()
    """Nothing is masked and nothing was weighed."""
    protect: int = 50_000
    minimum: int = 30_000
    preview_chars: int = 250
    """Characters of head and of tail that stay."""
    shell_lines: int = 10
    """Lines of head and of tail that stay of what a shell returned, whole where it has not more than these."""
    spared: tuple[str, ...] = ("activate_skill", "ask_user", "enter_plan_mode", "exit_plan_mode")

    def step(self, state: MaskedUntil, view: PolicyView) -> Decided:
        # What was beyond them stays beyond, unless something else was shown otherwise since.
        known = view.changes is not None and view.changes == state.changes
        weighed = self._weighed(state if known else MaskedUntil(state.masked, state.masked), view)
        probe = Probe(
            "tokens of results that may be masked", weighed.freed, self.minimum, inclusive=True
        )
        if not probe.passed:
            return Decided(weighed, probe=probe)
        outputs = view.outputs
        found = [one for one in outputs[state.masked : weighed.beyond] if self._may_mask(view, one)]
        sizes = ((one, self._size(view, one)) for one in reversed(found))
        changes = shortened(view, sizes, "masked")
        return decided(MaskedUntil(weighed.beyond), changes, probe, "longer results among them")

    def _size(self, view: PolicyView, index: int) -> int:
        """Return the characters of a masked result."""
        if view.item(index).tool.lower() not in SHELL_TOOLS:
            return 2 * self.preview_chars + PREVIEW_GAP_CHARS + PREVIEW_NOTE_CHARS
        lines = view.read(index).split("\n")
        if len(lines) <= 2 * self.shell_lines:
            return view.chars(index) + PREVIEW_NOTE_CHARS
        ends = [*lines[: self.shell_lines], *lines[len(lines) - self.shell_lines :]]
        return sum(len(one) + 1 for one in ends) + PREVIEW_GAP_CHARS + PREVIEW_NOTE_CHARS

    def _may_mask(self, view: PolicyView, index: int) -> bool:
        """Return whether a result may be masked and is not."""
        item = view.item(index)
        return (
            view.shows(index)
            and view.state(index) != "masked"
            and not item.pinned
            and item.tool not in self.spared
        )

    def _weighed(self, known: MaskedUntil, view: PolicyView) -> MaskedUntil:
        """Return where the protected tokens begin now; only results that are new or leave them are looked at.

        A result that an earlier policy of a pipeline shortened is as long as it left it.
        """
        outputs = view.outputs
        sent = bisect_left(outputs, start_of_unanswered(view))
        beyond, freed, protected = known.beyond, known.freed, known.protected
        for one in outputs[max(known.seen, beyond) : sent]:
            if self._may_mask(view, one):
                protected += view.tokens(one)
        place = beyond
        while protected > self.protect and place < sent:
            one = outputs[place]
            place += 1
            if not self._may_mask(view, one):
                continue
            protected -= view.tokens(one)
            freed += view.tokens(one)
            beyond = place
        return MaskedUntil(known.masked, beyond, freed, view.changes, protected, sent)


class GeminiCompress(CutAtTokens):
    """Gemini CLI's compression: at half of the window, a summary replaces the turns before the newest 30 per cent.

    It cuts in front of prompts only: where none lies in the newest 30 per cent, before the newest prompt if its turn
    still runs, else behind everything. Of the results that stay those beyond 50,000 tokens are cut as
    ``gemini.truncate`` cuts them, whatever tool they are of.
    """

    preset = "gemini.compress"
    source = "Gemini CLI 5411f11, context/chatCompressionService.ts"
    counted = "Gemini CLI 5411f11, context/chatCompressionService.ts: getLastPromptTokenCount"
    with_answer = False
    since = "nothing"
    inclusive = True
    window: int = 1_048_576
    at: float = 0.5
    keep_share: float = 0.3
    results: int = 50_000
    """Tokens of results that stay whole."""
    longest: int = 40_000
    """Characters that are shown of those beyond."""

    def cut(self, state: SummaryState, view: PolicyView) -> int:
        """Return the prompt that stays first, by the characters of what was sent and answered so far."""
        if not view.request.index:
            return 0
        before = view.timeline.requests[view.request.index - 1]
        end = before.answer[1]
        history = [
            one
            for one in view.shown_items[: bisect_left(view.shown_items, end)]
            if view.item(one).kind not in BESIDE
        ]
        summary = 4 * self.summary if state.place >= 0 and not view.shows(state.place) else 0
        goal = (1 - self.keep_share) * (summary + sum(view.chars(one) for one in history))
        passed, newest = summary, 0
        for one in history:
            if view.item(one).kind == "user" and begins_message(view, one):
                if passed >= goal:
                    return one
                newest = one
            passed += view.chars(one)
        runs = any(view.item(one).kind == "call" for one in range(*before.answer))
        return newest if runs else end

    def beside(self, view: PolicyView, cut: int, leaving: Sequence[int]) -> list[Change]:
        gone, outputs = {*leaving}, view.outputs
        window = self.window or view.request.window
        most = min(self.longest, free_chars(view, window))
        passed = 0
        found: list[Change] = []
        sent = bisect_left(outputs, start_of_unanswered(view))
        for one in reversed(outputs[bisect_left(outputs, cut) : sent]):
            if one in gone or not view.shows(one):
                continue
            tokens = view.tokens(one)
            if passed + tokens > self.results and view.chars(one) > most:
                found += shortened(view, [(one, most + CUT_NOTE_CHARS)], "offloaded")
                tokens = -(-(most + CUT_NOTE_CHARS) // 4)
            passed += tokens
        return found


def free_chars(view: PolicyView, window: int) -> int:
    """Return four characters for each token of the window that the request before did not take."""
    first = view.timeline.requests[view.request.index - 1].items if view.request.index else 0
    new = sum(view.tokens(one) for one in range(first, view.count))
    return 4 * (window - (view.total - new))


def has_media(view: PolicyView, result: int) -> bool:
    """Return whether pictures or files came with a result."""
    if result + 1 >= view.count:
        return False
    after = view.item(result + 1)
    return after.kind == "media" and after.group == view.item(result).group

"""Strands' sliding window: old messages are removed at the end of a turn, and where a request exceeds the window.

Read from the Strands Agents SDK at the version that each ``source`` names. All results of one answer are one of its
messages.
"""

from collections.abc import Sequence

from palimpsest.context_policies.interface.policy import Change, PolicyResult, PolicyView, Probe
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.interface.stage_view import StageView
from palimpsest.context_policies.items.measured import WindowShare, in_own_tokens
from palimpsest.context_policies.items.reducible import (
    decided_with_reason,
    is_reducible,
    is_result,
    removal_changes,
    shown_merged_messages,
)
from palimpsest.context_policies.presets.cutting import DROPPABLE

CUT_NOTE = "...\n\n... [truncated: {count} chars removed] ...\n\n..."
IMAGE_NOTE_CHARS = 30
"""Characters of the text in place of a picture: its format and size."""
DROPPED_FROM_SHORT = 2
"""Messages to drop at an overflow where there are no more than ``messages``."""


class StrandsSlidingWindow(Preset):
    """Strands' sliding window: at the end of a turn only the newest ``messages`` stay.

    They begin with a prompt, or, where none is among them, with a call whose result follows. With ``per_turn`` the rule
    is also checked within a turn, once in so many requests.
    """

    preset = "strands.sliding_window"
    source = (
        "Strands Agents SDK 1.62, sliding_window_conversation_manager.py: window_size, per_turn"
    )
    when = "both"
    messages: int = 40
    """Number of newest messages that stay."""
    per_turn: int = 0
    """Number of requests after which it also checks within a turn; 0: only at the end of turns."""

    def step(self, state: None, view: PolicyView) -> PolicyResult:  # noqa: ARG002
        is_within_turn = view.turn == view.request.turn
        if is_within_turn and not (self.per_turn and (view.request.index + 1) % self.per_turn == 0):
            return PolicyResult(None)
        message_starts = shown_merged_messages(view)
        probe = Probe("messages", len(message_starts), self.messages, "messages")
        if not probe.is_passed:
            return PolicyResult(None, probe=probe)
        first_kept = first_that_stays(view, message_starts, len(message_starts) - self.messages)
        changes = removal_changes(view, range(message_starts[0], message_starts[first_kept]))
        return decided_with_reason(None, changes, probe, DROPPABLE)


class StrandsTruncateResults(WindowShare):
    """Strands at an overflow: the oldest message's long results are cut to 200 characters of head and of tail.

    That is the oldest message with results. If its results are cut already, messages are dropped from the front: those
    beyond the newest 40, else two, and more until the first message is a prompt. Both steps are repeated until the
    request fits.
    """

    preset = "strands.truncate_results"
    source = "Strands Agents SDK 1.62, sliding_window_conversation_manager.py"
    token_source = "Strands Agents SDK 1.62: the provider refuses the request as too long"
    later_items = "counted"
    candidates_text = "results that may be shortened and messages that may be dropped"
    kept_chars: int = 400
    messages: int = 40

    def new_changes(self, view: PolicyView, probe: Probe) -> Sequence[Change]:
        max_tokens = in_own_tokens(probe.threshold, view, probe)
        changes: dict[int, Change] = {}
        shown_view = StageView(view, changes, self.estimator, self.estimator)
        remaining_tokens, message_starts = view.total, shown_merged_messages(view)
        while message_starts and remaining_tokens > max_tokens:
            pass_changes = self._shortening_changes(shown_view, message_starts)
            if not pass_changes:
                excess = len(message_starts) - self.messages
                start = excess if excess > 0 else DROPPED_FROM_SHORT
                first_kept = first_that_stays(view, message_starts, start)
                removals = removal_changes(
                    view, range(message_starts[0], message_starts[first_kept])
                )
                pass_changes = [change for change in removals if changes.get(change.item) != change]
                message_starts = message_starts[first_kept:]
            if not pass_changes:
                break
            remaining_tokens -= sum(shown_view.tokens(change.item) for change in pass_changes)
            changes.update({change.item: change for change in pass_changes})
            remaining_tokens += sum(shown_view.tokens(change.item) for change in pass_changes)
        return [*changes.values()]

    def _shortening_changes(self, view: PolicyView, message_starts: Sequence[int]) -> list[Change]:
        """Return the changes that shorten the results of the oldest message with results, as far as they are whole."""
        oldest_message = next(
            (place for place, start in enumerate(message_starts) if is_result(view, start)), None
        )
        if oldest_message is None:
            return []
        end = (
            message_starts[oldest_message + 1]
            if oldest_message + 1 < len(message_starts)
            else view.count
        )
        changes: list[Change] = []
        for index in range(message_starts[oldest_message], end):
            chars = view.chars(index)
            if view.state(index) != "whole" or not is_reducible(view, index):
                continue
            if view.item(index).kind == "media":
                changes.append(Change(index, "cleared", chars=min(IMAGE_NOTE_CHARS, chars)))
                continue
            note = CUT_NOTE.format(count=chars - self.kept_chars)
            if chars > self.kept_chars + len(note):
                changes.append(Change(index, "truncated", chars=self.kept_chars + len(note)))
        return changes


def first_that_stays(view: PolicyView, message_starts: Sequence[int], oldest_message: int) -> int:
    """Return the index of the first message from ``oldest_message`` on that can begin a request; 0, so that all stay, where none can."""
    places = range(oldest_message, len(message_starts))
    prompts = (index for index in places if view.item(message_starts[index]).kind == "user")
    calls = (
        index
        for index in places[:-1]
        if not is_result(view, message_starts[index]) and is_result(view, message_starts[index + 1])
    )
    return next(prompts, next(calls, 0))

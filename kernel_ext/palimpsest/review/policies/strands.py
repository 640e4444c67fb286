"""Strands' sliding window: old messages leave at the end of a turn, and where a request was too large for the window.

Read from the Strands Agents SDK at the version that each ``source`` names. All results of one answer are one of its
messages.
"""

from bisect import bisect_left
from collections.abc import Sequence

from palimpsest.review.policies.measured import AtShare, in_own_tokens
from palimpsest.review.policies.policy import (
    Change,
    Decided,
    PolicyView,
    Probe,
)
from palimpsest.review.policies.reducible import (
    decided,
    dropped,
    is_reducible,
    is_result,
    shown_turns,
)
from palimpsest.review.policies.settings import Preset
from palimpsest.review.policies.stage_view import StageView

DROPPED = "older messages that may be dropped"
CUT_NOTE = "...\n\n... [truncated: {count} chars removed] ...\n\n..."
IMAGE_NOTE_CHARS = 30
"""Characters of what stands in the place of a picture: its format and size."""
LEAST_START = 2
"""So many messages leave where there are not more than the window holds."""


class StrandsSlidingWindow(Preset):
    """Strands' sliding window: at the end of a turn only the newest ``messages`` stay.

    They begin with a prompt, or where none is among them with a call whose result follows. With ``per_turn`` it looks
    before every so many requests as well.
    """

    preset = "strands.sliding_window"
    source = (
        "Strands Agents SDK 1.62, sliding_window_conversation_manager.py: window_size, per_turn"
    )
    when = "both"
    messages: int = 40
    per_turn: int = 0
    """Requests after which it looks within a turn, too; 0: only at the end of turns."""

    def step(self, state: None, view: PolicyView) -> Decided:  # noqa: ARG002
        within = view.turn == view.request.turn
        if within and not (self.per_turn and (view.request.index + 1) % self.per_turn == 0):
            return Decided(None)
        turns = shown_turns(view)
        probe = Probe("messages", len(turns), self.messages, "messages")
        if not probe.passed:
            return Decided(None, probe=probe)
        place = first_that_stays(view, turns, len(turns) - self.messages)
        changes = [] if place is None else dropped(view, range(turns[0], turns[place]))
        return decided(None, changes, probe, DROPPED)


class StrandsTruncateResults(AtShare):
    """Strands at an overflow: long results of the oldest message that has some show 200 characters of head and of tail.

    Where these are cut already, messages leave from the front: those beyond the newest 40, else two, and more until a
    prompt stands first. Each is done anew until the request fits.
    """

    preset = "strands.truncate_results"
    source = "Strands Agents SDK 1.62, sliding_window_conversation_manager.py"
    counted = "Strands Agents SDK 1.62: the provider refuses the request as too long"
    since = "counted"
    able = "results that may be shortened and messages that may be dropped"
    kept: int = 400
    messages: int = 40

    def changed(self, view: PolicyView, probe: Probe) -> Sequence[Change]:
        most = in_own_tokens(probe.threshold, view, probe)
        changes: dict[int, Change] = {}
        seen = StageView(view, changes, self.estimator, self.estimator)
        total, turns = view.total, shown_turns(view)
        while total > most:
            results = next((one for one in turns if is_result(view, one)), None)
            found = [] if results is None else self._cut(seen, turns, results)
            if not found:
                start = LEAST_START if len(turns) <= self.messages else len(turns) - self.messages
                place = first_that_stays(view, turns, start)
                gone = [] if place is None else dropped(view, range(turns[0], turns[place]))
                found = [one for one in gone if changes.get(one.item) != one]
                turns = turns[place:]
            if not found:
                break
            total -= sum(seen.tokens(one.item) for one in found)
            changes.update({one.item: one for one in found})
            total += sum(seen.tokens(one.item) for one in found)
        return [*changes.values()]

    def _cut(self, view: PolicyView, turns: Sequence[int], first: int) -> list[Change]:
        """Return what shortens the results of a message that were not shortened yet."""
        place = bisect_left(turns, first) + 1
        end = turns[place] if place < len(turns) else view.count
        found: list[Change] = []
        for one in range(first, end):
            chars = view.chars(one)
            if view.state(one) != "whole" or not is_reducible(view, one):
                continue
            if view.item(one).kind == "media":
                found.append(Change(one, "cleared", chars=min(IMAGE_NOTE_CHARS, chars)))
                continue
            note = CUT_NOTE.format(count=chars - self.kept)
            if chars > self.kept + len(note):
                found.append(Change(one, "truncated", chars=self.kept + len(note)))
        return found


def first_that_stays(view: PolicyView, turns: Sequence[int], start: int) -> int | None:
    """Return the place of the first message from ``start`` on with which a request can begin; None where none can."""
    places = range(start, len(turns))
    prompts = (one for one in places if view.item(turns[one]).kind == "user")
    calls = (
        one
        for one in places[:-1]
        if not is_result(view, turns[one]) and is_result(view, turns[one + 1])
    )
    return next(prompts, next(calls, None))

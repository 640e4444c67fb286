"""Policies that clear what a later call made needless: repeated reads, repeated calls, files that were read after."""

import json
from collections.abc import Sequence

from palimpsest.review.policies.clearing import without_inputs
from palimpsest.review.policies.measured import AtWindow
from palimpsest.review.policies.policy import (
    Change,
    Decided,
    PolicyView,
    Probe,
)
from palimpsest.review.policies.reducible import (
    call_of_result,
    decided,
    dropped,
    is_reducible,
    is_shown,
    replaced,
    shortened,
    shown_turns,
)
from palimpsest.review.policies.settings import Preset
from palimpsest.review.policies.tool_calls import READ_TOOLS, WHOLE_WRITE_TOOLS, input_of, path_of

CLINE_NOTICE = "[[NOTE] An older read of this file was removed to save space; its newest read shows it as it was then.]"
LEAST_SHARE = 0.8
"""Share of the window below which Cline never acts, however much is to be kept free."""
LEAST_FREE = {64_000: 27_000, 128_000: 30_000}
"""Tokens that Cline keeps free in windows of two sizes, by the window."""
DCP_NOTICE = "[An older result of the same call was removed to save context.]"
DCP_INPUT_REMOVED = "[input removed due to failed tool call]"
DCP_WHOLE_OUTPUTS = frozenset({"question", "edit", "write"})
"""Tools whose results DCP shows whole, though it counts them as cleared."""

Known = tuple[tuple[str, int], ...]
"""The newest result of each subject, by a file's path or the digest of a call."""


class ClineLegacy(AtWindow):
    """Cline's older rule: near the window, only the newest read of each file stays.

    Where that saves less than ``enough`` of the characters, half of the messages after the first two are dropped, or
    three quarters where the request is twice too large.
    """

    preset = "cline.legacy"
    source = "Cline 3.x, core/context/context-management: duplicate file reads"
    counted = "Cline 3.x, core/context/context-management: the totals of the last API request"
    since = "nothing"
    inclusive = True
    able = "older reads and messages that may be removed"
    reserve: int = 40_000
    """Tokens of the window that are kept free."""
    enough: float = 0.3

    def changed(self, view: PolicyView, probe: Probe) -> Sequence[Change]:
        whole = sum(view.chars(one) for one in range(view.count) if is_shown(view, one))
        changes = self._older_reads(view)
        saved = sum(view.chars(one.item) - one.length for one in changes)
        if saved < self.enough * whole:
            starts = shown_turns(view)
            left = len(starts) - 2
            count = left * 3 // 4 // 2 * 2 if probe.value / 2 > probe.threshold else left // 4 * 2
            if count > 0:
                gone = dropped(view, range(starts[2], starts[2 + count]))
                items = {one.item for one in gone}
                changes = [one for one in changes if one.item not in items] + gone
        return changes

    def trigger(self, window: int) -> float:
        free = LEAST_FREE.get(window)
        if free is not None:
            return window - free
        return max(window - self.reserve, round(LEAST_SHARE * window))

    def _older_reads(self, view: PolicyView) -> list[Change]:
        newest: set[str] = set()
        found: list[Change] = []
        for one in reversed(view.outputs):
            if view.item(one).tool.lower() not in READ_TOOLS or view.state(one) != "whole":
                continue
            path = path_of(view, one)
            if path and path in newest:
                found += replaced(view, [one], "cleared", CLINE_NOTICE)
            newest.add(path)
        return found


class DcpDeduplicate(Preset):
    """DCP's deduplication: of calls of one tool with one input only the newest result stays."""

    preset = "dcp.deduplicate"
    source = "Opencode-DCP fbd75bc, strategies: deduplication"
    at_first = (0, ())
    """How many results were looked at, and the newest of each call."""
    protected: tuple[str, ...] = ()
    """Beginnings of the names of tools whose results stay."""

    def step(self, state: tuple[int, Known], view: PolicyView) -> Decided:
        seen, known = state
        newest = dict(known)
        changes: list[Change] = []
        for one in view.outputs[seen:]:
            call = call_of_result(view, one)
            digest = view.item(call).input_hash if call is not None else ""
            if not digest or view.item(one).tool.startswith(self.protected):
                continue
            before = newest.get(digest)
            if before is not None:
                changes += self._removed(view, before)
            newest[digest] = one
        probe = Probe("repeated calls", len(changes), 0, "calls")
        state = (len(view.outputs), tuple(newest.items()))
        return Decided(state, changes, probe, fired=bool(changes))

    def _removed(self, view: PolicyView, result: int) -> list[Change]:
        """Return the change to a result that was asked again; of a failed call it is the input that goes."""
        if view.item(result).is_error:
            return without_texts(view, result)
        if view.item(result).tool in DCP_WHOLE_OUTPUTS:
            return []
        return replaced(view, [result], "cleared", DCP_NOTICE)


class DcpSupersedeWrites(Preset):
    """DCP's superseded writes: the input of a call that wrote a whole file goes once that file was read afterwards.

    The input of an edit stays. At this commit DCP marks such a call and sends it whole all the same; the preset is the
    rule that its documentation tells.
    """

    preset = "dcp.supersede_writes"
    source = "Opencode-DCP fbd75bc, strategies: supersedeWrites"
    at_first = (0, ())
    """How many results were looked at, and the writes that no read followed."""

    def step(self, state: tuple[int, Known], view: PolicyView) -> Decided:
        seen, written = state
        pending = list(written)
        changes: list[Change] = []
        for one in view.outputs[seen:]:
            tool, path = view.item(one).tool.lower(), ""
            if tool in READ_TOOLS | WHOLE_WRITE_TOOLS and not view.item(one).is_error:
                path = path_of(view, one)
            if not path:
                continue
            if tool in WHOLE_WRITE_TOOLS:
                pending.append((path, one))
            else:
                changes += without_inputs(view, [each for name, each in pending if name == path])
                pending = [each for each in pending if each[0] != path]
        probe = Probe("writes whose file was read afterwards", len(changes), 0, "writes")
        return Decided((len(view.outputs), tuple(pending)), changes, probe, fired=bool(changes))


class DcpPurgeErrors(Preset):
    """DCP's purge of errors: the texts in the input of a failed call go after four requests; the error stays."""

    preset = "dcp.purge_errors"
    source = "Opencode-DCP fbd75bc, strategies: purgeErrors, 4 turns (its turn is a request)"
    at_first = (0, ())
    """How many results were looked at, and the failed ones whose calls are whole."""
    requests: int = 4
    protected: tuple[str, ...] = ()

    def step(self, state: tuple[int, tuple[int, ...]], view: PolicyView) -> Decided:
        seen, failed = state
        waiting = [
            *failed,
            *(
                one
                for one in view.outputs[seen:]
                if view.item(one).is_error and not view.item(one).tool.startswith(self.protected)
            ),
        ]
        border = view.request.index - self.requests
        able = [one for one in waiting if is_reducible(view, one)]
        changes = [
            change
            for one in able
            if view.item(one).entered <= border
            for change in without_texts(view, one)
        ]
        oldest = max((view.request.index - view.item(one).entered for one in able), default=0)
        probe = Probe(
            "requests since a call failed", oldest, self.requests, "requests", inclusive=True
        )
        kept = tuple(one for one in waiting if view.item(one).entered > border)
        state = (len(view.outputs), kept)
        return decided(state, changes, probe, "calls whose input may be cleared")


def without_texts(view: PolicyView, result: int) -> list[Change]:
    """Return the change that shows the call of a result with a short text in the place of each text of its input."""
    call = call_of_result(view, result)
    if call is None or not is_reducible(view, call):
        return []
    texts = [one for one in input_of(view, call).values() if isinstance(one, str)]
    more = sum(len(json.dumps(DCP_INPUT_REMOVED)) - len(json.dumps(one)) for one in texts)
    return shortened(view, [(call, view.chars(call) + more)], "cleared")

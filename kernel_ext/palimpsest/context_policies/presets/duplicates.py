"""Policies that clear items that a later call made obsolete: older reads, repeated calls, writes that were read later."""

import json
from collections.abc import Sequence

from palimpsest.context_policies.interface.policy import Change, PolicyResult, PolicyView, Probe
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.items.measured import WindowThreshold
from palimpsest.context_policies.items.reducible import (
    call_of_result,
    decided_with_reason,
    is_reducible,
    is_shown,
    placeholder_changes,
    removal_changes,
    shortening_changes,
    shown_merged_messages,
)
from palimpsest.context_policies.items.tool_calls import (
    READ_TOOLS,
    WHOLE_WRITE_TOOLS,
    input_of,
    path_of,
)
from palimpsest.context_policies.presets.clearing import without_inputs

CLINE_NOTICE = "[[NOTE] An older read of this file was removed to save space; its newest read shows it as it was then.]"
MIN_WINDOW_SHARE = 0.8
"""Share of the window below which Cline never acts, even with a larger reserve."""
FREE_TOKENS = {64_000: 27_000, 128_000: 30_000}
"""Tokens that Cline keeps free in windows of two sizes, by the window."""
DCP_NOTICE = "[An older result of the same call was removed to save context.]"
DCP_INPUT_REMOVED = "[input removed due to failed tool call]"
DCP_WHOLE_OUTPUTS = frozenset({"question", "edit", "write"})
"""Tools whose results DCP shows whole, though it counts them as cleared."""

KeyedResults = tuple[tuple[str, int], ...]
"""Indexes of results, each with the path of its file or the digest of its call's input before it."""


class ClineLegacy(WindowThreshold):
    """Cline's older rule: near the window, only the newest read of each file stays.

    Where that saves less than ``min_saved_share`` of the characters, half of the messages after the first two are dropped, or
    three quarters where the request is twice too large.
    """

    preset = "cline.legacy"
    source = "Cline 3.x, core/context/context-management: duplicate file reads"
    token_source = "Cline 3.x, core/context/context-management: the totals of the last API request"
    later_items = "nothing"
    inclusive = True
    candidates_text = "older reads and messages that may be removed"
    reserve: int = 40_000
    """Tokens of the window that are kept free."""
    min_saved_share: float = 0.3

    def new_changes(self, view: PolicyView, probe: Probe) -> Sequence[Change]:
        total_chars = sum(view.chars(index) for index in range(view.count) if is_shown(view, index))
        changes = self._older_reads(view)
        saved_chars = sum(view.chars(change.item) - change.length for change in changes)
        if saved_chars < self.min_saved_share * total_chars:
            message_starts = shown_merged_messages(view)
            removable_count = len(message_starts) - 2
            # An even number, so that a user's messages and the answers still alternate.
            is_far_over = probe.value / 2 > probe.threshold
            removed_count = (
                removable_count * 3 // 4 // 2 if is_far_over else removable_count // 4
            ) * 2
            if removed_count > 0:
                removed_items = range(message_starts[2], message_starts[2 + removed_count])
                removals = {change.item: change for change in removal_changes(view, removed_items)}
                reads_that_stay = (change for change in changes if change.item not in removals)
                changes = [*reads_that_stay, *removals.values()]
        return changes

    def threshold_tokens(self, window: int) -> float:
        free_tokens = FREE_TOKENS.get(window)
        if free_tokens is not None:
            return window - free_tokens
        return max(window - self.reserve, round(MIN_WINDOW_SHARE * window))

    def _older_reads(self, view: PolicyView) -> list[Change]:
        paths_read_later: set[str] = set()
        changes: list[Change] = []
        for index in reversed(view.outputs):
            if view.item(index).tool.lower() not in READ_TOOLS or view.state(index) != "whole":
                continue
            path = path_of(view, index)
            if path and path in paths_read_later:
                changes += placeholder_changes(view, [index], "cleared", CLINE_NOTICE)
            paths_read_later.add(path)
        return changes


class DcpDeduplicate(Preset):
    """DCP's deduplication: if a tool is called several times with the same input, only the newest result stays."""

    preset = "dcp.deduplicate"
    source = "Opencode-DCP fbd75bc, strategies: deduplication"
    initial_state = (0, ())
    """Number of results considered so far, and the newest result of each call."""
    protected: tuple[str, ...] = ()
    """Name prefixes of tools whose results stay."""

    def step(self, state: tuple[int, KeyedResults], view: PolicyView) -> PolicyResult:
        considered_count, newest_before = state
        newest_by_input = dict(newest_before)
        changes: list[Change] = []
        for index in view.outputs[considered_count:]:
            call_index = call_of_result(view, index)
            digest = view.item(call_index).input_hash if call_index is not None else ""
            if not digest or view.item(index).tool.startswith(self.protected):
                continue
            older_result = newest_by_input.get(digest)
            if older_result is not None:
                changes += self._remove(view, older_result)
            newest_by_input[digest] = index
        probe = Probe("repeated calls", len(changes), 0, "calls")
        state = (len(view.outputs), tuple(newest_by_input.items()))
        return PolicyResult(state, changes, probe, fired=bool(changes))

    def _remove(self, view: PolicyView, result_index: int) -> list[Change]:
        """Return the changes to an older result of a repeated call; of a failed call the input is removed instead."""
        if view.item(result_index).is_error:
            return without_texts(view, result_index)
        if view.item(result_index).tool in DCP_WHOLE_OUTPUTS:
            return []
        return placeholder_changes(view, [result_index], "cleared", DCP_NOTICE)


class DcpSupersedeWrites(Preset):
    """DCP's superseded writes: the input of a call that wrote a whole file is removed once the file was read afterwards.

    The input of an edit stays. At this commit DCP marks such a call but still sends it whole; the preset follows the
    rule in its documentation.
    """

    preset = "dcp.supersede_writes"
    source = "Opencode-DCP fbd75bc, strategies: supersedeWrites"
    initial_state = (0, ())
    """Number of results considered so far, and the writes that no read followed."""

    def step(self, state: tuple[int, KeyedResults], view: PolicyView) -> PolicyResult:
        considered_count, unread_before = state
        unread_writes = list(unread_before)
        changes: list[Change] = []
        for index in view.outputs[considered_count:]:
            tool, path = view.item(index).tool.lower(), ""
            if tool in READ_TOOLS | WHOLE_WRITE_TOOLS and not view.item(index).is_error:
                path = path_of(view, index)
            if not path:
                continue
            if tool in WHOLE_WRITE_TOOLS:
                unread_writes.append((path, index))
            else:
                changes += without_inputs(
                    view, [write for written_path, write in unread_writes if written_path == path]
                )
                unread_writes = [entry for entry in unread_writes if entry[0] != path]
        probe = Probe("writes whose file was read afterwards", len(changes), 0, "writes")
        return PolicyResult(
            (len(view.outputs), tuple(unread_writes)), changes, probe, fired=bool(changes)
        )


class DcpPurgeErrors(Preset):
    """DCP's purge of errors: the texts in a failed call's input are removed after four requests; the error stays."""

    preset = "dcp.purge_errors"
    source = "Opencode-DCP fbd75bc, strategies: purgeErrors, 4 turns (its turn is a request)"
    initial_state = (0, ())
    """Number of results considered so far, and the failed ones whose calls are still whole."""
    requests: int = 4
    """Number of requests after which the input of a failed call is removed."""
    protected: tuple[str, ...] = ()

    def step(self, state: tuple[int, tuple[int, ...]], view: PolicyView) -> PolicyResult:
        considered_count, failed_before = state
        waiting_errors = [*failed_before]
        for index in view.outputs[considered_count:]:
            item = view.item(index)
            if item.is_error and not item.tool.startswith(self.protected):
                waiting_errors.append(index)
        newest_purged_request = view.request.index - self.requests
        candidates = [
            result_index for result_index in waiting_errors if is_reducible(view, result_index)
        ]
        changes = [
            change
            for result_index in candidates
            if view.item(result_index).entered <= newest_purged_request
            for change in without_texts(view, result_index)
        ]
        oldest_age = max(
            (view.request.index - view.item(result).entered for result in candidates), default=0
        )
        probe = Probe(
            "requests since a call failed", oldest_age, self.requests, "requests", inclusive=True
        )
        still_waiting = tuple(
            result_index
            for result_index in waiting_errors
            if view.item(result_index).entered > newest_purged_request
        )
        state = (len(view.outputs), still_waiting)
        return decided_with_reason(state, changes, probe, "calls whose input may be cleared")


def without_texts(view: PolicyView, result_index: int) -> list[Change]:
    """Return the change that replaces each text in the input of a result's call by a short notice."""
    call_index = call_of_result(view, result_index)
    if call_index is None or not is_reducible(view, call_index):
        return []
    texts = [value for value in input_of(view, call_index).values() if isinstance(value, str)]
    difference = sum(len(json.dumps(DCP_INPUT_REMOVED)) - len(json.dumps(text)) for text in texts)
    return shortening_changes(view, [(call_index, view.chars(call_index) + difference)], "cleared")

"""Pair tool calls and results by spans, as OpenClaw did in early 2026.

A span runs from an assistant message with calls to the next assistant message of any kind. Known defects are kept,
since the preset reproduces that version: results in another order, or a second result in the same span, are not counted
as a change; an id used again counts as a duplicate; the results of a failed answer are lost.
``context/message_repair/frame_pairing.py`` has none of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from palimpsest.context.message_repair.message_blocks import (
    RepairReport,
    calls_of,
    is_failed,
    is_result,
    result_of,
    stand_in,
)
from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ResultBlock,
)


def repair_spans(messages: NeutralMessages, missing_result_text: str) -> RepairReport:
    """Pair calls with results by spans; expects each result in a message of its own."""
    pairing = _SpanPairing(missing_result_text)
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        calls = calls_of(message)
        if is_result(message):
            pairing.discard_orphan(message)
        elif not calls or is_failed(message):
            pairing.paired_messages.append(message)
        else:
            end = _end_of_span(messages, position)
            pairing.pair_span(message, calls, messages[position:end])
            position = end
    return pairing.report(messages)


def _end_of_span(messages: NeutralMessages, start: int) -> int:
    for position in range(start, len(messages)):
        if messages[position].role == "assistant":
            return position
    return len(messages)


@dataclass
class _SpanPairing:
    """One pass over a history: the messages paired so far, and what was added and discarded."""

    missing_result_text: str
    """Text of the result for a call without one."""
    paired_messages: list[NeutralMessage] = field(default_factory=list)
    used_ids: set[str] = field(default_factory=set)
    added_results: list[ResultBlock] = field(default_factory=list)
    discarded_messages: list[NeutralMessage] = field(default_factory=list)
    duplicate_count: int = 0
    orphan_count: int = 0
    changed: bool = False

    def discard_orphan(self, message: NeutralMessage) -> None:
        self.orphan_count += 1
        self.changed = True
        self.discarded_messages.append(message)

    def discard_duplicate(self, message: NeutralMessage) -> None:
        self.duplicate_count += 1
        self.changed = True
        self.discarded_messages.append(message)

    def pair_span(
        self, message: NeutralMessage, calls: Iterable[CallBlock], next_messages: NeutralMessages
    ) -> None:
        calls_by_id = {call.call_id: call for call in calls}
        results: dict[str, NeutralMessage] = {}
        other_messages: list[NeutralMessage] = []
        for following_message in next_messages:
            if is_result(following_message):
                self._collect_result(following_message, calls_by_id, results)
            else:
                other_messages.append(following_message)
        if results and other_messages:
            self.changed = True
        self.paired_messages.append(message)
        for call in calls:
            if call.call_id not in results:
                self._add_missing_result(call, message)
            elif call.call_id in self.used_ids:
                self.discard_duplicate(results[call.call_id])
            else:
                self.used_ids.add(call.call_id)
                self.paired_messages.append(results[call.call_id])
        self.paired_messages.extend(other_messages)

    def _collect_result(
        self,
        message: NeutralMessage,
        calls_by_id: dict[str, CallBlock],
        results: dict[str, NeutralMessage],
    ) -> None:
        block = result_of(message)
        call_id = block.call_id if block else ""
        if call_id not in calls_by_id:
            self.discard_orphan(message)
        elif call_id in self.used_ids:
            self.discard_duplicate(message)
        elif call_id in results:
            self.discarded_messages.append(message)
        else:
            results[call_id] = message

    def _add_missing_result(self, call: CallBlock, message: NeutralMessage) -> None:
        block = stand_in(call, self.missing_result_text)
        missing_result = NeutralMessage(role="tool", blocks=(block,), message_id=message.message_id)
        self.added_results.append(block)
        self.changed = True
        if call.call_id in self.used_ids:
            self.discard_duplicate(missing_result)
        else:
            self.used_ids.add(call.call_id)
            self.paired_messages.append(missing_result)

    def report(self, messages: NeutralMessages) -> RepairReport:
        if not self.changed:
            return RepairReport(messages)
        return RepairReport(
            messages=tuple(self.paired_messages),
            is_changed=True,
            added_results=tuple(self.added_results),
            discarded_messages=tuple(self.discarded_messages),
            duplicate_count=self.duplicate_count,
            orphans=self.orphan_count,
        )

"""Pair tool calls and results by spans, as OpenClaw did in early 2026.

A span runs from an assistant message with calls to the next assistant message of any kind. Known
defects are kept, since the preset reproduces that version: results in another order, or a second result
in the same span, are not counted as a change; an id used again counts as a duplicate; the results
of a failed answer are lost (spec/context-stability.md 1.6).
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


def repair_spans(messages: NeutralMessages, missing: str) -> RepairReport:
    """Pair calls with results by spans; expects each result in a message of its own."""
    walk = _Walk(missing)
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        calls = calls_of(message)
        if is_result(message):
            walk.orphan(message)
        elif not calls or is_failed(message):
            walk.out.append(message)
        else:
            end = _end_of_span(messages, position)
            walk.span(message, calls, messages[position:end])
            position = end
    return walk.report(messages)


def _end_of_span(messages: NeutralMessages, start: int) -> int:
    for position in range(start, len(messages)):
        if messages[position].role == "assistant":
            return position
    return len(messages)


@dataclass
class _Walk:
    missing: str
    out: list[NeutralMessage] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    added: list[ResultBlock] = field(default_factory=list)
    discarded: list[NeutralMessage] = field(default_factory=list)
    duplicates: int = 0
    orphans: int = 0
    changed: bool = False

    def orphan(self, message: NeutralMessage) -> None:
        self.orphans += 1
        self.changed = True
        self.discarded.append(message)

    def duplicate(self, message: NeutralMessage) -> None:
        self.duplicates += 1
        self.changed = True
        self.discarded.append(message)

    def span(
        self, message: NeutralMessage, calls: Iterable[CallBlock], following: NeutralMessages
    ) -> None:
        names = {call.call_id: call for call in calls}
        results: dict[str, NeutralMessage] = {}
        remainder: list[NeutralMessage] = []
        for following_message in following:
            if is_result(following_message):
                self._collect_result(following_message, names, results)
            else:
                remainder.append(following_message)
        if results and remainder:
            self.changed = True
        self.out.append(message)
        for call in calls:
            if call.call_id not in results:
                self._add(call, message)
            elif call.call_id in self.seen:
                self.duplicate(results[call.call_id])
            else:
                self.seen.add(call.call_id)
                self.out.append(results[call.call_id])
        self.out.extend(remainder)

    def _collect_result(
        self,
        message: NeutralMessage,
        names: dict[str, CallBlock],
        results: dict[str, NeutralMessage],
    ) -> None:
        block = result_of(message)
        identifier = block.call_id if block else ""
        if identifier not in names:
            self.orphan(message)
        elif identifier in self.seen:
            self.duplicate(message)
        elif identifier in results:
            self.discarded.append(message)
        else:
            results[identifier] = message

    def _add(self, call: CallBlock, message: NeutralMessage) -> None:
        block = stand_in(call, self.missing)
        written = NeutralMessage(role="tool", blocks=(block,), message_id=message.message_id)
        self.added.append(block)
        self.changed = True
        if call.call_id in self.seen:
            self.duplicate(written)
        else:
            self.seen.add(call.call_id)
            self.out.append(written)

    def report(self, messages: NeutralMessages) -> RepairReport:
        if not self.changed:
            return RepairReport(messages)
        return RepairReport(
            messages=tuple(self.out),
            changed=True,
            added=tuple(self.added),
            discarded=tuple(self.discarded),
            duplicates=self.duplicates,
            orphans=self.orphans,
        )

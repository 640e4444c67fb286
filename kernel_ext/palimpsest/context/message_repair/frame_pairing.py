"""Pair tool calls with results within frames, in the order in which an id occurs: no result that has a call is lost.

A frame runs from one assistant message with calls to the next with calls, so that text in between does not separate a
late result from its call. An id may be used again for another call: the first result belongs to the first call of that
id. A result without a call in its own frame belongs to the earlier call of that id without a result, if there is
exactly one. A real result replaces a synthetic one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from palimpsest.context.message_repair.message_blocks import (
    RECORDED_MISSING,
    UNKNOWN_TOOL,
    RepairReport,
    calls_of,
    is_failed,
    is_result,
    result_of,
    same_if_unchanged,
    stand_in,
)
from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ResultBlock,
)

FailedCalls = Literal["preserve", "drop", "answer"]
"""Treatment of a failed answer: keep it with its results, leave it out, or treat it as any other."""


@dataclass(frozen=True, slots=True)
class FrameRule:
    """The text for a missing result, and the treatment of two doubtful cases."""

    missing_result_text: str
    failed_calls: FailedCalls = "preserve"
    is_adopted_error: bool = True
    """Whether a result without an id that was assigned to its frame's only call counts as an error."""


@dataclass
class _Call:
    """One call, and the result that was found for it."""

    block: CallBlock
    message: NeutralMessage
    result: NeutralMessage | None = None


@dataclass
class _Frame:
    """An assistant message with calls, and the messages up to the next one."""

    message: NeutralMessage | None
    calls: list[_Call]
    following_messages: list[NeutralMessage] = field(default_factory=list)


def repair_frames(messages: NeutralMessages, rule: FrameRule) -> RepairReport:
    """Pair calls with results by frames; expects each result in a message of its own."""
    frames = list(_frames(messages))
    matching = _Matching((rule.missing_result_text, RECORDED_MISSING))
    for frame in frames:
        matching.assign_results(frame)
    added_results: list[ResultBlock] = []
    repaired = tuple(
        message for frame in frames for message in _frame_messages(frame, rule, added_results)
    )
    if same_if_unchanged(repaired, messages) is messages:
        return RepairReport(messages)
    return RepairReport(
        messages=repaired,
        is_changed=True,
        added_results=tuple(added_results),
        discarded_messages=_unpaired_results(messages, frames, rule),
        duplicate_count=matching.duplicate_count,
        orphans=matching.orphans,
    )


def answered_calls(messages: NeutralMessages) -> frozenset[int]:
    """Return the identities (``id``) of the call blocks that have a result of their own."""
    frames = list(_frames(messages))
    matching = _Matching((RECORDED_MISSING,))
    for frame in frames:
        matching.assign_results(frame)
    return frozenset(
        id(call.block) for frame in frames for call in frame.calls if call.result is not None
    )


def _frames(messages: NeutralMessages) -> Iterator[_Frame]:
    frame = _Frame(None, [])
    for message in messages:
        calls = calls_of(message)
        if calls:
            yield frame
            frame = _Frame(message, [_Call(call, message) for call in calls])
        else:
            frame.following_messages.append(message)
    yield frame


@dataclass
class _Matching:
    """Assigns results to calls, frame by frame, and counts the results that were discarded."""

    stand_in_texts: tuple[str, ...]
    """Texts of synthetic results, which a real result replaces."""
    duplicate_count: int = 0
    orphans: int = 0

    earlier_calls: dict[str, list[_Call]] = field(default_factory=dict)
    """The calls of earlier frames, by id."""

    def assign_results(self, frame: _Frame) -> None:
        """Assign each result of the frame to a call, or count it as discarded."""
        for message in frame.following_messages:
            if is_result(message):
                self._assign(message, frame)
        for call in frame.calls:
            self.earlier_calls.setdefault(_call_id(call), []).append(call)

    def _assign(self, message: NeutralMessage, frame: _Frame) -> None:
        block = result_of(message)
        call_id = block.call_id.strip() if block else ""
        possible_calls = [call for call in frame.calls if not call_id or _call_id(call) == call_id]
        if not call_id and len(frame.calls) != 1:
            possible_calls = []
        open_call = next((call for call in possible_calls if call.result is None), None)
        if open_call is not None:
            open_call.result = message
            return
        if call_id and not possible_calls:
            earlier_calls = self.earlier_calls.get(call_id, ())
            waiting_calls = [call for call in earlier_calls if call.result is None]
            if len(waiting_calls) == 1:
                waiting_calls[0].result = message
                return
        self._discard(message, possible_calls)

    def _discard(self, message: NeutralMessage, possible_calls: list[_Call]) -> None:
        if not possible_calls:
            self.orphans += 1
            return
        self.duplicate_count += 1
        answered_by_stand_in = next(
            (call for call in possible_calls if self._is_stand_in(call.result)), None
        )
        if answered_by_stand_in is not None and not self._is_stand_in(message):
            answered_by_stand_in.result = message

    def _is_stand_in(self, message: NeutralMessage | None) -> bool:
        block = result_of(message) if message else None
        return block is not None and block.is_error and block.text in self.stand_in_texts


def _call_id(call: _Call) -> str:
    return call.block.call_id.strip()


def _frame_messages(
    frame: _Frame, rule: FrameRule, added_results: list[ResultBlock]
) -> Iterator[NeutralMessage]:
    if frame.message is not None:
        has_failed = is_failed(frame.message) and rule.failed_calls != "answer"
        if not has_failed or rule.failed_calls == "preserve":
            yield frame.message
            for call in frame.calls:
                if call.result is not None:
                    yield _named_result(call.result, call.block, rule)
                elif not has_failed:
                    block = stand_in(call.block, rule.missing_result_text)
                    added_results.append(block)
                    message_id = call.message.message_id
                    yield NeutralMessage(role="tool", blocks=(block,), message_id=message_id)
    for message in frame.following_messages:
        if not is_result(message) and not (message.role == "system" and not message.blocks):
            yield message


def _unpaired_results(
    messages: NeutralMessages, frames: Iterable[_Frame], rule: FrameRule
) -> NeutralMessages:
    kept_identities = {
        id(call.result)
        for frame in frames
        for call in frame.calls
        if not (is_failed(call.message) and rule.failed_calls == "drop")
    }
    return tuple(
        message for message in messages if is_result(message) and id(message) not in kept_identities
    )


def _named_result(message: NeutralMessage, call: CallBlock, rule: FrameRule) -> NeutralMessage:
    """Return the result under its call's id, and under a tool's name where one is known."""
    block = result_of(message)
    if block is None:
        return message
    tool = block.tool.strip() or call.tool.strip() or (UNKNOWN_TOOL if block.tool else "")
    if (tool, call.call_id) == (block.tool, block.call_id):
        return message
    named_block = block.model_copy(update={"tool": tool, "call_id": call.call_id})
    if not block.call_id and rule.is_adopted_error:
        named_block = named_block.model_copy(update={"is_error": True})
    return message.model_copy(update={"blocks": (named_block,)})

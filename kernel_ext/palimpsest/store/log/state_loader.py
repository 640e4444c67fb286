"""Build a session's state from its log: the whole, or the live window of the last checkpoint.

The log is read backwards to the last checkpoint, so that the cost of opening grows with the window,
not with the session. Messages before the window stay in the log; an old message that was changed
recently is distinguished from a new message by its time, and by a search of the log if clocks disagree.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from pydantic import ValidationError

from palimpsest.paused_collection import collection_paused
from palimpsest.store.disk import open_regular
from palimpsest.store.log.segments import SegmentRange, line_blocks, lines_backward, recorded_offset
from palimpsest.store.log_lines import INFO, OTHER, head_of, is_intact, load_line, seq_of
from palimpsest.store.session_state.live_window import (
    is_too_short,
    is_wide,
    live_window,
    narrow_to_window,
)
from palimpsest.store.session_state.message_index import MessageIndex
from palimpsest.store.session_state.state import State
from palimpsest.store.session_state.state_values import CheckpointState
from palimpsest.transcript.session_record.events import Checkpoint

Place = tuple[int, int]
"""Index of a range and a byte offset in it."""

ForkState = Callable[[Sequence[SegmentRange]], State | None]


@collection_paused()
def live_state(
    ranges: Sequence[SegmentRange], fork_state: ForkState = lambda _ranges: None
) -> State:
    """Return the state built from the last checkpoint's window and later lines; from all lines without one.

    Where a fork has no checkpoint of its own, ``fork_state`` may return its state at the end of its parent's ranges.
    """
    later_lines: list[bytes] = []
    session_id = ranges[-1].session_id if ranges else ""
    for index in range(len(ranges) - 1, -1, -1):
        if ranges[index].session_id != session_id:
            session_id = ranges[index].session_id
            state = fork_state(ranges[: index + 1])
            if state is not None:
                state.apply_lines(reversed(later_lines))
                return state
        for offset, line in lines_backward(ranges[index]):
            head = head_of(line)
            if head is not None and head[OTHER] == b"session.checkpoint" and is_intact(line):
                state = _state_at_checkpoint(ranges, (index, offset), line, later_lines[::-1])
                if state is not None:
                    return whole_state(ranges) if is_too_short(state) else state
            later_lines.append(line)
    state = State()
    state.apply_lines(reversed(later_lines))
    return state


@collection_paused()
def whole_state(ranges: Sequence[SegmentRange]) -> State:
    """Return the state built from all records."""
    state = State()
    for lines in chain.from_iterable(map(line_blocks, ranges)):
        state.apply_lines(lines)
    return state


@collection_paused()
def window_state(ranges: Sequence[SegmentRange]) -> State:
    """Return the state of the live window, built from all records; older messages are dropped on the way."""
    state = State()
    for lines in chain.from_iterable(map(line_blocks, ranges)):
        state.apply_lines(lines)
        if is_wide(state):
            narrow_to_window(state, live_window(state))
    return whole_state(ranges) if is_too_short(state) else state


def _state_at_checkpoint(
    ranges: Sequence[SegmentRange],
    checkpoint_place: Place,
    line: bytes,
    later_lines: Sequence[bytes],
) -> State | None:
    """Build the state at a checkpoint and apply later lines; None if the checkpoint cannot be used."""
    try:
        data = load_line(line) or {}
        checkpoint = Checkpoint.model_validate({**data, "type": "session.checkpoint"})
        summary = CheckpointState.model_validate(checkpoint.state)
    except ValidationError:
        return None
    window_begin = _window_begin(ranges, checkpoint, ranges[checkpoint_place[0]].session_id)
    if window_begin is None:
        return None
    state = State()
    state.restore_summary(summary)
    state.seq = max(summary.seq, seq_of(line) or 0)
    window_seq = checkpoint.window_seq
    lines_begin = _apply_index(
        state, ranges, window_begin, checkpoint_place, window_seq, summary.index
    )
    _read_window(state, ranges, lines_begin, checkpoint_place, window_seq)
    window = summary.window
    window_ids = {slot.id for slot in state.message_slots()}
    if window is not None:
        read_ids, window_ids = window_ids, {*window.ids, *(message.id for message in window.kept)}
        state.forget_messages(read_ids - window_ids)
    state.apply_lines(later_lines)
    if window is not None:
        added_ids = [slot.id for slot in state.message_slots() if slot.id not in window_ids]
        state.forget_messages(_older_message_ids(state, added_ids, ranges, window_begin))
    return state


def _window_begin(
    ranges: Sequence[SegmentRange], checkpoint: Checkpoint, session_id: str
) -> Place | None:
    """Return the place at which a checkpoint's window begins; None where its segment is not among the ranges."""
    window_session, _, segment = checkpoint.window_segment.rpartition("/")
    window_place = (window_session or session_id, segment)
    for index, segment_range in enumerate(ranges):
        if (segment_range.session_id, segment_range.segment) == window_place:
            offset, seq = checkpoint.window_offset, checkpoint.window_seq
            offset = recorded_offset(segment_range.path, offset, seq)
            return index, max(offset, segment_range.start)
    return None


def _apply_index(
    state: State,
    ranges: Sequence[SegmentRange],
    window_begin: Place,
    end: Place,
    window_seq: int,
    index: MessageIndex | None,
) -> Place:
    """Begin the window with the messages of an index; returns where the other lines begin, ``window_begin`` without a usable index."""
    segment_range = ranges[window_begin[0]]
    end_offset = end[1] if window_begin[0] == end[0] else segment_range.end_offset()
    if index is None or window_begin[1] + index.size > end_offset:
        return window_begin
    with open_regular(segment_range.path) as file:
        file.seek(window_begin[1])
        content = file.read(index.size)
    is_used = state.open_with(index, content, window_seq)
    return (window_begin[0], window_begin[1] + index.size) if is_used else window_begin


def _read_window(
    state: State, ranges: Sequence[SegmentRange], window_begin: Place, end: Place, window_seq: int
) -> None:
    for index in range(window_begin[0], end[0] + 1):
        segment_range = ranges[index]
        if index == end[0]:
            segment_range = replace(segment_range, end=end[1])
        start = window_begin[1] if index == window_begin[0] else None
        for lines in line_blocks(segment_range, start):
            for line in lines:
                head = head_of(line)
                if head is not None and int(head[1]) >= window_seq:
                    state.apply_window_line(line, head)


def _older_message_ids(
    state: State, message_ids: Iterable[str], ranges: Sequence[SegmentRange], window_begin: Place
) -> set[str]:
    """Return the ids of those messages that appeared before the window; searches the log only if times are ambiguous."""
    newest_older_ms = state.older_created or 0
    messages = filter(None, map(state.message, message_ids))
    ambiguous_ids = {
        message.id for message in messages if message.info.time.created <= newest_older_ms
    }
    older_ids: set[str] = set()
    index, offset = window_begin
    for segment_range in (*ranges[:index], replace(ranges[index], end=offset)):
        for lines in line_blocks(segment_range) if ambiguous_ids else ():
            heads = filter(None, map(head_of, lines))
            info_ids = {head[INFO].decode() for head in heads if head.lastindex == INFO}
            older_ids |= ambiguous_ids & info_ids
    return older_ids

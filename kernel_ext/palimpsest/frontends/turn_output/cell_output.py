"""Show a turn in its cell as segments, each one output, between native outputs such as figures.

Border: publishes displays; ``turn_output/mime_bundle.py`` builds their content, and ``turn_output/segments.py`` finds
where to cut. Everything is published on the cell's own thread and in its context while the cell runs, because outputs
follow the context. Only the open segment is refreshed, and always completely. It is refreshed when
its steps have doubled, so that all refreshes together send at most twice its length; when it is long enough to be
closed; and where no page watches, also at an interval that grows with its length.
"""

import contextvars
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from palimpsest.frontends import terminal
from palimpsest.frontends.protocol.segments import SegmentCut
from palimpsest.frontends.turn_output.mime_bundle import (
    TurnFacts,
    segment_bundle,
    shown_mode,
    status_line,
    turn_changes,
)
from palimpsest.frontends.turn_output.segments import (
    MAX_OUTPUTS,
    Segment,
    cut_after_call,
    cut_when_long,
    segment_after,
    segment_messages,
)
from palimpsest.frontends.turn_output.turn_feed import TurnFeed, shown_messages
from palimpsest.render.content.phrases import LOADING
from palimpsest.session.engine import Snapshot
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.transcript.messages import AssistantMessage, Message, parts_of
from palimpsest.transcript.parts import ToolPart, ToolPending, ToolRunning
from palimpsest.transcript.session_record.sessions import Busy, Retrying
from palimpsest.transcript.visible_text import visible_text

SHORT_INTERVAL_SECONDS = 0.25
LONG_INTERVAL_SECONDS = 1.0
MAX_SHORT_CHARS = 5_000
"""Longest segment that is refreshed every ``SHORT_INTERVAL_SECONDS``."""
CHARS_PER_LONG_INTERVAL = 8_000
"""Characters of a longer segment for each ``LONG_INTERVAL_SECONDS`` of its interval."""
FIRST_TEXT_SECONDS = 0.03
"""Delay before the first text of a turn is shown: short, since the user waits for it."""


class CellOutput:
    """Shows one turn in its cell.

    Responsibilities: decide when to refresh; cut segments; count outputs; close a segment before a
    native one; show a line about what the agent waits for.
    """

    def __init__(
        self,
        feed: TurnFeed,
        publish: Callable[..., Any],
        *,
        scrub: Callable[[str], str],
        is_watched: Callable[[], bool],
        is_quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._turn_feed = feed
        self._publish = publish
        self._scrub = scrub
        self._is_watched = is_watched
        self._is_quiet = is_quiet
        self._clock = clock
        self._display_id_prefix = f"palimpsest-{uuid.uuid4().hex[:12]}"
        self._segment = Segment(0, SegmentCut())
        self._newest_shown_index = -1
        """Index of the newest segment that has an output."""
        self._output_count = 0
        """Number of outputs of this turn, including native ones."""
        self._refused_output_count = 0
        """Number of native outputs that the cell had no room for."""
        self._counts_at_refresh = (-1, -1)
        """Numbers of records and of notable records at the last refresh."""
        self._steps_before_segment = self._steps_at_refresh = 0
        """Numbers of steps that had ended where the open segment begins, and at its last refresh."""
        self._refreshed_at = self._length_checked_at = float("-inf")
        self._shown_bundles: dict[int, dict[str, Any]] = {}
        """The newest bundle of each segment that may still change."""
        self._changing_segments: list[Segment] = []
        """Closed segments in which a tool still runs."""
        self._incomplete_segments: list[tuple[Segment, str]] = []
        """Closed segments of a message that is not complete yet, with its id."""
        self._stuck_warning = ""
        self._context = contextvars.copy_context()
        self._has_shown_content = False
        self._shows_seconds = False

    # Called by jobs on the main thread (JobHost)

    def show_call(self, call_id: str) -> None:  # noqa: ARG002  # the whole output is refreshed
        """Show the card of a call before its code runs, so that its figures come after it.

        Where a page watches, the page shows the card, and only the output's place is needed. The agent's
        text is also saved when the steps have doubled, since the code may end the kernel.
        """
        if not self._is_quiet:
            if (snapshot := self._turn_feed.snapshot()) is not None:
                self._close_long_segment(self._messages(snapshot), snapshot)
            has_output = self._segment.index <= self._newest_shown_index
            steps = self._turn_feed.ended_step_count + 1
            is_worth_saving = not self._is_watched() or self._has_doubled(steps)
            is_update_due = self._has_room() and is_worth_saving
            self.refresh(force=is_update_due or not has_output)
            if is_update_due:
                self._steps_at_refresh = steps

    def prepare_native_output(self, call_id: str) -> bool:
        """Close the segment after the card of a call, so that a native output follows it there."""
        if self._is_quiet:
            return False
        if not self._has_room():
            self._refused_output_count += 1
            return False
        self._output_count += 1
        self._close_segment_after(call_id)
        return True

    def prepare_question(self, call_id: str) -> None:
        """Close the segment after the card of a call, so that a typed question appears below it."""
        if not self._is_quiet and self._has_room():
            self._output_count += 1
            self._close_segment_after(call_id)

    def warn_stuck(self, sentence: str) -> None:
        """Show a warning that code does not stop; on the engine thread, since the main thread is blocked."""
        self._stuck_warning = sentence
        snapshot = self._turn_feed.snapshot()
        if snapshot is None or self._is_quiet:
            return
        messages, status = self._messages(snapshot), status_line(sentence)
        self._context.run(self._show_segment, messages, self._segment, snapshot, status)

    # Called by the waiting cell

    def refresh(self, *, force: bool = False) -> None:
        """Show new content if a refresh is due or forced."""
        if self._is_quiet or not (force or self._is_update_due()):
            return
        self._counts_at_refresh = (self._turn_feed.change_count, self._turn_feed.notable_count)
        self._steps_at_refresh = self._turn_feed.ended_step_count
        self._refreshed_at = self._clock()
        snapshot = self._turn_feed.snapshot()
        if snapshot is None or (self._turn_feed.turn_id is None and snapshot.status.type == "idle"):
            return
        is_loading = _loading_since(snapshot) is not None
        self._shows_seconds = is_loading or isinstance(snapshot.status, Retrying)
        messages = self._messages(snapshot)
        self._has_shown_content = self._has_shown_content or _has_content(messages)
        self._update_closed_segments(messages, snapshot)
        self._close_long_segment(messages, snapshot)
        if self._must_omit_empty_segment(messages):
            return
        status = self._stuck_warning or self._waiting_text(snapshot, messages)
        self._show_segment(messages, self._segment, snapshot, status_line(status or "…"))

    def finish(self, answer: Answer) -> None:
        """Show the final state of the turn."""
        snapshot = self._turn_feed.snapshot()
        if snapshot is None:
            return
        messages = self._messages(snapshot, answer)
        if self._is_quiet and messages:
            text_parts = tuple(part for part in messages[-1].parts if part.type == "text")
            messages = [messages[-1].model_copy(update={"parts": text_parts})]
        self._update_closed_segments(messages, snapshot)
        self._close_long_segment(messages, snapshot)
        self._show_segment(messages, self._segment, snapshot, "", seq_end=answer.seq[1])
        if self._refused_output_count and not self._is_quiet:
            sentence = f"{self._refused_output_count} more figures or tables were made; a cell shows {MAX_OUTPUTS} outputs."
            data = {"text/markdown": status_line(sentence), "text/plain": visible_text(sentence)}
            self._publish(terminal.fitting_output(data), {})

    # Internals

    def _must_omit_empty_segment(self, messages: Sequence[Message]) -> bool:
        """Return whether to omit an empty segment while a call above it runs, since the call's figures precede it.

        Where a page watches, the segment is shown, because the page draws the stop button in it.
        """
        return (
            bool(self._changing_segments)
            and self._segment.index > self._newest_shown_index
            and not self._is_watched()
            and not any(message.parts for message in segment_messages(messages, self._segment))
        )

    def _messages(self, snapshot: Snapshot, answer: Answer | None = None) -> list[Message]:
        return shown_messages(self._turn_feed.messages(snapshot, answer))

    def _is_update_due(self) -> bool:
        changes, notable_changes = self._turn_feed.change_count, self._turn_feed.notable_count
        elapsed_seconds = self._clock() - self._refreshed_at
        if self._shows_seconds and elapsed_seconds >= LONG_INTERVAL_SECONDS:
            return True
        if (changes, notable_changes) == self._counts_at_refresh:
            return False
        if notable_changes != self._counts_at_refresh[1] or not self._has_shown_content:
            return elapsed_seconds >= FIRST_TEXT_SECONDS
        has_doubled = self._has_doubled(self._turn_feed.ended_step_count)
        if self._is_watched():
            return elapsed_seconds >= LONG_INTERVAL_SECONDS and (has_doubled or self._is_too_long())
        return has_doubled or elapsed_seconds >= self._refresh_interval()

    def _is_too_long(self) -> bool:
        """Return whether the open segment can be closed because of its length; checked once a second.

        A page draws the text meanwhile, but all of it in the open segment: closed only at the end of the
        turn, most of a long answer would be drawn a second time, in new outputs.
        """
        now = self._clock()
        if (
            now - self._length_checked_at < LONG_INTERVAL_SECONDS
            or self._output_count + 1 >= MAX_OUTPUTS
        ):
            return False
        self._length_checked_at = now
        snapshot = self._turn_feed.snapshot()
        if snapshot is None:
            return False
        return cut_when_long(self._messages(snapshot), self._segment) is not None

    def _has_doubled(self, steps: int) -> bool:
        """Return whether the open segment has twice as many steps as at its last refresh."""
        steps_now = steps - self._steps_before_segment
        steps_shown = self._steps_at_refresh - self._steps_before_segment
        return steps_now > steps_shown and steps_now >= 2 * steps_shown

    def _has_room(self) -> bool:
        """Return whether there may be two more outputs in the cell: a native output, and a segment after it."""
        return self._output_count + 2 <= MAX_OUTPUTS

    def _refresh_interval(self) -> float:
        length = len(self._shown_bundles.get(self._segment.index, {}).get("text/markdown", ""))
        if length <= MAX_SHORT_CHARS:
            return SHORT_INTERVAL_SECONDS
        return max(LONG_INTERVAL_SECONDS, LONG_INTERVAL_SECONDS * length / CHARS_PER_LONG_INTERVAL)

    def _close_long_segment(self, messages: Sequence[Message], snapshot: Snapshot) -> None:
        """Close the open segment while it is too long and the cell may have another output."""
        while self._output_count + 1 < MAX_OUTPUTS:
            closed_segment = cut_when_long(messages, self._segment)
            if closed_segment is None:
                return
            self._close_segment(messages, closed_segment, snapshot)

    def _close_segment_after(self, call_id: str) -> None:
        """Close the open segment below a call; later content goes to the next segment."""
        snapshot = self._turn_feed.snapshot()
        if snapshot is not None:
            messages = self._messages(snapshot)
            closed_segment = cut_after_call(messages, self._segment, call_id)
            if closed_segment is not None:
                self._close_segment(messages, closed_segment, snapshot)

    def _close_segment(
        self, messages: Sequence[Message], closed_segment: Segment, snapshot: Snapshot
    ) -> None:
        self._show_segment(messages, closed_segment, snapshot, "")
        if self._may_change(messages, closed_segment, snapshot):
            self._changing_segments.append(closed_segment)
        else:
            self._end_updates(messages, closed_segment)
        self._segment = segment_after(messages, closed_segment)
        self._steps_before_segment = self._turn_feed.ended_step_count
        self._steps_at_refresh = self._steps_before_segment - 1  # no step of it was shown yet

    def _update_closed_segments(self, messages: Sequence[Message], snapshot: Snapshot) -> None:
        """Refresh closed segments whose tool calls progressed, or whose message was completed since."""
        for closed_segment in list(self._changing_segments):
            self._show_segment(messages, closed_segment, snapshot, "")
            if not self._may_change(messages, closed_segment, snapshot):
                self._changing_segments.remove(closed_segment)
                self._end_updates(messages, closed_segment)
        if not self._incomplete_segments:
            return
        open_ids = {message.id for message in messages if _is_incomplete(message)}
        incomplete_segments, self._incomplete_segments = self._incomplete_segments, []
        for closed_segment, message_id in incomplete_segments:
            if message_id in open_ids:
                self._incomplete_segments.append((closed_segment, message_id))
            else:
                self._show_segment(messages, closed_segment, snapshot, "")
                self._shown_bundles.pop(closed_segment.index, None)

    def _may_change(
        self, messages: Sequence[Message], closed_segment: Segment, snapshot: Snapshot
    ) -> bool:
        """Return whether a call of a closed segment runs, or its outcome may not have been received yet."""
        has_all_records = self._turn_feed.has_received(snapshot)
        return _has_running_call(messages, closed_segment) or not has_all_records

    def _end_updates(self, messages: Sequence[Message], closed_segment: Segment) -> None:
        """Stop updating a closed segment, except once more when its message is complete."""
        messages_inside = segment_messages(messages, closed_segment)
        message_id = next(
            (message.id for message in messages_inside if _is_incomplete(message)), None
        )
        if message_id is None:
            self._shown_bundles.pop(closed_segment.index, None)
        else:
            self._incomplete_segments.append((closed_segment, message_id))

    def _show_segment(
        self,
        messages: Sequence[Message],
        segment: Segment,
        snapshot: Snapshot,
        status: str,
        seq_end: int = 0,
    ) -> None:
        session, turn_id = self._turn_feed.session, self._turn_feed.turn_id or ""
        call_ids = {getattr(part, "call_id", None) for part in parts_of(messages)}
        asks = tuple(ask for ask in snapshot.asks if ask.call_id in call_ids)
        questions = tuple(
            question for question in snapshot.questions if question.call_id in call_ids
        )
        turn_facts = TurnFacts(
            session=session.id if session is not None else "",
            turn=turn_id,
            seq=(self._turn_feed.first_seq, seq_end or snapshot.seq),
            asks=asks if status else (),
            questions=questions if status else (),
            status=status,
            mode=shown_mode(snapshot),
            density=session.density if session is not None else "quiet",
            changes=() if status else turn_changes(snapshot.messages, turn_id),
        )
        notes = self._turn_feed.notes
        bundle = segment_bundle(messages, segment, turn_facts, notes=notes, scrub=self._scrub)
        if not bundle["text/markdown"]:
            if segment.index > self._newest_shown_index:
                return
            bundle["text/markdown"] = bundle["text/plain"] = " "
        if self._shown_bundles.get(segment.index) == bundle:
            return
        self._publish_bundle(bundle, segment.index)

    def _publish_bundle(self, bundle: dict[str, Any], index: int) -> None:
        bundle = terminal.fitting_output(bundle)
        is_update = index <= self._newest_shown_index
        if not is_update:
            self._newest_shown_index = index
            self._output_count += 1
        self._shown_bundles[index] = bundle
        transient = {"display_id": f"{self._display_id_prefix}-{index}"}
        self._publish(bundle, {}, transient=transient, update=is_update)

    def _waiting_text(self, snapshot: Snapshot, messages: Sequence[Message]) -> str:
        """Return a sentence about what the agent waits for; empty where the parts show it."""
        status = snapshot.status
        if snapshot.problem:
            return snapshot.problem
        if isinstance(status, Retrying):
            seconds = max(0, round(status.next / 1000 - time.time()))
            # The line of the failed attempts already holds the reason.
            reason = "" if _ends_in_retry(messages) else f"{status.message} "
            return f"{reason}Attempt {status.attempt + 1} in {seconds} s."
        if (since := _loading_since(snapshot)) is not None:
            return f"{LOADING} {max(0, round(time.time() - since / 1000))} s"
        if snapshot.asks or snapshot.questions:
            return "waits for your answer"
        if self._turn_feed.turn_id is None and snapshot.status.type == "busy":
            return "waits for the turn that runs"
        if _is_summarising(messages):
            return "compacts older turns"
        if not _has_content(messages):
            return "waits for the model"
        return ""


def _loading_since(snapshot: Snapshot) -> int | None:
    """Return the start of the import of the model's modules, in milliseconds; None where none runs."""
    return snapshot.status.loading if isinstance(snapshot.status, Busy) else None


def _has_running_call(messages: Sequence[Message], segment: Segment) -> bool:
    return any(
        isinstance(part, ToolPart) and isinstance(part.state, ToolPending | ToolRunning)
        for part in parts_of(segment_messages(messages, segment))
    )


def _is_incomplete(message: Message) -> bool:
    """Return whether the message is an answer that is not complete yet."""
    info = message.info
    return isinstance(info, AssistantMessage) and info.time.completed is None


def _ends_in_retry(messages: Sequence[Message]) -> bool:
    return bool(messages and messages[-1].parts and messages[-1].parts[-1].type == "retry")


def _is_summarising(messages: Sequence[Message]) -> bool:
    """Return whether the newest message is a requested summary without text so far."""
    newest_message = messages[-1] if messages else None
    if newest_message is None or not isinstance(newest_message.info, AssistantMessage):
        return False
    if not newest_message.info.summary or newest_message.info.time.completed is not None:
        return False
    return not any(part.type == "text" and not part.ignored for part in newest_message.parts)


def _has_content(messages: Sequence[Message]) -> bool:
    """Return whether the messages have text or calls to show."""
    return any(
        isinstance(part, ToolPart) or bool(getattr(part, "text", "")) for part in parts_of(messages)
    )

"""Process the stream of one model call: every event becomes a change of one part, journaled as it happens.

The processor writes parts to the log; the loop decides about retries, limits and the next step. Behaviour follows
OpenCode's; text and reasoning stay byte-exact except for secrets, and no tool runs on a call from an unfinished stream, because calls are returned only by
``take_tool_calls`` after the stream has really ended.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from palimpsest.model.interface import (
    LISTED_AS,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    StepFinished,
    StepStarted,
    StreamEvent,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCalled,
    ToolErred,
    ToolInputDelta,
    ToolInputEnded,
    ToolInputStarted,
    ToolReturned,
)
from palimpsest.processor.session_log import SessionLog
from palimpsest.processor.tool_call_runner import UserWaitTime
from palimpsest.store.blobs.blob_storage import keep_attachment, keep_output
from palimpsest.tools.tool import ToolOutcome
from palimpsest.transcript.call_outcomes import ABORTED
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.errors import AbortedError, ErrorValue, StorageFailed
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import (
    Attachment,
    Part,
    PatchPart,
    ReasoningPart,
    Span,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
)
from palimpsest.transcript.provider_calls import EXECUTED, is_provider_call
from palimpsest.transcript.redaction.assigned_words import (
    hide_assigned_passwords,
    hide_in_growing_output,
)
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    MessageUpdated,
    PartUpdated,
    answer_end_events,
)
from palimpsest.transcript.strings.surrogates import joined_surrogates, with_joined_surrogates

MAX_PATCH_FILES = 500
"""Maximum files that a step's patch part names; an unpacked archive has thousands."""
Truncate = Callable[[str, str, str, Mapping[str, Any]], Decision | None]
"""``(message id, part id, whole output, metadata)``: decides how a tool's output is shortened for the model."""
DELTA_TYPES = (TextDelta, ReasoningDelta, ToolInputDelta)
FINISH_REASONS = {"stop", "tool-calls", "length", "paused", "content-filter", "error", "unknown"}


class StreamProcessor:
    """Turns the events of one assistant message into parts, records its usage and finish, closes open parts."""

    def __init__(
        self,
        log: SessionLog,
        message: AssistantMessage,
        truncate: Truncate,
        *,
        request_id: str | None = None,
        window: int | None = None,
    ) -> None:
        self.message = message
        self.is_rejected = False
        """Whether the user rejected a call without feedback, so that the turn ends."""
        self.circle: str | None = None
        """Why the guard against doom loops ends the turn; None where it does not."""
        self.user_wait = UserWaitTime(log.clock)
        """Measures how long the calls waited for the user."""
        self._log = log
        self._truncate = truncate
        self._request_id = request_id
        self._window = window
        self._open_texts: dict[str, tuple[TextPart, list[str]]] = {}
        self._open_reasoning: dict[str, tuple[ReasoningPart, list[str]]] = {}
        self._tool_parts: dict[str, ToolPart] = {}
        self._raw_inputs: dict[str, list[str]] = {}
        self._waiting_calls: list[ToolCalled] = []
        self._attempt_parts: list[Part] = []
        self._step_began_ms = log.clock()
        self._step_start: StepStartPart | None = None
        self._snapshot_after: str | None = None
        self._waiting_patches: list[PatchPart] = []
        self._handlers: dict[type, Callable[[Any], None]] = {
            StepStarted: self._step_started,
            TextStarted: self._text_started,
            TextDelta: self._text_delta,
            TextEnded: self._text_or_reasoning_ended,
            ReasoningStarted: self._reasoning_started,
            ReasoningDelta: self._reasoning_delta,
            ReasoningEnded: self._text_or_reasoning_ended,
            ToolInputStarted: self._tool_input_started,
            ToolInputDelta: self._tool_input_delta,
            ToolInputEnded: lambda _: None,
            ToolCalled: self._tool_called,
            ToolReturned: self._tool_returned,
            ToolErred: self._tool_erred,
            StepFinished: self._step_finished,
        }

    def handle(self, event: StreamEvent) -> None:
        """Process one event of the stream, or of a tool that finished."""
        self._handlers[type(event)](_join_surrogates(event))

    def take_tool_calls(self) -> list[ToolCalled]:
        """Return the complete calls that wait to be run, once; provider-executed ones excluded."""
        calls, self._waiting_calls = self._waiting_calls, []
        return calls

    def requested_tools(self) -> list[str]:
        """Return the names of the tools that this answer calls, including a call that was cut off."""
        parts = self._tool_parts.values()
        return [part.tool for part in parts if not (part.metadata or {}).get("provider_executed")]

    def tool(self, call_id: str) -> ToolPart:
        """Return the part of a call."""
        return self._tool_parts[call_id]

    # Text

    def _text_started(self, event: TextStarted) -> None:
        part = TextPart(**self._log.new_part(self.message), time=Span(start=self._log.clock()))
        self._open_texts[event.id] = (part, [])
        self._journal_part(part)

    def _text_delta(self, event: TextDelta) -> None:
        if not event.text:
            return
        if event.id not in self._open_texts:
            self._text_started(TextStarted(event.id))
        part, pieces = self._open_texts[event.id]
        pieces.append(event.text)
        self._log.journal.delta(part.message_id, part.id, "text", event.text)

    # Reasoning

    def _reasoning_started(self, event: ReasoningStarted) -> None:
        if event.id in self._open_reasoning:
            return
        part = ReasoningPart(
            **self._log.new_part(self.message),
            time=Span(start=self._log.clock()),
            metadata=event.metadata,
        )
        self._open_reasoning[event.id] = (part, [])
        self._journal_part(part)

    def _reasoning_delta(self, event: ReasoningDelta) -> None:
        if event.id not in self._open_reasoning:
            self._reasoning_started(ReasoningStarted(event.id))
        part, pieces = self._open_reasoning[event.id]
        if event.metadata is not None:
            part = part.model_copy(update={"metadata": event.metadata})
            self._open_reasoning[event.id] = (part, pieces)
        if event.text:
            pieces.append(event.text)
            self._log.journal.delta(part.message_id, part.id, "text", event.text)

    def _text_or_reasoning_ended(self, event: TextEnded | ReasoningEnded) -> None:
        open_parts = self._open_texts if isinstance(event, TextEnded) else self._open_reasoning
        if event.id not in open_parts:
            return
        part, pieces = open_parts.pop(event.id)
        update = {"text": joined_surrogates("".join(pieces)), "time": self._closed_span(part.time)}
        if event.metadata is not None:
            update["metadata"] = event.metadata
        self._journal_part(part.model_copy(update=update))

    # Tools

    def _tool_input_started(self, event: ToolInputStarted) -> None:
        if event.id in self._tool_parts:
            return
        metadata = {EXECUTED: True} if event.provider_executed else None
        part = ToolPart(
            **self._log.new_part(self.message),
            call_id=event.id,
            tool=event.tool,
            state=ToolPending(),
            metadata=metadata,
        )
        self._raw_inputs[event.id] = []
        self._journal_tool_part(part)

    def _tool_input_delta(self, event: ToolInputDelta) -> None:
        part = self._tool_parts.get(event.id)
        if part is None or not event.text:
            return
        self._raw_inputs[event.id].append(event.text)
        self._log.journal.delta(part.message_id, part.id, "state.raw", event.text)

    def _tool_called(self, event: ToolCalled) -> None:
        self._tool_input_started(ToolInputStarted(event.id, event.tool))
        part = self._tool_parts[event.id]
        arguments = event.input if isinstance(event.input, dict) else {"value": event.input}
        metadata = dict(event.metadata or {})
        if event.provider_executed:
            metadata[EXECUTED] = True
        state = ToolRunning(input=arguments, time=Span(start=self._log.clock()))
        update = {"tool": event.tool, "state": state, "metadata": metadata or None}
        self._journal_tool_part(part.model_copy(update=update))
        if not event.provider_executed:
            self._waiting_calls.append(event)

    def tool_began(self, call_id: str) -> None:
        """Record that a call really starts now; written to disk before the tool may change anything."""
        part = self._tool_parts[call_id]
        if isinstance(part.state, ToolRunning):
            state = part.state.model_copy(update={"time": Span(start=self._log.clock())})
            self._journal_tool_part(part.model_copy(update={"state": state}), sync=True)

    def tool_progress(self, call_id: str, title: str | None, metadata: dict[str, Any]) -> None:
        """Update title and metadata of a running call; ``new_output`` that only grows is journaled as a delta."""
        part = self._tool_parts.get(call_id)
        if part is None or not isinstance(part.state, ToolRunning):
            return
        if isinstance(metadata.get("output"), str):
            metadata = {**metadata, "output": hide_in_growing_output(metadata["output"])}
        old_metadata, new_metadata = part.state.metadata, part.state.metadata | metadata
        old_output, new_output = old_metadata.get("output"), metadata.get("output")
        update = {"title": title or part.state.title, "metadata": new_metadata}
        state = part.state.model_copy(update=update)
        changed_part = part.model_copy(update={"state": state})
        changed_keys = {key for key in metadata if old_metadata.get(key) != metadata[key]}
        if (
            isinstance(old_output, str)
            and isinstance(new_output, str)
            and new_output.startswith(old_output)
            and changed_keys <= {"output"}
            and state.title == part.state.title
        ):
            self._tool_parts[call_id] = changed_part
            if text := new_output[len(old_output) :]:
                self._log.journal.delta(part.message_id, part.id, "state.metadata.output", text)
        else:
            self._journal_tool_part(changed_part)

    def _tool_returned(self, event: ToolReturned) -> None:
        part = self._tool_parts.get(event.id)
        if part is None or not isinstance(part.state, ToolRunning):
            return
        outcome = _tool_outcome(part.tool, event.output)
        output = self._log.clean(hide_assigned_passwords(outcome.output))
        text, blob = keep_output(self._log.blobs, output)
        attachments = tuple(map(self._stored_attachment, outcome.attachments))
        state = ToolCompleted(
            input=part.state.input,
            output=text,
            blob=blob,
            title=outcome.title,
            metadata=dict(outcome.metadata) | self.user_wait.metadata_of(part.call_id),
            time=self._closed_span(part.state.time),
            attachments=attachments,
        )
        decision: Decision | None = None
        # A provider's own result goes back to it unchanged, so it is never shortened.
        if not (part.metadata and is_provider_call(part)):
            decision = self._truncate(part.message_id, part.id, output, outcome.metadata)
        self._journal_tool_part(part.model_copy(update={"state": state}))
        if decision is not None:
            self._log.append(DecisionMade(decision=decision))

    def _stored_attachment(self, attachment: Attachment) -> Attachment:
        """Return an attachment for the log, long content as a blob; whole where the disk takes no blob."""
        try:
            url = keep_attachment(self._log.blobs, attachment.url)
        except StorageFailed:
            return attachment
        return attachment.model_copy(update={"url": url})

    def _tool_erred(self, event: ToolErred) -> None:
        part = self._tool_parts.get(event.id)
        if part is None or not isinstance(part.state, ToolRunning):
            return
        self.is_rejected = self.is_rejected or event.rejected
        if event.guard == "circle":
            self.circle = event.error
        metadata = part.state.metadata | (event.metadata or {})
        state = ToolFailed(
            input=part.state.input,
            error=event.error,
            metadata=metadata | self.user_wait.metadata_of(part.call_id),
            time=self._closed_span(part.state.time),
        )
        self._journal_tool_part(part.model_copy(update={"state": state}))

    # Steps

    def _step_started(self, _event: StepStarted) -> None:
        self._step_began_ms = self._log.clock()
        ids = self._log.new_part(self.message)
        self._step_start = StepStartPart(**ids, request_id=self._request_id)
        self._journal_part(self._step_start)

    def begin_again(self, request_id: str) -> None:
        """Begin the step again with another request, after the attempt with the first one was discarded."""
        snapshot = None if self._step_start is None else self._step_start.snapshot
        self._request_id = request_id
        self._step_started(StepStarted())
        self.snapshot_before(snapshot)

    def snapshot_before(self, snapshot: str | None) -> None:
        """Record the snapshot of the files before the step; None where there is none."""
        start = self._step_start
        if start is not None and snapshot is not None and start.snapshot is None:
            self._step_start = start.model_copy(update={"snapshot": snapshot})
            self._journal_part(self._step_start)

    def files_changed(
        self, snapshot_before: str | None, snapshot_after: str | None, files: tuple[str, ...]
    ) -> None:
        """Record the snapshot after the step or before a wait in it, and which files changed since the one before."""
        self._snapshot_after = snapshot_after
        if snapshot_before is not None and snapshot_after is not None and files:
            first_files, more_count = files[:MAX_PATCH_FILES], len(files) - MAX_PATCH_FILES
            self._waiting_patches.append(
                PatchPart(
                    **self._log.new_part(self.message),
                    hash=snapshot_before,
                    after=snapshot_after,
                    files=first_files,
                    more=more_count if more_count > 0 else None,
                )
            )

    def _journal_patches(self) -> None:
        patches, self._waiting_patches = self._waiting_patches, []
        for patch in patches:
            self._journal_part(patch)

    def finish_step(self, event: StepFinished) -> None:
        """Record usage, cost and finish reason as soon as the provider reports them, before tools run."""
        cost = self.message.cost
        if event.cost is not None:
            cost = (cost or 0.0) + event.cost
        reason = event.reason if event.reason in FINISH_REASONS else "unknown"
        self._update_message(finish=reason, tokens=event.usage, cost=cost)

    def record_answer(self, arguments: dict[str, Any]) -> None:
        """Record the input of a call as the structured answer, which ends the turn."""
        self._update_message(structured=arguments, finish="stop")

    def _step_finished(self, event: StepFinished) -> None:
        self._close_texts()
        reason = event.reason if event.reason in FINISH_REASONS else "unknown"
        waited_ms = self.user_wait.total
        self._journal_part(
            StepFinishPart(
                **self._log.new_part(self.message),
                reason=reason,
                snapshot=self._snapshot_after,
                cost=event.cost,
                cost_listed=True if (event.metadata or {}).get(LISTED_AS) and event.cost else None,
                tokens=event.usage,
                seconds=round((self._log.clock() - self._step_began_ms - waited_ms) / 1000, 3),
                waited_seconds=round(waited_ms / 1000, 3) if waited_ms else None,
                context_tokens=event.usage.prompt + event.usage.output + event.usage.reasoning,
                window=self._window,
            ),
            sync=True,
        )
        self._journal_patches()

    # Endings

    def discard_attempt(self, attempt: int) -> None:
        """Mark the parts of a failed request, before it is sent again.

        The parts stay in the transcript, marked, and are not sent to the model.
        """
        self._close_texts()
        self._close_tool_parts()
        self._waiting_calls.clear()
        for part in self._attempt_parts:
            if isinstance(part, TextPart | ReasoningPart | ToolPart):
                metadata = dict(part.metadata or {}) | {"failed_attempt": attempt}
                self._log.append(PartUpdated(part=part.model_copy(update={"metadata": metadata})))
        self._attempt_parts.clear()
        self._tool_parts.clear()

    def close(self, error: ErrorValue | None = None) -> None:
        """Close all open parts and the message; an error is recorded in the message, and its text stays."""
        self._close_texts()
        self._close_tool_parts()
        self._journal_patches()
        time = self.message.time.model_copy(update={"completed": self._log.clock()})
        update: dict[str, Any] = {"time": time}
        if error is not None:
            update["error"] = error
            if self.message.finish is None and not isinstance(error, AbortedError):
                update["finish"] = "error"
        self.message = self.message.model_copy(update=update)
        self._log.append(*answer_end_events(self.message), sync=True)

    def _close_texts(self) -> None:
        for stream_part_id in list(self._open_reasoning):
            self._text_or_reasoning_ended(ReasoningEnded(stream_part_id))
        for stream_part_id in list(self._open_texts):
            self._text_or_reasoning_ended(TextEnded(stream_part_id))

    def _close_tool_parts(self) -> None:
        for part in list(self._tool_parts.values()):
            if not isinstance(part.state, ToolPending | ToolRunning):
                continue
            if isinstance(part.state, ToolRunning):
                metadata = {**part.state.metadata, "interrupted": True}
                span = self._closed_span(part.state.time)
            else:
                raw_input = "".join(self._raw_inputs.get(part.call_id, ()))
                metadata, span = {"interrupted": True, "raw": raw_input}, self._closed_span(None)
            state = ToolFailed(input=part.state.input, error=ABORTED, metadata=metadata, time=span)
            self._journal_tool_part(part.model_copy(update={"state": state}))

    # Writing

    def _closed_span(self, span: Span | None) -> Span:
        now = self._log.clock()
        return Span(start=span.start if span else now, end=now)

    def _journal_part(self, part: Part, *, sync: bool = False) -> None:
        self._attempt_parts = [earlier for earlier in self._attempt_parts if earlier.id != part.id]
        self._attempt_parts.append(part)
        self._log.append(PartUpdated(part=part), sync=sync)

    def _journal_tool_part(self, part: ToolPart, *, sync: bool = False) -> None:
        self._tool_parts[part.call_id] = part
        self._journal_part(part, sync=sync)

    def _update_message(self, **update: Any) -> None:
        self.message = self.message.model_copy(update=update)
        self._log.append(MessageUpdated(info=self.message))


def _join_surrogates(event: StreamEvent) -> StreamEvent:
    """Return the event with surrogates joined; not in a delta's text, which the next delta may complete."""
    if not isinstance(event, DELTA_TYPES):
        return with_joined_surrogates(event)
    if event.id.isascii() and not getattr(event, "metadata", None):
        return event
    changed_event = with_joined_surrogates(event)
    return event if changed_event is event else replace(changed_event, text=event.text)


def _tool_outcome(tool_name: str, output: Any) -> ToolOutcome:
    if isinstance(output, ToolOutcome):
        return output
    if isinstance(output, str):
        return ToolOutcome(title=tool_name, output=output)
    if isinstance(output, dict) and isinstance(output.get("output"), str):
        return ToolOutcome(
            title=str(output.get("title") or tool_name),
            output=output["output"],
            metadata=dict(output.get("metadata") or {}),
        )
    metadata = dict(output) if isinstance(output, dict) else {}
    text = json.dumps(output, ensure_ascii=False, separators=(",", ":"), default=str)
    return ToolOutcome(title=tool_name, output=text, metadata=metadata)

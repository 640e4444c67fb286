"""Read evaluation logs of Inspect AI (``.eval``): each sample and epoch is a session.

A log is a zip file with one JSON document a sample. Its model events repeat their whole input, often as ranges into a
pool of messages, and long texts are in a table of attachments; both are looked up inside the sample. The requests of
scorers are left out; an agent that runs inside a tool call is a subagent.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from palimpsest.recordings.format_parts.inspect_spans import SampleEvents
from palimpsest.recordings.message_formats.repeated_inputs import (
    InputMessage,
    RecordedReduction,
    RepeatedInputs,
)
from palimpsest.recordings.reading.archives import JsonArchive, opened_archive
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import (
    NO_VALUE,
    JsonValue,
    media_at,
    usage_of_whole_prompt,
)
from palimpsest.recordings.reading.reading_budget import BYTES_PER_LOOK_UP, spend
from palimpsest.recordings.reading.recorded import (
    OTHER_SYSTEM_SENTENCE,
    Call,
    GapRead,
    Media,
    MessageRead,
    Recorded,
    ResultRead,
    SessionBegin,
    Text,
    Thinking,
    media_of,
    text_of_parts,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Usage

ATTACHMENT_PREFIX = "attachment://"
MAX_INPUT_MESSAGES = 20_000
"""Maximum messages of one request, since ranges into the pool could repeat the same messages without end."""
MAX_LOOKED_UP_CHARS = 256_000_000
"""Maximum characters of attachments that are looked up for one sample."""
MAX_SEARCHED_BYTES = 4_096
"""Maximum bytes at a file's beginning in which the names of an evaluation log's first members are searched."""
MAX_SHOWN_CHARS = 60
"""Maximum characters of an attachment's name in a report."""
CANCELLED_PREFIX = "Cancelled by "
FROM_CACHE_SENTENCE = "This answer came from the evaluation's own cache; nothing was sent."


class InspectEvalImporter:
    """Reads one evaluation log."""

    name = "inspect"
    title = "Inspect AI"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a zip file begins with the first members of an evaluation log."""
        beginning = head.start[:MAX_SEARCHED_BYTES]
        return beginning.startswith(b"PK\x03\x04") and any(
            name in beginning for name in (b"_journal/start.json", b"header.json")
        )

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield each sample's session, in the order of the log."""
        with opened_archive(path, report) as archive:
            header = _header(archive)
            if not header:
                raise UserError(f"{str(path)!r} holds no evaluation of Inspect.")
            samples = [
                file
                for file in archive.names
                if file.startswith("samples/") and file.endswith(".json")
            ]
            if not samples:
                raise UserError(f"{str(path)!r} holds no samples; the evaluation wrote none.")
            for name in samples:
                if sample := JsonValue(archive.read_json(name)):
                    yield from _InspectSample(sample, header, name, report).read_values()


def _header(archive: JsonArchive) -> JsonValue:
    for name in ("header.json", "_journal/start.json"):
        header = JsonValue(archive.read_json(name))
        if header.at("eval"):
            return header
    return NO_VALUE


@dataclass(slots=True)
class _InspectSample:
    """Reads one sample: the sessions of its agent and of the agent's subagents."""

    sample: JsonValue
    header: JsonValue
    file_name: str
    """The sample's file in the log, for reports."""
    report: Report
    looked_up_chars: int = 0
    """Characters of attachments that were looked up so far."""
    pool: dict[int, InputMessage | str] = field(default_factory=dict)
    """Messages of the pool that were read, by their index; system prompts as text."""

    def read_values(self) -> Iterator[Recorded]:
        events = SampleEvents()
        for event in self.sample.objects("events"):
            events.add(event)
        if events.scorer_request_count:
            self.report(
                self.file_name,
                f"{events.scorer_request_count} requests of scorers are not the agent's: left out.",
            )
        if not events.events_by_agent:
            self.report(self.file_name, "It holds no requests of an agent.")
        session_ids = {a: self._session_id(a) for a in events.events_by_agent}
        # The sample's own agent, whose id is empty, comes before its subagents.
        for agent_id in sorted(events.events_by_agent, key=bool):
            session_begin = self._session_begin(
                session_ids[agent_id], events.events_by_agent[agent_id]
            )
            if agent_id:
                parent_agent_id, call_id = events.started_by(agent_id)
                session_begin = replace(
                    session_begin,
                    parent=session_ids.get(parent_agent_id, self._session_id("")),
                    parent_call=call_id or None,
                )
            yield session_begin
            yield from self._request_values(
                events.events_by_agent[agent_id], events.run_by_call, session_begin.system or ""
            )

    def _session_id(self, agent_id: str) -> str:
        evaluation = self.header.id("eval", "eval_id") or "eval"
        id_pieces = (evaluation, self.sample.id("id"), self.sample.id("epoch"))
        sample_id = self.sample.id("uuid") or "/".join(id_pieces)
        return f"{sample_id}/{agent_id}" if agent_id else sample_id

    def _session_begin(self, session_id: str, events: list[JsonValue]) -> SessionBegin:
        evaluation = self.header.at("eval")
        first_request = next((event for event in events if event.get("event") == "model"), NO_VALUE)
        system_prompt, _ = self._input_messages(first_request)
        return SessionBegin(
            session_id,
            InspectEvalImporter.name,
            format_version=evaluation.text("packages", "inspect_ai"),
            title=f"{evaluation.text('task')}: sample {self.sample.id('id')}, "
            f"epoch {self.sample.id('epoch')}",
            created=first_request.milliseconds("timestamp")
            or self.sample.milliseconds("started_at")
            or evaluation.milliseconds("created"),
            model=first_request.text("model") or evaluation.text("model"),
            system=system_prompt or None,
            tools=first_request.tool_specs("tools"),
        )

    def _request_values(
        self, events: list[JsonValue], run_by_call: dict[str, JsonValue], system_prompt: str
    ) -> Iterator[Recorded]:
        inputs = RepeatedInputs()
        reduction: RecordedReduction | None = None
        answered_call_ids, call_ids = set[str](), list[str]()
        for index, event in enumerate(events):
            next_event = events[index + 1] if index + 1 < len(events) else NO_VALUE
            if event.get("event") == "compaction":
                reduction = _recorded_reduction(event, events[index - 1] if index else NO_VALUE)
                continue
            if _writes_summary(event, next_event):
                # Later requests may contain the summary in place of the results of the calls so far.
                yield from self._results_without_request(call_ids, answered_call_ids, run_by_call)
                continue
            new_system, messages = self._input_messages(event)
            created_ms = event.milliseconds("timestamp")
            for value in inputs.changes_of_input(messages, created_ms, reduction):
                if not isinstance(value, ResultRead):
                    yield value
                elif value.call not in answered_call_ids:
                    answered_call_ids.add(value.call)
                    yield _with_times(value, run_by_call.get(value.call, NO_VALUE))
            reduction = None
            if event.get("pending") is True:
                self.report(self.file_name, "A request was not answered when the log was written.")
                continue
            answer = inputs.add_answer(self._answer(event, f"a{index + 1}", created_ms))
            call_ids += [part.id for part in answer.parts if isinstance(part, Call)]
            yield answer
            if new_system != system_prompt:
                system_prompt = new_system
                yield GapRead(OTHER_SYSTEM_SENTENCE, message=answer.id, chars=len(new_system))
            if event.get("cache") == "read":
                yield GapRead(FROM_CACHE_SENTENCE, message=answer.id)
        yield from self._results_without_request(call_ids, answered_call_ids, run_by_call)

    def _results_without_request(
        self, call_ids: list[str], answered_call_ids: set[str], run_by_call: dict[str, JsonValue]
    ) -> Iterator[Recorded]:
        for call_id in call_ids:
            if call_id not in answered_call_ids and (run := run_by_call.get(call_id)):
                answered_call_ids.add(call_id)
                output = self._text(run.at("result")) or run.as_text("result")
                error = run.text("error", "message")
                yield _with_times(ResultRead(call_id, error or output, is_error=bool(error)), run)

    def _input_messages(self, event: JsonValue) -> tuple[str, list[InputMessage]]:
        """Return the system prompt and the other messages of a request."""
        messages: list[InputMessage | str] = []
        shared_messages = self.sample.get("events_data", "messages")
        pool_messages = shared_messages or self.sample.get("message_pool")
        for reference in event.list_at("input_refs") if isinstance(pool_messages, list) else ():
            first, end = (
                reference if isinstance(reference, list) and len(reference) == 2 else (0, 0)
            )
            for index in range(
                JsonValue(first).count(), min(JsonValue(end).count(), len(pool_messages))
            ):
                if len(messages) >= MAX_INPUT_MESSAGES:
                    break
                spend(BYTES_PER_LOOK_UP)
                if index not in self.pool:
                    self.pool[index] = self._message(JsonValue(pool_messages[index]))
                messages.append(self.pool[index])
        for message in event.objects("input"):
            if len(messages) < MAX_INPUT_MESSAGES:
                messages.append(self._message(message))
        if len(messages) >= MAX_INPUT_MESSAGES:
            self.report(self.file_name, "A request has more messages than are believed.")
        system_prompt = "\n\n".join(item for item in messages if isinstance(item, str) and item)
        return system_prompt, [item for item in messages if isinstance(item, InputMessage)]

    def _message(self, message: JsonValue) -> InputMessage | str:
        """Return a message of a request's input; a system prompt as its text."""
        role, content = message.get("role"), message.at("content")
        if role == "system":
            return self._text(content)
        if role == "tool":
            error = message.text("error", "message")
            output = self._text(content)
            result = ResultRead(
                message.id("tool_call_id"),
                output or error,
                is_error=bool(error),
                media=media_of(self._parts(content)),
            )
            return InputMessage("user", results=(result,))
        if role == "assistant":
            return InputMessage("assistant", (*self._parts(content), *self._calls(message)))
        return InputMessage("user", tuple(self._parts(content)))

    def _answer(self, event: JsonValue, default_id: str, created_ms: int | None) -> MessageRead:
        output = event.at("output")
        choice = output.first_entry("choices")
        message = choice.at("message")
        error = event.text("error") or output.text("error")
        finish = choice.finish("stop_reason")
        if error:
            finish = "aborted" if error.startswith(CANCELLED_PREFIX) else "error"
        return MessageRead(
            message.id("id") or default_id,
            "assistant",
            (*self._parts(message.at("content")), *self._calls(message)),
            created_ms,
            completed=event.milliseconds("completed"),
            model=event.text("model"),
            effort=event.text("config", "reasoning_effort") or None,
            usage=_usage(output.at("usage")),
            cost=output.cost("usage", "total_cost"),
            finish=finish,
            error=error or None,
        )

    def _calls(self, message: JsonValue) -> Iterator[Call]:
        for call in message.objects("tool_calls"):
            tool_input = JsonValue(self._resolve_all(call.get("arguments"))).tool_input()
            yield Call(call.id("id"), call.text("function") or "unknown", tool_input)

    def _parts(self, content: JsonValue) -> Iterator[Text | Thinking | Media]:
        if isinstance(content.raw, str) and (text := self._resolve_text(content.raw)):
            yield Text(text)
        for block in content.objects():
            match block.get("type"):
                case "text":
                    yield Text(self._resolve_text(block.text("text")))
                case "reasoning":
                    is_redacted = block.get("redacted") is True
                    text = self._resolve_text(block.text("summary" if is_redacted else "reasoning"))
                    yield Thinking(text, encrypted=is_redacted and not text)
                case "image" | "audio" | "video" | "document" as kind:
                    mime = block.text("mime_type") or ("image/png" if kind == "image" else "")
                    yield media_at(self._resolve_text(block.text(kind)), mime)
                case _:
                    yield Text(block.as_text())

    def _text(self, content: JsonValue) -> str:
        return text_of_parts(self._parts(content))

    def _resolve_text(self, value: str) -> str:
        """Return a text, or the sample's attachment to which the text refers."""
        if not value.startswith(ATTACHMENT_PREFIX):
            return JsonValue(value).text()
        attachment = self.sample.text("attachments", value[len(ATTACHMENT_PREFIX) :])
        self.looked_up_chars += len(attachment)
        spend(BYTES_PER_LOOK_UP)
        if not attachment or self.looked_up_chars > MAX_LOOKED_UP_CHARS:
            self.report(
                self.file_name,
                f"The attachment {value[:MAX_SHOWN_CHARS]!r} is not in the log, or too large.",
            )
            return value
        return attachment

    def _resolve_all(self, value: Any) -> Any:
        """Return a value with every attachment to which its texts refer."""
        if isinstance(value, str):
            return self._resolve_text(value)
        if isinstance(value, dict):
            return {JsonValue(name).text(): self._resolve_all(item) for name, item in value.items()}
        return [self._resolve_all(inner) for inner in value] if isinstance(value, list) else value


def _writes_summary(event: JsonValue, next_event: JsonValue) -> bool:
    """Return whether a request without tools wrote the summary of the compaction after it."""
    return (
        next_event.get("event") == "compaction"
        and next_event.get("type") == "summary"
        and not event.get("tools")
    )


def _recorded_reduction(event: JsonValue, previous_event: JsonValue) -> RecordedReduction:
    is_request = previous_event.get("event") == "model"
    is_of_summary = is_request and _writes_summary(previous_event, event)
    summary_request = previous_event if is_of_summary else NO_VALUE
    return RecordedReduction(
        rule=f"inspect.{event.text('type') or 'compaction'}",
        tokens_before=event.count("tokens_before") or None,
        tokens_after=event.count("tokens_after") or None,
        usage=_usage(summary_request.at("output", "usage")),
        model=summary_request.text("model"),
    )


def _usage(counts: JsonValue) -> Usage | None:
    cache_read = counts.tokens("input_tokens_cache_read")
    cache_written = counts.tokens("input_tokens_cache_write")
    prompt, output = counts.tokens("input_tokens"), counts.tokens("output_tokens")
    if counts.tokens("total_tokens") != prompt + output or not cache_read + cache_written:
        # Some providers' input tokens do not include the cached tokens; the total shows it.
        prompt += cache_read + cache_written
    reasoning = min(output, counts.tokens("reasoning_tokens"))
    return usage_of_whole_prompt(
        prompt, output, cache_read=cache_read, cache_written=cache_written, reasoning=reasoning
    )


def _with_times(result: ResultRead, run: JsonValue) -> ResultRead:
    started, ended = run.milliseconds("timestamp"), run.milliseconds("completed")
    return replace(result, started=started, ended=ended)

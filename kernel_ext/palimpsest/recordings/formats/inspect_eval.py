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
from palimpsest.recordings.reading.reading_budget import LOOK_BYTES, spend
from palimpsest.recordings.reading.recorded import (
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
CANCELLED_PREFIX = "Cancelled by "
FROM_CACHE = "This answer came from the evaluation's own cache; nothing was sent."
OTHER_SYSTEM = "Another system prompt was sent from here on."


class InspectEvalImporter:
    """Reads one evaluation log."""

    name = "inspect"
    title = "Inspect AI"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a zip file begins with the first members of an evaluation log."""
        beginning = head.start[:4_096]
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
                    yield from _InspectSample(sample, header, name, report).records()


def _header(archive: JsonArchive) -> JsonValue:
    for name in ("header.json", "_journal/start.json"):
        header = JsonValue(archive.read_json(name))
        if header.at("eval"):
            return header
    return NO_VALUE


@dataclass(slots=True)
class _InspectSample:
    sample: JsonValue
    header: JsonValue
    file_name: str
    """The sample's file in the log, for reports."""
    report: Report
    looked_up_chars: int = 0
    pool: dict[int, InputMessage | str] = field(default_factory=dict)
    """Messages of the pool that were read, by their index; system prompts as text."""

    def records(self) -> Iterator[Recorded]:
        events = SampleEvents()
        for event in self.sample.objects("events"):
            events.add(event)
        if events.scorer_requests:
            self.report(
                self.file_name,
                f"{events.scorer_requests} requests of scorers are not the agent's: left out.",
            )
        if not events.by_agent:
            self.report(self.file_name, "It holds no requests of an agent.")
        ids = {agent: self._id(agent) for agent in events.by_agent}
        # The sample's own agent, whose name is empty, comes before its subagents.
        for agent in sorted(events.by_agent, key=bool):
            session_begin = self._begin(ids[agent], events.by_agent[agent])
            if agent:
                parent, call = events.started_by(agent)
                session_begin = replace(
                    session_begin, parent=ids.get(parent, self._id("")), parent_call=call or None
                )
            yield session_begin
            yield from self._requests(
                events.by_agent[agent], events.runs, session_begin.system or ""
            )

    def _id(self, agent: str) -> str:
        evaluation = self.header.id("eval", "eval_id") or "eval"
        names = (evaluation, self.sample.id("id"), self.sample.id("epoch"))
        sample = self.sample.id("uuid") or "/".join(names)
        return f"{sample}/{agent}" if agent else sample

    def _begin(self, session: str, events: list[JsonValue]) -> SessionBegin:
        evaluation = self.header.at("eval")
        first_request = next((event for event in events if event.get("event") == "model"), NO_VALUE)
        system, _ = self._input(first_request)
        return SessionBegin(
            session,
            InspectEvalImporter.name,
            format_version=evaluation.text("packages", "inspect_ai"),
            title=f"{evaluation.text('task')}: sample {self.sample.id('id')}, "
            f"epoch {self.sample.id('epoch')}",
            created=first_request.milliseconds("timestamp")
            or self.sample.milliseconds("started_at")
            or evaluation.milliseconds("created"),
            model=first_request.text("model") or evaluation.text("model"),
            system=system or None,
            tools=first_request.tool_specs("tools"),
        )

    def _requests(
        self, events: list[JsonValue], runs: dict[str, JsonValue], system: str
    ) -> Iterator[Recorded]:
        inputs = RepeatedInputs()
        reduction: RecordedReduction | None = None
        calls_with_result, calls = set[str](), list[str]()
        for n, event in enumerate(events):
            next_event = events[n + 1] if n + 1 < len(events) else NO_VALUE
            if event.get("event") == "compaction":
                reduction = _reduction(event, events[n - 1] if n else NO_VALUE)
                continue
            if _writes_summary(event, next_event):
                # Later requests may contain the summary in place of the results of the calls so far.
                yield from self._missing_results(calls, calls_with_result, runs)
                continue
            new_system, messages = self._input(event)
            created = event.milliseconds("timestamp")
            for record in inputs.changes_of_input(messages, created, reduction):
                if not isinstance(record, ResultRead):
                    yield record
                elif record.call not in calls_with_result:
                    calls_with_result.add(record.call)
                    yield _with_times(record, runs.get(record.call, NO_VALUE))
            reduction = None
            if event.get("pending") is True:
                self.report(self.file_name, "A request was not answered when the log was written.")
                continue
            answer = inputs.answer(self._answer(event, f"a{n + 1}", created))
            calls += [part.id for part in answer.parts if isinstance(part, Call)]
            yield answer
            if new_system != system:
                system = new_system
                yield GapRead(OTHER_SYSTEM, message=answer.id, chars=len(new_system))
            if event.get("cache") == "read":
                yield GapRead(FROM_CACHE, message=answer.id)
        yield from self._missing_results(calls, calls_with_result, runs)

    def _missing_results(
        self, calls: list[str], calls_with_result: set[str], runs: dict[str, JsonValue]
    ) -> Iterator[Recorded]:
        for call in calls:
            if call not in calls_with_result and (run := runs.get(call)):
                calls_with_result.add(call)
                output = self._text(run.at("result")) or run.as_text("result")
                problem = run.text("error", "message")
                yield _with_times(ResultRead(call, problem or output, is_error=bool(problem)), run)

    def _input(self, event: JsonValue) -> tuple[str, list[InputMessage]]:
        """Return the system prompt and the other messages of a request."""
        messages: list[InputMessage | str] = []
        shared_messages = self.sample.get("events_data", "messages")
        pool = shared_messages or self.sample.get("message_pool")
        for ref in event.list_at("input_refs") if isinstance(pool, list) else ():
            first, end = ref if isinstance(ref, list) and len(ref) == 2 else (0, 0)
            for n in range(JsonValue(first).count(), min(JsonValue(end).count(), len(pool))):
                if len(messages) >= MAX_INPUT_MESSAGES:
                    break
                spend(LOOK_BYTES)
                if n not in self.pool:
                    self.pool[n] = self._message(JsonValue(pool[n]))
                messages.append(self.pool[n])
        for message in event.objects("input"):
            if len(messages) < MAX_INPUT_MESSAGES:
                messages.append(self._message(message))
        if len(messages) >= MAX_INPUT_MESSAGES:
            self.report(self.file_name, "A request has more messages than are believed.")
        system = "\n\n".join(item for item in messages if isinstance(item, str) and item)
        return system, [item for item in messages if isinstance(item, InputMessage)]

    def _message(self, message: JsonValue) -> InputMessage | str:
        """Return a message of a request's input; a system prompt as its text."""
        role, content = message.get("role"), message.at("content")
        if role == "system":
            return self._text(content)
        if role == "tool":
            problem = message.text("error", "message")
            output = self._text(content)
            result = ResultRead(
                message.id("tool_call_id"),
                output or problem,
                is_error=bool(problem),
                media=media_of(self._parts(content)),
            )
            return InputMessage("user", results=(result,))
        if role == "assistant":
            return InputMessage("assistant", (*self._parts(content), *self._calls(message)))
        return InputMessage("user", tuple(self._parts(content)))

    def _answer(self, event: JsonValue, default_id: str, created: int | None) -> MessageRead:
        output = event.at("output")
        choice = output.first_entry("choices")
        message = choice.at("message")
        problem = event.text("error") or output.text("error")
        finish = choice.finish("stop_reason")
        if problem:
            finish = "aborted" if problem.startswith(CANCELLED_PREFIX) else "error"
        return MessageRead(
            message.id("id") or default_id,
            "assistant",
            (*self._parts(message.at("content")), *self._calls(message)),
            created,
            completed=event.milliseconds("completed"),
            model=event.text("model"),
            effort=event.text("config", "reasoning_effort") or None,
            usage=_usage(output.at("usage")),
            cost=output.cost("usage", "total_cost"),
            finish=finish,
            error=problem or None,
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
        spend(LOOK_BYTES)
        if not attachment or self.looked_up_chars > MAX_LOOKED_UP_CHARS:
            self.report(
                self.file_name, f"The attachment {value[:60]!r} is not in the log, or too large."
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


def _reduction(event: JsonValue, previous_event: JsonValue) -> RecordedReduction:
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

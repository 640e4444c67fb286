"""Read traces of the OpenTelemetry conventions for generative AI: OTLP JSON, or one JSON object a line.

Spans of requests (``chat``) contain their whole input, so each message is yielded once, and a message that is missing or
changed in the next request is a reduction. A session is a conversation, or a trace where no conversation id was recorded.
An agent that another agent started is a subagent. Contents are opt-in: without them only usage is read.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from palimpsest.recordings.format_parts.otel_spans import (
    NANOSECONDS_PER_MS,
    attributes_of,
    decoded_attribute,
    failure_of,
    nanoseconds,
    read_spans,
)
from palimpsest.recordings.message_formats.repeated_inputs import (
    InputMessage,
    RecordedReduction,
    RepeatedInputs,
)
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import (
    NO_VALUE,
    JsonValue,
    fingerprint,
    media_at,
    usage_of_whole_prompt,
)
from palimpsest.recordings.reading.recorded import (
    OTHER_SYSTEM_SENTENCE,
    Call,
    GapRead,
    Media,
    MessagePart,
    MessageRead,
    Recorded,
    ResultRead,
    SessionBegin,
    Text,
    Thinking,
    text_of_parts,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import ToolSpec, Usage, priced_tier

MAX_FIRST_FIELD_BYTES, MAX_FIRST_SPAN_BYTES = 200, 4_000
"""Maximum bytes at a file's beginning in which OTLP's first field is searched, and the id of the first span."""
REQUEST_OPERATIONS = {"chat", "generate_content", "text_completion"}
AGENT_OPERATION, TOOL_OPERATION = "invoke_agent", "execute_tool"
DETAILS_EVENT = "gen_ai.client.inference.operation.details"
"""The event of a span that may contain the contents instead of the span's attributes."""
NO_CONTENTS_SENTENCE = (
    "The texts of the messages were not recorded; instrumentations record them only when asked to."
)
COMPACTED_BY_PROVIDER_SENTENCE = (
    "The provider compacted the conversation here; what it kept is not recorded."
)


class OtelGenAiImporter:
    """Reads the spans of one file."""

    name = "otel-genai"
    title = "OpenTelemetry GenAI"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a file begins with OTLP's spans, or with a span that has the conventions' names."""
        beginning = head.start.lstrip()
        if not beginning.startswith((b"{", b"[")):
            return False
        if b'"resourceSpans"' in beginning[:MAX_FIRST_FIELD_BYTES]:
            return True
        early = beginning[:MAX_FIRST_SPAN_BYTES]
        return b"gen_ai." in beginning and (b'"span_id"' in early or b'"spanId"' in early)

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield each conversation, and each of its subagents, in the order of their first requests."""
        trace = _GenAiTrace()
        for place, span in read_spans(path, report):
            trace.add(span, place, report)
        sessions = trace.sessions()
        if not sessions:
            raise UserError(f"{str(path)!r} holds no requests of a model by the GenAI conventions.")
        for session in sessions:
            yield from session.values(trace.run_by_call)


@dataclass(slots=True)
class _GenAiSpan:
    """What is read of one span; the messages of a request are stored once for all spans that repeat them."""

    id: str
    parent_id: str
    operation: str
    conversation_id: str
    start_ns: int
    end_ns: int
    attributes: JsonValue
    error: str = ""
    system: str = ""
    tools: tuple[ToolSpec, ...] | None = None
    messages: list[InputMessage] | None = None
    """The input's messages; None where contents were not recorded."""
    answer: tuple[MessagePart, ...] = ()
    finish: str = ""
    is_compacted: bool = False


@dataclass(slots=True)
class _TracedSession:
    """The requests of one conversation, or of one subagent in it."""

    id: str
    parent_id: str = ""
    parent_call_id: str = ""
    title: str = ""
    depth: int = 0
    """Number of agents around the one whose session it is."""
    requests: list[_GenAiSpan] = field(default_factory=list)

    def values(self, run_by_call: dict[str, _GenAiSpan]) -> Iterator[Recorded]:
        first_request = self.requests[0]
        yield SessionBegin(
            self.id,
            OtelGenAiImporter.name,
            title=self.title,
            created=_time_ms(first_request.start_ns),
            model=_model(first_request),
            system=first_request.system or None,
            tools=first_request.tools,
            parent=self.parent_id or None,
            parent_call=self.parent_call_id or None,
        )
        inputs, answered_call_ids, call_ids = RepeatedInputs(), set[str](), list[str]()
        system_prompt, is_without_content = first_request.system, False
        for number, request in enumerate(self.requests, 1):
            if request.messages is not None:
                reduction = RecordedReduction(rule="otel") if request.is_compacted else None
                for value in inputs.changes_of_input(
                    request.messages, _time_ms(request.start_ns), reduction
                ):
                    if isinstance(value, ResultRead):
                        answered_call_ids.add(value.call)
                        yield _with_times(value, run_by_call.get(value.call))
                    else:
                        yield value
            answer = inputs.add_answer(_answer(request, f"a{number}"))
            call_ids += [part.id for part in answer.parts if isinstance(part, Call)]
            yield answer
            if request.system != system_prompt:
                system_prompt = request.system
                yield GapRead(OTHER_SYSTEM_SENTENCE, message=answer.id, chars=len(system_prompt))
            if request.is_compacted and request.messages is None:
                yield GapRead(COMPACTED_BY_PROVIDER_SENTENCE, message=answer.id)
            is_without_content |= request.messages is None and not answer.parts
        for call_id in call_ids:
            if call_id not in answered_call_ids and (run := run_by_call.get(call_id)):
                output = run.attributes.as_text("gen_ai.tool.call.result")
                yield _with_times(ResultRead(call_id, output, is_error=bool(run.error)), run)
        if is_without_content:
            yield GapRead(NO_CONTENTS_SENTENCE)


@dataclass(slots=True)
class _GenAiTrace:
    """The spans of a file: requests, agents and runs of tools."""

    spans: dict[str, _GenAiSpan] = field(default_factory=dict)
    run_by_call: dict[str, _GenAiSpan] = field(default_factory=dict)
    """The span of each call's run, by the call's id."""
    messages: dict[bytes, InputMessage | str] = field(default_factory=dict)
    """Messages by their content, since requests repeat them; system prompts as text."""

    def add(self, span_fields: JsonValue, place: str, report: Report) -> None:
        context = span_fields.at("context")
        span_id = span_fields.id("spanId") or context.id("span_id")
        if not span_id or span_id in self.spans:
            report(place, "It is no span, or was there before, and was left out.")
            return
        attribute_values = attributes_of(span_fields.at("attributes"))
        for event in span_fields.objects("events"):
            if event.get("name") == DETAILS_EVENT:
                attribute_values = {**attributes_of(event.at("attributes")), **attribute_values}
        attributes = JsonValue(attribute_values)
        operation = attributes.text("gen_ai.operation.name")
        trace_id = span_fields.id("traceId") or context.id("trace_id")
        span = _GenAiSpan(
            span_id,
            span_fields.id("parentSpanId") or span_fields.id("parent_id"),
            operation,
            attributes.id("gen_ai.conversation.id") or f"trace {trace_id}",
            nanoseconds(span_fields.get("startTimeUnixNano"), span_fields.get("start_time")),
            nanoseconds(span_fields.get("endTimeUnixNano"), span_fields.get("end_time")),
            NO_VALUE,
            failure_of(span_fields, attributes),
        )
        self.spans[span_id] = span
        if operation in REQUEST_OPERATIONS:
            self._read_request(span, attributes)
        elif operation in {AGENT_OPERATION, TOOL_OPERATION}:
            names = ("gen_ai.agent.name", "gen_ai.tool.call.id", "gen_ai.tool.call.result")
            span.attributes = JsonValue({key: attributes.get(key) for key in names})
            if call_id := attributes.id("gen_ai.tool.call.id"):
                self.run_by_call.setdefault(call_id, span)

    def _read_request(self, span: _GenAiSpan, attributes: JsonValue) -> None:
        instructions = decoded_attribute(attributes.at("gen_ai.system_instructions"))
        system_texts = [block.text("content") for block in instructions.objects()]
        span.tools = decoded_attribute(attributes.at("gen_ai.tool.definitions")).tool_specs()
        input_messages = decoded_attribute(attributes.at("gen_ai.input.messages"))
        if isinstance(input_messages.raw, list):
            messages = [self._message(message) for message in input_messages.objects()]
            system_texts += [message for message in messages if isinstance(message, str)]
            span.messages = [message for message in messages if isinstance(message, InputMessage)]
        span.system = "\n\n".join(filter(None, system_texts))
        outputs = decoded_attribute(attributes.at("gen_ai.output.messages")).objects()
        span.answer = tuple(part for output in outputs for part in _parts_and_results(output)[0])
        finish_of_response = next(iter(attributes.list_at("gen_ai.response.finish_reasons")), "")
        finish_of_output = next((output.text("finish_reason") for output in outputs), "")
        span.finish = JsonValue(finish_of_response).text() or finish_of_output
        span.is_compacted = attributes.get("gen_ai.conversation.compacted") is True or any(
            part.get("type") == "compaction"
            for output in outputs
            for part in output.objects("parts")
        )
        span.attributes = JsonValue(
            {
                key: value
                for key, value in attributes.fields().items()
                if key.startswith(("gen_ai.usage.", "gen_ai.request.", "gen_ai.response."))
                or key in SERVICE_TIER_NAMES
                or key in {"gen_ai.provider.name", "gen_ai.system"}
            }
        )

    def _message(self, value: JsonValue) -> InputMessage | str:
        content_hash = fingerprint(json.dumps(value.raw, sort_keys=True))
        if content_hash not in self.messages:
            self.messages[content_hash] = _input_message(value)
        return self.messages[content_hash]

    def sessions(self) -> list[_TracedSession]:
        """Return the sessions, parents before their subagents."""
        session_by_id: dict[str, _TracedSession] = {}
        for span in sorted(self.spans.values(), key=lambda span: span.start_ns):
            if span.operation in REQUEST_OPERATIONS:
                session = self._session(span)
                session_by_id.setdefault(session.id, session).requests.append(span)
        for session in session_by_id.values():
            if session.parent_id not in session_by_id:
                session.parent_id = session.parent_call_id = ""
        return sorted(
            session_by_id.values(),
            key=lambda session: (session.depth, session.requests[0].start_ns),
        )

    def _session(self, span: _GenAiSpan) -> _TracedSession:
        """Return the session of a request: its conversation, or the subagent that sent it."""
        conversation_id = span.conversation_id
        agent_spans, call_ids = list[_GenAiSpan](), list[str]()
        for outer_span in self._enclosing_spans(span):
            if conversation_id.startswith("trace ") and not outer_span.conversation_id.startswith(
                "trace "
            ):
                conversation_id = outer_span.conversation_id
            if outer_span.operation == AGENT_OPERATION:
                agent_spans.append(outer_span)
            elif outer_span.operation == TOOL_OPERATION and len(agent_spans) == 1:
                call_ids.append(outer_span.attributes.id("gen_ai.tool.call.id"))
        title = agent_spans[0].attributes.text("gen_ai.agent.name") if agent_spans else ""
        if len(agent_spans) < 2:
            return _TracedSession(conversation_id, title=title)
        outer_id = agent_spans[1].id
        return _TracedSession(
            f"{conversation_id}/{agent_spans[0].id}",
            conversation_id if len(agent_spans) == 2 else f"{conversation_id}/{outer_id}",
            call_ids[0] if call_ids else "",
            title,
            len(agent_spans) - 1,
        )

    def _enclosing_spans(self, span: _GenAiSpan) -> Iterator[_GenAiSpan]:
        seen_ids = {span.id}
        while (outer_span := self.spans.get(span.parent_id)) and outer_span.id not in seen_ids:
            seen_ids.add(outer_span.id)
            yield outer_span
            span = outer_span


def _time_ms(time_ns: int) -> int | None:
    return JsonValue(str(time_ns // NANOSECONDS_PER_MS)).milliseconds() if time_ns else None


def _input_message(value: JsonValue) -> InputMessage | str:
    parts, results = _parts_and_results(value)
    role = value.text("role")
    if role in {"system", "developer"}:
        return text_of_parts(parts)
    return InputMessage(
        "assistant" if role in {"assistant", "model"} else "user", tuple(parts), tuple(results)
    )


def _parts_and_results(message: JsonValue) -> tuple[list[MessagePart], list[ResultRead]]:
    parts: list[MessagePart] = []
    results: list[ResultRead] = []
    for part in message.objects("parts"):
        match part.get("type"):
            case "text":
                parts.append(Text(part.text("content")))
            case "reasoning":
                parts.append(Thinking(part.text("content")))
            case "tool_call":
                name = part.text("name") or "unknown"
                parts.append(Call(part.id("id"), name, part.tool_input("arguments")))
            case "tool_call_response":
                output = part.either("response", "result").as_text()
                results.append(ResultRead(part.id("id"), output))
            case "blob":
                mime = part.text("mime_type") or "application/octet-stream"
                parts.append(Media(mime, part.text("content") or None))
            case "uri" | "file":
                address = part.text("uri") or part.id("file_id")
                parts.append(media_at(address, part.text("mime_type")))
            case "compaction":
                pass
            case _:
                parts.append(Text(part.as_text(), synthetic=True))
    return parts, results


def _answer(request: _GenAiSpan, default_id: str) -> MessageRead:
    attributes = request.attributes
    return MessageRead(
        attributes.id("gen_ai.response.id") or request.id or default_id,
        "assistant",
        request.answer,
        _time_ms(request.start_ns),
        completed=_time_ms(request.end_ns),
        model=_model(request),
        effort=attributes.text("gen_ai.request.reasoning.level") or None,
        usage=_usage(attributes),
        cost=attributes.cost("gen_ai.usage.cost"),
        finish="error" if request.error else JsonValue(request.finish).finish(),
        error=request.error or None,
    )


def _model(request: _GenAiSpan) -> str:
    attributes = request.attributes
    provider = attributes.text("gen_ai.provider.name") or attributes.text("gen_ai.system")
    name = attributes.text("gen_ai.request.model") or attributes.text("gen_ai.response.model")
    return "/".join(piece for piece in (provider, name) if piece) if name else ""


SERVICE_TIER_NAMES = (
    "openai.response.service_tier",
    "gen_ai.openai.response.service_tier",
    "gen_ai.response.service_tier",
)
"""Attributes with the tier of an answer, newest first; the requested tier has no effect on the price."""


def _usage(attributes: JsonValue) -> Usage | None:
    cache_read = attributes.tokens("gen_ai.usage.cache_read.input_tokens")
    cache_written = attributes.tokens("gen_ai.usage.cache_write.input_tokens") or attributes.count(
        "gen_ai.usage.cache_creation.input_tokens"
    )
    prompt = attributes.tokens("gen_ai.usage.input_tokens") or attributes.tokens(
        "gen_ai.usage.prompt_tokens"
    )
    # The input of some instrumentations does not include the cached tokens.
    if cache_read + cache_written > prompt:
        prompt += cache_read + cache_written
    usage_read = usage_of_whole_prompt(
        prompt,
        attributes.tokens("gen_ai.usage.output_tokens")
        or attributes.tokens("gen_ai.usage.completion_tokens"),
        cache_read=cache_read,
        cache_written=cache_written,
        reasoning=attributes.tokens("gen_ai.usage.reasoning.output_tokens"),
    )
    tier = next((attributes.get(key) for key in SERVICE_TIER_NAMES if attributes.get(key)), None)
    return usage_read and usage_read.model_copy(update={"service_tier": priced_tier(tier)})


def _with_times(result: ResultRead, run: _GenAiSpan | None) -> ResultRead:
    if run is None:
        return result
    is_error = result.is_error or bool(run.error)
    return replace(
        result, is_error=is_error, started=_time_ms(run.start_ns), ended=_time_ms(run.end_ns)
    )

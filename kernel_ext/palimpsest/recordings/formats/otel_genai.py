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

REQUEST_OPERATIONS = {"chat", "generate_content", "text_completion"}
AGENT_OPERATION, TOOL_OPERATION = "invoke_agent", "execute_tool"
DETAILS_EVENT = "gen_ai.client.inference.operation.details"
"""The event of a span that may contain the contents instead of the span's attributes."""
NO_CONTENTS = (
    "The texts of the messages were not recorded; instrumentations record them only when asked to."
)
OTHER_SYSTEM = "Another system prompt was sent from here on."
COMPACTED_BY_PROVIDER = (
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
        if b'"resourceSpans"' in beginning[:200]:
            return True
        early = beginning[:4_000]
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
            yield from session.records(trace.tools)


@dataclass(slots=True)
class _GenAiSpan:
    """The values of one span; repeated messages are stored once for all spans."""

    id: str
    parent: str
    kind: str
    conversation: str
    start: int
    end: int
    attributes: JsonValue
    error: str = ""
    system: str = ""
    tools: tuple[ToolSpec, ...] | None = None
    messages: list[InputMessage] | None = None
    answer: tuple[MessagePart, ...] = ()
    finish: str = ""
    is_compacted: bool = False


@dataclass(slots=True)
class _TracedSession:
    """The requests of one conversation, or of one subagent in it."""

    id: str
    parent: str = ""
    parent_call: str = ""
    title: str = ""
    depth: int = 0
    requests: list[_GenAiSpan] = field(default_factory=list)

    def records(self, runs: dict[str, _GenAiSpan]) -> Iterator[Recorded]:
        first_request = self.requests[0]
        yield SessionBegin(
            self.id,
            OtelGenAiImporter.name,
            title=self.title,
            created=_milliseconds(first_request.start),
            model=_model(first_request),
            system=first_request.system or None,
            tools=first_request.tools,
            parent=self.parent or None,
            parent_call=self.parent_call or None,
        )
        inputs, calls_with_result, calls = RepeatedInputs(), set[str](), list[str]()
        system, is_without_content = first_request.system, False
        for n, request in enumerate(self.requests, 1):
            if request.messages is not None:
                reduction = RecordedReduction(rule="otel") if request.is_compacted else None
                for message in inputs.changes_of_input(
                    request.messages, _milliseconds(request.start), reduction
                ):
                    if isinstance(message, ResultRead):
                        calls_with_result.add(message.call)
                        yield _with_times(message, runs.get(message.call))
                    else:
                        yield message
            answer = inputs.answer(_answer(request, f"a{n}"))
            calls += [part.id for part in answer.parts if isinstance(part, Call)]
            yield answer
            if request.system != system:
                system = request.system
                yield GapRead(OTHER_SYSTEM, message=answer.id, chars=len(system))
            if request.is_compacted and request.messages is None:
                yield GapRead(COMPACTED_BY_PROVIDER, message=answer.id)
            is_without_content |= request.messages is None and not answer.parts
        for call in calls:
            if call not in calls_with_result and (run := runs.get(call)):
                output = run.attributes.as_text("gen_ai.tool.call.result")
                yield _with_times(ResultRead(call, output, is_error=bool(run.error)), run)
        if is_without_content:
            yield GapRead(NO_CONTENTS)


@dataclass(slots=True)
class _GenAiTrace:
    """The spans of a file: requests, agents and runs of tools."""

    spans: dict[str, _GenAiSpan] = field(default_factory=dict)
    tools: dict[str, _GenAiSpan] = field(default_factory=dict)
    """The span of each call's run."""
    messages: dict[bytes, InputMessage | str] = field(default_factory=dict)
    """Messages by their content, since requests repeat them; system prompts as text."""

    def add(self, span_fields: JsonValue, place: str, report: Report) -> None:
        context = span_fields.at("context")
        name = span_fields.id("spanId") or context.id("span_id")
        if not name or name in self.spans:
            report(place, "It is no span, or was there before, and was left out.")
            return
        values = attributes_of(span_fields.at("attributes"))
        for event in span_fields.objects("events"):
            if event.get("name") == DETAILS_EVENT:
                values = {**attributes_of(event.at("attributes")), **values}
        attributes = JsonValue(values)
        kind = attributes.text("gen_ai.operation.name")
        trace = span_fields.id("traceId") or context.id("trace_id")
        span = _GenAiSpan(
            name,
            span_fields.id("parentSpanId") or span_fields.id("parent_id"),
            kind,
            attributes.id("gen_ai.conversation.id") or f"trace {trace}",
            nanoseconds(span_fields.get("startTimeUnixNano"), span_fields.get("start_time")),
            nanoseconds(span_fields.get("endTimeUnixNano"), span_fields.get("end_time")),
            NO_VALUE,
            failure_of(span_fields, attributes),
        )
        self.spans[name] = span
        if kind in REQUEST_OPERATIONS:
            self._request(span, attributes)
        elif kind in {AGENT_OPERATION, TOOL_OPERATION}:
            names = ("gen_ai.agent.name", "gen_ai.tool.call.id", "gen_ai.tool.call.result")
            span.attributes = JsonValue({key: attributes.get(key) for key in names})
            if call := attributes.id("gen_ai.tool.call.id"):
                self.tools.setdefault(call, span)

    def _request(self, span: _GenAiSpan, attributes: JsonValue) -> None:
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
        span.answer = tuple(part for output in outputs for part in _parts(output)[0])
        reason = next(iter(attributes.list_at("gen_ai.response.finish_reasons")), "")
        finish_reason = next((output.text("finish_reason") for output in outputs), "")
        span.finish = JsonValue(reason).text() or finish_reason
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
                or key in SERVICE_TIER
                or key in {"gen_ai.provider.name", "gen_ai.system"}
            }
        )

    def _message(self, value: JsonValue) -> InputMessage | str:
        digest = fingerprint(json.dumps(value.raw, sort_keys=True))
        if digest not in self.messages:
            self.messages[digest] = _input_message(value)
        return self.messages[digest]

    def sessions(self) -> list[_TracedSession]:
        """Return the sessions, parents before their subagents."""
        by_id: dict[str, _TracedSession] = {}
        for span in sorted(self.spans.values(), key=lambda span: span.start):
            if span.kind in REQUEST_OPERATIONS:
                session = self._session(span)
                by_id.setdefault(session.id, session).requests.append(span)
        for session in by_id.values():
            if session.parent not in by_id:
                session.parent = session.parent_call = ""
        return sorted(
            by_id.values(), key=lambda session: (session.depth, session.requests[0].start)
        )

    def _session(self, span: _GenAiSpan) -> _TracedSession:
        """Return the session of a request: its conversation, or the subagent that sent it."""
        conversation, agents, calls = span.conversation, list[_GenAiSpan](), list[str]()
        for enclosing in self._enclosing(span):
            if conversation.startswith("trace ") and not enclosing.conversation.startswith(
                "trace "
            ):
                conversation = enclosing.conversation
            if enclosing.kind == AGENT_OPERATION:
                agents.append(enclosing)
            elif enclosing.kind == TOOL_OPERATION and len(agents) == 1:
                calls.append(enclosing.attributes.id("gen_ai.tool.call.id"))
        title = agents[0].attributes.text("gen_ai.agent.name") if agents else ""
        if len(agents) < 2:
            return _TracedSession(conversation, title=title)
        outer = agents[1].id
        return _TracedSession(
            f"{conversation}/{agents[0].id}",
            conversation if len(agents) == 2 else f"{conversation}/{outer}",
            calls[0] if calls else "",
            title,
            len(agents) - 1,
        )

    def _enclosing(self, span: _GenAiSpan) -> Iterator[_GenAiSpan]:
        seen = {span.id}
        while (enclosing := self.spans.get(span.parent)) and enclosing.id not in seen:
            seen.add(enclosing.id)
            yield enclosing
            span = enclosing


def _milliseconds(nanoseconds: int) -> int | None:
    return JsonValue(str(nanoseconds // NANOSECONDS_PER_MS)).milliseconds() if nanoseconds else None


def _input_message(value: JsonValue) -> InputMessage | str:
    parts, results = _parts(value)
    role = value.text("role")
    if role in {"system", "developer"}:
        return text_of_parts(parts)
    return InputMessage(
        "assistant" if role in {"assistant", "model"} else "user", tuple(parts), tuple(results)
    )


def _parts(message: JsonValue) -> tuple[list[MessagePart], list[ResultRead]]:
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


def _answer(request: _GenAiSpan, name: str) -> MessageRead:
    attributes = request.attributes
    return MessageRead(
        attributes.id("gen_ai.response.id") or request.id or name,
        "assistant",
        request.answer,
        _milliseconds(request.start),
        completed=_milliseconds(request.end),
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
    return "/".join(word for word in (provider, name) if word) if name else ""


SERVICE_TIER = (
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
    tier = next((attributes.get(key) for key in SERVICE_TIER if attributes.get(key)), None)
    return usage_read and usage_read.model_copy(update={"service_tier": priced_tier(tier)})


def _with_times(result: ResultRead, run: _GenAiSpan | None) -> ResultRead:
    if run is None:
        return result
    is_error = result.is_error or bool(run.error)
    return replace(
        result, is_error=is_error, started=_milliseconds(run.start), ended=_milliseconds(run.end)
    )

"""Read traces of the OpenTelemetry conventions for generative AI: OTLP JSON, or one JSON object a line.

Spans of requests (``chat``) carry their whole input, so a message is told once, and what is gone or changed
between two requests is told as a reduction. A conversation is a session; where no id of one was recorded, the
trace is. An agent that another one began is a subagent. Contents are opt-in: without them only usage is read.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from palimpsest.review.importers.otel_spans import (
    NANOSECONDS,
    attributes_of,
    failure_of,
    nanoseconds,
    read_spans,
    structure,
)
from palimpsest.review.importing.importer import Head, Report
from palimpsest.review.importing.json_fields import (
    NOTHING,
    JsonValue,
    fingerprint,
    media_at,
    usage_of_whole_prompt,
)
from palimpsest.review.importing.recorded import (
    Call,
    GapRead,
    Media,
    MessageRead,
    Recorded,
    ResultRead,
    SessionBegin,
    Text,
    Thinking,
    words_of,
)
from palimpsest.review.importing.repeated_inputs import (
    InputMessage,
    RecordedReduction,
    RepeatedInputs,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import ToolSpec, Usage, priced_tier

REQUESTS = {"chat", "generate_content", "text_completion"}
AGENT, TOOL = "invoke_agent", "execute_tool"
DETAILS = "gen_ai.client.inference.operation.details"
"""The event of a span that may carry the contents instead of the span's attributes."""
NO_CONTENTS = (
    "The texts of the messages were not recorded; instrumentations record them only when asked to."
)
OTHER_SYSTEM = "Another system prompt was sent from here on."
COMPACTED_BY_PROVIDER = (
    "The provider compacted the conversation here; what it kept is not recorded."
)
Parts = list[Text | Thinking | Media | Call]


class OtelGenAiImporter:
    """Reads the spans of one file."""

    name = "otel-genai"
    title = "OpenTelemetry GenAI"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a file begins with OTLP's spans, or with a span that has the conventions' names."""
        begins = head.start.lstrip()
        if not begins.startswith((b"{", b"[")):
            return False
        if b'"resourceSpans"' in begins[:200]:
            return True
        early = begins[:4_000]
        return b"gen_ai." in begins and (b'"span_id"' in early or b'"spanId"' in early)

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield each conversation, and each of its subagents, in the order of their first requests."""
        trace = _GenAiTrace()
        for place, span in read_spans(path, report):
            trace.add(span, place, report)
        sessions = trace.sessions()
        if not sessions:
            raise UserError(f"{str(path)!r} holds no requests of a model by the GenAI conventions.")
        for session in sessions:
            yield from session.told(trace.tools)


@dataclass(slots=True)
class _GenAiSpan:
    """What is kept of one span; the messages are shared between spans that repeat them."""

    id: str
    parent: str
    kind: str
    conversation: str
    start: int
    end: int
    about: JsonValue
    failed: str = ""
    system: str = ""
    tools: tuple[ToolSpec, ...] | None = None
    messages: list[InputMessage] | None = None
    answer: tuple[Text | Thinking | Media | Call, ...] = ()
    finish: str = ""
    compacted: bool = False


@dataclass(slots=True)
class _TracedSession:
    """The requests of one conversation, or of one subagent in it."""

    id: str
    parent: str = ""
    parent_call: str = ""
    title: str = ""
    depth: int = 0
    requests: list[_GenAiSpan] = field(default_factory=list)

    def told(self, runs: dict[str, _GenAiSpan]) -> Iterator[Recorded]:
        first = self.requests[0]
        yield SessionBegin(
            self.id,
            OtelGenAiImporter.name,
            title=self.title,
            created=_at(first.start),
            model=_model(first),
            system=first.system or None,
            tools=first.tools,
            parent=self.parent or None,
            parent_call=self.parent_call or None,
        )
        inputs, told, asked = RepeatedInputs(), set[str](), list[str]()
        system, silent = first.system, False
        for n, request in enumerate(self.requests, 1):
            if request.messages is not None:
                reduction = RecordedReduction(rule="otel") if request.compacted else None
                for one in inputs.input(request.messages, _at(request.start), reduction):
                    if isinstance(one, ResultRead):
                        told.add(one.call)
                        yield _timed(one, runs.get(one.call))
                    else:
                        yield one
            answer = inputs.answer(_answer(request, f"a{n}"))
            asked += [one.id for one in answer.parts if isinstance(one, Call)]
            yield answer
            if request.system != system:
                system = request.system
                yield GapRead(OTHER_SYSTEM, message=answer.id, chars=len(system))
            if request.compacted and request.messages is None:
                yield GapRead(COMPACTED_BY_PROVIDER, message=answer.id)
            silent = silent or (request.messages is None and not answer.parts)
        for call in asked:
            if call not in told and (run := runs.get(call)):
                output = run.about.plain("gen_ai.tool.call.result")
                yield _timed(ResultRead(call, output, is_error=bool(run.failed)), run)
        if silent:
            yield GapRead(NO_CONTENTS)


@dataclass(slots=True)
class _GenAiTrace:
    """The spans of a file: requests, agents and runs of tools."""

    spans: dict[str, _GenAiSpan] = field(default_factory=dict)
    tools: dict[str, _GenAiSpan] = field(default_factory=dict)
    """The run of each call."""
    messages: dict[bytes, InputMessage | str] = field(default_factory=dict)
    """Messages by their content, since requests repeat them; system prompts as text."""

    def add(self, raw: JsonValue, place: str, report: Report) -> None:
        context = raw.at("context")
        name = raw.id("spanId") or context.id("span_id")
        if not name or name in self.spans:
            report(place, "It is no span, or was there before, and was left out.")
            return
        told = attributes_of(raw.at("attributes"))
        for event in raw.objects("events"):
            if event.get("name") == DETAILS:
                told = {**attributes_of(event.at("attributes")), **told}
        about = JsonValue(told)
        kind = about.text("gen_ai.operation.name")
        trace = raw.id("traceId") or context.id("trace_id")
        span = _GenAiSpan(
            name,
            raw.id("parentSpanId") or raw.id("parent_id"),
            kind,
            about.id("gen_ai.conversation.id") or f"trace {trace}",
            nanoseconds(raw.get("startTimeUnixNano"), raw.get("start_time")),
            nanoseconds(raw.get("endTimeUnixNano"), raw.get("end_time")),
            NOTHING,
            failure_of(raw, about),
        )
        self.spans[name] = span
        if kind in REQUESTS:
            self._request(span, about)
        elif kind in {AGENT, TOOL}:
            names = ("gen_ai.agent.name", "gen_ai.tool.call.id", "gen_ai.tool.call.result")
            span.about = JsonValue({one: about.get(one) for one in names})
            if call := about.id("gen_ai.tool.call.id"):
                self.tools.setdefault(call, span)

    def _request(self, span: _GenAiSpan, about: JsonValue) -> None:
        instructions = structure(about.at("gen_ai.system_instructions"))
        system = [one.text("content") for one in instructions.objects()]
        span.tools = structure(about.at("gen_ai.tool.definitions")).tool_specs()
        given = structure(about.at("gen_ai.input.messages"))
        if isinstance(given.raw, list):
            known = [self._message(one) for one in given.objects()]
            system += [one for one in known if isinstance(one, str)]
            span.messages = [one for one in known if isinstance(one, InputMessage)]
        span.system = "\n\n".join(one for one in system if one)
        outputs = structure(about.at("gen_ai.output.messages")).objects()
        span.answer = tuple(part for one in outputs for part in _parts(one)[0])
        reason = next(iter(about.listed("gen_ai.response.finish_reasons")), "")
        said = next((one.text("finish_reason") for one in outputs), "")
        span.finish = JsonValue(reason).text() or said
        span.compacted = about.get("gen_ai.conversation.compacted") is True or any(
            part.get("type") == "compaction" for one in outputs for part in one.objects("parts")
        )
        span.about = JsonValue(
            {
                one: told
                for one, told in about.fields().items()
                if one.startswith(("gen_ai.usage.", "gen_ai.request.", "gen_ai.response."))
                or one in SERVICE_TIER
                or one in {"gen_ai.provider.name", "gen_ai.system"}
            }
        )

    def _message(self, value: JsonValue) -> InputMessage | str:
        digest = fingerprint(json.dumps(value.raw, sort_keys=True))
        if digest not in self.messages:
            self.messages[digest] = _input_message(value)
        return self.messages[digest]

    def sessions(self) -> list[_TracedSession]:
        """Return the sessions, parents before their subagents."""
        found: dict[str, _TracedSession] = {}
        for span in sorted(self.spans.values(), key=lambda one: one.start):
            if span.kind in REQUESTS:
                session = self._session(span)
                found.setdefault(session.id, session).requests.append(span)
        for session in found.values():
            if session.parent not in found:
                session.parent = session.parent_call = ""
        return sorted(found.values(), key=lambda one: (one.depth, one.requests[0].start))

    def _session(self, span: _GenAiSpan) -> _TracedSession:
        """Return the session of a request: its conversation's, or that of the subagent which sent it."""
        conversation, agents, calls = span.conversation, list[_GenAiSpan](), list[str]()
        for above in self._above(span):
            if conversation.startswith("trace ") and not above.conversation.startswith("trace "):
                conversation = above.conversation
            if above.kind == AGENT:
                agents.append(above)
            elif above.kind == TOOL and len(agents) == 1:
                calls.append(above.about.id("gen_ai.tool.call.id"))
        title = agents[0].about.text("gen_ai.agent.name") if agents else ""
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

    def _above(self, span: _GenAiSpan) -> Iterator[_GenAiSpan]:
        seen = {span.id}
        while (above := self.spans.get(span.parent)) and above.id not in seen:
            seen.add(above.id)
            yield above
            span = above


def _at(nanoseconds: int) -> int | None:
    return JsonValue(str(nanoseconds // NANOSECONDS)).milliseconds() if nanoseconds else None


def _input_message(value: JsonValue) -> InputMessage | str:
    parts, results = _parts(value)
    role = value.text("role")
    if role in {"system", "developer"}:
        return words_of(parts)
    return InputMessage(
        "assistant" if role in {"assistant", "model"} else "user", tuple(parts), tuple(results)
    )


def _parts(message: JsonValue) -> tuple[Parts, list[ResultRead]]:
    parts: Parts = []
    results: list[ResultRead] = []
    for one in message.objects("parts"):
        match one.get("type"):
            case "text":
                parts.append(Text(one.text("content")))
            case "reasoning":
                parts.append(Thinking(one.text("content")))
            case "tool_call":
                name = one.text("name") or "unknown"
                parts.append(Call(one.id("id"), name, one.tool_input("arguments")))
            case "tool_call_response":
                output = one.either("response", "result").plain()
                results.append(ResultRead(one.id("id"), output))
            case "blob":
                mime = one.text("mime_type") or "application/octet-stream"
                parts.append(Media(mime, one.text("content") or None))
            case "uri" | "file":
                address = one.text("uri") or one.id("file_id")
                parts.append(media_at(address, one.text("mime_type")))
            case "compaction":
                pass
            case _:
                parts.append(Text(one.plain(), synthetic=True))
    return parts, results


def _answer(request: _GenAiSpan, name: str) -> MessageRead:
    about = request.about
    finish = JsonValue(request.finish).finish()
    return MessageRead(
        about.id("gen_ai.response.id") or request.id or name,
        "assistant",
        request.answer,
        _at(request.start),
        completed=_at(request.end),
        model=_model(request),
        effort=about.text("gen_ai.request.reasoning.level") or None,
        usage=_usage(about),
        cost=about.cost("gen_ai.usage.cost"),
        finish="error" if request.failed else finish,
        error=request.failed or None,
    )


def _model(request: _GenAiSpan) -> str:
    about = request.about
    provider = about.text("gen_ai.provider.name") or about.text("gen_ai.system")
    name = about.text("gen_ai.request.model") or about.text("gen_ai.response.model")
    return "/".join(one for one in (provider, name) if one) if name else ""


SERVICE_TIER = (
    "openai.response.service_tier",
    "gen_ai.openai.response.service_tier",
    "gen_ai.response.service_tier",
)
"""Attributes with the tier in which a request was answered, newest first; what was asked for says nothing of the price."""


def _usage(about: JsonValue) -> Usage | None:
    read = about.tokens("gen_ai.usage.cache_read.input_tokens")
    written = about.tokens("gen_ai.usage.cache_write.input_tokens") or about.count(
        "gen_ai.usage.cache_creation.input_tokens"
    )
    prompt = about.tokens("gen_ai.usage.input_tokens") or about.tokens("gen_ai.usage.prompt_tokens")
    if read + written > prompt:  # an instrumentation that does not count cached tokens in
        prompt += read + written
    found = usage_of_whole_prompt(
        prompt,
        about.tokens("gen_ai.usage.output_tokens")
        or about.tokens("gen_ai.usage.completion_tokens"),
        read=read,
        written=written,
        reasoning=about.tokens("gen_ai.usage.reasoning.output_tokens"),
    )
    tier = next((about.get(one) for one in SERVICE_TIER if about.get(one)), None)
    return found and found.model_copy(update={"service_tier": priced_tier(tier)})


def _timed(result: ResultRead, run: _GenAiSpan | None) -> ResultRead:
    if run is None:
        return result
    is_error = result.is_error or bool(run.failed)
    return replace(result, is_error=is_error, started=_at(run.start), ended=_at(run.end))

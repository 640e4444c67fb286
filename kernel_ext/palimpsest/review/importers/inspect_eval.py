"""Read evaluation logs of Inspect AI (``.eval``): each sample and epoch is a session.

A log is a zip file with one JSON document a sample. Its model events repeat their whole input, often as
ranges into a pool of messages, and long texts stand in a table of attachments; both are looked up inside
the sample. Requests of scorers are not the agent's and are left out; an agent that runs inside a tool call
is a subagent.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from palimpsest.review.importers.inspect_spans import SampleEvents
from palimpsest.review.importing.archives import JsonArchive, opened_archive
from palimpsest.review.importing.importer import Head, Report
from palimpsest.review.importing.json_fields import (
    NOTHING,
    JsonValue,
    media_at,
    usage_of_whole_prompt,
)
from palimpsest.review.importing.reading_budget import LOOK_BYTES, spend
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
    media_of,
    words_of,
)
from palimpsest.review.importing.repeated_inputs import (
    InputMessage,
    RecordedReduction,
    RepeatedInputs,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Usage

ATTACHMENT = "attachment://"
MOST_INPUT_MESSAGES = 20_000
"""Messages of one request; ranges into the pool could otherwise name the same ones without end."""
MOST_LOOKED_UP_CHARS = 256_000_000
"""Characters of attachments that one sample may look up."""
CANCELLED = "Cancelled by "
FROM_CACHE = "This answer came from the evaluation's own cache; nothing was sent."
OTHER_SYSTEM = "Another system prompt was sent from here on."


class InspectEvalImporter:
    """Reads one evaluation log."""

    name = "inspect"
    title = "Inspect AI"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a zip file begins with what an evaluation log begins with."""
        begins = head.start[:4_096]
        return begins.startswith(b"PK\x03\x04") and any(
            name in begins for name in (b"_journal/start.json", b"header.json")
        )

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield each sample's session, in the order of the log."""
        with opened_archive(path, report) as archive:
            header = _header(archive)
            if not header:
                raise UserError(f"{str(path)!r} holds no evaluation of Inspect.")
            samples = [
                name
                for name in archive.names
                if name.startswith("samples/") and name.endswith(".json")
            ]
            if not samples:
                raise UserError(f"{str(path)!r} holds no samples; the evaluation wrote none.")
            for name in samples:
                if sample := JsonValue(archive.read(name)):
                    yield from _InspectSample(sample, header, name, report).told()


def _header(archive: JsonArchive) -> JsonValue:
    for name in ("header.json", "_journal/start.json"):
        found = JsonValue(archive.read(name))
        if found.at("eval"):
            return found
    return NOTHING


@dataclass(slots=True)
class _InspectSample:
    """One sample of a log."""

    sample: JsonValue
    header: JsonValue
    place: str
    report: Report
    looked_up: int = 0
    pool: dict[int, InputMessage | str] = field(default_factory=dict)
    """Messages of the pool that were read; system prompts as text."""

    def told(self) -> Iterator[Recorded]:
        events = SampleEvents()
        for event in self.sample.objects("events"):
            events.add(event)
        if events.scored:
            self.report(
                self.place, f"{events.scored} requests of scorers are not the agent's: left out."
            )
        if not events.requests:
            self.report(self.place, "It holds no requests of an agent.")
        ids = {agent: self._id(agent) for agent in events.requests}
        for agent in sorted(events.requests, key=bool):
            begins = self._begin(ids[agent], events.requests[agent])
            if agent:
                parent, call = events.beginning(agent)
                begins = replace(
                    begins, parent=ids.get(parent, self._id("")), parent_call=call or None
                )
            yield begins
            yield from self._requests(events.requests[agent], events.runs, begins.system or "")

    def _id(self, agent: str) -> str:
        evaluation = self.header.id("eval", "eval_id") or "eval"
        names = (evaluation, self.sample.id("id"), self.sample.id("epoch"))
        sample = self.sample.id("uuid") or "/".join(names)
        return f"{sample}/{agent}" if agent else sample

    def _begin(self, session: str, events: list[JsonValue]) -> SessionBegin:
        about = self.header.at("eval")
        first = next((one for one in events if one.get("event") == "model"), NOTHING)
        system, _ = self._input(first)
        return SessionBegin(
            session,
            InspectEvalImporter.name,
            format_version=about.text("packages", "inspect_ai"),
            title=f"{about.text('task')}: sample {self.sample.id('id')}, "
            f"epoch {self.sample.id('epoch')}",
            created=first.milliseconds("timestamp")
            or self.sample.milliseconds("started_at")
            or about.milliseconds("created"),
            model=first.text("model") or about.text("model"),
            system=system or None,
            tools=first.tool_specs("tools"),
        )

    def _requests(
        self, events: list[JsonValue], runs: dict[str, JsonValue], system: str
    ) -> Iterator[Recorded]:
        inputs = RepeatedInputs()
        reduction: RecordedReduction | None = None
        told, asked = set[str](), list[str]()
        for n, event in enumerate(events):
            after = events[n + 1] if n + 1 < len(events) else NOTHING
            if event.get("event") == "compaction":
                reduction = _reduction(event, events[n - 1] if n else NOTHING)
                continue
            if _writes_summary(event, after):  # its results may be seen by no request of the agent
                yield from self._results_not_told(asked, told, runs)
                continue
            now, messages = self._input(event)
            created = event.milliseconds("timestamp")
            for one in inputs.input(messages, created, reduction):
                if not isinstance(one, ResultRead):
                    yield one
                elif one.call not in told:
                    told.add(one.call)
                    yield _timed(one, runs.get(one.call, NOTHING))
            reduction = None
            if event.get("pending") is True:
                self.report(self.place, "A request was not answered when the log was written.")
                continue
            answer = inputs.answer(self._answer(event, f"a{n + 1}", created))
            asked += [one.id for one in answer.parts if isinstance(one, Call)]
            yield answer
            if now != system:
                system = now
                yield GapRead(OTHER_SYSTEM, message=answer.id, chars=len(now))
            if event.get("cache") == "read":
                yield GapRead(FROM_CACHE, message=answer.id)
        yield from self._results_not_told(asked, told, runs)

    def _results_not_told(
        self, asked: list[str], told: set[str], runs: dict[str, JsonValue]
    ) -> Iterator[Recorded]:
        for call in asked:
            if call not in told and (run := runs.get(call)):
                told.add(call)
                output = self._text(run.at("result")) or run.plain("result")
                problem = run.text("error", "message")
                yield _timed(ResultRead(call, problem or output, is_error=bool(problem)), run)

    def _input(self, event: JsonValue) -> tuple[str, list[InputMessage]]:
        found: list[InputMessage | str] = []
        known = self.sample.get("events_data", "messages")
        pool = known or self.sample.get("message_pool")
        for ref in event.listed("input_refs") if isinstance(pool, list) else ():
            first, end = ref if isinstance(ref, list) and len(ref) == 2 else (0, 0)
            for n in range(JsonValue(first).count(), min(JsonValue(end).count(), len(pool))):
                if len(found) >= MOST_INPUT_MESSAGES:
                    break
                spend(LOOK_BYTES)
                if n not in self.pool:
                    self.pool[n] = self._message(JsonValue(pool[n]))
                found.append(self.pool[n])
        for message in event.objects("input"):
            if len(found) < MOST_INPUT_MESSAGES:
                found.append(self._message(message))
        if len(found) >= MOST_INPUT_MESSAGES:
            self.report(self.place, "A request has more messages than are believed.")
        system = "\n\n".join(one for one in found if isinstance(one, str) and one)
        return system, [one for one in found if isinstance(one, InputMessage)]

    def _message(self, message: JsonValue) -> InputMessage | str:
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

    def _answer(self, event: JsonValue, name: str, created: int | None) -> MessageRead:
        output = event.at("output")
        choice = output.first("choices")
        message = choice.at("message")
        problem = event.text("error") or output.text("error")
        finish = choice.finish("stop_reason")
        if problem:
            finish = "aborted" if problem.startswith(CANCELLED) else "error"
        return MessageRead(
            message.id("id") or name,
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
            given = JsonValue(self._looked_up_in(call.get("arguments"))).tool_input()
            yield Call(call.id("id"), call.text("function") or "unknown", given)

    def _parts(self, content: JsonValue) -> Iterator[Text | Thinking | Media]:
        if isinstance(content.raw, str) and (told := self._looked_up(content.raw)):
            yield Text(told)
        for one in content.objects():
            match one.get("type"):
                case "text":
                    yield Text(self._looked_up(one.text("text")))
                case "reasoning":
                    hidden = one.get("redacted") is True
                    told = self._looked_up(one.text("summary" if hidden else "reasoning"))
                    yield Thinking(told, encrypted=hidden and not told)
                case "image" | "audio" | "video" | "document" as kind:
                    mime = one.text("mime_type") or ("image/png" if kind == "image" else "")
                    yield media_at(self._looked_up(one.text(kind)), mime)
                case _:
                    yield Text(one.plain())

    def _text(self, content: JsonValue) -> str:
        return words_of(self._parts(content))

    def _looked_up(self, value: str) -> str:
        """Return a text, or the attachment of this sample that it stands for as a whole."""
        if not value.startswith(ATTACHMENT):
            return JsonValue(value).text()
        found = self.sample.text("attachments", value[len(ATTACHMENT) :])
        self.looked_up += len(found)
        spend(LOOK_BYTES)
        if not found or self.looked_up > MOST_LOOKED_UP_CHARS:
            self.report(
                self.place, f"The attachment {value[:60]!r} is not in the log, or too large."
            )
            return value
        return found

    def _looked_up_in(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._looked_up(value)
        if isinstance(value, dict):
            return {JsonValue(name).text(): self._looked_up_in(one) for name, one in value.items()}
        return [self._looked_up_in(one) for one in value] if isinstance(value, list) else value


def _writes_summary(event: JsonValue, after: JsonValue) -> bool:
    """Return whether a request without tools wrote the summary that the compaction after it tells of."""
    return (
        after.get("event") == "compaction"
        and after.get("type") == "summary"
        and not event.get("tools")
    )


def _reduction(event: JsonValue, before: JsonValue) -> RecordedReduction:
    wrote = before if before.get("event") == "model" and _writes_summary(before, event) else NOTHING
    return RecordedReduction(
        rule=f"inspect.{event.text('type') or 'compaction'}",
        tokens_before=event.count("tokens_before") or None,
        tokens_after=event.count("tokens_after") or None,
        usage=_usage(wrote.at("output", "usage")),
        model=wrote.text("model"),
    )


def _usage(told: JsonValue) -> Usage | None:
    read = told.tokens("input_tokens_cache_read")
    written = told.tokens("input_tokens_cache_write")
    prompt, output = told.tokens("input_tokens"), told.tokens("output_tokens")
    if told.tokens("total_tokens") != prompt + output or not read + written:
        prompt += read + written  # other providers count the cached tokens in
    reasoning = min(output, told.tokens("reasoning_tokens"))
    return usage_of_whole_prompt(prompt, output, read=read, written=written, reasoning=reasoning)


def _timed(result: ResultRead, run: JsonValue) -> ResultRead:
    started, ended = run.milliseconds("timestamp"), run.milliseconds("completed")
    return replace(result, started=started, ended=ended)

"""Turn one step of an ATIF trajectory into what it records: a message with its calls, and their results."""

from collections.abc import Iterator
from typing import Any

from palimpsest.review.importers.chat_messages import CallNames, full_model_name
from palimpsest.review.importing.json_fields import JsonValue, media_at, normalised_usage
from palimpsest.review.importing.recorded import (
    Call,
    GapRead,
    Media,
    MessageRead,
    Recorded,
    ResultRead,
    Text,
    Thinking,
    words_of,
)
from palimpsest.transcript.values import Usage

TOGETHER = "The output of several calls is recorded together; it is shown with the first of them."
NO_REQUEST = "This step was made without a request to a model."
SEVERAL_REQUESTS = "This step stands for {count} requests, whose usage is recorded as one sum."
REASONING = ("reasoning_tokens", "reasoning_output_tokens", "thoughts_token_count", "thoughts")
CACHE_WRITES = (
    "cache_creation_input_tokens",
    "cache_creation_tokens",
    "cache_write_tokens",
    "cache_write",
)
"""Names under which writers put these subsets into ``metrics.extra``, for which ATIF has no field."""


def parts_of(content: Any) -> tuple[Text | Media, ...]:
    """Return a message's or result's content as parts; files are only named."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(
        Text(one.text("text"))
        if one.get("type") == "text"
        else media_at(one.get("source", "path"), one.text("source", "media_type"))
        for one in JsonValue(content).objects()
    )


def joined_text(content: Any) -> str:
    """Return the text of a content."""
    return words_of(parts_of(content), "")


def usage_of_metrics(metrics: JsonValue) -> Usage | None:
    """Return a step's usage; None where it has none. Cached tokens are part of the prompt's."""
    prompt = metrics.token_field("prompt_tokens")
    answer = metrics.token_field("completion_tokens")
    if prompt is None and answer is None:
        return None
    extra = metrics.at("extra")
    return normalised_usage(
        prompt or 0,
        answer or 0,
        metrics.token_field("cached_tokens") or 0,
        _first_number(extra, CACHE_WRITES),
        _first_number(extra, REASONING),
    )


def _first_number(values: JsonValue, names: tuple[str, ...]) -> int:
    found = (values.token_field(name) for name in names)
    return next((one for one in found if one is not None), 0)


class StepReader:
    """Reads the steps of one session, with calls named across its documents."""

    def __init__(self) -> None:
        self.names = CallNames()
        """The calls so far."""

    def message(self, step: JsonValue, name: str) -> Iterator[Recorded]:
        """Yield what a step of the user, of the agent or of the program around it records."""
        if step.get("source") != "agent":
            yield from self._spoken(step, name)
            return
        requests = step.whole("llm_call_count")
        calls = tuple(self._calls(step))
        if requests == 0 and not calls:
            yield from self._spoken(step, name)
            return
        outputs = _outputs(step)
        if not calls and outputs:
            calls = (Call(self.names.new(f"{name}.command"), "command", {}),)
        yield self._answer(step, name, calls, usage=requests != 0)
        if requests == 0:
            yield GapRead(NO_REQUEST, message=name)
        elif requests is not None and requests > 1:
            yield GapRead(SEVERAL_REQUESTS.format(count=requests), message=name)
        yield from self._results(outputs, calls, name)

    def _spoken(self, step: JsonValue, name: str) -> Iterator[Recorded]:
        program = step.get("source") != "user" or bool(step.get("extra", "by_program"))
        adds = step.get("extra", "context_management", "boundary") == "append"
        outputs = outputs_of(step)
        said = () if adds and outputs else parts_of(step.get("message"))
        parts = (*said, *_attached(step), *outputs)
        created = step.milliseconds("timestamp", whole=round)
        yield MessageRead(name, "user", parts, created=created, by_program=program)

    def _answer(
        self, step: JsonValue, name: str, calls: tuple[Call, ...], *, usage: bool
    ) -> MessageRead:
        metrics, extra = step.at("metrics"), step.at("extra")
        thought = step.text("reasoning_content")
        effort = step.get("reasoning_effort")
        thinking = (Thinking(thought),) if thought else ()
        parts = (*thinking, *parts_of(step.get("message")), *_attached(step), *calls)
        finish = extra.text("finish")
        return MessageRead(
            name,
            "assistant",
            parts,
            created=step.milliseconds("timestamp", whole=round),
            completed=extra.milliseconds("completed", whole=round),
            model=full_model_name(step.get("model_name")),
            effort=None if effort is None or isinstance(effort, dict | list) else str(effort),
            usage=usage_of_metrics(metrics) if usage else None,
            cost=metrics.cost("cost_usd", free=True),
            finish=finish or ("tool-calls" if calls else "stop"),
            error=extra.text("error") or None,
        )

    def _calls(self, step: JsonValue) -> Iterator[Call]:
        for one in step.objects("tool_calls"):
            yield Call(
                self.names.new(one.text("tool_call_id")),
                one.text("function_name") or "unknown",
                one.fields("arguments"),
            )

    def _results(
        self, outputs: list[JsonValue], calls: tuple[Call, ...], name: str
    ) -> Iterator[Recorded]:
        unnamed = [one for one in outputs if not one.text("source_call_id")]
        for one in outputs:
            source = one.text("source_call_id")
            call = self.names.answered(source) if source else None
            if source and call is not None:
                yield self._result(one, call)
            elif source:
                unnamed.append(one)
        if not unnamed:
            return
        open_calls = [one.id for one in calls if one.id in self.names.unanswered]
        if len(unnamed) < len(open_calls):
            yield GapRead(TOGETHER, message=name)
        for one, call in zip(unnamed, open_calls, strict=False):
            self.names.close(call)
            yield self._result(one, call)
        for number, one in enumerate(unnamed[len(open_calls) :], 1):
            yield MessageRead(
                f"{name}.{number}", "user", parts_of(one.get("content")), by_program=True
            )

    def _result(self, result: JsonValue, call: str) -> ResultRead:
        parts = parts_of(result.get("content"))
        extra = result.at("extra")
        return ResultRead(
            call,
            words_of(parts, ""),
            is_error=extra.get("is_error") is True,
            started=extra.milliseconds("started", whole=round),
            ended=extra.milliseconds("ended", whole=round),
            media=(*(one for one in parts if isinstance(one, Media)), *_attached(result)),
        )

    def subagents(self, step: JsonValue) -> Iterator[tuple[JsonValue, str | None]]:
        """Yield the references to subagents in a step, with the call that each belongs to."""
        for one in step.objects("observation", "results"):
            source = one.text("source_call_id")
            for reference in one.objects("subagent_trajectory_ref"):
                yield reference, self.names.newest(source) if source else None


def outputs_of(step: JsonValue) -> tuple[Text | Media, ...]:
    """Return the content of all results of a step."""
    return tuple(part for one in _outputs(step) for part in parts_of(one.get("content")))


def _outputs(step: JsonValue) -> list[JsonValue]:
    """Return the results of a step that have content."""
    results = step.objects("observation", "results")
    return [one for one in results if one.get("content") is not None]


def _attached(value: JsonValue) -> Iterator[Media]:
    """Yield the files that have no form in ATIF, as our export writes them beside the content."""
    for one in value.objects("extra", "attachments"):
        made = media_at(one.get("path"), one.text("media_type"))
        yield Media(made.mime, made.data, one.text("name") or made.name)

"""Turn one step of an ATIF trajectory into recorded values: a message with its calls, and their results."""

from collections.abc import Iterator
from typing import Any

from palimpsest.recordings.message_formats.chat_messages import CallIds, full_model_name
from palimpsest.recordings.reading.json_fields import JsonValue, media_at, normalised_usage
from palimpsest.recordings.reading.recorded import (
    Call,
    GapRead,
    Media,
    MessageRead,
    Recorded,
    ResultRead,
    Text,
    Thinking,
    text_of_parts,
)
from palimpsest.transcript.values import Usage

TOGETHER_SENTENCE = (
    "The output of several calls is recorded together; it is shown with the first of them."
)
NO_REQUEST_SENTENCE = "This step was made without a request to a model."
SEVERAL_REQUESTS_SENTENCE = (
    "This step stands for {count} requests, whose usage is recorded as one sum."
)
REASONING_FIELDS = (
    "reasoning_tokens",
    "reasoning_output_tokens",
    "thoughts_token_count",
    "thoughts",
)
CACHE_WRITE_FIELDS = (
    "cache_creation_input_tokens",
    "cache_creation_tokens",
    "cache_write_tokens",
    "cache_write",
)
"""Names in ``metrics.extra`` that programs use for token counts for which ATIF has no field."""


def parts_of(content: Any) -> tuple[Text | Media, ...]:
    """Return a message's or result's content as parts; files are given by name only."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(
        Text(block.text("text"))
        if block.get("type") == "text"
        else media_at(block.get("source", "path"), block.text("source", "media_type"))
        for block in JsonValue(content).objects()
    )


def joined_text(content: Any) -> str:
    """Return the text of a message's or result's content."""
    return text_of_parts(parts_of(content), "")


def usage_of_metrics(metrics: JsonValue) -> Usage | None:
    """Return a step's usage; None where it has none. The prompt's tokens include cached ones."""
    prompt_tokens = metrics.token_field("prompt_tokens")
    answer_tokens = metrics.token_field("completion_tokens")
    if prompt_tokens is None and answer_tokens is None:
        return None
    extra = metrics.at("extra")
    return normalised_usage(
        prompt_tokens or 0,
        answer_tokens or 0,
        metrics.tokens("cached_tokens"),
        _first_count(extra, CACHE_WRITE_FIELDS),
        _first_count(extra, REASONING_FIELDS),
    )


def _first_count(values: JsonValue, names: tuple[str, ...]) -> int:
    counts = (values.token_field(name) for name in names)
    return next((count for count in counts if count is not None), 0)


class StepReader:
    """Reads the steps of one session; ids of calls are unique in all its documents."""

    def __init__(self) -> None:
        self.call_ids = CallIds()
        """Unique ids for the calls so far."""

    def step_values(self, step: JsonValue, step_id: str) -> Iterator[Recorded]:
        """Yield the values of a step, whose message gets the id ``step_id``."""
        if step.get("source") != "agent":
            yield from self._text_message(step, step_id)
            return
        request_count = step.integer("llm_call_count")
        calls = tuple(self._calls(step))
        if request_count == 0 and not calls:
            yield from self._text_message(step, step_id)
            return
        results = _results_with_content(step)
        if not calls and results:
            calls = (Call(self.call_ids.new_id(f"{step_id}.command"), "command", {}),)
        yield self._answer(step, step_id, calls, has_usage=request_count != 0)
        if request_count == 0:
            yield GapRead(NO_REQUEST_SENTENCE, message=step_id)
        elif request_count is not None and request_count > 1:
            yield GapRead(SEVERAL_REQUESTS_SENTENCE.format(count=request_count), message=step_id)
        yield from self._results(results, calls, step_id)

    def _text_message(self, step: JsonValue, step_id: str) -> Iterator[Recorded]:
        is_by_program = step.get("source") != "user" or bool(step.get("extra", "by_program"))
        is_output_append = step.get("extra", "context_management", "boundary") == "append"
        outputs = outputs_of(step)
        text_parts = () if is_output_append and outputs else parts_of(step.get("message"))
        parts = (*text_parts, *_attachments(step), *outputs)
        created_ms = step.milliseconds("timestamp", round_number=round)
        yield MessageRead(step_id, "user", parts, created=created_ms, by_program=is_by_program)

    def _answer(
        self, step: JsonValue, step_id: str, calls: tuple[Call, ...], *, has_usage: bool
    ) -> MessageRead:
        metrics, extra = step.at("metrics"), step.at("extra")
        reasoning = step.text("reasoning_content")
        effort = step.get("reasoning_effort")
        thinking = (Thinking(reasoning),) if reasoning else ()
        parts = (*thinking, *parts_of(step.get("message")), *_attachments(step), *calls)
        return MessageRead(
            step_id,
            "assistant",
            parts,
            created=step.milliseconds("timestamp", round_number=round),
            completed=extra.milliseconds("completed", round_number=round),
            model=full_model_name(step.get("model_name")),
            effort=None if effort is None or isinstance(effort, dict | list) else str(effort),
            usage=usage_of_metrics(metrics) if has_usage else None,
            cost=metrics.cost("cost_usd", may_be_free=True),
            finish=extra.text("finish") or ("tool-calls" if calls else "stop"),
            error=extra.text("error") or None,
        )

    def _calls(self, step: JsonValue) -> Iterator[Call]:
        for call in step.objects("tool_calls"):
            yield Call(
                self.call_ids.new_id(call.text("tool_call_id")),
                call.text("function_name") or "unknown",
                call.fields("arguments"),
            )

    def _results(
        self, outputs: list[JsonValue], calls: tuple[Call, ...], step_id: str
    ) -> Iterator[Recorded]:
        unnamed_outputs = [output for output in outputs if not output.text("source_call_id")]
        for output in outputs:
            source_id = output.text("source_call_id")
            call_id = self.call_ids.take_call_of_result(source_id) if source_id else None
            if source_id and call_id is not None:
                yield self._result(output, call_id)
            elif source_id:
                unnamed_outputs.append(output)
        if not unnamed_outputs:
            return
        open_call_ids = [o.id for o in calls if o.id in self.call_ids.unanswered_ids]
        if len(unnamed_outputs) < len(open_call_ids):
            yield GapRead(TOGETHER_SENTENCE, message=step_id)
        for output, call_id in zip(unnamed_outputs, open_call_ids, strict=False):
            self.call_ids.mark_answered(call_id)
            yield self._result(output, call_id)
        for number, output in enumerate(unnamed_outputs[len(open_call_ids) :], 1):
            yield MessageRead(
                f"{step_id}.{number}", "user", parts_of(output.get("content")), by_program=True
            )

    def _result(self, result: JsonValue, call_id: str) -> ResultRead:
        parts = parts_of(result.get("content"))
        extra = result.at("extra")
        return ResultRead(
            call_id,
            text_of_parts(parts, ""),
            is_error=extra.get("is_error") is True,
            started=extra.milliseconds("started", round_number=round),
            ended=extra.milliseconds("ended", round_number=round),
            media=(*(part for part in parts if isinstance(part, Media)), *_attachments(result)),
        )

    def subagent_references(self, step: JsonValue) -> Iterator[tuple[JsonValue, str | None]]:
        """Yield the references to subagents in a step, each with the id of its call; None where it names none."""
        for result in step.objects("observation", "results"):
            source_id = result.text("source_call_id")
            for reference in result.objects("subagent_trajectory_ref"):
                yield reference, self.call_ids.newest_call_id(source_id) if source_id else None


def outputs_of(step: JsonValue) -> tuple[Text | Media, ...]:
    """Return the content of all results of a step."""
    return tuple(
        part for result in _results_with_content(step) for part in parts_of(result.get("content"))
    )


def _results_with_content(step: JsonValue) -> list[JsonValue]:
    """Return the results of a step that have content."""
    results = step.objects("observation", "results")
    return [result for result in results if result.get("content") is not None]


def _attachments(value: JsonValue) -> Iterator[Media]:
    """Yield the files that Palimpsest's export writes beside the content, since ATIF has no form for them."""
    for attachment in value.objects("extra", "attachments"):
        medium = media_at(attachment.get("path"), attachment.text("media_type"))
        yield Media(medium.mime, medium.data, attachment.text("name") or medium.name)

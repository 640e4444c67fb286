"""Turn one step of an ATIF trajectory into what it records: a message with its calls, and their results."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from palimpsest.review.importers.chat_messages import CallNames, full_model_name
from palimpsest.review.importing import json_fields
from palimpsest.review.importing.json_fields import (
    cost_field,
    inner,
    mapping,
    mappings,
    media_at,
    normalised_usage,
    text,
    token_field,
    whole_number,
)
from palimpsest.review.importing.recorded import (
    Call,
    GapRead,
    Json,
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


@dataclass(frozen=True, slots=True)
class Delegation:
    """A reference to a subagent's trajectory, and the call that it began with."""

    reference: Json
    call: str | None


milliseconds = partial(json_fields.milliseconds, whole=round)


def parts_of(content: Any) -> tuple[Text | Media, ...]:
    """Return a message's or result's content as parts; files are only named."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(
        Text(text(one.get("text")))
        if one.get("type") == "text"
        else media_at(inner(one, "source", "path"), text(inner(one, "source", "media_type")))
        for one in mappings(content)
    )


def joined_text(content: Any) -> str:
    """Return the text of a content."""
    return words_of(parts_of(content), "")


def usage_of_metrics(metrics: Json) -> Usage | None:
    """Return a step's usage; None where it has none. Cached tokens are part of the prompt's."""
    prompt = token_field(metrics, "prompt_tokens")
    answer = token_field(metrics, "completion_tokens")
    if prompt is None and answer is None:
        return None
    extra = mapping(metrics.get("extra"))
    return normalised_usage(
        prompt or 0,
        answer or 0,
        token_field(metrics, "cached_tokens") or 0,
        _first_number(extra, CACHE_WRITES),
        _first_number(extra, REASONING),
    )


def _first_number(values: Json, names: tuple[str, ...]) -> int:
    found = (token_field(values, name) for name in names)
    return next((one for one in found if one is not None), 0)


class StepReader:
    """Reads the steps of one session, with calls named across its documents."""

    def __init__(self) -> None:
        self.names = CallNames()
        """The calls so far."""

    def message(self, step: Json, name: str) -> Iterator[Recorded]:
        """Yield what a step of the user, of the agent or of the program around it records."""
        if step.get("source") != "agent":
            yield from self._spoken(step, name)
            return
        requests = whole_number(step.get("llm_call_count"))
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

    def _spoken(self, step: Json, name: str) -> Iterator[Recorded]:
        program = step.get("source") != "user" or bool(extra_of(step).get("by_program"))
        adds = management_of(step).get("boundary") == "append"
        outputs = outputs_of(step)
        said = () if adds and outputs else parts_of(step.get("message"))
        parts = (*said, *_attached(step), *outputs)
        created = milliseconds(step.get("timestamp"))
        yield MessageRead(name, "user", parts, created=created, by_program=program)

    def _answer(
        self, step: Json, name: str, calls: tuple[Call, ...], *, usage: bool
    ) -> MessageRead:
        metrics, extra = mapping(step.get("metrics")), extra_of(step)
        thought = text(step.get("reasoning_content"))
        effort = step.get("reasoning_effort")
        thinking = (Thinking(thought),) if thought else ()
        parts = (*thinking, *parts_of(step.get("message")), *_attached(step), *calls)
        finish = text(extra.get("finish"))
        return MessageRead(
            name,
            "assistant",
            parts,
            created=milliseconds(step.get("timestamp")),
            completed=milliseconds(extra.get("completed")),
            model=full_model_name(step.get("model_name")),
            effort=None if effort is None or isinstance(effort, dict | list) else str(effort),
            usage=usage_of_metrics(metrics) if usage else None,
            cost=cost_field(metrics, "cost_usd", free=True),
            finish=finish or ("tool-calls" if calls else "stop"),
            error=text(extra.get("error")) or None,
        )

    def _calls(self, step: Json) -> Iterator[Call]:
        for one in mappings(step.get("tool_calls")):
            yield Call(
                self.names.new(text(one.get("tool_call_id"))),
                text(one.get("function_name")) or "unknown",
                mapping(one.get("arguments")),
            )

    def _results(
        self, outputs: list[Json], calls: tuple[Call, ...], name: str
    ) -> Iterator[Recorded]:
        unnamed = [one for one in outputs if not text(one.get("source_call_id"))]
        for one in outputs:
            source = text(one.get("source_call_id"))
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

    def _result(self, result: Json, call: str) -> ResultRead:
        parts = parts_of(result.get("content"))
        extra = extra_of(result)
        return ResultRead(
            call,
            words_of(parts, ""),
            is_error=extra.get("is_error") is True,
            started=milliseconds(extra.get("started")),
            ended=milliseconds(extra.get("ended")),
            media=(*(one for one in parts if isinstance(one, Media)), *_attached(result)),
        )

    def subagents(self, step: Json) -> Iterator[Delegation]:
        """Yield the references to subagents in a step, with the call that each belongs to."""
        for one in mappings(mapping(step.get("observation")).get("results")):
            source = text(one.get("source_call_id"))
            for reference in mappings(one.get("subagent_trajectory_ref")):
                yield Delegation(reference, self.names.newest(source) if source else None)


def outputs_of(step: Json) -> tuple[Text | Media, ...]:
    """Return the content of all results of a step."""
    return tuple(part for one in _outputs(step) for part in parts_of(one.get("content")))


def _outputs(step: Json) -> list[Json]:
    """Return the results of a step that have content."""
    results = mappings(mapping(step.get("observation")).get("results"))
    return [one for one in results if one.get("content") is not None]


def extra_of(value: Json) -> Json:
    """Return what a writer put beside the format's own fields."""
    return mapping(value.get("extra"))


def management_of(step: Json) -> Json:
    """Return what a step says of the context before it."""
    return mapping(extra_of(step).get("context_management"))


def _attached(value: Json) -> Iterator[Media]:
    """Yield the files that have no form in ATIF, as our export writes them beside the content."""
    for one in mappings(extra_of(value).get("attachments")):
        made = media_at(one.get("path"), text(one.get("media_type")))
        yield Media(made.mime, made.data, text(one.get("name")) or made.name)

"""Convert the items and usage reports of Codex rollouts into the parts, results and usage of recorded values."""

import json
from itertools import chain

from palimpsest.recordings.reading.json_fields import (
    NO_VALUE,
    JsonValue,
    media_at,
    normalised_usage,
)
from palimpsest.recordings.reading.recorded import (
    Call,
    Json,
    Media,
    ResultRead,
    Text,
    Thinking,
    media_of,
    text_of_parts,
)
from palimpsest.transcript.provider_calls import responses_item
from palimpsest.transcript.values import Usage

FORMAT = "codex"
CALL_TYPES = frozenset(
    {"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"}
)
OUTPUT_TYPES = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
PROGRAM_TEXT = (
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<environment_context>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<skill>",
    "<subagent_notification>",
    "<user_shell_command>",
)
"""Beginnings of texts that Codex wrote as user messages."""
PAYLOAD_HEADING = "\nPayload:\n"
INHERITED_SENTENCE = "It began with what the session that began it was shown; that stands as messages of the program."


def is_written_by_codex(text: str) -> bool:
    """Return whether Codex wrote a text as a user message."""
    return text.lstrip().startswith(PROGRAM_TEXT)


def message_parts(content: JsonValue) -> tuple[Text | Media, ...]:
    """Return the parts of a message's content."""
    if isinstance(content.raw, str):
        return (Text(content.raw),)
    parts: list[Text | Media] = []
    for block in content.objects():
        if block.get("type") in ("input_text", "output_text", "text"):
            parts.append(Text(block.text("text")))
        elif block.get("type") == "input_image":
            parts.append(media_at(block.get("image_url"), "image/*"))
    return tuple(parts)


def answer_parts(item: JsonValue) -> list[Text | Thinking | Media | Call]:
    """Return the parts of one item of an answer."""
    match item.get("type"):
        case "message":
            return list(message_parts(item.at("content")))
        case "reasoning":
            blocks = [*item.objects("content"), *item.objects("summary")]
            thought = "\n\n".join(block.text("text") for block in blocks)
            is_encrypted = bool(item.get("encrypted_content"))
            return [Thinking(thought, encrypted=is_encrypted and not thought)]
        case "function_call" | "tool_search_call":
            name = item.text("name") or item.text("type")
            tool_input = item.tool_input("arguments", name="arguments")
            return [Call(item.text("call_id"), name, tool_input)]
        case "custom_tool_call":
            tool_input = {"input": item.text("input")}
            return [Call(item.text("call_id"), item.text("name"), tool_input)]
        case "local_shell_call":
            call_id = item.text("call_id") or item.text("id")
            return [Call(call_id, "local_shell", item.fields("action"))]
        case _:
            if (provider_call := responses_item(item.raw)) is None:
                return []
            return [
                Call(item.text("id"), provider_call.tool, provider_call.input, at_provider=True)
            ]


def ran_at_provider(item: JsonValue) -> bool:
    """Return whether an item is a call that the provider ran itself, within the answer."""
    return responses_item(item.raw) is not None


def provider_result(item: JsonValue, ended_ms: int | None) -> ResultRead:
    """Return the result of a call that the provider ran, often empty; the item's ``id`` is that of the call."""
    provider_call = responses_item(item.raw)
    picture = item.text("result") if item.get("type") == "image_generation_call" else ""
    return ResultRead(
        call=item.text("id"),
        output=(provider_call.problem or provider_call.output) if provider_call is not None else "",
        is_error=provider_call is not None and provider_call.problem is not None,
        ended=ended_ms,
        media=(Media("image/png", picture),) if picture else (),
    )


def agent_message(item: JsonValue) -> tuple[tuple[Text | Media, ...], int]:
    """Return the parts of a message between agents, and the number of its encrypted characters."""
    parts = tuple(chain.from_iterable(map(_split_payload, message_parts(item.at("content")))))
    encrypted_texts = [block.text("encrypted_content") for block in item.objects("content")]
    return parts, sum(map(len, encrypted_texts))


def _split_payload(part: Text | Media) -> tuple[Text | Media, ...]:
    """Split a text between agents into its head, which names sender and recipient, and its content."""
    if not isinstance(part, Text):
        return (part,)
    head, heading, payload_text = part.text.partition(PAYLOAD_HEADING)
    return (
        (Text(f"{head}{heading.rstrip()}"), Text(payload_text))
        if heading and payload_text
        else (part,)
    )


def inherited_parts(item: JsonValue) -> tuple[Text | Media, ...]:
    """Return an item of the parent's session as text for the context; a call becomes its tool's name and its input."""
    item_type = item.get("type")
    if item_type in ("message", "agent_message"):
        return message_parts(item.at("content"))
    if item_type in OUTPUT_TYPES:
        result = result_of(item, None)
        return (Text(result.output, synthetic=True), *result.media)
    return tuple(
        Text(f"{part.tool} {json.dumps(part.input, ensure_ascii=False)}", synthetic=True)
        if isinstance(part, Call)
        else Text(part.text, synthetic=True)
        for part in answer_parts(item)
        if isinstance(part, Call) or (isinstance(part, Thinking) and part.text)
    )


def result_of(item: JsonValue, ended_ms: int | None, session_id: str | None = None) -> ResultRead:
    """Return the result of a call, with the session id of its subagent. Some versions wrap the text in JSON."""
    result, facts = item.at("output"), Json()
    parts = message_parts(result)
    text = text_of_parts(parts) or result.text("content")
    if text.startswith('{"output"') and isinstance((inner := result.decoded()).get("output"), str):
        text, metadata = inner.get("output"), inner.fields("metadata")
        facts = {key: metadata[key] for key in ("exit_code", "duration_seconds") if key in metadata}
    return ResultRead(
        call=item.text("call_id"),
        output=text,
        is_error=result.get("success") is False,
        ended=ended_ms,
        media=media_of(parts),
        metadata=facts,
        session=session_id,
    )


def usage_of(
    last_usage: JsonValue,
    total_usage: JsonValue,
    total_before: JsonValue,
    service_tier: str | None = None,
) -> Usage:
    """Return one request's usage: its own report, or the growth of the total; reported input includes cached tokens."""
    growth = {
        name: total_usage.count(name) - total_before.count(name) for name in total_usage.fields()
    }
    report = last_usage or JsonValue(growth)
    usage_read = normalised_usage(
        report.tokens("input_tokens"),
        report.tokens("output_tokens"),
        report.tokens("cached_input_tokens"),
        report.tokens("cache_write_input_tokens"),
        report.tokens("reasoning_output_tokens"),
    )
    return usage_read.model_copy(update={"service_tier": service_tier})


class ReportedUsage:
    """Recognises new reports of usage: each is written twice, so a report counts only where the total changed."""

    def __init__(self) -> None:
        self.total = NO_VALUE
        """The newest total."""

    def usage_of_event(self, event: JsonValue, service_tier: str | None = None) -> Usage | None:
        """Return the usage of the request that an event reports; None where it was reported before."""
        info = event.at("info")
        total = info.at("total_token_usage")
        if not total or total.raw == self.total.raw:
            return None
        total_before, self.total = self.total, total
        return usage_of(info.at("last_token_usage"), total, total_before, service_tier)

"""Read requests to OpenAI's chat completions and responses, and their answers."""

from itertools import takewhile

from palimpsest.recordings.captured_http.captured_requests import (
    CapturedRequest,
    SharedMessages,
    all_marks,
    written_by_program,
)
from palimpsest.recordings.format_parts.codex_items import (
    CALL_TYPES,
    OUTPUT_TYPES,
    answer_parts,
    is_written_by_codex,
    message_parts,
    provider_result,
    ran_at_provider,
    result_of,
)
from palimpsest.recordings.message_formats.chat_messages import (
    content_parts,
    recorded_calls,
    text_of,
    thinking_parts,
    usage_of,
)
from palimpsest.recordings.message_formats.chat_stream import result_ids
from palimpsest.recordings.message_formats.repeated_inputs import InputMessage, Parts
from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.recorded import Call, ResultRead, Text, media_of, text_of_parts

SYSTEM_ROLES = frozenset({"system", "developer"})


def read_chat_request(request: CapturedRequest, body: JsonValue, shared: SharedMessages) -> None:
    """Fill a request with the body of a chat completion; system messages at its beginning are the system prompt."""
    messages = body.objects("messages")
    tools = body.list_at("tools") or body.list_at("functions")
    system_count = _leading_system_count(messages)
    request.system = tuple(
        shared.shared_text(text_of(message.get("content"))) for message in messages[:system_count]
    )
    request.tools = shared.tools_text(tools)
    request.cache_marks = all_marks(tools, None, body.list_at("messages"))
    request.effort = body.text("reasoning_effort") or body.text("reasoning", "effort")
    for message in messages[system_count:]:
        shared.add_message(request, message.fields(), _chat_message)


def read_chat_answer(request: CapturedRequest, answer: JsonValue) -> None:
    """Fill a captured request with its completion, streamed or not."""
    choice = answer.first_entry("choices")
    request.answer = _chat_answer_parts(choice.at("message"))
    request.usage = usage_of(answer.get("usage"), answer.get("service_tier"))
    request.finish = choice.finish("finish_reason")


def _leading_system_count(messages: list[JsonValue]) -> int:
    return sum(1 for _ in takewhile(lambda message: message.get("role") in SYSTEM_ROLES, messages))


def _chat_answer_parts(message: JsonValue) -> Parts:
    calls = tuple(
        Call(call_id, tool, arguments) for call_id, tool, arguments in recorded_calls(message)
    )
    refusal = message.text("refusal")
    refusal_parts = (Text(refusal),) if refusal else ()
    return (
        *thinking_parts(message),
        *content_parts(message.get("content")),
        *refusal_parts,
        *calls,
    )


def _chat_message(message: JsonValue) -> InputMessage:
    match message.get("role"):
        case "assistant":
            return InputMessage("assistant", _chat_answer_parts(message))
        case "tool" | "function":
            parts = content_parts(message.get("content"))
            call_id = next(iter(result_ids(message)), "")
            return InputMessage(
                "user",
                results=(ResultRead(call_id, text_of_parts(parts, ""), media=media_of(parts)),),
            )
        case "user":
            return InputMessage("user", content_parts(message.get("content")))
        case _:
            return InputMessage("user", written_by_program(content_parts(message.get("content"))))


def read_responses_request(
    request: CapturedRequest, body: JsonValue, shared: SharedMessages
) -> None:
    """Fill a request with the body for a response; the system prompt is its instructions and leading system messages."""
    items = body.objects("input")
    if isinstance(prompt := body.get("input"), str):
        items = [JsonValue({"role": "user", "content": prompt})]
    system_count = _leading_system_count(items)
    instructions = body.text("instructions")
    system_texts = [
        text_of_parts(message_parts(item.at("content"))) for item in items[:system_count]
    ]
    request.system = tuple(
        shared.shared_text(text) for text in ([instructions] if instructions else []) + system_texts
    )
    request.tools = shared.tools_text(body.list_at("tools"))
    request.effort = body.text("reasoning", "effort")
    request.continued_answer_id = body.id("previous_response_id")
    for group in _message_groups(items[system_count:]):
        shared.add_message(request, {"items": [item.fields() for item in group]}, _grouped_message)


def read_responses_answer(request: CapturedRequest, answer: JsonValue) -> None:
    """Fill a captured request with its response, streamed or not."""
    items = answer.objects("output")
    request.answer = tuple(part for item in items for part in answer_parts(item))
    request.results = tuple(provider_result(item, None) for item in items if ran_at_provider(item))
    request.usage = usage_of(answer.get("usage"), answer.get("service_tier"))
    status = answer.text("status")
    cut_reason = answer.text("incomplete_details", "reason")
    request.error = answer.text("error", "message") or request.error
    request.finish = {"failed": "error", "completed": "stop"}.get(status)
    if cut_reason:
        request.finish = "length" if cut_reason == "max_output_tokens" else "content-filter"
    elif status != "failed" and any(isinstance(part, Call) for part in request.answer):
        request.finish = "tool-calls"


def _message_groups(items: list[JsonValue]) -> list[list[JsonValue]]:
    """Return the items of an input grouped by message; consecutive items of the model form one message."""
    groups: list[list[JsonValue]] = []
    was_answer = False
    for item in items:
        is_answer = _is_of_answer(item)
        if is_answer and was_answer:
            groups[-1].append(item)
        else:
            groups.append([item])
        was_answer = is_answer
    return groups


def _is_of_answer(item: JsonValue) -> bool:
    item_type = item.text("type")
    if item_type in CALL_TYPES or item_type == "reasoning" or ran_at_provider(item):
        return True
    return item_type in ("", "message") and item.get("role") == "assistant"


def _grouped_message(group: JsonValue) -> InputMessage:
    items = group.objects("items")
    first_item = items[0]
    if _is_of_answer(first_item):
        # A message may leave out its type.
        typed_items = [JsonValue({"type": "message", **item.fields()}) for item in items]
        parts = tuple(part for item in typed_items for part in answer_parts(item))
        results = tuple(provider_result(item, None) for item in items if ran_at_provider(item))
        return InputMessage("assistant", parts, results)
    if first_item.get("type") in OUTPUT_TYPES:
        return InputMessage("user", results=(result_of(first_item, None),))
    parts = message_parts(first_item.at("content"))
    is_by_program = first_item.get("role") in SYSTEM_ROLES or is_written_by_codex(
        text_of_parts(parts)
    )
    return InputMessage("user", written_by_program(parts) if is_by_program else parts)

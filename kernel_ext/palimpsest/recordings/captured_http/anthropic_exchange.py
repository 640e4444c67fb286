"""Read requests to Anthropic's messages interface, and their answers, into captured requests."""

from typing import Any

from palimpsest.model.adapter.usage import usage_as_openai
from palimpsest.recordings.captured_http.captured_requests import (
    CapturedRequest,
    SharedMessages,
    all_marks,
    written_by_program,
)
from palimpsest.recordings.format_parts.claude_code_blocks import (
    PROGRAM_TEXT,
    cache_miss_of,
    provider_results,
)
from palimpsest.recordings.message_formats.chat_messages import usage_of
from palimpsest.recordings.message_formats.content_blocks import content_parts
from palimpsest.recordings.message_formats.repeated_inputs import InputMessage
from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.recorded import Call, ResultRead, Text, media_of, text_of_parts
from palimpsest.transcript.values import Usage

CONTEXT_EDIT_NOTE = (
    "The provider cleared {count} from the prompt before it answered, as the client had asked."
)


def read_request(request: CapturedRequest, body: JsonValue, shared: SharedMessages) -> None:
    """Fill a captured request with the system prompt, tools and messages of its body."""
    system, tools, messages = body.get("system"), body.list_at("tools"), body.list_at("messages")
    system_parts = content_parts(system)
    request.system = tuple(
        shared.shared_text(part.text) for part in system_parts if isinstance(part, Text)
    )
    request.tools = shared.tools_text(tools)
    request.cache_marks = all_marks(tools, system, messages)
    request.effort = body.text("output_config", "effort")
    for message in body.objects("messages"):
        shared.add_message(request, message.fields(), _input_message)


def read_answer(request: CapturedRequest, answer: JsonValue) -> None:
    """Fill a captured request with its answer and what the provider reported about it."""
    request.answer = tuple(content_parts(answer.list_at("content")))
    request.results = tuple(provider_results(answer))
    request.usage = _usage_of_report(answer.at("usage"))
    request.finish = answer.finish("stop_reason")
    request.cache_miss = cache_miss_of(answer)
    request.notes = tuple(
        CONTEXT_EDIT_NOTE.format(count=edit_text)
        for edit in answer.objects("context_management", "applied_edits")
        if (edit_text := _edit_text(edit))
    )


def session_id_of(body: JsonValue) -> str:
    """Return the client's id of the session, which newer clients write as JSON into the user's id."""
    user_id = body.text("metadata", "user_id")
    session_id = JsonValue(user_id).decoded().text("session_id")
    return session_id or (user_id.rpartition("_session_")[2] if "_session_" in user_id else "")


def _input_message(message: JsonValue) -> InputMessage:
    content = message.get("content")
    blocks = [] if isinstance(content, str) else message.objects("content")
    parts = tuple(_user_part(part) for part in content_parts(content))
    results = tuple(_tool_result(block) for block in blocks if block.get("type") == "tool_result")
    match message.get("role"):
        case "assistant":
            return InputMessage("assistant", parts, tuple(provider_results(message)))
        case "user":
            return InputMessage("user", parts, results)
        case _:
            return InputMessage("user", written_by_program(parts), results)


def _user_part(part: Any) -> Any:
    """Return a part of a user message; texts that the client's program wrote are marked."""
    is_by_program = isinstance(part, Text) and part.text.lstrip().startswith(PROGRAM_TEXT)
    return written_by_program((part,))[0] if is_by_program else part


def _tool_result(block: JsonValue) -> ResultRead:
    content = tuple(content_parts(block.get("content"))) if block.get("content") else ()
    parts = tuple(part for part in content if not isinstance(part, Call))
    other_blocks = [
        Text(other.as_text())
        for other in block.objects("content")
        if other.get("type") not in {"text", "image", "document"}
    ]
    return ResultRead(
        block.id("tool_use_id"),
        text_of_parts((*parts, *other_blocks)),
        is_error=block.get("is_error") is True,
        media=media_of(parts),
    )


def _usage_of_report(reported: JsonValue) -> Usage | None:
    if not reported:
        return None
    usage_rounds = reported.objects("iterations")
    fields = {
        **reported.fields(),
        "iterations": [u.fields() for u in usage_rounds],
    }
    zero_counts = {
        name: 0 for name in ("input_tokens", "output_tokens") if fields.get(name) is None
    }
    return usage_of(usage_as_openai({**fields, **zero_counts}))


def _edit_text(edit: JsonValue) -> str:
    """Return what an edit removed from the context, such as ``3 results of tools``; empty where it removed nothing."""
    counts = (
        (edit.count("cleared_tool_uses"), "results of tools"),
        (edit.count("cleared_thinking_turns"), "turns of thinking"),
    )
    count_texts = [f"{count:,} {noun}" for count, noun in counts if count]
    cleared_tokens = edit.count("cleared_input_tokens")
    return " and ".join(count_texts) + (
        f" ({cleared_tokens:,} tokens)" if count_texts and cleared_tokens else ""
    )

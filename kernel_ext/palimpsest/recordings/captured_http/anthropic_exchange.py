"""Read requests to Anthropic's messages, and their answers."""

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
    blocks = content_parts(system)
    request.system = tuple(
        shared.shared_text(part.text) for part in blocks if isinstance(part, Text)
    )
    request.tools = shared.tools_text(tools)
    request.marks = all_marks(tools, system, messages)
    request.effort = body.text("output_config", "effort")
    for message in body.objects("messages"):
        shared.add_message(request, message.fields(), _message)


def read_answer(request: CapturedRequest, answer: JsonValue) -> None:
    """Fill a captured request with its answer and what the provider reported about it."""
    request.answer = tuple(content_parts(answer.list_at("content")))
    request.results = tuple(provider_results(answer))
    request.usage = _usage(answer.at("usage"))
    request.finish = answer.finish("stop_reason")
    request.cache_miss = cache_miss_of(answer)
    request.notes = tuple(
        CONTEXT_EDIT_NOTE.format(count=edit_text)
        for edit in answer.objects("context_management", "applied_edits")
        if (edit_text := _edit_text(edit))
    )


def session_of(body: JsonValue) -> str:
    """Return the client's id of the session, which newer clients write as JSON into the user's id."""
    user = body.text("metadata", "user_id")
    session_id = JsonValue(user).decoded().text("session_id")
    return session_id or (user.rpartition("_session_")[2] if "_session_" in user else "")


def _message(message: JsonValue) -> InputMessage:
    content = message.get("content")
    blocks = [] if isinstance(content, str) else message.objects("content")
    parts = tuple(_user_part(part) for part in content_parts(content))
    results = tuple(_result(block) for block in blocks if block.get("type") == "tool_result")
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


def _result(block: JsonValue) -> ResultRead:
    inner = tuple(content_parts(block.get("content"))) if block.get("content") else ()
    parts = tuple(part for part in inner if not isinstance(part, Call))
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


def _usage(report: JsonValue) -> Usage | None:
    if not report:
        return None
    rounds = report.objects("iterations")
    fields = {**report.fields(), "iterations": [usage_round.fields() for usage_round in rounds]}
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
    count_texts = [f"{count:,} {what}" for count, what in counts if count]
    tokens = edit.count("cleared_input_tokens")
    return " and ".join(count_texts) + (f" ({tokens:,} tokens)" if count_texts and tokens else "")

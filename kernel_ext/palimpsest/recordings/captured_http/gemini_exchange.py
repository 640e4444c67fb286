"""Read requests to Gemini's ``generateContent`` and ``streamGenerateContent``, and their answers."""

from collections.abc import Iterator

from palimpsest.recordings.captured_http.captured_requests import CapturedRequest, SharedMessages
from palimpsest.recordings.message_formats.repeated_inputs import InputMessage
from palimpsest.recordings.reading.json_fields import JsonValue, media_at, usage_of_whole_prompt
from palimpsest.recordings.reading.recorded import Call, Media, ResultRead, Text, Thinking

FINISH_REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}
FILTER_REASONS = frozenset({"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"})


def read_request(request: CapturedRequest, body: JsonValue, shared: SharedMessages) -> None:
    """Fill a captured request with the contents of its body, which Gemini CLI sends inside another object."""
    request_body = body.at("request") or body
    system = request_body.either("systemInstruction", "system_instruction")
    parts = [system] if system.text("text") else system.objects("parts")
    request.system = tuple(
        shared.shared_text(part.text("text")) for part in parts if part.text("text")
    )
    request.tools = shared.tools_text(request_body.list_at("tools"))
    for content in request_body.objects("contents"):
        shared.add_message(request, content.fields(), _input_message)


def read_answer(request: CapturedRequest, answer: JsonValue) -> None:
    """Fill a captured request with its answer, streamed or not."""
    response = answer.at("response") or answer
    candidate = response.first_entry("candidates")
    request.answer = tuple(_parts(candidate.at("content")))
    request.id = response.id("responseId")
    request.model = response.text("modelVersion") or request.model
    finish_reason = candidate.text("finishReason")
    has_calls = any(isinstance(part, Call) for part in request.answer)
    finish = (
        "content-filter" if finish_reason in FILTER_REASONS else FINISH_REASONS.get(finish_reason)
    )
    request.finish = "tool-calls" if has_calls and finish == "stop" else finish
    counts = response.at("usageMetadata")
    thought_tokens = counts.tokens("thoughtsTokenCount")
    request.usage = usage_of_whole_prompt(
        # Prompts of the provider's own tools are counted beside the prompt, thoughts beside the answer.
        counts.tokens("promptTokenCount") + counts.tokens("toolUsePromptTokenCount"),
        counts.tokens("candidatesTokenCount") + thought_tokens,
        cache_read=counts.tokens("cachedContentTokenCount"),
        reasoning=thought_tokens,
    )


def _input_message(content: JsonValue) -> InputMessage:
    results = tuple(
        _tool_result(function_response)
        for part in content.objects("parts")
        if (function_response := part.at("functionResponse"))
    )
    parts = tuple(_parts(content))
    if content.get("role") == "model":
        return InputMessage("assistant", parts, results)
    return InputMessage("user", parts, results)


def _tool_result(function_response: JsonValue) -> ResultRead:
    response = function_response.at("response")
    has_named_output = "output" in response or "error" in response
    output = (response.either("output", "error") if has_named_output else response).as_text()
    return ResultRead(function_response.id("id"), output, is_error="error" in response)


def _parts(content: JsonValue) -> Iterator[Text | Thinking | Media | Call]:
    """Yield the parts of a content; consecutive texts of one kind, such as pieces of a stream, form one part."""
    texts, is_thought = list[str](), False
    for part in content.objects("parts"):
        text, was_thought = part.text("text"), is_thought
        is_thought = part.get("thought") is True
        if texts and (not text or is_thought is not was_thought):
            yield _joined_part(texts, is_thought=was_thought)
            texts = []
        if text:
            texts.append(text)
        elif call := part.at("functionCall"):
            yield Call(call.id("id"), call.text("name") or "unknown", call.tool_input("args"))
        elif data := part.text("inlineData", "data"):
            yield Media(part.text("inlineData", "mimeType") or "image/png", data)
        elif address := part.get("fileData", "fileUri"):
            yield media_at(address, part.text("fileData", "mimeType"))
    if texts:
        yield _joined_part(texts, is_thought=is_thought)


def _joined_part(texts: list[str], *, is_thought: bool) -> Text | Thinking:
    text = "".join(texts)
    return Thinking(text) if is_thought else Text(text)

"""Read the items of Codex rollouts: messages, thinking, calls and results in OpenAI's form."""

import json

from palimpsest.review.importing.json_fields import JsonValue, media_at, normalised_usage
from palimpsest.review.importing.recorded import (
    Call,
    Json,
    Media,
    ResultRead,
    Text,
    Thinking,
    media_of,
    words_of,
)
from palimpsest.transcript.provider_calls import responses_item
from palimpsest.transcript.values import Usage

CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
PROGRAM = (
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<environment_context>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<skill>",
    "<subagent_notification>",
    "<user_shell_command>",
)
"""How texts begin that Codex wrote in the user's place."""


PAYLOAD = "\nPayload:\n"
INHERITED = "It began with what the session that began it was shown; that stands as messages of the program."


def is_program(words: str) -> bool:
    """Return whether Codex wrote a text in the user's place."""
    return words.lstrip().startswith(PROGRAM)


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


def answer_part(item: JsonValue) -> list[Text | Thinking | Media | Call]:
    """Return the parts of one item of an answer."""
    match item.get("type"):
        case "message":
            return list(message_parts(item.at("content")))
        case "reasoning":
            said = [*item.objects("content"), *item.objects("summary")]
            words = "\n\n".join(block.text("text") for block in said)
            encrypted = bool(item.get("encrypted_content"))
            return [Thinking(words, encrypted=encrypted and not words)]
        case "function_call" | "tool_search_call":
            name = item.text("name") or item.text("type")
            given = item.tool_input("arguments", name="arguments")
            return [Call(item.text("call_id"), name, given)]
        case "custom_tool_call":
            given = {"input": item.text("input")}
            return [Call(item.text("call_id"), item.text("name"), given)]
        case "local_shell_call":
            call = item.text("call_id") or item.text("id")
            return [Call(call, "local_shell", item.fields("action"))]
        case _:
            ran = responses_item(item.raw)
            return [Call(item.text("id"), ran.tool, ran.input, at_provider=True)] if ran else []


def ran_at_provider(item: JsonValue) -> bool:
    """Return whether an item is a call that the provider ran itself, in the answer that holds it."""
    return responses_item(item.raw) is not None


def provider_result(item: JsonValue, time: int | None) -> ResultRead:
    """Return what a call that the provider ran told of its result, which is often nothing; ``id`` names the call."""
    ran = responses_item(item.raw)
    picture = item.text("result") if item.get("type") == "image_generation_call" else ""
    return ResultRead(
        call=item.text("id"),
        output=(ran.problem or ran.output) if ran is not None else "",
        is_error=ran is not None and ran.problem is not None,
        ended=time,
        media=(Media("image/png", picture),) if picture else (),
    )


def agent_message(item: JsonValue) -> tuple[tuple[Text | Media, ...], int]:
    """Return the parts of a message between agents, and how many characters of it are encrypted."""
    told = tuple(part for one in message_parts(item.at("content")) for part in _payload(one))
    hidden = [block.text("encrypted_content") for block in item.objects("content")]
    return told, sum(len(one) for one in hidden)


def _payload(part: Text | Media) -> tuple[Text | Media, ...]:
    """Return a text as its head, which names sender and recipient, and what was said."""
    if not isinstance(part, Text):
        return (part,)
    head, border, words = part.text.partition(PAYLOAD)
    return (Text(f"{head}{border.rstrip()}"), Text(words)) if border and words else (part,)


def inherited_parts(item: JsonValue) -> tuple[Text | Media, ...]:
    """Return what an item of the parent was in the context: a call as its name and its input."""
    kind = item.get("type")
    if kind in ("message", "agent_message"):
        return message_parts(item.at("content"))
    if kind in OUTPUTS:
        result = result_of(item, None)
        return (Text(result.output, synthetic=True), *result.media)
    return tuple(
        Text(f"{part.tool} {json.dumps(part.input, ensure_ascii=False)}", synthetic=True)
        if isinstance(part, Call)
        else Text(part.text, synthetic=True)
        for part in answer_part(item)
        if isinstance(part, Call) or (isinstance(part, Thinking) and part.text)
    )


def result_of(item: JsonValue, time: int | None, session: str | None = None) -> ResultRead:
    """Return a result, of a call about the thread ``session``; some versions wrap its text and the exit code in JSON."""
    given, facts = item.at("output"), Json()
    parts = message_parts(given)
    words = words_of(parts) or given.text("content")
    if words.startswith('{"output"') and isinstance((inner := given.decoded()).get("output"), str):
        words, told = inner.get("output"), inner.fields("metadata")
        facts = {name: told[name] for name in ("exit_code", "duration_seconds") if name in told}
    return ResultRead(
        call=item.text("call_id"),
        output=words,
        is_error=given.get("success") is False,
        ended=time,
        media=media_of(parts),
        metadata=facts,
        session=session,
    )


def usage_of(
    last: JsonValue, total: JsonValue, before: JsonValue, service_tier: str | None = None
) -> Usage:
    """Return the usage of one request, by its own report or by how the total grew; read and written are parts of its input."""
    grown = {name: total.count(name) - before.count(name) for name in total.fields()}
    said = last or JsonValue(grown)
    found = normalised_usage(
        said.tokens("input_tokens"),
        said.tokens("output_tokens"),
        said.tokens("cached_input_tokens"),
        said.tokens("cache_write_input_tokens"),
        said.tokens("reasoning_output_tokens"),
    )
    return found.model_copy(update={"service_tier": service_tier})

"""Convert messages in the form of OpenAI's chat interface, which several formats record, into recorded values.

Every function takes any JSON and never raises: a value of an unexpected type counts as missing.
"""

from collections.abc import Iterator
from typing import Any

from palimpsest.recordings.reading.json_fields import JsonValue, media_at, normalised_usage
from palimpsest.recordings.reading.recorded import Call, Json, Media, Text, Thinking, text_of_parts
from palimpsest.transcript.values import Usage, priced_tier

ARGUMENTS_KEY = "arguments"
"""Field under which the input of a call is stored if it is not an object."""
COMPANY_BY_PREFIX = (
    ("claude", "anthropic"),
    ("gpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini", "google"),
    ("deepseek", "deepseek"),
    ("mistral", "mistral"),
    ("grok", "xai"),
)
"""Prefixes of model names with the company of these models, for recordings without a provider."""


def full_model_name(name: Any) -> str:
    """Return ``provider/name`` for a model's name; the provider is ``unknown`` where the name does not show it."""
    model_name = JsonValue(name).text().strip()
    if not model_name or "/" in model_name:
        return model_name
    companies = (company for prefix, company in COMPANY_BY_PREFIX if model_name.startswith(prefix))
    return f"{next(companies, 'unknown')}/{model_name}"


def text_of(content: Any) -> str:
    """Return all text of a message's content, whether it is a string or a list of parts."""
    return text_of_parts(content_parts(content), "")


def content_parts(content: Any) -> tuple[Text | Media, ...]:
    """Return a message's content as parts, without the marks for a provider's cache."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    blocks = JsonValue(content).list_at()
    parts_or_none = (
        Text(block) if isinstance(block, str) else _media_or_text(JsonValue(block))
        for block in blocks
    )
    return tuple(part for part in parts_or_none if part is not None)


def _media_or_text(block: JsonValue) -> Text | Media | None:
    match block.get("type"):
        case "text" | "input_text" | "output_text" | "refusal":
            return Text(block.text("text") or block.text("refusal"))
        case "image_url" | "input_image":
            return media_at(block.text("image_url", "url") or block.text("image_url"), "image/png")
        case "input_audio":
            audio = block.at("input_audio")
            return Media(f"audio/{audio.text('format') or 'wav'}", audio.text("data"))
        case "file" | "input_file":
            file = block.at("file") or block
            media = media_at(file.text("file_data"), "application/octet-stream")
            name = file.text("filename") or file.text("file_id") or media.name
            return Media(media.mime, media.data, name)
        case _:
            return None


def thinking_parts(message: JsonValue) -> tuple[Thinking, ...]:
    """Return a message's reasoning, from the first of the usual fields that has some."""
    blocks = message.objects("thinking_blocks")
    if blocks:
        return tuple(
            Thinking(block.text("thinking"), encrypted=block.get("type") == "redacted_thinking")
            for block in blocks
        )
    thought = message.text("reasoning_content") or message.text("reasoning")
    return (Thinking(thought),) if thought else ()


def recorded_calls(message: JsonValue) -> Iterator[tuple[str, str, Json]]:
    """Yield the recorded id, tool and input of each call in an answer."""
    for call in message.objects("tool_calls"):
        function = call.at("function")
        name = function.text("name") or call.text("name")
        argument_holder = function if "arguments" in function else call
        yield (
            call.text("id"),
            name or "unknown",
            argument_holder.tool_input("arguments", name=ARGUMENTS_KEY),
        )
    if function := message.at("function_call"):
        name = function.text("name") or "unknown"
        yield "", name, function.tool_input("arguments", name=ARGUMENTS_KEY)


class CallIds:
    """Gives every call a unique id, even where a recording uses an id twice."""

    def __init__(self) -> None:
        self._use_counts: dict[str, int] = {}
        self._newest_by_recorded_id: dict[str, str] = {}
        self._open_ids: list[str] = []

    def new_id(self, recorded_id: str) -> str:
        """Return a new call's id, which counts as unanswered: the recorded id, if no earlier call has it."""
        base_id = recorded_id or "call"
        use_count = self._use_counts[base_id] = self._use_counts.get(base_id, 0) + 1
        call_id = base_id if recorded_id and use_count == 1 else f"{base_id}#{use_count}"
        if call_id in self._newest_by_recorded_id.values():
            return self.new_id(recorded_id)
        self._newest_by_recorded_id[recorded_id or call_id] = call_id
        self._open_ids.append(call_id)
        return call_id

    def take_call_of_result(self, recorded_id: str) -> str | None:
        """Return the id of a result's call, which counts as answered: by the recorded id, without one the oldest open call."""
        call_id = (
            self._newest_by_recorded_id.get(recorded_id)
            if recorded_id
            else next(iter(self._open_ids), None)
        )
        if call_id is not None:
            self.mark_answered(call_id)
        return call_id

    def newest_call_id(self, recorded_id: str) -> str | None:
        """Return the id of the newest call with a recorded id; None where there is none."""
        return self._newest_by_recorded_id.get(recorded_id)

    def mark_answered(self, call_id: str) -> None:
        """Count a call as answered."""
        if call_id in self._open_ids:
            self._open_ids.remove(call_id)

    @property
    def unanswered_ids(self) -> tuple[str, ...]:
        """Ids of the calls without a result, oldest first."""
        return tuple(self._open_ids)


def calls_of(message: JsonValue, call_ids: CallIds) -> tuple[Call, ...]:
    """Return the calls of an answer, each with a unique id."""
    return tuple(
        Call(call_ids.new_id(recorded_id), tool, tool_input)
        for recorded_id, tool, tool_input in recorded_calls(message)
    )


def usage_of(value: Any, service_tier: Any = None) -> Usage | None:
    """Return a request's usage as OpenAI and litellm report it: input includes cached tokens, output reasoning tokens."""
    usage = JsonValue(value)
    prompt_tokens = usage.token_field(
        "prompt_tokens" if "prompt_tokens" in usage else "input_tokens"
    )
    answer_tokens = usage.token_field(
        "completion_tokens" if "completion_tokens" in usage else "output_tokens"
    )
    if prompt_tokens is None and answer_tokens is None:
        return None
    prompt_details = usage.either("prompt_tokens_details", "input_tokens_details")
    completion_details = usage.either("completion_tokens_details", "output_tokens_details")
    cached_tokens = prompt_details.token_field("cached_tokens") or usage.token_field(
        "cache_read_input_tokens"
    )
    cache_write_tokens = usage.token_field("cache_creation_input_tokens")
    cache_write_tokens = cache_write_tokens or prompt_details.token_field("cache_creation_tokens")
    tokens_by_lifetime = usage.at("cache_creation")
    if "cache_creation" not in usage:
        tokens_by_lifetime = prompt_details.at("cache_creation_token_details")
    hour_tokens = tokens_by_lifetime.token_field("ephemeral_1h_input_tokens")
    reasoning_tokens = completion_details.token_field("reasoning_tokens")
    normalised = normalised_usage(
        prompt_tokens or 0,
        answer_tokens or 0,
        cached_tokens or 0,
        cache_write_tokens or 0,
        reasoning_tokens or 0,
    )
    return normalised.model_copy(
        update={
            "cache_write_hour": None
            if hour_tokens is None
            else min(hour_tokens, normalised.cache_write),
            "service_tier": priced_tier(usage.get("service_tier") or service_tier),
        }
    )

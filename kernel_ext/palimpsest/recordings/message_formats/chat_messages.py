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
MODEL_COMPANIES = (
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
    companies = (company for start, company in MODEL_COMPANIES if model_name.startswith(start))
    return f"{next(companies, 'unknown')}/{model_name}"


def text_of(content: Any) -> str:
    """Return all text of a message's content, whether it is a string or a list of parts."""
    return text_of_parts(content_parts(content), "")


def content_parts(content: Any) -> tuple[Text | Media, ...]:
    """Return a message's content as parts, without the marks for a provider's cache."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    parts = JsonValue(content).list_at()
    converted = (
        Text(part) if isinstance(part, str) else _media_or_text(JsonValue(part)) for part in parts
    )
    return tuple(part for part in converted if part is not None)


def _media_or_text(part: JsonValue) -> Text | Media | None:
    match part.get("type"):
        case "text" | "input_text" | "output_text" | "refusal":
            return Text(part.text("text") or part.text("refusal"))
        case "image_url" | "input_image":
            return media_at(part.text("image_url", "url") or part.text("image_url"), "image/png")
        case "input_audio":
            audio = part.at("input_audio")
            return Media(f"audio/{audio.text('format') or 'wav'}", audio.text("data"))
        case "file" | "input_file":
            file = part.at("file") or part
            medium = media_at(file.text("file_data"), "application/octet-stream")
            name = file.text("filename") or file.text("file_id") or medium.name
            return Media(medium.mime, medium.data, name)
        case _:
            return None


def thinking_parts(message: JsonValue) -> tuple[Thinking, ...]:
    """Return a message's reasoning, from one of the usual fields."""
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
        holder = function if "arguments" in function else call
        yield call.text("id"), name or "unknown", holder.tool_input("arguments", name=ARGUMENTS_KEY)
    if function := message.at("function_call"):
        name = function.text("name") or "unknown"
        yield "", name, function.tool_input("arguments", name=ARGUMENTS_KEY)


class CallNames:
    """Gives every call a unique id, even where a recording uses an id twice."""

    def __init__(self) -> None:
        self._use_counts: dict[str, int] = {}
        self._newest_ids: dict[str, str] = {}
        self._open_ids: list[str] = []

    def new_id(self, recorded_id: str) -> str:
        """Return the id of a new call: the recorded id, if it is the first call with that id."""
        name = recorded_id or "call"
        count = self._use_counts[name] = self._use_counts.get(name, 0) + 1
        call_id = name if recorded_id and count == 1 else f"{name}#{count}"
        if call_id in self._newest_ids.values():
            return self.new_id(recorded_id)
        self._newest_ids[recorded_id or call_id] = call_id
        self._open_ids.append(call_id)
        return call_id

    def call_of_result(self, recorded_id: str) -> str | None:
        """Return the call of a result: by its recorded id, or without one the oldest call without a result."""
        call = (
            self._newest_ids.get(recorded_id) if recorded_id else next(iter(self._open_ids), None)
        )
        if call is not None:
            self.close(call)
        return call

    def newest_call(self, recorded_id: str) -> str | None:
        """Return the newest call with a recorded id."""
        return self._newest_ids.get(recorded_id)

    def close(self, call: str) -> None:
        """Count a call as answered."""
        if call in self._open_ids:
            self._open_ids.remove(call)

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The calls without a result, oldest first."""
        return tuple(self._open_ids)


def calls_of(message: JsonValue, names: CallNames) -> tuple[Call, ...]:
    """Return the calls of an answer, each with a unique id."""
    return tuple(
        Call(names.new_id(name), tool, data) for name, tool, data in recorded_calls(message)
    )


def usage_of(value: Any, service_tier: Any = None) -> Usage | None:
    """Return a request's usage as OpenAI and litellm report it: input includes cached tokens, output reasoning tokens."""
    usage = JsonValue(value)
    prompt = usage.token_field("prompt_tokens" if "prompt_tokens" in usage else "input_tokens")
    answer = usage.token_field(
        "completion_tokens" if "completion_tokens" in usage else "output_tokens"
    )
    if prompt is None and answer is None:
        return None
    details = usage.either("prompt_tokens_details", "input_tokens_details")
    completion_details = usage.either("completion_tokens_details", "output_tokens_details")
    cached = details.token_field("cached_tokens") or usage.token_field("cache_read_input_tokens")
    cache_written = usage.token_field("cache_creation_input_tokens")
    cache_written = cache_written or details.token_field("cache_creation_tokens")
    lifetimes = usage.at("cache_creation")
    if "cache_creation" not in usage:
        lifetimes = details.at("cache_creation_token_details")
    hour = lifetimes.token_field("ephemeral_1h_input_tokens")
    reasoning = completion_details.token_field("reasoning_tokens")
    normalised = normalised_usage(
        prompt or 0, answer or 0, cached or 0, cache_written or 0, reasoning or 0
    )
    return normalised.model_copy(
        update={
            "cache_write_hour": None if hour is None else min(hour, normalised.cache_write),
            "service_tier": priced_tier(usage.get("service_tier") or service_tier),
        }
    )

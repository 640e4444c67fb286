"""Messages in the form of OpenAI's chat interface, as several formats record them, in our values.

Every function takes JSON of any shape and never raises: what is of another type than expected counts as
missing.
"""

from collections.abc import Iterator
from typing import Any

from palimpsest.review.importing.json_fields import (
    mapping,
    mappings,
    media_at,
    normalised_usage,
    text,
    token_field,
    tool_input,
)
from palimpsest.review.importing.recorded import Call, Json, Media, Text, Thinking, words_of
from palimpsest.transcript.values import Usage, priced_tier

ARGUMENTS = "arguments"
"""Under which name the input of a call stands that is no object."""
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
"""Beginnings of model names that belong to one company, for recordings that name no provider."""


def full_model_name(name: Any) -> str:
    """Return ``provider/name`` for a model's name; the provider is ``unknown`` where nothing tells it."""
    named = text(name).strip()
    if not named or "/" in named:
        return named
    company = next((who for start, who in MODEL_COMPANIES if named.startswith(start)), "unknown")
    return f"{company}/{named}"


def text_of(content: Any) -> str:
    """Return all text of a message's content, whether it is a string or a list of parts."""
    return words_of(content_parts(content), "")


def content_parts(content: Any) -> tuple[Text | Media, ...]:
    """Return a message's content as parts; marks for a provider's cache are no content."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if not isinstance(content, list):
        return ()
    return tuple(_parts(content))


def _parts(content: list[Any]) -> Iterator[Text | Media]:
    for one in content:
        if isinstance(one, str):
            yield Text(one)
        elif isinstance(one, dict):
            made = _part(one)
            if made is not None:
                yield made


def _part(part: Json) -> Text | Media | None:
    match part.get("type"):
        case "text" | "input_text" | "output_text" | "refusal":
            return Text(text(part.get("text")) or text(part.get("refusal")))
        case "image_url" | "input_image":
            image = part.get("image_url")
            return media_at(text(mapping(image).get("url") or image), "image/png")
        case "input_audio":
            audio = mapping(part.get("input_audio"))
            return Media(f"audio/{text(audio.get('format')) or 'wav'}", text(audio.get("data")))
        case "file" | "input_file":
            file = mapping(part.get("file")) or part
            made = media_at(text(file.get("file_data")), "application/octet-stream")
            name = text(file.get("filename")) or text(file.get("file_id")) or made.name
            return Media(made.mime, made.data, name)
        case _:
            return None


def thinking_parts(message: Json) -> tuple[Thinking, ...]:
    """Return the reasoning that a message has in one of the usual fields."""
    blocks = mappings(message.get("thinking_blocks"))
    if blocks:
        return tuple(
            Thinking(text(one.get("thinking")), encrypted=one.get("type") == "redacted_thinking")
            for one in blocks
        )
    said = text(message.get("reasoning_content")) or text(message.get("reasoning"))
    return (Thinking(said),) if said else ()


def recorded_calls(message: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield the recorded id, tool and input of each call in an answer."""
    for one in mappings(message.get("tool_calls")):
        function = mapping(one.get("function"))
        name = text(function.get("name")) or text(one.get("name"))
        arguments = function.get("arguments", one.get("arguments"))
        yield text(one.get("id")), name or "unknown", tool_input(arguments, ARGUMENTS)
    function = mapping(message.get("function_call"))
    if function:
        yield (
            "",
            text(function.get("name")) or "unknown",
            tool_input(function.get("arguments"), ARGUMENTS),
        )


class CallNames:
    """Gives every call an id of its own, also where a recording uses one id again."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}
        self._newest: dict[str, str] = {}
        self._open: list[str] = []

    def new(self, recorded: str) -> str:
        """Return the id of a new call; the recorded one, if it is the first of that id."""
        name = recorded or "call"
        count = self._used[name] = self._used.get(name, 0) + 1
        made = name if recorded and count == 1 else f"{name}#{count}"
        if made in self._newest.values():
            return self.new(recorded)
        self._newest[recorded or made] = made
        self._open.append(made)
        return made

    def answered(self, recorded: str) -> str | None:
        """Return the call that a result belongs to: by its recorded id, else the oldest without a result."""
        found = self._newest.get(recorded) if recorded else next(iter(self._open), None)
        if found in self._open:
            self._open.remove(found)
        return found

    def newest(self, recorded: str) -> str | None:
        """Return the newest call with a recorded id."""
        return self._newest.get(recorded)

    def close(self, call: str) -> None:
        """Count a call as answered."""
        if call in self._open:
            self._open.remove(call)

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The calls without a result, oldest first."""
        return tuple(self._open)


def calls_of(message: Json, names: CallNames) -> tuple[Call, ...]:
    """Return the calls of an answer, each with an id of its own."""
    return tuple(
        Call(names.new(recorded), tool, data) for recorded, tool, data in recorded_calls(message)
    )


def usage_of(value: Any, service_tier: Any = None) -> Usage | None:
    """Return the usage of one request as OpenAI and litellm report it: cached and reasoning are subsets.

    ``service_tier`` is what stands beside it in the answer.
    """
    usage = mapping(value)
    prompt = token_field(usage, "prompt_tokens" if "prompt_tokens" in usage else "input_tokens")
    answer = token_field(
        usage, "completion_tokens" if "completion_tokens" in usage else "output_tokens"
    )
    if prompt is None and answer is None:
        return None
    details = mapping(usage.get("prompt_tokens_details", usage.get("input_tokens_details")))
    more = mapping(usage.get("completion_tokens_details", usage.get("output_tokens_details")))
    read = token_field(details, "cached_tokens") or token_field(usage, "cache_read_input_tokens")
    written = token_field(usage, "cache_creation_input_tokens") or token_field(
        details, "cache_creation_tokens"
    )
    kept = mapping(usage.get("cache_creation", details.get("cache_creation_token_details")))
    hour = token_field(kept, "ephemeral_1h_input_tokens")
    reasoning = token_field(more, "reasoning_tokens")
    found = normalised_usage(prompt or 0, answer or 0, read or 0, written or 0, reasoning or 0)
    return found.model_copy(
        update={
            "cache_write_hour": None if hour is None else min(hour, found.cache_write),
            "service_tier": priced_tier(usage.get("service_tier") or service_tier),
        }
    )

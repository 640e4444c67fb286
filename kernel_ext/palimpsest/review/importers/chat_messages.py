"""Messages in the form of OpenAI's chat interface, as several formats record them, in our values.

Every function takes JSON of any shape and never raises: what is of another type than expected counts as
missing.
"""

from collections.abc import Iterator
from typing import Any

from palimpsest.review.importing.json_fields import token_field
from palimpsest.review.importing.recorded import Call, Json, Media, Text, Thinking
from palimpsest.store.bounded_json import json_value
from palimpsest.transcript.values import ToolSpec, Usage, priced_tier

LARGEST_NUMBER = 10**15
"""Numbers of tokens or milliseconds above this are no measurements."""
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


def json_object(value: Any) -> Json:
    """Return a value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[Json]:
    """Return the objects in a list; none where it is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def string(value: Any) -> str:
    """Return a value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def whole_number(value: Any) -> int | None:
    """Return a number that is not negative as an int; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= LARGEST_NUMBER else None


def dollars(value: Any) -> float | None:
    """Return an amount of money that is not negative; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= LARGEST_NUMBER else None


def full_model_name(name: Any) -> str:
    """Return ``provider/name`` for a model's name; the provider is ``unknown`` where nothing tells it."""
    text = string(name).strip()
    if not text or "/" in text:
        return text
    company = next((who for start, who in MODEL_COMPANIES if text.startswith(start)), "unknown")
    return f"{company}/{text}"


def text_of(content: Any) -> str:
    """Return all text of a message's content, whether it is a string or a list of parts."""
    return "".join(one.text for one in content_parts(content) if isinstance(one, Text))


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
            return Text(string(part.get("text")) or string(part.get("refusal")))
        case "image_url" | "input_image":
            image = part.get("image_url")
            return media_of_url(string(json_object(image).get("url") or image), "image/png")
        case "input_audio":
            audio = json_object(part.get("input_audio"))
            return Media(f"audio/{string(audio.get('format')) or 'wav'}", string(audio.get("data")))
        case "file" | "input_file":
            file = json_object(part.get("file")) or part
            made = media_of_url(string(file.get("file_data")), "application/octet-stream")
            name = string(file.get("filename")) or string(file.get("file_id")) or made.name
            return Media(made.mime, made.data, name)
        case _:
            return None


def media_of_url(url: str, mime: str) -> Media:
    """Return the media of a ``data:`` URL; any other address is only named and never opened."""
    if not url.startswith("data:"):
        return Media(mime, None, url or None)
    head, _, data = url.removeprefix("data:").partition(",")
    kind, *marks = head.split(";")
    return Media(kind or mime, data if "base64" in marks else None)


def thinking_parts(message: Json) -> tuple[Thinking, ...]:
    """Return the reasoning that a message has in one of the usual fields."""
    blocks = objects(message.get("thinking_blocks"))
    if blocks:
        return tuple(
            Thinking(string(one.get("thinking")), encrypted=one.get("type") == "redacted_thinking")
            for one in blocks
        )
    text = string(message.get("reasoning_content")) or string(message.get("reasoning"))
    return (Thinking(text),) if text else ()


def call_input(arguments: Any) -> Json:
    """Return a call's arguments as an object; those that are none are kept under ``arguments``."""
    if isinstance(arguments, str):
        try:
            read = json_value(arguments or "{}")
        except (ValueError, RecursionError):
            read = None
        return read if isinstance(read, dict) else {"arguments": arguments}
    return (
        arguments
        if isinstance(arguments, dict)
        else {"arguments": arguments}
        if arguments is not None
        else {}
    )


def recorded_calls(message: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield the recorded id, tool and input of each call in an answer."""
    for one in objects(message.get("tool_calls")):
        function = json_object(one.get("function"))
        name = string(function.get("name")) or string(one.get("name"))
        arguments = function.get("arguments", one.get("arguments"))
        yield string(one.get("id")), name or "unknown", call_input(arguments)
    function = json_object(message.get("function_call"))
    if function:
        yield "", string(function.get("name")) or "unknown", call_input(function.get("arguments"))


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


def tool_specs(value: Any) -> tuple[ToolSpec, ...] | None:
    """Return the tools of a request; None where none are recorded."""
    if not isinstance(value, list):
        return None
    functions = [json_object(one.get("function")) or one for one in objects(value)]
    return tuple(
        ToolSpec(
            name=string(one.get("name")),
            description=string(one.get("description")),
            parameters=json_object(one.get("parameters")),
        )
        for one in functions
        if string(one.get("name"))
    )


def usage_of(value: Any, service_tier: Any = None) -> Usage | None:
    """Return the usage of one request as OpenAI and litellm report it: cached and reasoning are subsets.

    ``service_tier`` is what stands beside it in the answer.
    """
    usage = json_object(value)
    prompt = token_field(usage, "prompt_tokens" if "prompt_tokens" in usage else "input_tokens")
    answer = token_field(
        usage, "completion_tokens" if "completion_tokens" in usage else "output_tokens"
    )
    if prompt is None and answer is None:
        return None
    details = json_object(usage.get("prompt_tokens_details", usage.get("input_tokens_details")))
    more = json_object(usage.get("completion_tokens_details", usage.get("output_tokens_details")))
    read = token_field(details, "cached_tokens") or token_field(usage, "cache_read_input_tokens")
    written = token_field(usage, "cache_creation_input_tokens") or token_field(
        details, "cache_creation_tokens"
    )
    kept = json_object(usage.get("cache_creation", details.get("cache_creation_token_details")))
    hour = token_field(kept, "ephemeral_1h_input_tokens")
    reasoning = token_field(more, "reasoning_tokens")
    found = normalised_usage(prompt or 0, answer or 0, read or 0, written or 0, reasoning or 0)
    return found.model_copy(
        update={
            "cache_write_hour": None if hour is None else min(hour, found.cache_write),
            "service_tier": priced_tier(usage.get("service_tier") or service_tier),
        }
    )


def normalised_usage(
    prompt: int, answer: int, read: int = 0, written: int = 0, reasoning: int = 0
) -> Usage:
    """Return usage without double counting; a subset that is larger than its whole is cut to it."""
    read = min(read, prompt)
    written = min(written, prompt - read)
    reasoning = min(reasoning, answer)
    return Usage(
        input=prompt - read - written,
        output=answer - reasoning,
        reasoning=reasoning,
        cache_read=read,
        cache_write=written,
    )


FINISHES = {
    "stop": "stop",
    "end_turn": "stop",
    "tool_calls": "tool-calls",
    "tool_use": "tool-calls",
    "function_call": "tool-calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content-filter",
}
"""How providers name the end of an answer, in our words."""

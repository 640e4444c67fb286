"""A captured request to a model with its answer, in the neutral form, whichever provider's interface it used."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from palimpsest.recordings.message_formats.repeated_inputs import InputMessage, Parts
from palimpsest.recordings.reading.json_fields import JsonValue, fingerprint
from palimpsest.recordings.reading.recorded import CacheMark, Call, Json, ResultRead, SentRead, Text
from palimpsest.transcript.redaction.secret_names import is_secret_name
from palimpsest.transcript.redaction.secret_patterns import REDACTED, scrub
from palimpsest.transcript.redaction.secret_removal import redacted_value
from palimpsest.transcript.values import Usage

MARK_KEY = "cache_control"
"""Field that marks the block up to which the provider is asked to cache the prompt."""
SECRET_FIELDS = frozenset({"headers", "env"})
"""Fields of a tool in which every text may be a secret."""
SCHEMA_KEYS = frozenset({"parameters", "input_schema", "parametersJsonSchema", "response"})
"""Fields of a tool that hold a schema."""
MAX_LIFETIME_CHARS = 10
"""Maximum characters of a mark's lifetime, such as ``5m``."""
MAX_MARKS = 100
"""Maximum cache marks that are kept of one request; Anthropic accepts four."""


@dataclass(slots=True)
class CapturedRequest:
    """A request to a model with its answer."""

    interface: str
    """``anthropic``, ``chat``, ``responses`` or ``gemini``."""
    place: str
    """The place of the exchange in the capture, for reports."""
    conversation_id: str = ""
    """The client's id of the session and of the agent in it; empty where it sent none."""
    system: tuple[str, ...] = ()
    tools: str = "[]"
    """The tools as the JSON that was sent, without secrets."""
    cache_marks: tuple[CacheMark, ...] = ()
    messages: list[InputMessage] = field(default_factory=list)
    message_hashes: list[bytes] = field(default_factory=list)
    """The hash of each message, without cache marks."""
    continued_answer_id: str = ""
    """The id of the answer that the request continues without repeating its messages."""
    id: str = ""
    """The provider's id of the answer."""
    answer: Parts = ()
    results: tuple[ResultRead, ...] = ()
    """Results, in the answer, of calls that the provider ran itself."""
    created_ms: int | None = None
    completed_ms: int | None = None
    model: str = ""
    effort: str = ""
    client: str = ""
    cache_miss: str = ""
    usage: Usage | None = None
    finish: str | None = None
    error: str | None = None
    notes: tuple[str, ...] = ()
    """Sentences about what the provider changed in the context before it answered."""

    @property
    def has_failed(self) -> bool:
        """Whether the request has no answer that a later request could repeat."""
        return not self.answer

    @property
    def sent_parts(self) -> SentRead:
        """The system prompt, tools and cache marks of the request's body."""
        return SentRead(self.system, self.tools, self.cache_marks)


class SharedMessages:
    """Converts each different message once, since the requests of a conversation repeat their messages."""

    def __init__(self) -> None:
        self._messages: dict[bytes, InputMessage] = {}
        self._texts: dict[str, str] = {}
        self.stored_bytes = 0
        """Characters of the different messages, system prompts and tools so far, taken as bytes."""

    def add_message(
        self,
        request: CapturedRequest,
        message_fields: Json,
        convert_message: Callable[[JsonValue], InputMessage],
    ) -> None:
        """Add a message to a request; ``convert_message`` is called for a content that is new."""
        json_text = json.dumps(without_marks(message_fields), sort_keys=True)
        content_hash = fingerprint(json_text)
        if content_hash not in self._messages:
            self._messages[content_hash] = convert_message(JsonValue(message_fields))
            self.stored_bytes += len(json_text)
        request.messages.append(self._messages[content_hash])
        request.message_hashes.append(content_hash)

    def shared_text(self, text: str) -> str:
        """Return the stored text that equals a text, so that equal texts take memory only once."""
        if text not in self._texts:
            self.stored_bytes += len(text)
        return self._texts.setdefault(text, text)

    def tools_text(self, tools: list[Any]) -> str:
        """Return tools as the JSON that was sent, without the secrets of servers to which the provider connects."""
        safe_tools = _without_secrets(redacted_value(tools, scrub))
        return self.shared_text(json.dumps(safe_tools, ensure_ascii=False))


def _without_secrets(definition: Any, *, is_secret: bool = False) -> Any:
    """Return a tool's definition without secrets: that of a server's tools may contain the server's headers.

    Schemas stay as they are: they describe inputs and contain no values.
    """
    if isinstance(definition, dict):
        return {
            name: item
            if name in SCHEMA_KEYS
            else _without_secrets(
                item, is_secret=is_secret or name in SECRET_FIELDS or is_secret_name(name)
            )
            for name, item in definition.items()
        }
    if isinstance(definition, list):
        return [_without_secrets(item, is_secret=is_secret) for item in definition]
    return REDACTED if is_secret and isinstance(definition, str) else definition


def without_marks(value: Any) -> Any:
    """Return a JSON value without its cache marks."""
    if isinstance(value, dict):
        return {name: without_marks(item) for name, item in value.items() if name != MARK_KEY}
    return [without_marks(i) for i in value] if isinstance(value, list) else value


def marks_in(place: str, blocks: Iterable[Any]) -> Iterator[CacheMark]:
    """Yield the cache marks of a list of blocks; ``place`` is the name of such a block without its number."""
    for number, block in enumerate(blocks, 1):
        if (lifetime := _lifetime_of_mark(block)) is not None:
            yield CacheMark(f"{place} {number}", lifetime)


def _lifetime_of_mark(block: Any) -> str | None:
    """Return the lifetime in the cache mark of a block, which may be empty; None for a block without a mark."""
    value = JsonValue(block)
    return (
        value.text(MARK_KEY, "ttl")[:MAX_LIFETIME_CHARS]
        if isinstance(value.get(MARK_KEY), dict)
        else None
    )


def all_marks(tools: list[Any], system: Any, messages: list[Any]) -> tuple[CacheMark, ...]:
    """Return the cache marks of a request in the order of the prompt: tools, system prompt, messages."""
    marks = [*marks_in("tool", tools), *marks_in("system block", JsonValue(system).list_at())]
    message_marks: list[CacheMark] = []
    texts_after: Counter[str] = Counter()
    for number, message in reversed([*enumerate(messages, 1)]):
        message_marks[:0] = _marks_of_message(number, JsonValue(message), texts_after)
    return tuple([*marks, *message_marks][:MAX_MARKS])


def _marks_of_message(
    number: int, message: JsonValue, texts_after: Counter[str]
) -> Iterator[CacheMark]:
    """Yield a message's cache marks; its texts are added to ``texts_after``, which counts those of later messages."""
    content = message.get("content")
    blocks = message.list_at("content") or [{"type": "text", "text": content}]
    block_keys = [_block_key(JsonValue(block)) for block in blocks]
    if message.get("role") == "tool":
        block_keys = [f"result {message.id('tool_call_id')}"]
    block_names: list[str] = []
    for block_key in reversed(block_keys):
        block_names.insert(
            0,
            f"{block_key} {texts_after[block_key]}" if block_key.startswith("text ") else block_key,
        )
        texts_after[block_key] += 1
    for index, block in enumerate(message.list_at("content")):
        if (lifetime := _lifetime_of_mark(block)) is not None:
            place = f"message {number}, block {index + 1}"
            yield CacheMark(place, lifetime, block_names[min(index, len(block_names) - 1)])
    if (lifetime := _lifetime_of_mark(message.raw)) is not None:
        is_system = message.get("role") in ("system", "developer")
        yield CacheMark(f"message {number}", lifetime, "system" if is_system else block_names[-1])


def _block_key(block: JsonValue) -> str:
    """Return what identifies a block in the imported session; empty where nothing does."""
    match block.get("type"):
        case "tool_use":
            return f"call {block.id('id')}"
        case "tool_result":
            return f"result {block.id('tool_use_id')}"
        case "text":
            return f"text {fingerprint(scrub(block.text('text'))).hex()}"
        case _:
            return ""


def written_by_program(parts: Parts) -> Parts:
    """Return a message's parts with the texts marked as written by the client's program."""
    return tuple(
        replace(part, synthetic=True) if isinstance(part, Text) else part for part in parts
    )


def calls_in(parts: Parts) -> Iterator[Call]:
    """Yield the calls of an answer."""
    return (part for part in parts if isinstance(part, Call))

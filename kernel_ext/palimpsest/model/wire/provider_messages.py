"""Write neutral messages in the shape a provider accepts, and hash the result.

Pure. Each provider has its own rules, which its profile states: the ids of tool calls, the places of images, the
thinking that may be sent back. The result has OpenAI's shape, which litellm translates further; the same input always
gives the same bytes, since prompt caches and the recorded hashes depend on it.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.model.wire.media import media_content
from palimpsest.model.wire.native_blocks import (
    has_signed_thinking,
    native_content,
    with_accepted_blocks,
)
from palimpsest.model.wire.sequential_calls import sequential_calls
from palimpsest.model.wire.tool_call_text import (
    allowed_ids,
    arguments_json,
    json_string,
    json_value,
    tool_name,
    uninterpreted_text,
)
from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    MediaBlock,
    NeutralMessage,
    NeutralMessages,
    ResultBlock,
    TextBlock,
    holds_native,
)
from palimpsest.transcript.provider_profile.profile import ProviderProfile, profile
from palimpsest.transcript.provider_profile.provider_table import CacheMarks
from palimpsest.transcript.strings.surrogates import joined_surrogates
from palimpsest.transcript.values import ModelInfo, ToolSpec

SEPARATOR = "\n\n"
CACHE_MARK_FIELD = "cache_control"
CACHE_MARK = {"type": "ephemeral"}
MARK_LIFETIME = CACHE_MARK.get("ttl", "")
"""The cache lifetime that a mark requests, such as ``1h``; empty for the provider's default."""
MEDIA_NOTICE = "Attached media from tool result:"
TEXT_BETWEEN = "Done."
"""Text of an assistant message put where a user message may not directly follow a tool result."""

THINKING_FIELD = "reasoning_content"
"""The field for an answer's thinking in OpenAI's shape; most servers refuse it in a request."""

EMPTY_CONVERSATION = "(Nobody has said anything yet.)"
"""Text of a user message added because most servers refuse a request with system messages only."""

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ProviderMessage:
    """One provider message and its source."""

    body: Body
    message_id: str | None
    part_ids: tuple[str, ...]


def to_provider(
    messages: NeutralMessages, model: ModelInfo, target_profile: ProviderProfile | None = None
) -> tuple[Body, ...]:
    """Return provider messages in OpenAI's shape."""
    return tuple(message.body for message in provider_messages(messages, model, target_profile))


def provider_messages(
    messages: NeutralMessages, model: ModelInfo, target_profile: ProviderProfile | None = None
) -> tuple[ProviderMessage, ...]:
    """Return provider messages, each with the message and parts of its source.

    ``target_profile`` is the profile of an older projection, when a request of that projection is rebuilt.
    """
    return tuple(_WireWriter(model, messages, target_profile or profile(model.ref)).write(messages))


class _WireWriter:
    """Writes one request for one model."""

    def __init__(
        self, model: ModelInfo, messages: NeutralMessages, target_profile: ProviderProfile
    ) -> None:
        self._model = model
        self._profile = target_profile
        self._allowed_id = allowed_ids(messages, target_profile)
        self._messages: list[ProviderMessage] = []
        self._held_media: list[tuple[MediaBlock, NeutralMessage]] = []

    def write(self, messages: NeutralMessages) -> list[ProviderMessage]:
        if any(map(holds_native, messages)):
            messages = with_accepted_blocks(messages, self._profile)
        for message in sequential_calls(messages) if self._profile.merges_equal_calls else messages:
            if message.role != "tool":
                self._send_held_media()
            match message.role:
                case "system":
                    self._write_system(message)
                case "user":
                    self._write_user(message)
                case "assistant":
                    self._write_assistant(message)
                case "tool":
                    self._write_results(message)
        self._send_held_media()
        if {message.body["role"] for message in self._messages} == {"system"}:
            body = {"role": "user", "content": EMPTY_CONVERSATION}
            self._messages.append(ProviderMessage(body, None, ()))
        return self._messages

    def _put_message(self, body: Body, message: NeutralMessage, blocks: Iterable[Any]) -> None:
        part_ids = tuple([b.part_id for b in blocks if b.part_id is not None])
        if len(part_ids) > 1:
            part_ids = tuple(dict.fromkeys(part_ids))
        self._messages.append(ProviderMessage(body, message.message_id, part_ids))

    def _write_system(self, message: NeutralMessage) -> None:
        text = _text_of(message)
        if not text.strip():
            return
        last_message = self._messages[-1] if self._messages else None
        if (
            last_message is not None
            and last_message.body["role"] == "system"
            and self._profile.leading_role == "system"
        ):
            # Chat templates of local models refuse a second system message.
            body = {"role": "system", "content": last_message.body["content"] + SEPARATOR + text}
            part_ids = tuple(b.part_id for b in message.blocks if b.part_id is not None)
            part_ids = last_message.part_ids + part_ids
            self._messages[-1] = ProviderMessage(body, last_message.message_id, part_ids)
            return
        self._put_message({"role": "system", "content": text}, message, message.blocks)

    def _write_user(self, message: NeutralMessage) -> None:
        content = self._written_content(message.blocks)
        if not content:
            return
        follows_results = bool(self._messages) and self._messages[-1].body["role"] == "tool"
        if follows_results and self._profile.needs_answer_after_results:
            self._put_message({"role": "assistant", "content": TEXT_BETWEEN}, message, ())
        self._put_message({"role": "user", "content": content}, message, message.blocks)

    def _written_content(self, blocks: Iterable[Any]) -> str | list[Body]:
        """Return plain text where possible, since strict servers accept nothing else."""
        pieces: list[Body] = []
        for block in blocks:
            if isinstance(block, TextBlock) and block.text.strip():
                pieces.append({"type": "text", "text": joined_surrogates(block.text)})
            elif isinstance(block, MediaBlock):
                pieces.append(self._written_media(block))
        if all(piece["type"] == "text" for piece in pieces):
            return SEPARATOR.join(piece["text"] for piece in pieces)
        return pieces

    def _write_assistant(self, message: NeutralMessage) -> None:
        body: Body = {"role": "assistant", "content": _text_of(message) or None}
        calls = [self._written_call(block) for block in message.blocks if block.type == "call"]
        if calls:
            body["tool_calls"] = calls
        if not calls and not (body["content"] or "").strip():
            return
        thinking_fields = sendable_thinking(message, self._profile)
        if holds_native(message):
            signed_blocks = thinking_fields.get("thinking_blocks", [])
            body["content"] = native_content(message, self._profile, signed_blocks)
            thinking_fields = thinking_fields if self._profile.wire != "anthropic" else {}
        body |= thinking_fields
        self._put_message(body, message, message.blocks)

    def _written_call(self, block: CallBlock) -> Body:
        name = tool_name(block.tool, self._profile)
        function = {"name": name, "arguments": arguments_json(block.input)}
        return {"id": self._allowed_id(block.call_id), "type": "function", "function": function}

    def _write_results(self, message: NeutralMessage) -> None:
        for block in message.blocks:
            if block.type == "result":
                content = self._result_content(block, message)
                call_id = self._allowed_id(block.call_id)
                body: Body = {"role": "tool", "tool_call_id": call_id, "content": content}
                if self._profile.results_named:
                    body["name"] = tool_name(block.tool, self._profile)
                self._put_message(body, message, (block,))

    def _result_content(self, block: ResultBlock, message: NeutralMessage) -> str | list[Body]:
        text = joined_surrogates(block.text)
        if self._profile.results_parsed:
            text = uninterpreted_text(text)
        if not block.media:
            return text
        media_inside = [item for item in block.media if self._may_stay(item)]
        self._held_media.extend((item, message) for item in block.media if item not in media_inside)
        if not media_inside:
            return text
        text_blocks = [{"type": "text", "text": text}] if text.strip() else []
        return [*text_blocks, *map(self._written_media, media_inside)]

    def _may_stay(self, block: MediaBlock) -> bool:
        """Return whether a file may stay inside a result."""
        accepted = self._profile.media_in_results
        return accepted == "all" or (accepted == "images" and block.mime.startswith("image/"))

    def _written_media(self, block: MediaBlock) -> Body:
        # A file's name may contain lone surrogates.
        filename = joined_surrogates(block.filename or "")
        block = block.model_copy(update={"filename": filename})
        return media_content(block, self._model, self._profile)

    def _send_held_media(self) -> None:
        """Send images of tool results as a user message after the last of the results."""
        if not self._held_media:
            return
        source_message = self._held_media[-1][1]
        blocks = [item for item, _ in self._held_media]
        self._held_media = []
        all_blocks = (TextBlock(text=MEDIA_NOTICE), *blocks)
        message = NeutralMessage(
            role="user", blocks=all_blocks, message_id=source_message.message_id
        )
        self._write_user(message)


def sendable_thinking(message: NeutralMessage, target_profile: ProviderProfile) -> Body:
    """Return the thinking to send back; signed thinking goes only to the family of models that produced it."""
    if target_profile.thinking_field is None and not target_profile.keeps_signatures:
        return {}
    blocks = [block for block in message.blocks if block.type == "reasoning"]
    if target_profile.thinking_field is not None:
        text = joined_surrogates(SEPARATOR.join(block.text for block in blocks if block.text))
        has_field = any((block.metadata or {}).get("field") for block in blocks)
        return {target_profile.thinking_field: text} if text or has_field else {}
    signed_blocks = [
        item
        for block in blocks
        if (block.metadata or {}).get("family", target_profile.family) == target_profile.family
        for item in (block.metadata or {}).get("thinking_blocks", ())
        if (item.get("signature") or item.get("type") == "redacted_thinking")
        # A signed block cannot be repaired, so it is dropped.
        and json_value(item) == item
    ]
    return {"thinking_blocks": signed_blocks} if signed_blocks else {}


def can_think(messages: Sequence[Body], model: ModelInfo) -> bool:
    """Return whether thinking may be enabled for this request.

    Some models cannot start thinking in the middle of a turn: thinking must have preceded the calls that the
    request answers, which is not so where another model made them, or thinking was off.
    """
    if not profile(model.ref).calls_need_thinking:
        return True
    first_caller: Body | None = None
    has_results = False
    for message in reversed(messages):
        if message["role"] != "assistant":
            has_results = has_results or message["role"] == "tool"
            continue
        if not has_results:
            break
        first_caller, has_results = message, False
    return first_caller is None or has_signed_thinking(first_caller)


def _text_of(message: NeutralMessage) -> str:
    texts = [b.text for b in message.blocks if b.type == "text" and b.text.strip()]
    return joined_surrogates(SEPARATOR.join(texts))


def with_marks(messages: Sequence[Body], mark_positions: Iterable[int]) -> tuple[Body, ...]:
    """Return the messages with a cache mark at these positions; in a list of blocks the last one has the mark."""
    marked_messages = list(messages)
    for index in set(mark_positions):
        if 0 <= index < len(marked_messages):
            marked_messages[index] = _with_cache_mark(marked_messages[index])
    return tuple(marked_messages)


def _with_cache_mark(message: Body) -> Body:
    content = message.get("content")
    if isinstance(content, list) and content:
        last_block = {**content[-1], CACHE_MARK_FIELD: CACHE_MARK}
        return {**message, "content": [*content[:-1], last_block]}
    return {**message, CACHE_MARK_FIELD: CACHE_MARK}


def without_marks(message: Body) -> Body:
    """Return the message without its cache mark."""
    content = message.get("content")
    if not isinstance(content, list) and CACHE_MARK_FIELD not in message:
        return message
    unmarked_message = {name: value for name, value in message.items() if name != CACHE_MARK_FIELD}
    if isinstance(content, list):
        unmarked_message["content"] = [
            {name: value for name, value in block.items() if name != CACHE_MARK_FIELD}
            for block in content
        ]
    return unmarked_message


def sendable_messages(messages: Iterable[Body], model: ModelInfo) -> tuple[Body, ...]:
    """Return messages without the fields that this model's servers refuse, and with cache marks under their name."""
    target_profile = profile(model.ref)
    refused_fields = set() if target_profile.keeps_signatures else {"thinking_blocks"}
    if target_profile.thinking_field != THINKING_FIELD:
        refused_fields.add(THINKING_FIELD)
    marked_messages = (_marked_for(message, target_profile.cache_marks) for message in messages)
    return tuple(
        dict(message)
        if refused_fields.isdisjoint(message)
        else {name: value for name, value in message.items() if name not in refused_fields}
        for message in marked_messages
    )


def _marked_for(message: Body, mark_field: CacheMarks) -> Body:
    """Return a message with its cache mark under the server's name, or without the mark."""
    if mark_field == CACHE_MARK_FIELD:
        return message
    unmarked = without_marks(message)
    return (
        unmarked
        if mark_field == "none" or unmarked == message
        else {**unmarked, mark_field: CACHE_MARK}
    )


_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
"""Created once: a request of a long session is written as hundreds of messages."""


def canonical_json(value: Any) -> bytes:
    """Return the canonical JSON of a value, as UTF-8."""
    # Most values are messages with text only, which this writes twice as fast.
    text = (_text_form(value) if type(value) is dict else None) or _CANONICAL.encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return joined_surrogates(text).encode()


def _text_form(value: dict[str, Any]) -> str | None:
    """Return the canonical JSON of a message of two or three text fields; None for any other value."""
    role, content, call_id = value.get("role"), value.get("content"), value.get("tool_call_id")
    if type(role) is not str or type(content) is not str:
        return None
    if len(value) == 2:
        return f'{{"content":{json_string(content)},"role":{json_string(role)}}}'
    if len(value) == 3 and type(call_id) is str:
        text = f'"content":{json_string(content)},"role":{json_string(role)},"tool_call_id":{json_string(call_id)}'
        return f"{{{text}}}"
    return None


def message_hash(message: Body) -> str:
    """Return the SHA-256 of a provider message without its cache mark."""
    return hashlib.sha256(canonical_json(without_marks(message))).hexdigest()


def request_hash(hashes: Iterable[str]) -> str:
    """Return the SHA-256 over the hashes of all messages of a request."""
    return hashlib.sha256(canonical_json(list(hashes))).hexdigest()


def prompt_text(messages: Iterable[Body], tools: Iterable[ToolSpec] = ()) -> str:
    """Return all text for the model in one string, to count its tokens; images are left out."""
    pieces: list[str] = []
    for message in messages:
        pieces.append(str(message.get("role", "")))
        pieces.extend(_content_texts(message.get("content")))
        pieces.extend(
            f"{call['function']['name']} {call['function']['arguments']}"
            for call in message.get("tool_calls") or ()
        )
    pieces.extend(
        f"{tool.name} {tool.description} {json.dumps(tool.parameters, ensure_ascii=False)}"
        for tool in tools
    )
    return "\n".join(pieces)


def _content_texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    blocks = (block for block in content or () if isinstance(block, dict))
    return [str(block["text"]) for block in blocks if block.get("type") == "text"]

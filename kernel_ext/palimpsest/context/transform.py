"""Make neutral messages fit one model: the last step before they are written in its words.

The default policy leaves this to ``model/wire``, which knows what litellm will accept; the presets
of the recorded agent do here what it does (spec/session-engine.md 1.11): files that the model cannot
take become words, empty texts and unsigned thoughts go where servers refuse them, call ids and
the order of messages follow the provider. Cache marks come later, on the provider's messages.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from palimpsest.context.convert import is_signed
from palimpsest.context.media import PDF
from palimpsest.transcript.flat import (
    Block,
    CallBlock,
    FlatMessage,
    FlatMessages,
    MediaBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.policies import TransformPolicy
from palimpsest.transcript.values import ModelInfo, ModelRef

THINKING_FIELD = "reasoning_content"
"""The field beside the words in which some servers want every answer's thinking."""

THINKING_FIELD_PROVIDERS = frozenset({"deepseek", "moonshot"})
MISTRAL_ID_LENGTH = 9
MISTRAL_BETWEEN = "Done."
"""Mistral refuses a user message right after a tool result."""

Change = Callable[[FlatMessages], FlatMessages]


def transform(messages: FlatMessages, model: ModelInfo, policy: TransformPolicy) -> FlatMessages:
    """Return the messages as this model is to be given them."""
    if policy.rule == "writer":
        return messages
    changed = tuple(_cleaned(_readable(message, model, policy)) for message in messages)
    for change in _changes(model.ref):
        changed = change(changed)
    return changed


def _changes(model: ModelRef) -> list[Change]:
    """Return what this model's servers want, in order."""
    name = f"{model.provider}/{model.name}".lower()
    found: list[Change] = []
    if _refuses_empty(model):
        found.append(_without_empty)
    if "claude" in model.name.lower():
        found.append(_claude_ids)
    if "mistral" in name:
        found += [_mistral_ids, _answers_between]
    if model.provider in THINKING_FIELD_PROVIDERS:
        found.append(_thinking_in_field)
    return found


def _refuses_empty(model: ModelRef) -> bool:
    return model.provider in {"anthropic", "bedrock"} or (
        model.provider == "vertex_ai" and "claude" in model.name.lower()
    )


def _readable(message: FlatMessage, model: ModelInfo, policy: TransformPolicy) -> FlatMessage:
    if message.role != "user" or not any(isinstance(one, MediaBlock) for one in message.blocks):
        return message
    return _with(message, tuple(_media(one, model, policy) for one in message.blocks))


def _media(block: Block, model: ModelInfo, policy: TransformPolicy) -> Block:
    if not isinstance(block, MediaBlock):
        return block
    kind = _kind(block.mime)
    if kind == "image" and _is_empty(block.url):
        return TextBlock(text=policy.empty_image, part_id=block.part_id)
    if kind is None or (model.vision and kind in {"image", "pdf"}):
        return block
    name = f'"{block.filename}"' if block.filename else kind
    text = policy.unsupported.format(name=name, kind=kind)
    return TextBlock(text=text, part_id=block.part_id)


def _kind(mime: str) -> str | None:
    """Return the kind of input that a file needs a model to take, or None for any."""
    if mime == PDF:
        return "pdf"
    family = mime.split("/", 1)[0]
    return family if family in {"image", "audio", "video"} else None


def _is_empty(url: str) -> bool:
    return url.startswith("data:") and not url.partition(",")[2]


def _cleaned(message: FlatMessage) -> FlatMessage:
    """Replace lone surrogates, which no JSON on the wire can carry."""
    update = {
        at: clean(block.text)
        for at, block in enumerate(message.blocks)
        if isinstance(block, TextBlock | ReasoningBlock | ResultBlock)
        and not _is_encodable(block.text)
    }
    if not update:
        return message
    return _with(
        message,
        tuple(
            block.model_copy(update={"text": update[at]}) if at in update else block
            for at, block in enumerate(message.blocks)
        ),
    )


def clean(text: str) -> str:
    """Return text in which each lone surrogate is the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_empty(messages: FlatMessages) -> FlatMessages:
    kept = (
        _with(message, tuple(block for block in message.blocks if not _says_nothing(block)))
        for message in messages
    )
    return tuple(message for message in kept if message.blocks)


def _says_nothing(block: Block) -> bool:
    match block:
        case TextBlock(text=""):
            return True
        case ReasoningBlock(text="", metadata=metadata):
            return not is_signed(metadata) and not _is_redacted(metadata)
        case _:
            return False


def _is_redacted(metadata: Mapping[str, Any] | None) -> bool:
    """Say whether this is thinking that only its provider can read."""
    blocks = (metadata or {}).get("thinking_blocks") or ()
    return any(one.get("type") == "redacted_thinking" for one in blocks)


def _claude_ids(messages: FlatMessages) -> FlatMessages:
    return _with_ids(messages, lambda identifier: re.sub(r"[^a-zA-Z0-9_-]", "_", identifier))


def _mistral_ids(messages: FlatMessages) -> FlatMessages:
    def short(identifier: str) -> str:
        kept = re.sub(r"[^a-zA-Z0-9]", "", identifier)[:MISTRAL_ID_LENGTH]
        return kept.ljust(MISTRAL_ID_LENGTH, "0")

    return _with_ids(messages, short)


def _with_ids(messages: FlatMessages, write: Callable[[str], str]) -> FlatMessages:
    return tuple(
        _with(
            message,
            tuple(
                block.model_copy(update={"call_id": write(block.call_id)})
                if isinstance(block, CallBlock | ResultBlock)
                else block
                for block in message.blocks
            ),
        )
        for message in messages
    )


def _answers_between(messages: FlatMessages) -> FlatMessages:
    """Put an answer between tool results and the user's next words."""
    result: list[FlatMessage] = []
    for message in messages:
        if message.role == "user" and result and result[-1].role == "tool":
            result.append(FlatMessage(role="assistant", blocks=(TextBlock(text=MISTRAL_BETWEEN),)))
        result.append(message)
    return tuple(result)


def _thinking_in_field(messages: FlatMessages) -> FlatMessages:
    """Give each answer one block of thinking, empty if need be, that goes beside its words."""
    return tuple(
        _with_field(message) if message.role == "assistant" else message for message in messages
    )


def _with_field(message: FlatMessage) -> FlatMessage:
    thoughts = [block for block in message.blocks if isinstance(block, ReasoningBlock)]
    whole = ReasoningBlock(
        text="".join(block.text for block in thoughts),
        metadata={"field": THINKING_FIELD},
        part_id=next((block.part_id for block in thoughts), None),
    )
    said = tuple(block for block in message.blocks if not isinstance(block, ReasoningBlock))
    return _with(message, (whole, *said))


def _with(message: FlatMessage, blocks: tuple[Block, ...]) -> FlatMessage:
    return message if blocks == message.blocks else message.model_copy(update={"blocks": blocks})

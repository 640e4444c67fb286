"""Adapt neutral messages to one model: the last step before they are written in its provider's format.

The default policy leaves this to ``model/wire``, which knows what litellm will accept; the OpenCode presets do here
what OpenCode does: files that the model cannot take become text, empty texts and empty unsigned thinking are removed
where servers refuse them, call ids and the order of messages follow the provider. Cache marks are set later, on the
provider's messages.
"""

from collections.abc import Callable

from palimpsest.context.conversion.part_conversion import is_redacted, is_signed
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    MediaBlock,
    NeutralMessage,
    NeutralMessages,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.context_values.policies import TransformPolicy
from palimpsest.transcript.provider_profile.profile import (
    ProviderProfile,
    nine_character_id,
    profile,
    word_character_id,
)
from palimpsest.transcript.provider_profile.provider_table import PDF
from palimpsest.transcript.strings.surrogates import joined_surrogates
from palimpsest.transcript.values import ModelInfo

INSERTED_ANSWER = "Done."
"""The assistant message inserted where the server refuses a user message right after a tool result."""

Change = Callable[[NeutralMessages], NeutralMessages]


def transform(
    messages: NeutralMessages, model: ModelInfo, policy: TransformPolicy
) -> NeutralMessages:
    """Return the messages adapted to this model."""
    if policy.rule == "writer":
        return messages
    adapted_messages = tuple(
        _without_lone_surrogates(_with_readable_media(message, model, policy))
        for message in messages
    )
    for change in _changes_for_model(profile(model.ref)):
        adapted_messages = change(adapted_messages)
    return adapted_messages


def _changes_for_model(target: ProviderProfile) -> list[Change]:
    """Return the changes that this model's servers need, in order."""
    recorded_rules = target.recorded
    changes: list[Change] = []
    if recorded_rules.opencode_refuses_empty:
        changes.append(_without_blank_blocks)
    if recorded_rules.opencode_ids != "any":
        rewrite_id = (
            nine_character_id if recorded_rules.opencode_ids == "nine" else word_character_id
        )
        changes.append(lambda messages: _with_rewritten_ids(messages, rewrite_id))
    if recorded_rules.opencode_answers_results:
        changes.append(_with_answers_between)
    field = target.thinking_field
    if field is not None:
        changes.append(lambda messages: _with_thinking_in_field(messages, field))
    return changes


def _with_readable_media(
    message: NeutralMessage, model: ModelInfo, policy: TransformPolicy
) -> NeutralMessage:
    if message.role != "user" or not any(isinstance(block, MediaBlock) for block in message.blocks):
        return message
    blocks = tuple(_readable_media(block, model, policy) for block in message.blocks)
    return _with_blocks(message, blocks)


def _readable_media(block: Block, model: ModelInfo, policy: TransformPolicy) -> Block:
    if not isinstance(block, MediaBlock):
        return block
    input_kind = _input_kind(block.mime)
    is_empty = block.url.startswith("data:") and not block.url.partition(",")[2]
    if input_kind == "image" and is_empty:
        return TextBlock(text=policy.empty_image, part_id=block.part_id)
    if input_kind is None or (model.vision and input_kind in {"image", "pdf"}):
        return block
    name = f'"{block.filename}"' if block.filename else input_kind
    text = policy.unsupported.format(name=name, kind=input_kind)
    return TextBlock(text=text, part_id=block.part_id)


def _input_kind(mime: str) -> str | None:
    """Return the kind of input that a model must support to take a file, or None for any."""
    if mime == PDF:
        return "pdf"
    main_type = mime.split("/", 1)[0]
    return main_type if main_type in {"image", "audio", "video"} else None


def _without_lone_surrogates(message: NeutralMessage) -> NeutralMessage:
    """Replace lone surrogates, which no JSON on the wire can carry."""
    return _with_blocks(
        message,
        tuple(
            block.model_copy(update={"text": text})
            if isinstance(block, TextBlock | ReasoningBlock | ResultBlock)
            and (text := joined_surrogates(block.text)) != block.text
            else block
            for block in message.blocks
        ),
    )


def _without_blank_blocks(messages: NeutralMessages) -> NeutralMessages:
    reduced_messages = (
        _with_blocks(message, tuple(block for block in message.blocks if not _is_blank(block)))
        for message in messages
    )
    return tuple(message for message in reduced_messages if message.blocks)


def _is_blank(block: Block) -> bool:
    match block:
        case TextBlock(text=""):
            return True
        case ReasoningBlock(text="", metadata=metadata):
            return not is_signed(metadata) and not is_redacted(metadata)
        case _:
            return False


def _with_rewritten_ids(
    messages: NeutralMessages, rewrite_id: Callable[[str], str]
) -> NeutralMessages:
    return tuple(
        _with_blocks(
            message,
            tuple(
                block.model_copy(update={"call_id": rewrite_id(block.call_id)})
                if isinstance(block, CallBlock | ResultBlock)
                else block
                for block in message.blocks
            ),
        )
        for message in messages
    )


def _with_answers_between(messages: NeutralMessages) -> NeutralMessages:
    """Put an assistant message between tool results and the next user message."""
    answer = NeutralMessage(role="assistant", blocks=(TextBlock(text=INSERTED_ANSWER),))
    completed_messages: list[NeutralMessage] = []
    for message in messages:
        if message.role == "user" and completed_messages and completed_messages[-1].role == "tool":
            completed_messages.append(answer)
        completed_messages.append(message)
    return tuple(completed_messages)


def _with_thinking_in_field(messages: NeutralMessages, field: str) -> NeutralMessages:
    """Give each answer one thinking block, possibly empty, which is sent in a field beside its text."""
    return tuple(
        _with_thinking_field(message, field) if message.role == "assistant" else message
        for message in messages
    )


def _with_thinking_field(message: NeutralMessage, field: str) -> NeutralMessage:
    reasoning_blocks = [block for block in message.blocks if isinstance(block, ReasoningBlock)]
    joined_block = ReasoningBlock(
        text="".join(block.text for block in reasoning_blocks),
        metadata={"field": field},
        part_id=next((block.part_id for block in reasoning_blocks), None),
    )
    other_blocks = tuple(block for block in message.blocks if not isinstance(block, ReasoningBlock))
    return _with_blocks(message, (joined_block, *other_blocks))


def _with_blocks(message: NeutralMessage, blocks: tuple[Block, ...]) -> NeutralMessage:
    return message if blocks == message.blocks else message.model_copy(update={"blocks": blocks})

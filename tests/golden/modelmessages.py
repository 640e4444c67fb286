"""Convert recorded AI SDK ModelMessages to our neutral messages: fields are renamed, nothing is decided.

The SDK wraps the media and the text of a result in one list; a list with text only means the same as that
text. Models have the names of their SDK packages there, and of litellm's providers here.
"""

from typing import Any

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
from palimpsest.transcript.values import ModelInfo, ModelRef

PROVIDERS = {
    "google": "gemini",
    "amazon-bedrock": "bedrock",
    "lmstudio": "lm_studio",
    "github-copilot": "github_copilot",
}


def model_of(recorded: dict[str, Any]) -> ModelInfo:
    """Return a recorded model as our value."""
    limits, inputs = recorded["limit"], recorded["capabilities"]["input"]
    return ModelInfo(
        ref=ModelRef(provider=provider(recorded["providerID"]), name=recorded["id"]),
        window=limits["context"],
        output_limit=limits["output"],
        vision=inputs["image"],
        reasoning=recorded["capabilities"]["reasoning"],
    )


def provider(recorded: str) -> str:
    """Return our name of a recorded provider."""
    return PROVIDERS.get(recorded, recorded)


def flat_of(recorded: list[dict[str, Any]]) -> NeutralMessages:
    """Return recorded provider messages as neutral messages."""
    return tuple(
        NeutralMessage(role=message["role"], blocks=_blocks(message["content"]))
        for message in recorded
    )


def anonymous(messages: NeutralMessages) -> NeutralMessages:
    """Return our messages without their message and part ids."""
    return tuple(
        NeutralMessage(role=message.role, blocks=tuple(map(_anonymous, message.blocks)))
        for message in messages
    )


def _anonymous(block: Block) -> Block:
    update: dict[str, Any] = {"part_id": None}
    if isinstance(block, ResultBlock):
        # Media inside a result has no name in the SDK.
        bare = {"part_id": None, "filename": None}
        update["media"] = tuple(one.model_copy(update=bare) for one in block.media)
    return block.model_copy(update=update)


def _blocks(content: str | list[dict[str, Any]]) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (TextBlock(text=content),)
    return tuple(map(_block, content))


def _block(recorded: dict[str, Any]) -> Block:
    metadata = recorded.get("providerOptions")
    match recorded["type"]:
        case "text":
            return TextBlock(text=recorded["text"], metadata=metadata)
        case "reasoning":
            return ReasoningBlock(text=recorded["text"], metadata=metadata)
        case "file":
            return MediaBlock(
                mime=recorded["mediaType"], url=recorded["data"], filename=recorded.get("filename")
            )
        case "tool-call":
            return CallBlock(
                call_id=recorded["toolCallId"],
                tool=recorded["toolName"],
                input=recorded["input"],
                metadata=metadata,
            )
        case _:
            return _result(recorded)


def _result(recorded: dict[str, Any]) -> ResultBlock:
    output = recorded["output"]
    pieces = output["value"] if output["type"] == "content" else []
    return ResultBlock(
        call_id=recorded["toolCallId"],
        tool=recorded["toolName"],
        text=_text(pieces) if output["type"] == "content" else output["value"],
        media=tuple(
            MediaBlock(
                mime=piece["mediaType"], url=f"data:{piece['mediaType']};base64,{piece['data']}"
            )
            for piece in pieces
            if piece["type"] == "media"
        ),
        is_error=output["type"] == "error-text",
    )


def _text(pieces: list[dict[str, Any]]) -> str:
    return "".join(piece["text"] for piece in pieces if piece["type"] == "text")

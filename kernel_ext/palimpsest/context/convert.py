"""Turn messages of parts into neutral provider messages.

Rules follow spec/session-engine.md 1.11. A step becomes an assistant message and, when it
called tools, a tool message with one result for each call, so the result of this function
always pairs calls and results.
"""

from palimpsest.transcript.errors import AbortedError
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
from palimpsest.transcript.messages import AssistantMessage, Message, Messages
from palimpsest.transcript.parts import (
    CompactionPart,
    FilePart,
    Part,
    ReasoningPart,
    StepStartPart,
    SubtaskPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
)
from palimpsest.transcript.values import ModelRef

INTERRUPTED = "[Tool execution was interrupted]"
COMPACTED = "What did we do so far?"
SUBTASK = "The following tool was executed by the user"
FAILED_ATTEMPT = "failed_attempt"
"""Key in a part's metadata: it belongs to a request that failed and was sent again."""
INLINED_TYPES = {"text/plain", "application/x-directory"}


def convert(messages: Messages, model: ModelRef) -> FlatMessages:
    """Return the provider messages for these messages, without the system prompt."""
    flat: list[FlatMessage] = []
    for message in messages:
        if isinstance(message.info, AssistantMessage):
            flat.extend(_assistant(message, message.info, model))
        else:
            blocks = tuple(block for part in message.parts if (block := _user_block(part)))
            if blocks:
                flat.append(FlatMessage(role="user", blocks=blocks, message_id=message.id))
    return tuple(flat)


def _user_block(part: Part) -> Block | None:
    match part:
        case TextPart(ignored=False) if part.text:
            return TextBlock(text=part.text, part_id=part.id)
        case FilePart() if part.mime not in INLINED_TYPES:
            return MediaBlock(mime=part.mime, url=part.url, filename=part.filename, part_id=part.id)
        case CompactionPart():
            return TextBlock(text=COMPACTED, part_id=part.id)
        case SubtaskPart():
            return TextBlock(text=SUBTASK, part_id=part.id)
        case _:
            return None


def _assistant(message: Message, info: AssistantMessage, model: ModelRef) -> list[FlatMessage]:
    parts = [part for part in message.parts if not _of_failed_attempt(part)]
    if info.error is not None and not _kept_though_failed(info, parts):
        return []
    same_model = (info.model.provider, info.model.name) == (model.provider, model.name)
    steps: list[list[Part]] = [[]]
    for part in parts:
        if isinstance(part, StepStartPart):
            steps.append([])
        else:
            steps[-1].append(part)
    flat: list[FlatMessage] = []
    for step in steps:
        flat.extend(_step(step, message.id, same_model=same_model))
    return flat


def _of_failed_attempt(part: Part) -> bool:
    return bool((getattr(part, "metadata", None) or {}).get(FAILED_ATTEMPT))


def _kept_though_failed(info: AssistantMessage, parts: list[Part]) -> bool:
    if not isinstance(info.error, AbortedError):
        return False
    return any(not isinstance(part, StepStartPart | ReasoningPart) for part in parts)


def _step(parts: list[Part], message_id: str, *, same_model: bool) -> list[FlatMessage]:
    said: list[Block] = []
    results: list[Block] = []
    for part in parts:
        match part:
            case TextPart(ignored=False) if part.text:
                said.append(TextBlock(text=part.text, part_id=part.id))
            case ReasoningPart():
                said.extend(_reasoning(part, same_model=same_model))
            case ToolPart():
                said.append(_call(part, same_model=same_model))
                results.append(_result(part))
            case _:
                pass
    flat = []
    if said:
        flat.append(FlatMessage(role="assistant", blocks=tuple(said), message_id=message_id))
    if results:
        flat.append(FlatMessage(role="tool", blocks=tuple(results), message_id=message_id))
    return flat


def _reasoning(part: ReasoningPart, *, same_model: bool) -> list[Block]:
    if same_model:
        return [ReasoningBlock(text=part.text, metadata=part.metadata, part_id=part.id)]
    # Another model's signatures mean nothing here, but its thoughts still do.
    return [TextBlock(text=part.text, part_id=part.id)] if part.text.strip() else []


def _call(part: ToolPart, *, same_model: bool) -> CallBlock:
    return CallBlock(
        call_id=part.call_id,
        tool=part.tool,
        input=part.state.input,
        part_id=part.id,
        metadata=part.metadata if same_model else None,
    )


def _result(part: ToolPart) -> ResultBlock:
    text, is_error = INTERRUPTED, True
    media: tuple[MediaBlock, ...] = ()
    match part.state:
        case ToolCompleted(output=output, attachments=attachments):
            text, is_error = output, False
            media = tuple(
                MediaBlock(mime=a.mime, url=a.url, filename=a.filename, part_id=part.id)
                for a in attachments
            )
        case ToolFailed(error=error, metadata=metadata):
            partial = metadata.get("output") if metadata.get("interrupted") else None
            text, is_error = (
                (partial, False) if isinstance(partial, str) and partial else (error, True)
            )
        case _:
            pass
    return ResultBlock(
        call_id=part.call_id,
        tool=part.tool,
        text=text,
        media=media,
        is_error=is_error,
        part_id=part.id,
    )

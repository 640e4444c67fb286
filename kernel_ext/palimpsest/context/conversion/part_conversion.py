"""Turn messages of parts into neutral provider messages.

The rules are OpenCode's. A step becomes an assistant message and, when it called tools, a tool message with one result
for each call, so that calls and results are always paired. Where OpenCode and OpenClaw differ, the policy decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, assert_never

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
from palimpsest.transcript.context_values.policies import ConvertPolicy
from palimpsest.transcript.errors import AbortedError, StructuredOutputError
from palimpsest.transcript.messages import AssistantMessage, Message, Messages
from palimpsest.transcript.parts import (
    NOTEBOOK,
    Attachment,
    FilePart,
    NotebookPart,
    NotedPart,
    Part,
    ReasoningPart,
    Role,
    StepStartPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
    is_of_cell,
)
from palimpsest.transcript.provider_calls import (
    DIALECT,
    NATIVE_KEY,
    call_blocks,
    call_text,
    is_left_out,
    is_provider_call,
    native_of,
)
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.provider_profile.provider_table import PDF
from palimpsest.transcript.provider_profile.recorded_agents import OPENCODE_SIGNED_BY
from palimpsest.transcript.values import ModelInfo, ModelRef

MAX_SYSTEM_MARKS = 2
"""Maximum number of system messages that carry a cache mark."""
MAX_NEWEST_MARKS = 2
"""Maximum number of the newest messages that carry a cache mark."""


def cache_mark_positions(roles: Sequence[str], model: ModelInfo) -> tuple[int, ...]:
    """Return the positions of the provider messages that carry a cache mark."""
    if profile(model.ref).cache_marks == "none":
        return ()
    system = [i for i, role in enumerate(roles) if role == "system"][:MAX_SYSTEM_MARKS]
    newest = [i for i, role in enumerate(roles) if role != "system"][-MAX_NEWEST_MARKS:]
    return tuple(system + newest)


INTERRUPTED = "[Tool execution was interrupted]"
FAILED_ATTEMPT = "failed_attempt"
"""Key in a part's metadata: the part belongs to a request that failed and was sent again."""
SENT_ROLE = "said_as"
"""Key in a synthetic part's metadata: the role under which it is sent."""
ATTACHED_NOTE = "[Attached {mime}: {name}]"
SHORTENED_NOTE = "[Tool output truncated for compaction: omitted {chars} chars]"
INLINED_TYPES = {"text/plain", "application/x-directory"}


@dataclass(frozen=True, slots=True)
class ConversionOptions:
    """The model that messages are converted for, the rules, and what is left out."""

    model: ModelRef
    policy: ConvertPolicy = field(default_factory=ConvertPolicy)
    strip_media: bool = False
    """Whether images and documents are only named, and tool results have no attachments."""
    result_chars: int | None = None
    """Maximum characters of a tool result."""


def neutral_messages(
    messages: Messages,
    model: ModelRef,
    policy: ConvertPolicy | None = None,
    *,
    strip_media: bool = False,
    result_chars: int | None = None,
) -> NeutralMessages:
    """Return the provider messages for these messages, without the system prompt."""
    options = ConversionOptions(model, policy or ConvertPolicy(), strip_media, result_chars)
    converted: list[NeutralMessage] = []
    for message in messages:
        if isinstance(message.info, AssistantMessage):
            converted.extend(_answer_messages(message, message.info, options))
        else:
            blocks = tuple(block for part in message.parts if (block := _user_block(part, options)))
            if blocks:
                role: Role = "assistant" if _is_sent_as_assistant(message) else "user"
                converted.append(NeutralMessage(role=role, blocks=blocks, message_id=message.id))
    return tuple(converted)


def _is_sent_as_assistant(message: Message) -> bool:
    """Return whether this is synthetic text that is sent under the assistant's role."""
    return all(
        isinstance(part, TextPart)
        and part.synthetic
        and (part.metadata or {}).get(SENT_ROLE) == "assistant"
        for part in message.parts
    )


def _user_block(part: Part, options: ConversionOptions) -> Block | None:
    match part:
        case TextPart():
            is_shown = not part.ignored and (part.text or options.policy.user_empty_texts)
            return TextBlock(text=part.text, part_id=part.id) if is_shown else None
        case FilePart():
            return _file_block(part, options)
        case ReasoningPart() | ToolPart():
            return None  # only in answers
        case _:
            return _noted_block(part, "user")


def _file_block(part: FilePart, options: ConversionOptions) -> Block | None:
    if part.mime in INLINED_TYPES:
        return None
    if options.strip_media and is_media(part.mime):
        name = part.filename or "file"
        return TextBlock(text=ATTACHED_NOTE.format(mime=part.mime, name=name), part_id=part.id)
    kind = NOTEBOOK if is_of_cell(part) else None
    return MediaBlock(
        mime=part.mime, url=part.url, filename=part.filename, part_id=part.id, kind=kind
    )


def _noted_block(part: NotedPart, role: Role) -> TextBlock | None:
    """Return the text block for a part without its own block type; None where it has no text."""
    text = part.words_for_model(role)
    kind = part.type if isinstance(part, NotebookPart) else None
    return TextBlock(text=text, part_id=part.id, kind=kind) if text else None


def _answer_messages(
    message: Message, info: AssistantMessage, options: ConversionOptions
) -> list[NeutralMessage]:
    parts = [part for part in message.parts if not is_from_failed_attempt(part)]
    if info.error is not None and not _is_sent_though_failed(info, parts):
        return []
    is_same_provider = info.model.provider == options.model.provider
    reasoning_parts = (part for part in parts if isinstance(part, ReasoningPart))
    is_spaced = options.policy.empty_texts == "spaced"
    keeps_spaces = is_spaced and any(is_signed(part.metadata) for part in reasoning_parts)
    writer = _AnswerWriter(
        message.id,
        options,
        same_model=is_same_provider and info.model.name == options.model.name,
        same_provider=is_same_provider,
        empty=" " if keeps_spaces else "",
    )
    steps: list[list[Part]] = [[]]
    for part in parts:
        if part.type == "step-start":
            steps.append([])
        elif part.type != "step-finish":
            steps[-1].append(part)
    converted = [step_message for step in steps for step_message in writer.step(step)]
    was_paused = info.finish == "paused" and is_same_provider
    if converted and was_paused and converted[-1].role == "assistant":
        converted[-1] = converted[-1].model_copy(update={"stop": "paused"})
    return converted + writer.trailing_messages()


def is_from_failed_attempt(part: Part) -> bool:
    """Return whether a part comes from a request that failed and was sent again; such parts are not sent."""
    # Every part of a session passes here, and comparing the name of its type is twice as fast as isinstance.
    if part.type == "text" or part.type == "reasoning" or part.type == "tool":
        return bool(part.metadata and part.metadata.get(FAILED_ATTEMPT))
    return False


def _is_sent_though_failed(info: AssistantMessage, parts: list[Part]) -> bool:
    if not isinstance(info.error, AbortedError | StructuredOutputError):
        return False
    return any(not isinstance(part, StepStartPart | ReasoningPart) for part in parts)


def is_signed(metadata: Mapping[str, Any] | None) -> bool:
    """Return whether a provider signed this thinking, so that it must be sent back unchanged."""
    if not metadata:
        return False
    signatures = [metadata.get(OPENCODE_SIGNED_BY), *(metadata.get("thinking_blocks") or ())]
    return any(
        isinstance(signature, dict) and signature.get("signature") is not None
        for signature in signatures
    )


@dataclass(eq=False)
class _AnswerWriter:
    """Writes the provider messages of one answer of the model."""

    _message_id: str
    _options: ConversionOptions
    same_model: bool
    same_provider: bool
    empty: str
    _trailing_media: list[MediaBlock] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._policy = self._options.policy

    def step(self, parts: list[Part]) -> list[NeutralMessage]:
        """Return the answer of one step, and the results of its calls."""
        blocks: list[Block] = []
        results: list[Block] = []
        for part in parts:
            if part.type == "tool" and part.metadata and is_provider_call(part):
                blocks.extend(self._provider_call_blocks(part))
            elif part.type == "tool":
                blocks.append(self._call_block(part))
                results.append(self._result_block(part))
            elif part.type == "text":
                blocks.extend(() if part.ignored else self._text_blocks(part))
            elif part.type == "reasoning":
                blocks.extend(self._reasoning_blocks(part))
            elif part.type != "file" and (noted := _noted_block(part, "assistant")):
                blocks.append(noted)
        answer = [self._message("assistant", tuple(blocks))] if blocks else []
        return [*answer, self._message("tool", tuple(results))] if results else answer

    def trailing_messages(self) -> list[NeutralMessage]:
        """Return the messages after the answer, with media that no result could hold."""
        if not self._trailing_media:
            return []
        notice = TextBlock(text=self._policy.media_notice)
        return [self._message("user", (notice, *self._trailing_media))]

    def _message(
        self, role: Literal["user", "assistant", "tool"], blocks: tuple[Block, ...]
    ) -> NeutralMessage:
        return NeutralMessage(role=role, blocks=blocks, message_id=self._message_id)

    def _text_blocks(self, part: TextPart) -> list[Block]:
        if not part.text and self._policy.empty_texts == "dropped":
            return []
        is_sent_back = self.same_model or (self.same_provider and bool(native_of(part.metadata)))
        metadata = part.metadata if is_sent_back else None
        return [TextBlock(text=part.text or self.empty, part_id=part.id, metadata=metadata)]

    def _provider_call_blocks(self, part: ToolPart) -> list[Block]:
        """Return the blocks of a call that the provider ran: its own for the same provider, else text.

        A call that the format cannot hold is left out, since the answer's text has its results. OpenAI's Responses get
        text, too: they refuse such an item without the reasoning before it, or after their server deleted either.
        """
        if is_left_out(part, is_same_provider=self.same_provider):
            return []
        blocks = call_blocks(part) if self.same_provider else ()
        dialect = (part.metadata or {}).get(DIALECT)
        text = call_text(part, self._result_block(part).text)
        metadata = {DIALECT: dialect, NATIVE_KEY: list(blocks)} if blocks else None
        return [TextBlock(text=text, part_id=part.id, metadata=metadata)]

    def _reasoning_blocks(self, part: ReasoningPart) -> list[Block]:
        if self.same_model:
            return [ReasoningBlock(text=part.text, metadata=part.metadata, part_id=part.id)]
        if self._policy.other_thinking == "reasoning":
            return [ReasoningBlock(text=part.text, part_id=part.id)]
        # Another model's signatures are not valid here, but its thinking is still useful.
        return [TextBlock(text=part.text, part_id=part.id)] if part.text.strip() else []

    def _call_block(self, part: ToolPart) -> CallBlock:
        return CallBlock(
            call_id=part.call_id,
            tool=part.tool,
            input=part.state.input,
            part_id=part.id,
            metadata=part.metadata if self.same_model else None,
        )

    def _result_block(self, part: ToolPart) -> ResultBlock:
        text, is_error = INTERRUPTED, True
        media: tuple[MediaBlock, ...] = ()
        match part.state:
            case ToolCompleted(output=output, attachments=attachments):
                text, is_error = self._shorten_result(output), False
                media = self._media_in_result(part, attachments)
            case ToolFailed(error=error):
                partial = self._partial_output(part.state)
                text, is_error = (error, True) if partial is None else (partial, False)
            case ToolPending() | ToolRunning():
                pass
            case _:
                assert_never(part.state)
        return ResultBlock(
            call_id=part.call_id,
            tool=part.tool,
            text=text,
            media=media,
            is_error=is_error,
            part_id=part.id,
        )

    def _shorten_result(self, output: str) -> str:
        max_chars = self._options.result_chars
        if max_chars is None or len(output) <= max_chars:
            return output
        return output[:max_chars] + "\n" + SHORTENED_NOTE.format(chars=len(output) - max_chars)

    def _partial_output(self, state: ToolFailed) -> str | None:
        """Return the output of an interrupted call, where the policy takes it as the result."""
        rule = self._policy.partial_output
        output = state.metadata.get("output")
        if rule == "none" or not state.metadata.get("interrupted") or not isinstance(output, str):
            return None
        return output if output or rule == "any" else None

    def _media_in_result(
        self, part: ToolPart, attachments: tuple[Attachment, ...]
    ) -> tuple[MediaBlock, ...]:
        """Return the media that stays in a result, and collect the rest for ``trailing_messages``."""
        if not attachments or self._options.strip_media:
            return ()
        blocks = attachment_blocks(part, attachments)
        if self._policy.result_media == "writer":
            return blocks
        self._trailing_media += [block for block in blocks if not self._fits_in_result(block)]
        # A result can hold inline data, but no link.
        inline_blocks = (block for block in blocks if block.url.startswith("data:"))
        return tuple(filter(self._fits_in_result, inline_blocks))

    def _fits_in_result(self, block: MediaBlock) -> bool:
        if self._policy.result_media == "inside" or not is_media(block.mime):
            return True
        return takes_in_results(self._options.model, block.mime)


def attachment_blocks(
    part: ToolPart, attachments: tuple[Attachment, ...]
) -> tuple[MediaBlock, ...]:
    """Return the media that came with the output of a call."""
    return tuple(
        MediaBlock(mime=file.mime, url=file.url, filename=file.filename, part_id=part.id)
        for file in attachments
    )


def is_redacted(metadata: Mapping[str, Any] | None) -> bool:
    """Return whether thinking is encrypted, so that only its provider can read it."""
    blocks = (metadata or {}).get("thinking_blocks") or ()
    return any(block.get("type") == "redacted_thinking" for block in blocks)


def is_media(mime: str) -> bool:
    """Return whether a file is an image or a PDF document, which some models accept."""
    return mime.startswith("image/") or mime == PDF


def takes_in_results(model: ModelRef, mime: str) -> bool:
    """Return whether OpenCode leaves this kind of media inside a tool result for the model."""
    accepted_media = profile(model).recorded.opencode_media_in_results
    return accepted_media == "all" or (accepted_media == "images" and mime.startswith("image/"))

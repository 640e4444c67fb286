"""Project a session's messages to the request that is sent: the same functions live and in review.

fold -> apply decisions -> convert -> history limit -> repair -> turns -> pairing -> system -> transform -> estimate;
the presets of other agents repair in their own order (``hygiene``). Cache marks come last, on the provider's messages.
Versioned: a change that alters any request's bytes raises ``PROJECTION_VERSION`` and keeps the older functions.

A compaction or the history limit leaves out whole messages; parts that the user pinned in them follow
the summary as quoted text, never as a call with its result, so that calls and results stay paired.
Images and files are sent again unchanged. Thinking that was pinned by itself is quoted where it has no
signature, since no provider would give it back to the model.
"""

import json
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import assert_never

from palimpsest.context.budget.request_tokens import (
    MESSAGE_TOKENS,
    Count,
    message_tokens,
    tools_tokens,
)
from palimpsest.context.conversion.model_transform import transform
from palimpsest.context.conversion.part_conversion import (
    attachment_blocks,
    is_signed,
    neutral_messages,
)
from palimpsest.context.engine_text.system_prompt import shared_among_sections
from palimpsest.context.message_repair.pairing import with_paired_results
from palimpsest.context.message_repair.rule_order import repaired_in_order
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.request_assembly.turn_limit import with_turn_limit
from palimpsest.context.visible_messages import View, fold, summary_text
from palimpsest.transcript.context_values.decisions import PIN, REQUEST_KINDS, pinned_part_ids
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    MediaBlock,
    NeutralMessage,
    NeutralMessages,
    ReasoningBlock,
    TextBlock,
)
from palimpsest.transcript.context_values.policies import ConvertPolicy, Policy
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, summaries
from palimpsest.transcript.parts import (
    FilePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
)
from palimpsest.transcript.provider_profile.older_profiles import profile_at
from palimpsest.transcript.values import ModelInfo, ModelRef, ToolSpec

KEPT_TEXT = "Kept at the user's request, from earlier in this conversation. {who}\n\n{text}"
USER_SAID = "The user said:"
YOU_SAID = "You said:"
YOU_THOUGHT = "You thought:"
SUMMARY_SAID = "An earlier summary said:"
RETURNED = "Your call {call} returned:"
FAILED_TEXT = "Your call {call} failed:"
ATTACHED_TEXT = "The user attached {name}."


def with_pinned_parts(messages: NeutralMessages, view: View) -> NeutralMessages:
    """Add all missing pinned parts to the messages, after the summary if there is one."""
    pinned_ids = pinned_part_ids(view.messages, view.decisions)
    visible_ids = {
        block.part_id for message in messages for block in message.blocks if reaches_model(block)
    }
    missing_ids = pinned_ids - visible_ids
    if not missing_ids:
        return messages
    original_messages = tuple(
        message
        for message in view.messages
        if any(part.id in missing_ids for part in message.parts)
    )
    applied_messages = apply_decisions(original_messages, view)
    blocks = tuple(
        block
        for original, applied in zip(original_messages, applied_messages, strict=True)
        for part in _shown_parts(original, applied)
        if part.id in missing_ids
        for block in _quote_part(part, original, view)
    )
    if not blocks:
        return messages
    index = _index_after_summary(messages, view.messages)
    return (*messages[:index], NeutralMessage(role="user", blocks=blocks), *messages[index:])


def _shown_parts(original: Message, message: Message) -> tuple[Part, ...]:
    """Return the parts of a message after decisions; thinking is kept even where nothing else is left."""
    visible_parts = {part.id: part for part in message.parts}
    return tuple(
        visible_parts.get(part.id, part)
        for part in original.parts
        if part.id in visible_parts or isinstance(part, ReasoningPart)
    )


def reaches_model(block: Block) -> bool:
    """Return whether a block reaches the model: providers withhold thinking without a signature."""
    return not isinstance(block, ReasoningBlock) or is_signed(block.metadata)


def _index_after_summary(messages: NeutralMessages, transcript: Messages) -> int:
    """Return the index after the newest summary, else after the system messages."""
    summary_ids = summaries(transcript)
    indexes = [index for index, message in enumerate(messages) if message.message_id in summary_ids]
    if indexes:
        return indexes[-1] + 1
    return sum(message.role == "system" for message in messages)


def _quote_part(part: Part, message: Message, view: View) -> tuple[Block, ...]:
    match part:
        case TextPart(text=text):
            is_shown = text.strip() and not _is_draft(part, message)
            return (_quoted_text(part, _speaker_name(message), text),) if is_shown else ()
        case ReasoningPart(text=text):
            is_shown = text.strip() and _is_pinned_itself(part, view)
            return (_quoted_text(part, YOU_THOUGHT, text),) if is_shown else ()
        case ToolPart():
            return _quoted_call(part)
        case FilePart(mime=mime, url=url, filename=filename):
            name = ATTACHED_TEXT.format(name=filename or "a file")
            media_block = MediaBlock(mime=mime, url=url, filename=filename, part_id=part.id)
            return (_quoted_text(part, name, ""), media_block)
        case _:
            words = part.words_for_summary()
            return (_quoted_text(part, _speaker_name(message), words),) if words else ()


def _quoted_call(part: ToolPart) -> tuple[Block, ...]:
    match part.state:
        case ToolCompleted(output=output, attachments=attachments):
            quoted_text = _quoted_text(part, RETURNED.format(call=_call_text(part)), output)
            return (quoted_text, *attachment_blocks(part, attachments))
        case ToolFailed(error=error):
            return (_quoted_text(part, FAILED_TEXT.format(call=_call_text(part)), error),)
        case ToolPending() | ToolRunning():
            return ()
        case _:
            assert_never(part.state)


def _speaker_name(message: Message) -> str:
    if not isinstance(message.info, AssistantMessage):
        return USER_SAID
    return SUMMARY_SAID if message.info.summary else YOU_SAID


def _is_draft(part: TextPart, message: Message) -> bool:
    """Return whether a text of a summary message is a draft, not part of the final summary."""
    return _speaker_name(message) == SUMMARY_SAID and part.text.strip() not in summary_text(message)


def _is_pinned_itself(thought: ReasoningPart, view: View) -> bool:
    """Return whether the user pinned this thinking itself, and not only its message."""
    return any(
        decision.rule == PIN and decision.part_id == thought.id for decision in view.decisions
    )


def _quoted_text(part: Part, speaker: str, text: str) -> TextBlock:
    return TextBlock(text=KEPT_TEXT.format(who=speaker, text=text).rstrip(), part_id=part.id)


def _call_text(part: ToolPart) -> str:
    input_json = json.dumps(part.state.input, ensure_ascii=False, separators=(",", ":"))
    return f"{part.tool}({input_json})"


PROJECTION_VERSION = 3
VERSIONS = (1, 2, PROJECTION_VERSION)
"""All versions. 1 converted messages alike under every policy, and repaired only missing and orphaned results;
2 used two tables of providers that disagreed (``transcript/provider_profile/older_profiles.py``)."""

Convert = Callable[[Messages, ModelRef, ConvertPolicy], NeutralMessages]
"""``neutral_messages``, or a function that caches its results."""


@dataclass(frozen=True, slots=True)
class Projection:
    """A request before it is converted to a provider's format."""

    messages: NeutralMessages
    """System messages first."""
    tokens: tuple[int, ...]
    """Estimated tokens of each message."""
    tools_tokens: int

    @property
    def total(self) -> int:
        """Estimated tokens of the whole request."""
        return sum(self.tokens) + self.tools_tokens

    @property
    def conversation_tokens(self) -> int:
        """Estimated tokens of the conversation, without the system prompt and the tools."""
        pairs = zip(self.messages, self.tokens, strict=True)
        return sum(tokens for message, tokens in pairs if message.role != "system")


def project(
    view: View,
    *,
    system: tuple[str, ...],
    tools: tuple[ToolSpec, ...],
    model: ModelInfo,
    policy: Policy,
    count: Count,
    version: int = PROJECTION_VERSION,
    flatten: Convert = neutral_messages,
    count_tokens: Callable[[NeutralMessage], int] | None = None,
) -> Projection:
    """Project a session to one request; an older ``version`` gives the request of that version.

    A caller that projects a session repeatedly may pass functions that cache how messages are
    converted (``flatten``) and counted (``count_tokens``).
    """
    if version == 1:
        all_messages = _project_v1(view, system_messages(system), model, policy)
    else:
        all_messages = _project_v2(view, system_messages(system), model, policy, flatten, version)
    tokens = tuple(
        count_tokens(message) if count_tokens is not None else message_tokens(message, count)
        for message in all_messages
    )
    return Projection(messages=all_messages, tokens=tokens, tools_tokens=tools_tokens(tools, count))


def system_messages(system: tuple[str, ...]) -> NeutralMessages:
    """Return the system messages, which come before all others."""
    return tuple(
        NeutralMessage(role="system", blocks=(TextBlock(text=text),)) for text in system if text
    )


def request_without_tools(
    system: tuple[str, ...], messages: NeutralMessages, count: Count
) -> Projection:
    """Return a request of messages after a system prompt, such as one for a title, which offers no tools."""
    request = system_messages(system) + messages
    return Projection(request, tuple(message_tokens(message, count) for message in request), 0)


def _project_v1(
    view: View, opening_messages: NeutralMessages, model: ModelInfo, policy: Policy
) -> NeutralMessages:
    converted_messages = neutral_messages(apply_decisions(fold(view.messages), view), model.ref)
    newest_messages = with_turn_limit(converted_messages, policy.history_limit, policy.limit)
    return opening_messages + with_paired_results(newest_messages)


def _project_v2(
    view: View,
    opening_messages: NeutralMessages,
    model: ModelInfo,
    policy: Policy,
    flatten: Convert,
    version: int,
) -> NeutralMessages:
    messages = apply_decisions(view.folded_messages(policy.compact), view)
    repaired_messages = repaired_in_order(
        flatten(messages, model.ref, policy.convert),
        lambda newest: with_pinned_parts(
            with_turn_limit(newest, policy.history_limit, policy.limit), view
        ),
        policy.hygiene.rule,
        profile_at(model.ref, version),
    )
    return transform(opening_messages + repaired_messages, model, policy.transform)


def tokens_by_kind(
    messages: Sequence[NeutralMessage],
    block_tokens: Sequence[Sequence[int]],
    tools_tokens: int,
    summary_ids: Set[str],
) -> dict[str, int]:
    """Add up the tokens of each message's blocks; ``summary_ids`` are those of compactions' messages."""
    by_kind = dict.fromkeys(REQUEST_KINDS, 0)
    by_kind["tools"] = tools_tokens
    for message, tokens_of_blocks in zip(messages, block_tokens, strict=True):
        message_kind = "summary" if message.message_id in summary_ids else _role_kind(message)
        by_kind[message_kind] += MESSAGE_TOKENS
        for block, tokens in zip(message.blocks, tokens_of_blocks, strict=True):
            if message.role == "system" and isinstance(block, TextBlock):
                for section, section_tokens in shared_among_sections(block.text, tokens):
                    by_kind[section.kind] += section_tokens
            elif block.type == "reasoning" or block.type == "result":
                by_kind[kind_of(message, block, summary_ids)] += tokens
            else:
                by_kind[_own_kind(block) or message_kind] += tokens
    return {kind: tokens for kind, tokens in by_kind.items() if tokens}


def kind_of(message: NeutralMessage, block: Block | None, summary_ids: Set[str]) -> str:
    """Return the kind of a block, or without a block the kind of the message's overhead."""
    if message.message_id in summary_ids:
        return "summary"
    if block is not None and (own_kind := _own_kind(block)):
        return own_kind
    kind = block.type if block is not None else ""
    if kind == "reasoning":
        return "reasoning"
    return "output" if kind == "result" else _role_kind(message)


def _own_kind(block: Block) -> str | None:
    return block.kind if isinstance(block, TextBlock | MediaBlock) else None


def _role_kind(message: NeutralMessage) -> str:
    return "output" if message.role == "tool" else message.role

"""List the items of a projected request, each with its text and tokens, for a context report and a proposal.

Border: pure. Tokens are the estimator's, and texts are the session's own; the caller passes a function that scrubs secrets.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from palimpsest.context.budget.request_tokens import (
    MESSAGE_TOKENS,
    Count,
    block_tokens,
    tools_tokens,
)
from palimpsest.context.engine_text.system_prompt import INSTRUCTIONS, shared_among_sections
from palimpsest.context.reduction.picture_limits import is_whole_text
from palimpsest.context.request_assembly.projection import Projection, kind_of
from palimpsest.context.visible_messages import View
from palimpsest.model.wire.schema_repair import is_repaired
from palimpsest.render.content.phrases import first_code_line, subject
from palimpsest.render.safety.escaping import one_line
from palimpsest.tools.mcp.values import MAX_DESCRIPTION_CHARS
from palimpsest.transcript.context_values.decisions import (
    LEFT_OUT,
    Decision,
    effective_reductions,
    pictures_of,
    pinned_part_ids,
)
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    NeutralMessage,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.context_values.request_items import STATE_OF_ACTION, RequestItem, ShownAs
from palimpsest.transcript.messages import summaries
from palimpsest.transcript.parts import (
    CompactionPart,
    FilePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolPart,
)
from palimpsest.transcript.provider_calls import is_provider_call, native_of
from palimpsest.transcript.values import ToolSpec

Scrub = Callable[[str], str]
PROJECT_ROOT = re.compile(r"^  Project root: (.+)$", re.MULTILINE)
"""Finds the project root in a system prompt, so that its files are named by their relative paths."""
MAX_NAME_CHARS = 60
KIND_NAMES = {"user": "prompt", "assistant": "answer", "reasoning": "thoughts", "output": "output"}


def request_items(
    projection: Projection,
    view: View,
    tools: Sequence[ToolSpec],
    count: Count,
    scrub: Scrub = str,
) -> Iterator[RequestItem]:
    """Yield the items of a request: sections of the system prompt, tools, and the blocks of its messages."""
    reader = _MessageReader(
        parts={part.id: part for message in view.messages for part in message.parts},
        summaries=frozenset(summaries(view.messages)),
        reductions=effective_reductions(view.decisions),
        pinned_ids=pinned_part_ids(view.messages, view.decisions),
        count=count,
        scrub=scrub,
    )
    for message in projection.messages:
        if message.role == "system":
            yield from _system_items(message, count, scrub)
    for tool in tools if projection.tools_tokens else ():
        yield RequestItem(
            kind="tools",
            name=tool.name,
            words=one_line(scrub(tool.description)),
            tokens=tools_tokens((tool,), count),
            remark=_tool_remark(tool),
        )
    for message in projection.messages:
        if message.role != "system":
            yield from reader.items(message)


def first_line(text: str) -> str:
    """Return the first line of a text that is not blank."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def state_of(decision: Decision) -> ShownAs:
    """Return how a reduction shows its part; a limit on pictures leaves the text of an output whole."""
    pictures = pictures_of(decision)
    if not pictures or not is_whole_text(decision):
        return STATE_OF_ACTION[decision.action]
    is_left_out = any(LEFT_OUT in picture for picture in pictures.values())
    return "pictures left out" if is_left_out else "pictures smaller"


def name_and_first_line(part: Part, scrub: Scrub) -> tuple[str, str]:
    """Return the name of a part, and its first line or the subject of its call."""
    match part:
        case ToolPart():
            return one_line(scrub(part.tool), MAX_NAME_CHARS), one_line(scrub(_subject(part)))
        case TextPart():
            return "note" if part.synthetic else "text", one_line(scrub(part.text))
        case ReasoningPart():
            return part.type, one_line(scrub(part.text))
        case FilePart():
            return part.type, one_line(scrub(part.filename or part.mime))
        case CompactionPart():
            return "marker", "asks for a summary"
        case _:
            return part.type, one_line(scrub(part.words_for_summary()))


def _subject(part: ToolPart) -> str:
    arguments = part.state.input
    code = arguments.get("code")
    if isinstance(code, str) and code.strip():
        return first_code_line(code)
    return subject(arguments) or getattr(part.state, "title", None) or ""


def _tool_remark(tool: ToolSpec) -> str:
    """Return how a tool differs from what its server sent; empty where it does not."""
    is_cut = len(tool.description) >= MAX_DESCRIPTION_CHARS
    changes = {"schema repaired": is_repaired(tool), "description cut": is_cut}
    return ", ".join(name for name, has_change in changes.items() if has_change)


def _system_items(message: NeutralMessage, count: Count, scrub: Scrub) -> Iterator[RequestItem]:
    overhead_tokens = MESSAGE_TOKENS
    for block in message.blocks:
        text = str(getattr(block, "text", ""))
        root_match = PROJECT_ROOT.search(text)
        for section, tokens in shared_among_sections(text, block_tokens(block, count)):
            beginning = first_line(section.text.removeprefix(f"{INSTRUCTIONS}{section.name}"))
            name = (
                section.name.removeprefix(f"{root_match[1]}/")
                if root_match is not None
                else section.name
            )
            yield RequestItem(
                kind=section.kind,
                name=one_line(scrub(name)),
                words=one_line(scrub(beginning)),
                tokens=overhead_tokens + tokens,
            )
            overhead_tokens = 0


@dataclass(frozen=True, slots=True)
class _MessageReader:
    """Makes items of messages, with the session's data about their parts."""

    parts: Mapping[str, Part]
    summaries: frozenset[str]
    reductions: Mapping[str, Decision]
    pinned_ids: frozenset[str]
    count: Count
    scrub: Scrub

    def items(self, message: NeutralMessage) -> Iterator[RequestItem]:
        """Yield the blocks of a message; the first includes the message's overhead, which else is an item of its own."""
        overhead_tokens = MESSAGE_TOKENS
        for block in message.blocks:
            yield self._block_item(
                message, block, overhead_tokens + block_tokens(block, self.count)
            )
            overhead_tokens = 0
        if overhead_tokens:
            kind = kind_of(message, None, self.summaries)
            name = KIND_NAMES.get(kind, kind)
            yield RequestItem(
                kind=kind, name=name, tokens=overhead_tokens, message_id=message.message_id
            )

    def _block_item(self, message: NeutralMessage, block: Block, tokens: int) -> RequestItem:
        kind = kind_of(message, block, self.summaries)
        part = self.parts.get(block.part_id or "")
        name, words = KIND_NAMES.get(kind, kind), str(getattr(block, "text", ""))
        first_words = name_and_first_line(part, self.scrub)[1] if part is not None else ""
        match block:
            case CallBlock():
                name, words = f"{block.tool} call", first_words
            case ResultBlock():
                name, words = block.tool, first_words or block.text
            case TextBlock() if isinstance(part, ToolPart) and is_provider_call(part):
                name, words = f"{part.tool} at the provider", first_words or words
            case _ if _is_by_engine(part, kind):
                name = "note"
            case _:
                words = words or str(getattr(block, "filename", "") or getattr(block, "mime", ""))
        return RequestItem(
            kind=kind,
            name=one_line(self.scrub(name), MAX_NAME_CHARS),
            words=one_line(self.scrub(words)),
            tokens=tokens,
            message_id=message.message_id,
            part_id=block.part_id,
            state=self._state(block, part),
            pinned=block.part_id in self.pinned_ids,
        )

    def _state(self, block: Block, part: Part | None) -> ShownAs:
        is_at_provider = isinstance(part, ToolPart) and is_provider_call(part)
        if not isinstance(block, ResultBlock) and not is_at_provider:
            return "whole"
        decision = self.reductions.get(block.part_id or "")
        if decision is not None:
            return state_of(decision)
        is_converted = isinstance(block, TextBlock) and not native_of(block.metadata)
        return "told as text" if is_converted else "whole"


def _is_by_engine(part: Part | None, kind: str) -> bool:
    """Return whether the engine wrote a block: a synthetic part, or a message that repairs the turn order."""
    if part is None:
        return kind == "user"
    return getattr(part, "synthetic", False) or part.type == "compaction"

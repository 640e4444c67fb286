"""Estimate how many tokens of the context window a request takes, and check whether it fits.

Counts are those of a real tokenizer, corrected by the usage that the provider reported for this session. OpenCode's
rules use the usage that the provider reported for the last answer; Palimpsest's uses an estimate of the request that is
about to be sent, and keeps its reserve for every model, including those without a separate input limit.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.transcript.context_values.decisions import Facts
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
from palimpsest.transcript.context_values.policies import OverflowPolicy, Policy
from palimpsest.transcript.provider_calls import native_of
from palimpsest.transcript.values import CHARS_PER_TOKEN, ModelInfo, ToolSpec, Usage

Count = Callable[[str], int]

MESSAGE_TOKENS = 4
"""Role and separators of one message, in OpenAI's published chat format."""
MEDIA_TOKENS = 1_600
"""One image at the size that providers scale to: Anthropic counts width x height / 750, at most about 1,600."""
CALL_TOKENS = 8
"""Overhead around a call's name and arguments, measured by comparing with reported usage."""
_JSON = json.JSONEncoder(ensure_ascii=False)
"""Created once, since a long session has hundreds of calls."""
CALIBRATION_RANGE = (0.5, 4.0)
"""A ratio outside of this range means that the report is wrong rather than our estimate."""


def quarter_chars(text: str) -> int:
    """Estimate tokens as OpenCode does: a quarter of the UTF-16 length, rounded half up.

    For Chinese text it finds only about a quarter of the tokens.
    """
    wide_count = 0 if text.isascii() else sum(char > "\uffff" for char in text)
    utf16_units = len(text) + wide_count
    return (utf16_units + CHARS_PER_TOKEN // 2) // CHARS_PER_TOKEN


WIDE_CHARACTER_PATTERN = lazy_pattern(
    r"[\u2e80-\u9fff\ua000-\ua4ff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0002fa1f]"
)
CHARS_PER_WIDE_CHARACTER = 4
"""English characters that cost as many tokens as one Chinese, Japanese or Korean character."""


def weigh_chars(text: str, *, counts_width: bool = True) -> int:
    """Return the length of a text with each wide character counted as ``CHARS_PER_WIDE_CHARACTER``, or plain."""
    if not counts_width or text.isascii():
        return len(text)
    return len(text) + (CHARS_PER_WIDE_CHARACTER - 1) * sum(
        1 for _ in WIDE_CHARACTER_PATTERN.finditer(text)
    )


def block_tokens(block: Block, count: Count) -> int:
    """Estimate the tokens of one block."""
    match block:
        case MediaBlock():
            return MEDIA_TOKENS
        case CallBlock(tool=tool, input=arguments):
            return CALL_TOKENS + count(tool) + count(_JSON.encode(arguments))
        case ResultBlock(text=text, media=media):
            return CALL_TOKENS + count(text) + MEDIA_TOKENS * len(media)
        case TextBlock(metadata=metadata) if metadata and native_of(metadata):
            return count(_JSON.encode(native_of(metadata)))
        case _:
            return count(block.text)


def message_tokens(message: NeutralMessage, count: Count) -> int:
    """Estimate the tokens of one message."""
    return MESSAGE_TOKENS + sum(block_tokens(block, count) for block in message.blocks)


def tools_tokens(tools: Sequence[ToolSpec], count: Count) -> int:
    """Estimate the tokens of the tool descriptions."""
    # Sorted, as the journal stores them, so that a review counts what the live loop counted.
    texts = [
        text
        for tool in tools
        for text in (tool.name, tool.description, json.dumps(tool.parameters, sort_keys=True))
    ]
    return CALL_TOKENS * len(tools) + sum(map(count, texts))


def json_tokens(messages: NeutralMessages) -> int:
    """Estimate messages as OpenCode does: a quarter of their JSON."""
    ai_sdk_messages = [
        {"role": message.role, "content": [_ai_sdk_block(block) for block in message.blocks]}
        for message in messages
    ]
    return quarter_chars(json.dumps(ai_sdk_messages, ensure_ascii=False, separators=(",", ":")))


def _ai_sdk_block(block: Block) -> dict[str, Any]:
    """Return a block in the JSON shape of the AI SDK, whose length is counted."""
    match block:
        case TextBlock(text=text):
            return {"type": "text", "text": text}
        case ReasoningBlock(text=text, metadata=metadata):
            return {"type": "reasoning", "text": text, "providerOptions": metadata}
        case MediaBlock(mime=mime, url=url, filename=filename):
            file_name = {"filename": filename} if filename else {}
            return {"type": "file", "mediaType": mime, **file_name, "data": url}
        case CallBlock(call_id=call_id, tool=tool, input=arguments):
            call = {"toolCallId": call_id, "toolName": tool}
            return {"type": "tool-call", **call, "input": arguments}
        case ResultBlock(call_id=call_id, tool=tool, text=text, is_error=is_error):
            call = {"toolCallId": call_id, "toolName": tool}
            output = {"type": "error-text" if is_error else "text", "value": text}
            return {"type": "tool-result", **call, "output": output}


@dataclass(frozen=True, slots=True)
class BudgetCheck:
    """Whether a request fits its budget, and the numbers that were compared."""

    fits: bool
    tokens: int
    """Estimated tokens, corrected by the provider's earlier reports."""
    budget: int
    """The window minus the reserve for the answer; 0 where the window has no limit."""


def usage_ratio(usage: Usage, estimated_tokens: int) -> float:
    """Return the ratio of reported to estimated prompt tokens; 1 where nothing was reported."""
    if usage.estimated or not usage.prompt or not estimated_tokens:
        return 1.0
    low, high = CALIBRATION_RANGE
    return round(min(max(usage.prompt / estimated_tokens, low), high), 4)


def answer_tokens(tokens: int, facts: Facts, model: ModelInfo, policy: OverflowPolicy) -> int:
    """Return the maximum tokens to allow for an answer; ``tokens`` is the estimate of its request.

    Providers count them against the window, so a model's whole output limit gets long sessions refused early.
    """
    tokens_left = max(facts.capacity - round(tokens * facts.calibration), facts.reserve)
    return min(model.output_limit, policy.output_cap, tokens_left)


def check_budget(tokens: int, facts: Facts) -> BudgetCheck:
    """Compare an estimate with the budget; everything fits a window without a limit."""
    corrected_tokens = round(tokens * facts.calibration)
    if not facts.window:
        return BudgetCheck(fits=True, tokens=corrected_tokens, budget=0)
    budget = max(facts.window - facts.reserve, 0)
    return BudgetCheck(fits=corrected_tokens < budget, tokens=corrected_tokens, budget=budget)


MIN_FULL_SHARE = 0.99
"""An empty answer at its length limit had no tokens left if the prompt filled this share of the window."""
DEFAULT_RESERVE_TOKENS = 20_000
"""Tokens kept free by rules after ``opencode-1.1`` where none are configured, at most the longest answer."""


def answer_token_limit(model: ModelInfo, policy: OverflowPolicy) -> int:
    """Return the maximum number of tokens requested for one answer."""
    return min(model.output_limit, policy.output_cap) or policy.output_cap


def usable_tokens(model: ModelInfo, policy: OverflowPolicy) -> int:
    """Return the tokens of the window that a request may fill."""
    max_answer = answer_token_limit(model, policy)
    reserve = (
        min(DEFAULT_RESERVE_TOKENS, max_answer) if policy.reserved is None else policy.reserved
    )
    match policy.rule:
        case "opencode-1.1":
            return model.input_limit or model.window - max_answer
        case "opencode-1.18":
            if model.input_limit:
                return max(0, model.input_limit - reserve)
            return max(0, model.window - max_answer)
        case "precheck" | "estimate":
            # Most of a window that is too small for its reserve is still left to the request.
            total_limit = min(model.input_limit or model.window, model.window)
            return max(0, total_limit - min(reserve, total_limit // _reserve_divisor(policy)))


def usage_overflows(usage: Usage, model: ModelInfo, policy: OverflowPolicy) -> bool:
    """Return whether the reported usage of the last answer calls for a compaction."""
    if not policy.auto or model.window <= 0:
        return False
    if policy.rule == "opencode-1.1":
        return usage.input + usage.cache_read + usage.output > usable_tokens(model, policy)
    used_tokens = usage.total or (usage.prompt + usage.output)
    return used_tokens >= usable_tokens(model, policy)


def is_silently_truncated(
    usage: Usage, finish: str | None, model: ModelInfo, policy: OverflowPolicy
) -> bool:
    """Return whether an answer's usage shows that the provider truncated the prompt without an error.

    Such a provider answers as if nothing had happened, but reports more tokens than the window holds, or returns an
    empty answer because no tokens were left. Our own estimates are no evidence of it.
    """
    if policy.silent == "none" or usage.estimated or model.window <= 0:
        return False
    prompt_tokens = usage.prompt if policy.silent == "all" else usage.input + usage.cache_read
    if finish == "stop":
        return prompt_tokens > model.window
    is_full = prompt_tokens >= MIN_FULL_SHARE * model.window
    return policy.silent == "all" and finish == "length" and not usage.output and is_full


RESERVE_DIVISOR = 4
"""The reserve takes a quarter of a small window at most, the share that OpenClaw keeps free."""
CONFIGURED_RESERVE_DIVISOR = 2


def reserved_tokens(policy: Policy, model: ModelInfo) -> int:
    """Return the tokens kept free for the answer: the policy's, the model's limit, at most a quarter of the window.

    A limit as long as the window means only that prompt and answer share it. A number that the user set may take half of the window.
    It is 0 for a window without a limit.
    """
    largest_reserve = model.window // _reserve_divisor(policy.overflow)
    return min(policy.reserved, model.output_limit, largest_reserve)


def _reserve_divisor(policy: OverflowPolicy) -> int:
    """Return the divisor of a window for its largest reserve; smaller where the user configured a number."""
    return RESERVE_DIVISOR if policy.reserved is None else CONFIGURED_RESERVE_DIVISOR

"""Repair neutral messages: apply the rules for a provider, in the order that the policy demands.

Live, imported and cut histories contain calls without results, results without calls, duplicate
ids and turn orders that a provider refuses. The default repairs all of it after the history limit;
the OpenClaw presets sanitise first, then validate turns, limit, and pair again, since a limit can
separate a call from its result.

Almost every history of our own is valid, and the rules together read each message a dozen
times. The default therefore checks in one pass whether each of its rules would leave the messages
unchanged, and applies the rules only where one would not.
"""

from collections.abc import Callable

from palimpsest.context.message_repair.frame_pairing import FailedCalls, FrameRule, repair_frames
from palimpsest.context.message_repair.message_blocks import (
    RECORDED_MISSING,
    RepairReport,
    one_result_per_message,
    results_joined,
)
from palimpsest.context.message_repair.pairing import MISSING_RESULT_TEXT, with_paired_results
from palimpsest.context.message_repair.span_pairing import repair_spans
from palimpsest.context.message_repair.thinking_removal import OMITTED, drop_thinking
from palimpsest.context.message_repair.tool_ids import Mode, unique_ids, write_tool_ids
from palimpsest.context.message_repair.turn_order import (
    drop_dangling_calls,
    merge_answers,
    merge_questions,
    system_first,
    user_first,
    user_last,
    with_allowed_blocks,
    without_empty_messages,
)
from palimpsest.context.message_repair.usable_calls import (
    MAX_NAME_CHARS,
    STRICT_NAME,
    UsableCallRule,
    repair_calls,
    with_accepted_names,
    with_called_names,
    with_ids,
)
from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    NeutralMessage,
    NeutralMessages,
)
from palimpsest.transcript.context_values.policies import HygieneRule
from palimpsest.transcript.provider_profile.profile import ProviderProfile
from palimpsest.transcript.provider_profile.recorded_agents import OpenclawTarget


def is_valid(messages: NeutralMessages, target: ProviderProfile) -> bool:
    """Return whether the default's rules would leave these messages as they are."""
    if not messages:
        return True
    if target.merges_answers and messages[0].role == "assistant":
        return False
    if target.must_end_with_user and messages[-1].role == "assistant":
        return False
    return _ValidityCheck(target).is_valid(messages)


class _ValidityCheck:
    """Checks messages in order: each by itself, and after the one before it."""

    def __init__(self, target: ProviderProfile) -> None:
        self._merges_answers = target.merges_answers
        self._merges_questions = target.merges_questions
        self._ids: set[str] = set()
        self._open_calls: list[CallBlock] = []
        """Calls whose results must come next."""
        self._previous_role = ""

    def is_valid(self, messages: NeutralMessages) -> bool:
        """Return whether every message is valid after the one before it."""
        checks: dict[str, Callable[[NeutralMessage], bool]] = {
            "user": self._is_valid_prompt,
            "assistant": self._is_valid_answer,
            "tool": self._are_valid_results,
        }
        for message in messages:
            if bool(self._open_calls) != (message.role == "tool"):
                return False
            check = checks.get(message.role)
            if check is None or not check(message):
                return False
            self._previous_role = message.role
        return not self._open_calls

    def _is_valid_prompt(self, message: NeutralMessage) -> bool:
        if self._merges_questions and self._previous_role == "user":
            return False
        has_content = False
        for block in message.blocks:
            if block.type == "text":
                has_content = has_content or not _is_blank(block.text)
            elif block.type == "media":
                has_content = True
            else:
                return False
        return has_content

    def _is_valid_answer(self, message: NeutralMessage) -> bool:
        if self._merges_answers and self._previous_role == "assistant":
            return False
        has_content = False
        for block in message.blocks:
            if block.type == "call":
                if not self._is_valid_call(block):
                    return False
                has_content = True
            elif block.type == "text":
                has_content = has_content or not _is_blank(block.text)
            elif block.type != "reasoning":
                return False
        return has_content

    def _is_valid_call(self, block: CallBlock) -> bool:
        is_usable = (
            not block.incomplete
            and bool(block.call_id.strip())
            and block.call_id not in self._ids
            and len(block.tool) <= MAX_NAME_CHARS
            and STRICT_NAME.fullmatch(block.tool) is not None
        )
        self._ids.add(block.call_id)
        self._open_calls.append(block)
        return is_usable

    def _are_valid_results(self, message: NeutralMessage) -> bool:
        calls, self._open_calls = self._open_calls, []
        return len(calls) == len(message.blocks) and all(
            block.type == "result" and block.call_id == call.call_id and block.tool == call.tool
            for call, block in zip(calls, message.blocks, strict=True)
        )


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


Limit = Callable[[NeutralMessages], NeutralMessages]
"""Returns the newest messages of a history, as the history limit allows."""

OPENING_TEXT = "(The conversation goes on from here.)"
CLOSING_TEXT = "(Please go on.)"


def repaired_in_order(
    messages: NeutralMessages, cut_history: Limit, rule: HygieneRule, target: ProviderProfile
) -> NeutralMessages:
    """Return the messages limited and repaired, in the order of the rule."""
    if rule == "opencode":
        return with_paired_results(cut_history(messages))
    if rule == "palimpsest":
        newest_messages = cut_history(messages)
        return (
            newest_messages
            if is_valid(newest_messages, target)
            else repaired_by_default(newest_messages, target)
        )
    sanitized = sanitized_as_recorded(one_result_per_message(messages), rule, target)
    newest_messages = cut_history(in_turn_order(sanitized, rule, target))
    return results_joined(pair_by_rule(newest_messages, rule).messages)


def repaired_by_default(messages: NeutralMessages, target: ProviderProfile) -> NeutralMessages:
    """Return the messages repaired by all of the default's rules."""
    usable = repair_messages(messages, "palimpsest")
    in_order = in_turn_order(usable, "palimpsest", target)
    return results_joined(pair_by_rule(one_result_per_message(in_order), "palimpsest").messages)


def pair_by_rule(
    messages: NeutralMessages, rule: HygieneRule, failed_calls: FailedCalls | None = None
) -> RepairReport:
    """Pair every call with a result; expects each result in a message of its own."""
    match rule:
        case "openclaw-2026.2":
            return repair_spans(messages, RECORDED_MISSING)
        case "openclaw-2026.9":
            return repair_frames(messages, FrameRule(RECORDED_MISSING, failed_calls or "drop"))
        case "palimpsest" | "opencode":
            treatment = failed_calls or "answer"
            frame_rule = FrameRule(MISSING_RESULT_TEXT, treatment, is_adopted_error=False)
            return repair_frames(messages, frame_rule)


def call_rule(
    rule: HygieneRule, allowed_names: tuple[str, ...] = (), *, whole_thinking: bool = False
) -> UsableCallRule:
    """Return which calls are usable under a rule."""
    if rule == "openclaw-2026.2":
        return UsableCallRule(strict_names=True, offered_tools=allowed_names, keep_answered=False)
    return UsableCallRule(offered_tools=allowed_names, whole_thinking=whole_thinking)


def drops_thinking(target: ProviderProfile, rule: HygieneRule) -> bool:
    """Return whether OpenClaw removes all earlier thinking for a model."""
    versions = target.recorded.openclaw_drops_thinking
    return versions == "always" or (versions == "newest" and rule == "openclaw-2026.9")


def without_thinking(messages: NeutralMessages, rule: HygieneRule) -> NeutralMessages:
    """Remove thinking that must not be sent back to the model."""
    if rule == "openclaw-2026.2":
        return drop_thinking(messages, keep_latest=False, keep_redacted=True, replacement_text="")
    return drop_thinking(messages, replacement_text=OMITTED)


def with_tool_ids(
    messages: NeutralMessages,
    mode: Mode,
    rule: HygieneRule,
    *,
    keep_native: bool = False,
    keep_signed: bool = False,
) -> NeutralMessages:
    """Write tool ids in the alphabet of a strict provider."""
    if rule == "openclaw-2026.2":
        return write_tool_ids(messages, mode, each_use=False)
    return write_tool_ids(messages, mode, keep_native=keep_native, keep_signed=keep_signed)


def gemini_turns(messages: NeutralMessages, rule: HygieneRule) -> NeutralMessages:
    """Merge answers, as Gemini demands."""
    return merge_answers(messages, keep_plain=rule == "palimpsest")


def anthropic_turns(messages: NeutralMessages, rule: HygieneRule) -> NeutralMessages:
    """Merge user messages, and in the newer rules answers, as Anthropic demands."""
    if rule == "openclaw-2026.2":
        return merge_questions(messages, keep_plain=False)
    return merge_questions(drop_dangling_calls(merge_answers(messages)))


def recorded_target(rule: HygieneRule, target: ProviderProfile) -> OpenclawTarget:
    """Return OpenClaw's rules for a model, in the rule's version."""
    recorded = target.recorded
    return recorded.openclaw_2026_2 if rule == "openclaw-2026.2" else recorded.openclaw_2026_9


def sanitized_as_recorded(
    messages: NeutralMessages, rule: HygieneRule, target: ProviderProfile
) -> NeutralMessages:
    """Repair calls, ids and pairs as OpenClaw does before it validates turns."""
    recorded_rules = recorded_target(rule, target)
    drops_all_thinking = drops_thinking(target, rule)
    has_early_ids = rule == "openclaw-2026.2"
    if recorded_rules.ids and has_early_ids:
        messages = with_tool_ids(messages, recorded_rules.ids, rule)
    if drops_all_thinking:
        messages = without_thinking(messages, rule)
    whole_thinking = recorded_rules.keep_native and not drops_all_thinking
    messages = repair_calls(messages, call_rule(rule, whole_thinking=whole_thinking)).messages
    messages = pair_by_rule(messages, rule).messages
    if recorded_rules.ids and not has_early_ids:
        messages = with_tool_ids(
            messages,
            recorded_rules.ids,
            rule,
            keep_native=recorded_rules.keep_native,
            keep_signed=whole_thinking,
        )
    return user_first(messages) if recorded_rules.user_first else messages


def repair_messages(messages: NeutralMessages, rule: HygieneRule) -> NeutralMessages:
    """Remove what cannot be sent, pair calls with results, and give each call a unique id.

    Afterwards every call has a result, no result lacks a call, ids are unique, no message is
    empty and system messages come first.
    """
    with_content = system_first(without_empty_messages(with_allowed_blocks(messages)))
    named = with_accepted_names(with_ids(one_result_per_message(with_content)))
    usable = without_empty_messages(repair_calls(named, call_rule(rule)).messages)
    return with_called_names(unique_ids(pair_by_rule(usable, rule).messages))


def in_turn_order(
    messages: NeutralMessages, rule: HygieneRule, target: ProviderProfile
) -> NeutralMessages:
    """Put turns into the order that the provider demands.

    Under the default rule the turn order is valid afterwards, and the result is as valid as after ``repair_messages``.
    """
    if rule == "palimpsest":
        return _ordered_by_default(messages, target)
    recorded_rules = recorded_target(rule, target)
    if recorded_rules.merges_answers:
        messages = gemini_turns(messages, rule)
    return anthropic_turns(messages, rule) if recorded_rules.merges_questions else messages


def _ordered_by_default(messages: NeutralMessages, target: ProviderProfile) -> NeutralMessages:
    if not target.merges_answers:
        return messages
    messages = merge_answers(messages)
    if target.merges_questions:
        messages = merge_questions(messages)
    system_count = sum(message.role == "system" for message in messages)
    with_opening = messages[:system_count] + user_first(messages[system_count:], OPENING_TEXT)
    return user_last(with_opening, CLOSING_TEXT) if target.must_end_with_user else with_opening

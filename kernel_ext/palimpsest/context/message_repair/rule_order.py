"""Repair neutral messages: apply the rules for a provider, in the order that the policy demands.

Live, imported and cut histories contain calls without results, results without calls, duplicate
ids and turn orders that a provider refuses. The default repairs all of it after the history limit;
the OpenClaw presets sanitise first, then validate turns, limit, and pair again, since a limit can
separate a call from its result (spec/context-stability.md 1.3).

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
from palimpsest.context.message_repair.pairing import MISSING, pair
from palimpsest.context.message_repair.span_pairing import repair_spans
from palimpsest.context.message_repair.thinking_removal import OMITTED, drop_thinking
from palimpsest.context.message_repair.tool_ids import Mode, own_ids, write_tool_ids
from palimpsest.context.message_repair.turn_order import (
    drop_dangling_calls,
    drop_silent,
    merge_answers,
    merge_questions,
    system_first,
    user_first,
    user_last,
    with_speakable_blocks,
)
from palimpsest.context.message_repair.usable_calls import (
    MAX_NAME_CHARS,
    STRICT_NAME,
    UsableCallRule,
    names_as_called,
    readable_names,
    repair_calls,
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
    if target.user_last and messages[-1].role == "assistant":
        return False
    return _ValidityCheck(target).is_valid(messages)


class _ValidityCheck:
    """A check of a history for validity, in one pass."""

    def __init__(self, target: ProviderProfile) -> None:
        self._merges_answers = target.merges_answers
        self._merges_questions = target.merges_questions
        self._ids: set[str] = set()
        self._open: list[CallBlock] = []
        """Calls whose results must come next."""
        self._before = ""

    def is_valid(self, messages: NeutralMessages) -> bool:
        """Return whether every message is valid after the one before it."""
        checks: dict[str, Callable[[NeutralMessage], bool]] = {
            "user": self._user,
            "assistant": self._assistant,
            "tool": self._results,
        }
        for message in messages:
            if bool(self._open) != (message.role == "tool"):
                return False
            passes = checks.get(message.role)
            if passes is None or not passes(message):
                return False
            self._before = message.role
        return not self._open

    def _user(self, message: NeutralMessage) -> bool:
        if self._merges_questions and self._before == "user":
            return False
        says = False
        for block in message.blocks:
            if block.type == "text":
                says = says or not _is_blank(block.text)
            elif block.type == "media":
                says = True
            else:
                return False
        return says

    def _assistant(self, message: NeutralMessage) -> bool:
        if self._merges_answers and self._before == "assistant":
            return False
        says = False
        for block in message.blocks:
            if block.type == "call":
                if not self._call(block):
                    return False
                says = True
            elif block.type == "text":
                says = says or not _is_blank(block.text)
            elif block.type != "reasoning":
                return False
        return says

    def _call(self, block: CallBlock) -> bool:
        usable = (
            not block.incomplete
            and bool(block.call_id.strip())
            and block.call_id not in self._ids
            and len(block.tool) <= MAX_NAME_CHARS
            and STRICT_NAME.fullmatch(block.tool) is not None
        )
        self._ids.add(block.call_id)
        self._open.append(block)
        return usable

    def _results(self, message: NeutralMessage) -> bool:
        calls, self._open = self._open, []
        return len(calls) == len(message.blocks) and all(
            block.type == "result" and block.call_id == call.call_id and block.tool == call.tool
            for call, block in zip(calls, message.blocks, strict=True)
        )


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


Limit = Callable[[NeutralMessages], NeutralMessages]

OPENING = "(The conversation goes on from here.)"
CLOSING = "(Please go on.)"


def repaired_in_order(
    messages: NeutralMessages, limit: Limit, rule: HygieneRule, target: ProviderProfile
) -> NeutralMessages:
    """Return the messages limited and repaired, in the order of the rule."""
    if rule == "opencode":
        return pair(limit(messages))
    if rule == "palimpsest":
        limited = limit(messages)
        return limited if is_valid(limited, target) else repaired_by_default(limited, target)
    sane = sanitized_as_recorded(one_result_per_message(messages), rule, target)
    return results_joined(pair_by_rule(limit(in_turn_order(sane, rule, target)), rule).messages)


def repaired_by_default(messages: NeutralMessages, target: ProviderProfile) -> NeutralMessages:
    """Return the messages repaired by all of the default's rules."""
    usable = repair_messages(messages, "palimpsest")
    in_order = in_turn_order(usable, "palimpsest", target)
    return results_joined(pair_by_rule(one_result_per_message(in_order), "palimpsest").messages)


def pair_by_rule(
    messages: NeutralMessages, rule: HygieneRule, of_failed: FailedCalls | None = None
) -> RepairReport:
    """Pair every call with a result; expects each result in a message of its own."""
    match rule:
        case "openclaw-2026.2":
            return repair_spans(messages, RECORDED_MISSING)
        case "openclaw-2026.9":
            return repair_frames(messages, FrameRule(RECORDED_MISSING, of_failed or "drop"))
        case "palimpsest" | "opencode":
            return repair_frames(
                messages, FrameRule(MISSING, of_failed or "answer", doubt_adopted=False)
            )


def call_rule(
    rule: HygieneRule, allowed: tuple[str, ...] = (), *, whole_thinking: bool = False
) -> UsableCallRule:
    """Return which calls are usable under a rule."""
    if rule == "openclaw-2026.2":
        return UsableCallRule(strict_names=True, allowed=allowed, keep_answered=False)
    return UsableCallRule(allowed=allowed, whole_thinking=whole_thinking)


def drops_thinking(target: ProviderProfile, rule: HygieneRule) -> bool:
    """Return whether OpenClaw removes all earlier thinking for a model (spec/context-stability.md 1.4)."""
    drops = target.recorded.openclaw_drops_thinking
    return drops == "always" or (drops == "newest" and rule == "openclaw-2026.9")


def without_thinking(messages: NeutralMessages, rule: HygieneRule) -> NeutralMessages:
    """Remove thinking that must not be sent back to the model."""
    if rule == "openclaw-2026.2":
        return drop_thinking(messages, keep_latest=False, keep_redacted=True, omitted="")
    return drop_thinking(messages, omitted=OMITTED)


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
    """Return OpenClaw's rules for a model, in the rule's version (spec/context-stability.md 1.4)."""
    recorded = target.recorded
    return recorded.openclaw_2026_2 if rule == "openclaw-2026.2" else recorded.openclaw_2026_9


def sanitized_as_recorded(
    messages: NeutralMessages, rule: HygieneRule, target: ProviderProfile
) -> NeutralMessages:
    """Repair calls, ids and pairs as OpenClaw does before it validates turns."""
    to = recorded_target(rule, target)
    thoughtless = drops_thinking(target, rule)
    early_ids = rule == "openclaw-2026.2"
    if to.ids and early_ids:
        messages = with_tool_ids(messages, to.ids, rule)
    if thoughtless:
        messages = without_thinking(messages, rule)
    whole = to.keep_native and not thoughtless
    messages = repair_calls(messages, call_rule(rule, whole_thinking=whole)).messages
    messages = pair_by_rule(messages, rule).messages
    if to.ids and not early_ids:
        messages = with_tool_ids(
            messages, to.ids, rule, keep_native=to.keep_native, keep_signed=whole
        )
    return user_first(messages) if to.user_first else messages


def repair_messages(messages: NeutralMessages, rule: HygieneRule) -> NeutralMessages:
    """Remove what cannot be sent, pair calls with results, and give each call a unique id.

    Afterwards every call has a result, no result lacks a call, ids are unique, no message is
    empty and system messages come first.
    """
    sayable = system_first(drop_silent(with_speakable_blocks(messages)))
    usable = repair_calls(
        readable_names(with_ids(one_result_per_message(sayable))), call_rule(rule)
    ).messages
    return names_as_called(own_ids(pair_by_rule(drop_silent(usable), rule).messages))


def in_turn_order(
    messages: NeutralMessages, rule: HygieneRule, target: ProviderProfile
) -> NeutralMessages:
    """Put turns into the order that the provider demands.

    Under the default rule the turn order is valid afterwards, and the result is as valid as after ``repair_messages``.
    """
    if rule == "palimpsest":
        return _ordered_by_need(messages, target)
    to = recorded_target(rule, target)
    if to.merges_answers:
        messages = gemini_turns(messages, rule)
    return anthropic_turns(messages, rule) if to.merges_questions else messages


def _ordered_by_need(messages: NeutralMessages, target: ProviderProfile) -> NeutralMessages:
    if not target.merges_answers:
        return messages
    messages = merge_answers(messages)
    if target.merges_questions:
        messages = merge_questions(messages)
    system = sum(message.role == "system" for message in messages)
    opened = messages[:system] + user_first(messages[system:], OPENING)
    return user_last(opened, CLOSING) if target.user_last else opened

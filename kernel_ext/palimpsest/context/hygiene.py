"""Repair provider messages: which rules, in which order, for which provider.

Live, imported and cut histories come with calls that nobody answered, results of no call, ids
used twice and turns that a provider refuses. The default mends all of it after the history limit;
the presets of recorded agents sanitise first, then validate turns, limit, and pair again, since a
limit can cut a call from its result (spec/context-stability.md 1.3). A history that is valid
already goes through as the very same messages; by the default it is only looked at once.
"""

from collections.abc import Callable
from dataclasses import dataclass

from palimpsest.context.calls import (
    CallRule,
    names_as_called,
    readable_names,
    repair_calls,
    with_ids,
)
from palimpsest.context.families import ProviderFamily, is_copilots_claude, is_old_claude
from palimpsest.context.frames import FailedCalls, FrameRule, repair_frames
from palimpsest.context.pairing import MISSING, pair
from palimpsest.context.repair import RECORDED_MISSING, Repair, gather, spread
from palimpsest.context.spans import repair_spans
from palimpsest.context.thinking import OMITTED, drop_thinking
from palimpsest.context.tool_ids import Mode, own_ids, write_tool_ids
from palimpsest.context.turns import (
    drop_dangling_calls,
    drop_silent,
    fitting,
    merge_answers,
    merge_questions,
    system_first,
    user_first,
    user_last,
)
from palimpsest.context.valid import (
    MERGES_ANSWERS,
    MERGES_QUESTIONS,
    USER_SPEAKS_LAST,
    is_valid,
)
from palimpsest.transcript.flat import FlatMessages
from palimpsest.transcript.policies import HygieneRule
from palimpsest.transcript.values import ModelRef

Limit = Callable[[FlatMessages], FlatMessages]

OPENING = "(The conversation goes on from here.)"
CLOSING = "(Please go on.)"


def clean(
    messages: FlatMessages,
    limit: Limit,
    rule: HygieneRule,
    family: ProviderFamily,
    *,
    thoughtless: bool = False,
) -> FlatMessages:
    """Return the messages limited and repaired, in the order of the rule.

    ``thoughtless`` says that the model does not want its thoughts back (``drops_thinking``).
    """
    if rule == "opencode":
        return pair(limit(messages))
    if rule == "palimpsest":
        limited = limit(messages)
        return limited if is_valid(limited, family) else mended(limited, family)
    sane = sanitized(spread(messages), rule, family, thoughtless=thoughtless)
    return gather(pairing(limit(ordered(sane, rule, family)), rule).messages)


def mended(messages: FlatMessages, family: ProviderFamily) -> FlatMessages:
    """Return the messages repaired by the default's rules, whatever is wrong with them."""
    usable = repaired(messages, "palimpsest")
    in_order = ordered(usable, "palimpsest", family)
    return gather(pairing(spread(in_order), "palimpsest").messages)


def pairing(
    messages: FlatMessages, rule: HygieneRule, of_failed: FailedCalls | None = None
) -> Repair:
    """Give every call its result; expects a message for each result."""
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
) -> CallRule:
    """Return which calls are usable under a rule."""
    if rule == "openclaw-2026.2":
        return CallRule(strict_names=True, allowed=allowed, keep_answered=False)
    return CallRule(allowed=allowed, whole_thinking=whole_thinking)


def drops_thinking(ref: ModelRef, rule: HygieneRule) -> bool:
    """Tell whether a recorded agent gives a model none of its thoughts (spec/context-stability.md 1.4)."""
    if rule == "openclaw-2026.2":
        return is_copilots_claude(ref)
    return rule == "openclaw-2026.9" and (is_copilots_claude(ref) or is_old_claude(ref))


def without_thinking(messages: FlatMessages, rule: HygieneRule) -> FlatMessages:
    """Remove thinking that the model does not want back."""
    if rule == "openclaw-2026.2":
        return drop_thinking(messages, keep_latest=False, omitted="")
    return drop_thinking(messages, omitted=OMITTED)


def with_tool_ids(
    messages: FlatMessages, mode: Mode, rule: HygieneRule, *, keep_native: bool = False
) -> FlatMessages:
    """Write tool ids in the alphabet of a strict provider."""
    if rule == "openclaw-2026.2":
        return write_tool_ids(messages, mode, each_use=False)
    return write_tool_ids(messages, mode, keep_native=keep_native)


def gemini_turns(messages: FlatMessages, rule: HygieneRule) -> FlatMessages:
    """Merge answers, as Gemini demands."""
    return merge_answers(messages, keep_plain=rule == "palimpsest")


def anthropic_turns(messages: FlatMessages, rule: HygieneRule) -> FlatMessages:
    """Merge questions, and in the newer rules answers, as Anthropic demands."""
    if rule == "openclaw-2026.2":
        return merge_questions(messages, keep_plain=False)
    return merge_questions(drop_dangling_calls(merge_answers(messages)))


@dataclass(frozen=True, slots=True)
class Target:
    """What a recorded agent does for one family of providers."""

    ids: Mode | None = None
    gemini: bool = False
    anthropic: bool = False
    user_first: bool = False
    keep_native: bool = False
    """Ids as Anthropic gives them stay, and so do answers that it signed."""


OLD_TARGETS: dict[ProviderFamily, Target] = {
    "google": Target(ids="strict", gemini=True, user_first=True),
    "anthropic": Target(ids="strict", anthropic=True),
    "mistral": Target(ids="strict9"),
    "openai": Target(),
    "compatible": Target(anthropic=True),
}
NEW_TARGETS: dict[ProviderFamily, Target] = {
    "google": Target(ids="strict", gemini=True, user_first=True),
    "anthropic": Target(ids="strict", anthropic=True, keep_native=True),
    "mistral": Target(ids="strict9"),
    "openai": Target(ids="strict"),
    "compatible": Target(ids="strict", gemini=True, anthropic=True, user_first=True),
}


def target(rule: HygieneRule, family: ProviderFamily) -> Target:
    """Return what a recorded agent does for a family (spec/context-stability.md 1.4)."""
    return (OLD_TARGETS if rule == "openclaw-2026.2" else NEW_TARGETS)[family]


def sanitized(
    messages: FlatMessages, rule: HygieneRule, family: ProviderFamily, *, thoughtless: bool = False
) -> FlatMessages:
    """Repair calls, ids and pairs as a recorded agent does before it looks at turns."""
    to = target(rule, family)
    early_ids = rule == "openclaw-2026.2"
    if to.ids and early_ids:
        messages = with_tool_ids(messages, to.ids, rule)
    if thoughtless:
        messages = without_thinking(messages, rule)
    whole = to.keep_native and not thoughtless
    messages = repair_calls(messages, call_rule(rule, whole_thinking=whole)).messages
    messages = pairing(messages, rule).messages
    if to.ids and not early_ids:
        messages = with_tool_ids(messages, to.ids, rule, keep_native=to.keep_native)
    return user_first(messages) if to.user_first else messages


def repaired(messages: FlatMessages, rule: HygieneRule) -> FlatMessages:
    """Leave out what cannot be sent, pair calls with results, and give each call an id of its own.

    Establishes that calls have results, that there are no orphans, that ids are own, that nothing
    is empty and that system messages come first.
    """
    sayable = system_first(drop_silent(fitting(messages)))
    usable = repair_calls(readable_names(with_ids(spread(sayable))), call_rule(rule)).messages
    return names_as_called(own_ids(pairing(drop_silent(usable), rule).messages))


def ordered(messages: FlatMessages, rule: HygieneRule, family: ProviderFamily) -> FlatMessages:
    """Put turns into the order that the provider demands.

    Establishes the turn order of the default, and keeps what ``repaired`` established.
    """
    if rule == "palimpsest":
        return _ordered_by_need(messages, family)
    to = target(rule, family)
    if to.gemini:
        messages = gemini_turns(messages, rule)
    return anthropic_turns(messages, rule) if to.anthropic else messages


def _ordered_by_need(messages: FlatMessages, family: ProviderFamily) -> FlatMessages:
    if family not in MERGES_ANSWERS:
        return messages
    messages = merge_answers(messages)
    if family in MERGES_QUESTIONS:
        messages = merge_questions(messages)
    system = sum(message.role == "system" for message in messages)
    opened = messages[:system] + user_first(messages[system:], OPENING)
    return user_last(opened, CLOSING) if family in USER_SPEAKS_LAST else opened

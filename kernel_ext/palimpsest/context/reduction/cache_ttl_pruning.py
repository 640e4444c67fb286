"""Trim and clear tool outputs when the provider's prompt cache is cold, so that it costs nothing.

Border: pure. Follows spec/context-stability.md 1.13: when the request fills one share of the window,
long outputs are trimmed to head and tail, and where that is not enough the oldest are cleared. Under a
policy that is not sticky this holds for one request: the next decides anew, and restores what it does
not decide again (OpenClaw changes its request only, never its session).
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from palimpsest.context.budget.request_tokens import weigh_chars
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.reduction.shown_outputs import CallOutput, shown_outputs
from palimpsest.context.reduction.truncation import shorten
from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import (
    Decision,
    DecisionAction,
    EffectiveDecisions,
    Facts,
    effective_reductions,
    pinned_parts,
)
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.context_values.prune_policy import PRUNE_RULE, PrunePolicy
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.parts import (
    FilePart,
    NotedPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
)

CACHE_TTL = f"{PRUNE_RULE}cache-ttl"

CHARS_PER_TOKEN = 4
MEDIA_CHARS = 8_000
"""How many characters an image counts as."""
GAP = "\n...\n"
MEDIA_GONE = "[image removed during context pruning]"


@dataclass(frozen=True, slots=True)
class PruneAction:
    """What is to be done with one output."""

    action: DecisionAction
    numbers: Mapping[str, int | str]
    output: CallOutput


def prune_cache(
    view: View,
    policy: Policy,
    facts: Facts,
    new_id: Callable[[], str],
    count: Callable[[str], int],
) -> tuple[Decision, ...]:
    """Decide which outputs the coming request shows trimmed or cleared."""
    rule = policy.prune
    bare = view if rule.sticky else _before(view)
    age = facts.cache_age_seconds
    cold = age is not None and rule.ttl_seconds > 0 and age >= rule.ttl_seconds
    messages = bare.folded(policy.compact)
    wanted = _plan(bare, messages, rule, facts.window) if cold else {}
    own = {
        part_id: decision
        for part_id, decision in effective_reductions(view.decisions).items()
        if decision.rule == CACHE_TTL
    }
    return (
        *_taken_back(own, wanted, rule, new_id),
        *(
            Decision(
                id=new_id(),
                action=one.action,
                rule=CACHE_TTL,
                message_id=one.output.part.message_id,
                part_id=part_id,
                numbers=dict(one.numbers) | {"cache_age_seconds": age},
                tokens_before=count(one.output.shown),
                tokens_after=count(_shown(one.output.whole, one)),
            )
            for part_id, one in wanted.items()
            if not _same(own.get(part_id), one)
        ),
    )


def prunable(tool: str, rule: PrunePolicy) -> bool:
    """Return whether the outputs of a tool may be pruned: denied tools never, else what is allowed."""
    name = tool.strip().lower()
    if any(_matches(name, pattern) for pattern in rule.deny_tools):
        return False
    return not rule.allow_tools or any(_matches(name, pattern) for pattern in rule.allow_tools)


def _matches(name: str, pattern: str) -> bool:
    pieces = pattern.strip().lower().split("*")
    return re.fullmatch(".*".join(map(re.escape, pieces)), name, re.DOTALL) is not None


def _before(view: View) -> View:
    """Return the view without what this rule decided for earlier requests."""
    kept = tuple(decision for decision in view.decisions if decision.rule != CACHE_TTL)
    return replace(view, decisions=kept)


def _taken_back(
    own: Mapping[str, Decision],
    wanted: Mapping[str, PruneAction],
    rule: PrunePolicy,
    new_id: Callable[[], str],
) -> list[Decision]:
    if rule.sticky:
        return []
    return [
        Decision(
            id=new_id(),
            action="restore",
            rule=CACHE_TTL,
            message_id=decision.message_id,
            part_id=part_id,
            tokens_before=decision.tokens_after,
            tokens_after=decision.tokens_before,
        )
        for part_id, decision in own.items()
        if part_id not in wanted or not _same(decision, wanted[part_id])
    ]


def _same(made: Decision | None, one: PruneAction) -> bool:
    if made is None or made.action != one.action:
        return False
    return {name: made.numbers.get(name) for name in one.numbers} == dict(one.numbers)


def _plan(view: View, messages: Messages, rule: PrunePolicy, window: int) -> dict[str, PruneAction]:
    room = window * CHARS_PER_TOKEN
    total = sum(_message_chars(message, rule) for message in apply_decisions(messages, view))
    if room <= 0 or total / room < rule.soft_ratio:
        return {}
    candidates = _candidates(view, messages, rule)
    wanted: dict[str, PruneAction] = {}
    sizes = {output.part.id: _output_chars(output, rule) for output in candidates}
    for output in candidates:
        trimmed = _trim(output, rule)
        if trimmed is None:
            continue
        wanted[output.part.id] = trimmed
        size = weigh_chars(_shown(output.whole, trimmed), wide=rule.wide_chars)
        total += size - sizes[output.part.id]
        sizes[output.part.id] = size
    if not rule.hard_clear or sum(sizes.values()) < rule.min_prunable_chars:
        return wanted
    for output in candidates:
        if total / room < rule.hard_ratio:
            break
        wanted[output.part.id] = PruneAction("clear", {"text": rule.placeholder}, output)
        total += weigh_chars(rule.placeholder, wide=rule.wide_chars) - sizes[output.part.id]
    return wanted


def _candidates(view: View, messages: Messages, rule: PrunePolicy) -> list[CallOutput]:
    """Return what may be pruned: after the first prompt, before the newest answers, oldest first."""
    answers = [
        at for at, message in enumerate(messages) if isinstance(message.info, AssistantMessage)
    ]
    prompts = [at for at, message in enumerate(messages) if isinstance(message.info, UserMessage)]
    if len(answers) < rule.keep_assistants or not prompts:
        return []
    end = answers[-rule.keep_assistants] if rule.keep_assistants else len(messages)
    kept = pinned_parts(messages, view.decisions) | EffectiveDecisions(view.decisions).restored
    return [
        output
        for output in shown_outputs(view, messages)
        if prompts[0] < output.position < end
        and output.part.id not in kept
        and prunable(output.tool, rule)
        and not (output.media and rule.media == "spared")
    ]


def _trim(output: CallOutput, rule: PrunePolicy) -> PruneAction | None:
    """Keep head and tail of a long output, and a placeholder for each of its images."""
    gone = [MEDIA_GONE] * output.media
    source = "\n".join([output.whole, *gone] if output.whole else gone)
    shown = "\n".join([output.shown, *gone] if output.shown else gone)
    appended = source[len(output.whole) :]
    head, tail = max(rule.soft_head_chars, 0), max(rule.soft_tail_chars, 0)
    if len(shown) <= rule.soft_max_chars or head + tail >= len(shown):
        if not output.media:
            return None
        numbers: dict[str, int | str] = _ends(len(source), 0, "", "")
    else:
        note = (
            f"\n\n[Tool result trimmed: kept first {head} chars and last {tail} chars "
            f"of {len(source)} chars.]"
        )
        numbers = _ends(head, tail, GAP, note) | {"omitted": len(source) - head - tail}
    if output.media:
        numbers |= {"appended": appended, "without_media": True}
    return PruneAction("truncate", numbers, output)


def _ends(head: int, tail: int, middle: str, suffix: str) -> dict[str, int | str]:
    return {
        "head_chars": head,
        "tail_chars": tail,
        "middle": middle,
        "suffix": suffix,
        "omitted": 0,
        "unit": "characters",
    }


def _shown(whole: str, one: PruneAction) -> str:
    return str(one.numbers["text"]) if one.action == "clear" else shorten(whole, one.numbers)


def _output_chars(output: CallOutput, rule: PrunePolicy) -> int:
    return weigh_chars(output.shown, wide=rule.wide_chars) + MEDIA_CHARS * output.media


def _message_chars(message: Message, rule: PrunePolicy) -> int:
    return sum(_part_chars(part, rule) for part in message.parts)


def _part_chars(part: Part, rule: PrunePolicy) -> int:
    match part:
        case TextPart():
            return 0 if part.ignored else weigh_chars(part.text, wide=rule.wide_chars)
        case ReasoningPart():
            return weigh_chars(part.text, wide=rule.wide_chars)
        case FilePart():
            return MEDIA_CHARS
        case ToolPart():
            given = json.dumps(part.state.input, ensure_ascii=False, separators=(",", ":"))
            return len(given) + _state_chars(part, rule)
        case _:
            return _noted_chars(part, rule)


def _noted_chars(part: NotedPart, rule: PrunePolicy) -> int:
    return weigh_chars(part.words_for_summary(), wide=rule.wide_chars)


def _state_chars(part: ToolPart, rule: PrunePolicy) -> int:
    match part.state:
        case ToolCompleted(output=output, attachments=attachments):
            return weigh_chars(output, wide=rule.wide_chars) + MEDIA_CHARS * len(attachments)
        case ToolFailed(error=error):
            return weigh_chars(error, wide=rule.wide_chars)
        case ToolPending() | ToolRunning():
            return 0
        case _:
            assert_never(part.state)

"""Trim and clear tool outputs when the provider's prompt cache is cold, so that it costs nothing.

Border: pure. Follows spec/context-stability.md 1.13: when the request fills one share of the window,
long outputs are trimmed to head and tail, and where that is not enough the oldest are cleared. Under a
policy that is not sticky this holds for one request: the next decides anew, and restores what it does
not decide again (OpenClaw changes its request only, never its session).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, assert_never

from palimpsest.context.budget.request_tokens import weigh_chars
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.reduction.shown_outputs import CallOutput, OutputText, shown_outputs
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
    output: OutputText

    @property
    def shown(self) -> str:
        """What the model is shown then."""
        if self.action == "clear":
            return str(self.numbers["text"])
        return shorten(self.output.whole, self.numbers)


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
    messages = bare.folded(policy.compact)
    homes: dict[str, str] = {}
    wanted = _plan(bare, messages, rule, facts.window, homes) if is_cache_cold(rule, age) else {}
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
                message_id=homes[part_id],
                part_id=part_id,
                numbers=dict(one.numbers) | {"cache_age_seconds": age},
                tokens_before=count(one.output.shown),
                tokens_after=count(one.shown),
            )
            for part_id, one in wanted.items()
            if not is_same_action(own.get(part_id), one)
        ),
    )


def is_cache_cold(rule: PrunePolicy, age: float | None) -> bool:
    """Return whether the provider's cache is taken for cold, by its age in seconds."""
    return age is not None and rule.ttl_seconds > 0 and age >= rule.ttl_seconds


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
        if part_id not in wanted or not is_same_action(decision, wanted[part_id])
    ]


class MadeAction(Protocol):
    """What was done with an output before."""

    @property
    def action(self) -> str:
        """``clear`` or ``truncate``."""
        ...

    @property
    def numbers(self) -> Mapping[str, Any]:
        """The numbers of the decision."""
        ...


def is_same_action(made: MadeAction | None, one: PruneAction) -> bool:
    """Return whether the same was done with an output before."""
    if made is None or made.action != one.action:
        return False
    return {name: made.numbers.get(name) for name in one.numbers} == dict(one.numbers)


def _plan(
    view: View, messages: Messages, rule: PrunePolicy, window: int, homes: dict[str, str]
) -> dict[str, PruneAction]:
    total = sum(_message_chars(message, rule) for message in apply_decisions(messages, view))
    candidates = _candidates(view, messages, rule)
    homes |= {output.part.id: output.part.message_id for output in candidates}
    return trims_and_clears(candidates, total, rule, window)


def trims_and_clears(
    outputs: Sequence[OutputText], total: int, rule: PrunePolicy, window: int
) -> dict[str, PruneAction]:
    """Return what is done with the outputs that may be pruned, oldest first, by their parts.

    ``total`` is the number of characters of all messages, ``window`` is in tokens.
    """
    room = window * CHARS_PER_TOKEN
    if room <= 0 or total / room < rule.soft_ratio:
        return {}
    wanted: dict[str, PruneAction] = {}
    sizes = {output.part_id: _output_chars(output, rule) for output in outputs}
    for output in outputs:
        trimmed = _trim(output, rule)
        if trimmed is None:
            continue
        wanted[output.part_id] = trimmed
        size = weigh_chars(trimmed.shown, wide=rule.wide_chars)
        total += size - sizes[output.part_id]
        sizes[output.part_id] = size
    if not rule.hard_clear or sum(sizes.values()) < rule.min_prunable_chars:
        return wanted
    for output in outputs:
        if total / room < rule.hard_ratio:
            break
        wanted[output.part_id] = PruneAction("clear", {"text": rule.placeholder}, output)
        total += weigh_chars(rule.placeholder, wide=rule.wide_chars) - sizes[output.part_id]
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


def _trim(output: OutputText, rule: PrunePolicy) -> PruneAction | None:
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


def _output_chars(output: OutputText, rule: PrunePolicy) -> int:
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

"""The engine's reductions without a summary over a timeline: truncation, pruning, cutting what is too long.

What is chosen comes from ``context/reduction``: the same functions of sizes, flags and texts that decide in
the live loop.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from palimpsest.context.budget.conservative_estimate import (
    CHARS_PER_TOKEN,
    MEDIA_TOKENS,
    MESSAGE_TOKENS,
    RESULT_CHARS_PER_TOKEN,
    RESULT_TOKENS,
)
from palimpsest.context.budget.precheck import FitAction, result_chars
from palimpsest.context.budget.request_tokens import MEDIA_TOKENS as IMAGE_TOKENS
from palimpsest.context.budget.request_tokens import BudgetCheck
from palimpsest.context.reduction.cache_ttl_pruning import (
    CACHE_TTL,
    PruneAction,
    is_cache_cold,
    is_same_action,
    prunable,
    trims_and_clears,
)
from palimpsest.context.reduction.oversized_results import LARGEST_KNOWN, oversized_cuts
from palimpsest.context.reduction.oversized_results import RULE as OVERSIZED
from palimpsest.context.reduction.prune_choice import (
    BATCH,
    OPENCODE,
    OlderOutput,
    SizedOutput,
    batch_numbers,
    batch_to_clear,
    beyond_protected,
    opencode_numbers,
    prune_target,
)
from palimpsest.context.reduction.superseded_reads import (
    FileCall,
    NewerCall,
    superseded_calls,
)
from palimpsest.context.reduction.truncation import RULE as TRUNCATE
from palimpsest.context.reduction.truncation import caps, most_tokens, shorten, truncate
from palimpsest.context.request_assembly.fit import fit_action
from palimpsest.review.policies.engine_sizes import char_sizes, file_calls
from palimpsest.review.policies.engine_step import EngineStep, ItemOutput
from palimpsest.review.policies.policy import Probe
from palimpsest.review.policies.reducible import BESIDE
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.timeline import ItemState

STATES: dict[str, ItemState] = {"truncate": "truncated", "clear": "cleared"}
UTF8_BYTES = 4
"""Bytes that a character takes at most."""


# When a tool has ended


def truncate_new_outputs(step: EngineStep) -> int:
    """Shorten the outputs that came since the request before, and return how many there are now."""
    facts = step.facts()
    policy = step.policy.truncate
    lines, size = caps(policy, facts)
    most = most_tokens(policy, facts)
    size = size if most is None else min(size, most)
    # Where no tokens are asked for, what an item takes is counted where it is shown.
    count = _no_count if most is None else step.sizes.count
    outputs = step.outputs
    for item in outputs[step.state.seen :]:
        chars = step.view.item(item).chars
        if chars < lines and chars * UTF8_BYTES <= size:
            continue
        if step.view.item(item).kind != "output" or step.item_state(item) != "whole":
            continue
        text = step.view.read(item)
        name = step.part_id(item)
        made = truncate("", name, step.view.item(item).message, text, policy, facts, count)
        if made is not None:
            numbers = made.numbers | {"rule": TRUNCATE}
            step.reduce(item, "truncated", shorten(text, made.numbers), numbers)
    return len(outputs)


def _no_count(_text: str) -> int:
    return 0


# Before a request


def prune_before_request(step: EngineStep, facts: Facts) -> None:
    """Clear or trim old outputs as the policy's rule does before a request."""
    if step.policy.prune.rule == "batch":
        _batch(step, facts)
    elif step.policy.prune.rule == "cache-ttl":
        _cache_ttl(step, facts)


def _batch(step: EngineStep, facts: Facts) -> None:
    rule = step.policy.prune
    if not facts.window:  # no limit, so it never fills
        return
    aim = prune_target(rule, facts)
    step.note([Probe("tokens of the request", aim.used, aim.start)])
    if not aim.is_due or _outputs_at_most(step) - aim.protect < aim.minimum:
        return
    places = {step.part_id(one): one for one in _shown(step)}
    newer = _NewerCalls(step, places)
    chosen = batch_to_clear(_sized(step, places), rule, aim, newer, step.sizes.count)
    for one, numbers in zip(chosen, batch_numbers(chosen, aim), strict=True):
        step.reduce(places[one.part_id], "cleared", one.text, numbers | {"rule": BATCH})


def _outputs_at_most(step: EngineStep) -> int:
    """Return more tokens than the outputs that are not cleared can have: a bound that is found at once."""
    sizes, gone = step.sizes, min(step.state.gone, step.view.count)
    cleared = (
        sizes.wholes[int(item)]
        for item, numbers in step.reduced.items()
        if "text" in numbers and int(item) >= gone
    )
    return sizes.outputs_sums[step.view.count] - sizes.outputs_sums[gone] - sum(cleared)


def _shown(step: EngineStep) -> list[int]:
    """Return the outputs that the request shows and that are not cleared, oldest first."""
    return [one for one in step.outputs if step.is_there(one) and step.item_state(one) != "cleared"]


def _sized(step: EngineStep, places: Mapping[str, int]) -> Iterator[SizedOutput]:
    """Yield what is shown with its size, newest first."""
    recent_from = step.start_of_turns(step.policy.prune.protect_turns)
    firsts = step.sizes.firsts
    for name, item in reversed(list(places.items())):
        yield SizedOutput(
            part_id=name,
            tool=_tool(step, item),
            tokens=step.tokens(item) + IMAGE_TOKENS * len(step.media(item)),
            kept=step.view.item(item).pinned or step.restored(item),
            recent=firsts[item] >= recent_from,
        )


def _tool(step: EngineStep, item: int) -> str:
    found = step.view.item(item)
    return found.tool if found.kind == "output" else found.kind


class _NewerCalls:
    """Finds the calls that made reads out of date, once a read is asked about."""

    def __init__(self, step: EngineStep, places: Mapping[str, int]) -> None:
        self._step = step
        self._places = places
        self._found: dict[str, NewerCall] | None = None

    def __call__(self, part_id: str) -> NewerCall | None:
        if self._found is None:
            self._found = superseded_calls(self._calls(), self._places.keys())
        return self._found.get(part_id)

    def _calls(self) -> Iterator[FileCall]:
        step = self._step
        for index, result, call in reversed(file_calls(step.view.timeline)):
            if result < step.view.count and index >= step.state.gone and step.is_there(index):
                yield call


@dataclass(frozen=True)
class _Made:
    """What ``cache-ttl`` did with an output before."""

    action: str
    numbers: Mapping[str, Any]


def _cache_ttl(step: EngineStep, facts: Facts) -> None:
    rule = step.policy.prune
    age = facts.cache_age_seconds
    step.note([Probe("seconds since the cache was used", age or 0, rule.ttl_seconds, "seconds")])
    own = {
        int(item): _Made("clear" if "text" in numbers else "truncate", numbers)
        for item, numbers in step.reduced.items()
        if numbers.get("rule") == CACHE_TTL and int(item) >= step.state.gone
    }
    if not rule.sticky:
        for item in own:
            step.restore(item)
    wanted = _wanted(step, facts.window) if is_cache_cold(rule, age) else {}
    for item, one in wanted.items():
        _trim(step, item, one, own.get(item), age)


def _trim(
    step: EngineStep, item: int, one: PruneAction, known: _Made | None, age: float | None
) -> None:
    """Trim or clear an output, unless the request before showed it so already."""
    same = known is not None and is_same_action(known, one)
    if same and step.policy.prune.sticky:
        return
    numbers = dict(one.numbers) | {"cache_age_seconds": age, "rule": CACHE_TTL}
    if same and known is not None:
        numbers = dict(known.numbers)
    base = step.reduced.get(str(item), {})
    shown = one.shown
    if base and base.get("rule") != CACHE_TTL:
        step.below[str(item)] = base
    step.reduce(item, STATES[one.action], shown, numbers)
    if same:
        step.leave(item)


def _wanted(step: EngineStep, window: int) -> dict[int, PruneAction]:
    rule = step.policy.prune
    messages = step.messages()
    prompts = [one.first for one in messages if one.is_users]
    answers = [one.first for one in messages if not one.is_users]
    summary = step.has_summary
    if len(answers) + summary < rule.keep_assistants or not (prompts or summary):
        return {}
    keep = rule.keep_assistants
    end = answers[-keep] if 0 < keep <= len(answers) else step.view.count
    end = end if keep <= len(answers) else 0
    first = -1 if summary else prompts[0]
    firsts = step.sizes.firsts
    outputs = {
        step.part_id(one): one
        for one in _shown(step)
        if first < firsts[one] < end
        and not step.view.item(one).pinned
        and not step.restored(one)
        and prunable(_tool(step, one), rule)
        and not (rule.media == "spared" and step.media(one))
    }
    texts = [ItemOutput(step, one) for one in outputs.values()]
    found = trims_and_clears(texts, _all_chars(step), rule, window)
    return {outputs[name]: one for name, one in found.items()}


def _all_chars(step: EngineStep) -> int:
    """Return the characters of all messages as they are shown."""
    sizes = char_sizes(step.view.timeline, wide=step.policy.prune.wide_chars)
    total = 0
    for index in range(step.view.count):
        if step.view.item(index).kind in BESIDE or not step.is_there(index):
            continue
        whole = step.item_state(index) == "whole"
        total += sizes[index] if whole else step.chars(index)
    return total + sum(sizes[one] for one in step.state.adopted)


# When a turn has ended


def prune_after_turn(step: EngineStep) -> None:
    """Clear what lies behind the newest tokens, where the policy's rule does that when a turn has ended."""
    rule = step.policy.prune
    if rule.rule != "opencode":
        return
    places = {step.part_id(one): one for one in step.outputs}
    found, freed = beyond_protected(
        _older(step, places), rule, lambda name: step.tokens(places[name])
    )
    step.note([Probe("tokens of results that may be cleared", freed, rule.minimum_tokens)])
    for one in found:
        numbers = opencode_numbers(one, rule, freed) | {"rule": OPENCODE}
        step.reduce(places[one.part_id], "cleared", rule.placeholder, numbers)


def _older(step: EngineStep, places: Mapping[str, int]) -> Iterator[OlderOutput]:
    """Yield outputs, newest first, back to a summary."""
    begins = [one for one in reversed(step.sizes.users) if one < step.view.count]
    passed = 0
    firsts = step.sizes.firsts
    for name, item in reversed(list(places.items())):
        while passed < len(begins) and begins[passed] >= firsts[item]:
            passed += 1
        if passed >= step.policy.prune.protect_turns and item < step.state.gone:
            return
        cleared = step.reduced.get(str(item), {}).get("text") is not None
        spared = step.view.item(item).pinned or step.restored(item) or not step.is_there(item)
        yield OlderOutput(name, _tool(step, item), passed, cleared=cleared, spared=spared)


# What is too long for the window


def cut_oversized(step: EngineStep) -> bool:
    """Cut results that are too long for the window; returns whether there were some."""
    step.tries.truncations += 1
    policy = step.policy.recovery
    places = {step.part_id(one): one for one in _shown(step) if not step.view.item(one).pinned}
    texts = [ItemOutput(step, one) for one in places.values()]
    limit = result_chars(step.window or LARGEST_KNOWN, policy)
    found = oversized_cuts(texts, policy, step.window)
    for name, made in found.items():
        item = places[name]
        numbers = made.numbers | {"limit_chars": limit, "rule": OVERSIZED}
        step.below.pop(str(item), None)
        step.reduce(item, "truncated", shorten(step.view.read(item), made.numbers), numbers)
    return bool(found)


# Whether a request fits


def action_to_fit(step: EngineStep, facts: Facts) -> tuple[FitAction, BudgetCheck]:
    """Return what makes the request fit, and the numbers that were compared."""
    found = fit_action(
        step.total,
        step.policy,
        facts,
        conservative=lambda: _conservative(step),
        results=lambda: [step.chars(one) for one in _shown(step)],
    )
    if found[1].budget:
        step.note([Probe("tokens of the request", found[1].tokens, found[1].budget)])
    return found


def _conservative(step: EngineStep) -> int:
    """Return the tokens of a request on the safe side, as ``conservative_estimate.py`` counts messages."""
    sizes = char_sizes(step.view.timeline, wide=False)
    tokens = 0.0
    chars: dict[int, int] = {}
    results: dict[int, int] = {}
    for index in range(step.view.count):
        item = step.view.item(index)
        if item.kind == "tools" or not step.is_there(index):
            continue
        first = step.sizes.firsts[index]
        if item.kind == "media":
            tokens += MEDIA_TOKENS if step.tokens(index) else 0
        elif item.kind == "output":
            results[first] = results.get(first, 0) + 1
            tokens += RESULT_TOKENS - (-step.chars(index) // RESULT_CHARS_PER_TOKEN)
        else:
            named = len(item.tool) if item.kind == "call" else 0
            chars[first] = chars.get(first, 0) + sizes[index] + named
    frames = len(chars) + sum(results.values())
    tokens += MESSAGE_TOKENS * frames + sum(-(-one // CHARS_PER_TOKEN) for one in chars.values())
    tokens += step.summary_tokens
    return math.ceil(tokens * step.policy.overflow.safety_margin)

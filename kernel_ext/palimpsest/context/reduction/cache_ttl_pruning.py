"""Trim and clear tool outputs when the provider's prompt cache is cold, so that the change costs nothing.

Border: pure. As in OpenClaw, when the request fills one share of the window, long outputs are trimmed to head and tail,
and where that is not enough the oldest are cleared. Under a policy that is not sticky each request decides again and
restores all other outputs (OpenClaw changes its request only, never its session).
"""

import re
from dataclasses import replace

from palimpsest.context.budget.request_tokens import weigh_chars
from palimpsest.context.reduction.request_outputs import (
    LookedAt,
    OutputReduction,
    RequestOutput,
    RequestOutputs,
    RuleAnswer,
)
from palimpsest.context.reduction.truncation import apply_truncation
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.prune_policy import PRUNE_RULE, PrunePolicy
from palimpsest.transcript.values import CHARS_PER_TOKEN

CACHE_TTL = f"{PRUNE_RULE}cache-ttl"
MEDIA_CHARS = 8_000
"""Characters that an image counts as."""
GAP_TEXT = "\n...\n"
MEDIA_PLACEHOLDER = "[image removed during context pruning]"


def prune_cache(outputs: RequestOutputs, rule: PrunePolicy, facts: Facts) -> RuleAnswer:
    """Decide which outputs the next request shows trimmed or cleared."""
    cache_age_seconds = facts.cache_age_seconds
    checked_figure = LookedAt(
        "seconds since the cache was used", cache_age_seconds or 0, rule.ttl_seconds, "seconds"
    )
    earlier_reductions = outputs.reductions_by(CACHE_TTL)
    wanted_reductions: dict[str, OutputReduction] = {}
    if (
        cache_age_seconds is not None
        and rule.ttl_seconds > 0
        and cache_age_seconds >= rule.ttl_seconds
    ):
        outputs_without_own = outputs if rule.sticky else outputs.without_rule(CACHE_TTL)
        wanted_reductions = _wanted_reductions(outputs_without_own, rule, facts.window)
    unchanged_ids = {
        part_id
        for part_id, reduction in wanted_reductions.items()
        if _is_same_reduction(earlier_reductions.get(part_id), reduction)
    }
    restored_ids = [] if rule.sticky else [*earlier_reductions]
    reductions = [
        OutputReduction(part_id, "restore", {})
        for part_id in restored_ids
        if part_id not in unchanged_ids
    ]
    reductions += [
        replace(reduction, numbers={**reduction.numbers, "cache_age_seconds": cache_age_seconds})
        for part_id, reduction in wanted_reductions.items()
        if part_id not in unchanged_ids
    ]
    return RuleAnswer(tuple(reductions), checked_figure)


def is_prunable(tool: str, rule: PrunePolicy) -> bool:
    """Return whether the outputs of a tool may be pruned; a denied tool is never pruned."""
    name = tool.strip().lower()
    if any(_matches_pattern(name, pattern) for pattern in rule.deny_tools):
        return False
    return not rule.allow_tools or any(
        _matches_pattern(name, pattern) for pattern in rule.allow_tools
    )


def _matches_pattern(name: str, pattern: str) -> bool:
    pieces = pattern.strip().lower().split("*")
    return re.fullmatch(".*".join(map(re.escape, pieces)), name, re.DOTALL) is not None


def _is_same_reduction(earlier: OutputReduction | None, wanted: OutputReduction) -> bool:
    if earlier is None or earlier.action != wanted.action:
        return False
    return all(earlier.numbers.get(name) == value for name, value in wanted.numbers.items())


def _wanted_reductions(
    outputs: RequestOutputs, rule: PrunePolicy, window: int
) -> dict[str, OutputReduction]:
    """Return the reductions of the prunable outputs by part id, oldest first."""
    window_chars = window * CHARS_PER_TOKEN
    total_chars = outputs.all_chars(counts_width=rule.wide_chars)
    if window_chars <= 0 or total_chars / window_chars < rule.soft_ratio:
        return {}
    prunable_outputs = [
        output_candidate
        for output_candidate in outputs.newest_first()
        if output_candidate.is_settled(rule.keep_assistants)
        and not output_candidate.is_kept_by_user
        and is_prunable(output_candidate.tool, rule)
        and not (output_candidate.media_count and rule.media == "spared")
    ][::-1]
    wanted_reductions: dict[str, OutputReduction] = {}
    output_chars = {output.part_id: _output_chars(output, rule) for output in prunable_outputs}
    for output in prunable_outputs:
        trimmed_output = _trim_output(output, rule)
        if trimmed_output is None:
            continue
        wanted_reductions[output.part_id] = trimmed_output
        trimmed_chars = weigh_chars(trimmed_output.text, counts_width=rule.wide_chars)
        total_chars += trimmed_chars - output_chars[output.part_id]
        output_chars[output.part_id] = trimmed_chars
    if not rule.hard_clear or sum(output_chars.values()) < rule.min_prunable_chars:
        return wanted_reductions
    for output in prunable_outputs:
        if total_chars / window_chars < rule.hard_ratio:
            break
        placeholder = rule.placeholder
        wanted_reductions[output.part_id] = OutputReduction(
            output.part_id, "clear", {"text": placeholder}, placeholder, output.tokens
        )
        total_chars += (
            weigh_chars(placeholder, counts_width=rule.wide_chars) - output_chars[output.part_id]
        )
    return wanted_reductions


def _trim_output(output: RequestOutput, rule: PrunePolicy) -> OutputReduction | None:
    """Return a long output's reduction to head, tail and a placeholder for each image; None where it stays whole."""
    notes = [MEDIA_PLACEHOLDER] * output.media_count
    whole_text_with_notes = "\n".join([output.whole_text, *notes] if output.whole_text else notes)
    shown_text_with_notes = "\n".join([output.shown_text, *notes] if output.shown_text else notes)
    appended_text = whole_text_with_notes[len(output.whole_text) :]
    head_chars, tail_chars = max(rule.soft_head_chars, 0), max(rule.soft_tail_chars, 0)
    if len(shown_text_with_notes) <= rule.soft_max_chars or head_chars + tail_chars >= len(
        shown_text_with_notes
    ):
        if not output.media_count:
            return None
        numbers = _cut_numbers(len(whole_text_with_notes), 0, "", "", omitted=0)
    else:
        note = (
            f"\n\n[Tool result trimmed: kept first {head_chars} chars and last {tail_chars} chars "
            f"of {len(whole_text_with_notes)} chars.]"
        )
        omitted_chars = len(whole_text_with_notes) - head_chars - tail_chars
        numbers = _cut_numbers(head_chars, tail_chars, GAP_TEXT, note, omitted_chars)
    if output.media_count:
        numbers |= {"appended": appended_text, "without_media": True}
    text = apply_truncation(output.whole_text, numbers)
    return OutputReduction(output.part_id, "truncate", numbers, text, output.tokens)


def _cut_numbers(
    head_chars: int, tail_chars: int, middle_text: str, suffix: str, omitted: int
) -> dict[str, int | str]:
    return {
        "head_chars": head_chars,
        "tail_chars": tail_chars,
        "middle": middle_text,
        "suffix": suffix,
        "omitted": omitted,
        "unit": "characters",
    }


def _output_chars(output: RequestOutput, rule: PrunePolicy) -> int:
    text_chars = weigh_chars(output.shown_text, counts_width=rule.wide_chars)
    return text_chars + MEDIA_CHARS * output.media_count

"""The presets: named context policies with all their numbers and choices.

The presets of other systems behave like their recorded versions; ``palimpsest`` takes the best of them. The numbers of
a preset never change: a new version of a system gets a new name.
"""

from typing import NamedTuple

from palimpsest.transcript.context_values.policies import (
    CompactPolicy,
    ConvertPolicy,
    GuardPolicy,
    HygienePolicy,
    LimitPolicy,
    OverflowPolicy,
    Policy,
    PrunePolicy,
    RecoveryPolicy,
    ReminderPolicy,
    TransformPolicy,
    TruncatePolicy,
)

OPENCODE_TRUNCATE = TruncatePolicy(
    max_lines=2_000, max_bytes=51_200, window_share=None, direction="head", form="lines"
)
OPENCLAW_TRUNCATE = TruncatePolicy(
    max_lines=2_000, max_bytes=51_200, window_share=None, direction="head"
)
"""OpenClaw's tools ignore the window; its recovery truncates results that are too long for it."""
OPENCODE_CONTINUE_1_1 = "Continue if you have next steps"
OPENCODE_CONTINUE_1_18 = (
    "Continue if you have next steps, or stop and ask for clarification if you are unsure how to "
    "proceed."
)
OPENCODE_REFUSED_1_18 = (
    "The previous request exceeded the provider's size limit due to large media attachments. The "
    "conversation was compacted and media files were removed from context. If the user was asking "
    "about attached images or files, explain that the attachments were too large to process and "
    "suggest they try again with smaller or fewer files.\n\n"
)
OPENCODE_SUMMARY_1_1 = (
    "Provide a detailed prompt for continuing our conversation above. Focus on information that would "
    "be helpful for continuing the conversation, including what we did, what we're doing, which files "
    "we're working on, and what we're going to do next considering new session will not have access to "
    "our conversation."
)
"""Literal strings of OpenCode; its sessions are rebuilt byte by byte."""
OPENCODE_TRANSFORM = TransformPolicy(
    rule="opencode",
    unsupported="ERROR: Cannot read {name} (this model does not support {kind} input). Inform the user.",
)
OPENCODE_REMINDERS_1_1 = ReminderPolicy(
    steered="until-answered",
    before="<system-reminder>\nThe user sent the following message:\n",
    after="\n\nPlease address this message and continue with your tasks.\n</system-reminder>",
    last_step="assistant",
    news=False,
    real_call=False,
    mode="newest",
)
PLAIN_REMINDERS = ReminderPolicy(steered="plain", before="", news=False, real_call=False)

OPENCODE_1_1 = Policy(
    name="opencode-1.1",
    estimator="chars/4",
    hygiene=HygienePolicy(rule="opencode"),
    truncate=OPENCODE_TRUNCATE,
    prune=PrunePolicy(rule="opencode"),
    overflow=OverflowPolicy(rule="opencode-1.1", refusals="none", silent="none"),
    reminders=OPENCODE_REMINDERS_1_1,
    environment="opencode-1.1",
    convert=ConvertPolicy(
        user_empty_texts=True,
        empty_texts="kept",
        other_thinking="reasoning",
        partial_output="none",
        result_media="inside",
    ),
    transform=OPENCODE_TRANSFORM,
    compact=CompactPolicy(
        tail_turns=0,
        merge_summary=False,
        serialize=False,
        always_continue=True,
        cut="finished",
        judge=False,
        max_failed=3,
        prompt=OPENCODE_SUMMARY_1_1,
        continue_text=OPENCODE_CONTINUE_1_1,
    ),
)

OPENCODE_1_18 = Policy(
    name="opencode-1.18",
    estimator="chars/4",
    hygiene=HygienePolicy(rule="opencode"),
    truncate=OPENCODE_TRUNCATE,
    prune=PrunePolicy(rule="none"),
    overflow=OverflowPolicy(rule="opencode-1.18", refusals="opencode", silent="none"),
    reminders=PLAIN_REMINDERS.model_copy(update={"last_step": "assistant", "mode": "newest"}),
    environment="opencode-1.18",
    convert=ConvertPolicy(empty_texts="spaced", partial_output="any", result_media="by-model"),
    transform=OPENCODE_TRANSFORM,
    compact=CompactPolicy(
        tail_turns=None,
        tail_maximum=15_000,
        always_continue=True,
        cut="unfinished-tail",
        replay=True,
        judge=False,
        max_failed=3,
        stages=1,
        continue_text=OPENCODE_CONTINUE_1_18,
        refused_text=OPENCODE_REFUSED_1_18,
    ),
)

OPENCLAW_2026_2 = Policy(
    name="openclaw-2026.2",
    truncate=OPENCLAW_TRUNCATE,
    overflow=OverflowPolicy(refusals="openclaw-2026.2", silent="stopped"),
    reminders=PLAIN_REMINDERS,
    limit=LimitPolicy(rule="sliding", exact_provider=True),
    guard=GuardPolicy(
        rule="fixed",
        hard_minimum=16_000,
        warn_below=32_000,
        provider_names="exact",
        usable_tokens=False,
        refusal="Model context window too small ({tokens} tokens). Minimum is {minimum}.",
    ),
    prune=PrunePolicy(rule="cache-ttl", sticky=False, media="spared", wide_chars=False),
    hygiene=HygienePolicy(rule="openclaw-2026.2"),
    compact=CompactPolicy(audit=False, max_failed=3),
    recovery=RecoveryPolicy(
        recall=False,
        results_counted="characters",
        result_cap=400_000,
        result_form="head",
        result_suffix=(
            "\n\n⚠️ [Content truncated — original was too large for the model's context window. "
            "The content above is a partial view. If you need more, request specific sections or "
            "use offset/limit parameters to read smaller chunks.]"
        ),
        results_together="none",
        cut_first="newest",
        compaction_seconds=300.0,
        counted="ends",
        snapshot="whole",
        turn_seconds=600.0,
    ),
)

OPENCLAW_2026_9 = Policy(
    name="openclaw-2026.9",
    truncate=OPENCLAW_TRUNCATE,
    limit=LimitPolicy(rule="batched", loose_key=False),
    guard=GuardPolicy(
        rule="shares",
        hard_minimum=4_000,
        warn_below=8_000,
        provider_names="plain",
        capped=False,
        refusal="Model context window too small ({tokens} tokens; source={source}). Minimum is {minimum}.",
    ),
    prune=PrunePolicy(rule="cache-ttl"),
    hygiene=HygienePolicy(rule="openclaw-2026.9"),
    overflow=OverflowPolicy(rule="precheck", refusals="openclaw-2026.9", measured=True),
    reminders=PLAIN_REMINDERS,
    recovery=RecoveryPolicy(
        recall=False,
        results_counted="characters",
        result_middle="\n\n⚠️ [... middle content omitted — showing head and tail ...]\n\n",
        result_suffix=(
            "[... {omitted} more characters truncated; rerun with narrower args if needed]"
        ),
        cut_first="newest",
        turn_seconds=172_800.0,
    ),
)


class ListedPreset(NamedTuple):
    """A preset, and its description in a list of policies."""

    policy: Policy
    summary: str
    source: str
    token_source: str
    """The source of the token count that is compared with the budget."""
    sliders: tuple[str, ...] = ("prune.protect_tokens", "compact.tail_maximum", "reserved")
    """The numbers that a view offers first."""


LISTED_PRESETS = (
    ListedPreset(
        Policy(),
        "Our own: long results keep head and tail, old ones are cleared in batches near the budget, then a summary.",
        "palimpsest, context/presets.py: the default policy",
        "its own estimate, scaled by the usage of the last request: context/budget/request_tokens.py, usage_ratio",
        ("prune.start_share", "prune.protect_tokens", "prune.minimum_tokens"),
    ),
    ListedPreset(
        OPENCODE_1_1,
        "OpenCode's older engine: old results are cleared after turns, and a full window is summarised whole.",
        "OpenCode 1.1, as the engine's preset has it",
        "OpenCode 1.1, session/compaction.ts: isOverflow, the usage of the last answer",
        ("prune.protect_tokens", "prune.minimum_tokens", "prune.protect_turns"),
    ),
    ListedPreset(
        OPENCODE_1_18,
        "OpenCode's newer engine: nothing is cleared, and a full window is summarised up to a tail of turns.",
        "OpenCode 1.18, as the engine's preset has it",
        "OpenCode 1.18, session/overflow.ts: isOverflow, the usage of the last answer",
    ),
    ListedPreset(
        OPENCLAW_2026_2,
        "OpenClaw's older engine: with a cold cache old results are trimmed for one request, then cleared.",
        "OpenClaw 2026.2, as the engine's preset has it",
        "our own estimate, scaled by the usage of the last request; OpenClaw 2026.2 leaves it to pi, as openclaw.compact counts",
        ("prune.soft_ratio", "prune.hard_ratio", "prune.ttl_seconds"),
    ),
    ListedPreset(
        OPENCLAW_2026_9,
        "OpenClaw's newer engine: as the older one, but trims stay, and a weighted estimate is checked beforehand.",
        "OpenClaw 2026.9, as the engine's preset has it",
        "OpenClaw 2026.9, its weighted estimate before a request",
        ("prune.soft_ratio", "prune.hard_ratio", "overflow.safety_margin"),
    ),
)
"""All presets, for lists, comparisons and choices of policies."""
PRESETS = {preset.policy.name: preset.policy for preset in LISTED_PRESETS}

"""Which numbers and choices make up a named policy.

The presets of other systems follow what their recorded versions do (spec/session-engine.md and
spec/context-stability.md); ``palimpsest`` takes the best of them (DESIGN.md 4). The old numbers
of a preset never change: a new version of a system is a new name.
"""

from palimpsest.transcript.policies import (
    CompactPolicy,
    GuardPolicy,
    HygienePolicy,
    LimitPolicy,
    OverflowPolicy,
    Policy,
    PrunePolicy,
    RecoveryPolicy,
    TruncatePolicy,
)

OPENCODE_TRUNCATE = TruncatePolicy(
    max_lines=2_000, max_bytes=51_200, window_share=None, direction="head", form="lines"
)

OPENCODE_1_1 = Policy(
    name="opencode-1.1",
    estimator="chars/4",
    truncate=OPENCODE_TRUNCATE,
    prune=PrunePolicy(rule="opencode"),
    overflow=OverflowPolicy(rule="opencode-1.1"),
    compact=CompactPolicy(
        tail_turns=0, merge_summary=False, serialize=False, always_continue=True, cut="finished"
    ),
)

OPENCODE_1_18 = Policy(
    name="opencode-1.18",
    estimator="chars/4",
    truncate=OPENCODE_TRUNCATE,
    prune=PrunePolicy(rule="none"),
    overflow=OverflowPolicy(rule="opencode-1.18"),
    compact=CompactPolicy(
        tail_turns=None, tail_maximum=15_000, always_continue=True, cut="unfinished-tail"
    ),
)

OPENCLAW_2026_2 = Policy(
    name="openclaw-2026.2",
    limit=LimitPolicy(rule="sliding", exact_provider=True),
    guard=GuardPolicy(
        rule="fixed",
        hard_minimum=16_000,
        warn_below=32_000,
        provider_names="exact",
        usable_tokens=False,
    ),
    hygiene=HygienePolicy(rule="openclaw-2026.2"),
    recovery=RecoveryPolicy(result_cap=400_000),
)

OPENCLAW_2026_9 = Policy(
    name="openclaw-2026.9",
    limit=LimitPolicy(rule="batched", loose_key=False),
    guard=GuardPolicy(
        rule="shares",
        hard_minimum=4_000,
        warn_below=8_000,
        provider_names="plain",
        capped=False,
    ),
    hygiene=HygienePolicy(rule="openclaw-2026.9"),
    overflow=OverflowPolicy(rule="precheck"),
)

PRESETS: dict[str, Policy] = {
    preset.name: preset
    for preset in (Policy(), OPENCODE_1_1, OPENCODE_1_18, OPENCLAW_2026_2, OPENCLAW_2026_9)
}

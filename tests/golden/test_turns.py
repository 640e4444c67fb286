"""Turns are merged and ordered as in the recorded OpenClaw, in both generations."""

import pytest
from tests.golden.data import load
from tests.golden.generations import BEFORE_NEWEST, GENERATIONS, rule_of
from tests.golden.openclaw import NEWEST, OLDEST
from tests.golden.openclaw_messages import flat, written

from palimpsest.context.message_repair.rule_order import anthropic_turns, gemini_turns
from palimpsest.context.message_repair.turn_order import user_first


@pytest.mark.parametrize(("version", "preset"), GENERATIONS)
def test_every_recorded_history_is_merged_alike_for_gemini(version: str, preset: str) -> None:
    cases = load("openclaw", "validateGeminiTurns")["cases"]

    ours = [written(gemini_turns(flat(c["input"]["messages"]), rule_of(preset))) for c in cases]

    assert ours == [case["expected"][version] for case in cases]


@pytest.mark.parametrize(("version", "preset"), GENERATIONS)
def test_every_recorded_history_is_merged_alike_for_anthropic(version: str, preset: str) -> None:
    cases = load("openclaw", "validateAnthropicTurns")["cases"]

    ours = [written(anthropic_turns(flat(c["input"]["messages"]), rule_of(preset))) for c in cases]

    assert ours == [case["expected"][version] for case in cases]


@pytest.mark.parametrize("version", [OLDEST, BEFORE_NEWEST, NEWEST])
def test_every_recorded_history_is_opened_by_a_user_alike(version: str) -> None:
    recorded = load("openclaw", "sanitizeGoogleTurnOrdering")["cases"]
    cases = [case for case in recorded if version in case["expected"]]
    if not cases:
        pytest.skip(f"{version} was not recorded ordering turns")

    ours = [written(user_first(flat(case["input"]["messages"]))) for case in cases]

    assert ours == [case["expected"][version] for case in cases]

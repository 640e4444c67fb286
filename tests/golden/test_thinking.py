"""Reasoning is left out of answers as in the recorded OpenClaw, in both generations."""

import pytest
from tests.golden.data import load
from tests.golden.generations import GENERATIONS, rule_of
from tests.golden.openclaw_messages import flat, written

from palimpsest.context.message_repair.rule_order import without_thinking


@pytest.mark.parametrize(("version", "preset"), GENERATIONS)
def test_every_recorded_history_loses_the_same_thinking(version: str, preset: str) -> None:
    cases = load("openclaw", "dropThinkingBlocks")["cases"]

    ours = [written(without_thinking(flat(c["input"]["messages"]), rule_of(preset))) for c in cases]

    assert ours == [case["expected"][version] for case in cases]

"""Unusable tool calls are left out as in the recorded OpenClaw, in both generations."""

from typing import Any

import pytest
from tests.golden.data import load, only
from tests.golden.generations import GENERATIONS, rule_of
from tests.golden.openclaw_messages import flat, written

from palimpsest.context.message_repair.rule_order import call_rule
from palimpsest.context.message_repair.usable_calls import repair_calls


@pytest.mark.parametrize(("version", "preset"), GENERATIONS)
def test_every_recorded_call_is_kept_or_left_out_alike(version: str, preset: str) -> None:
    ours, theirs = {}, {}
    for number, case in enumerate(load("openclaw", "repairToolCallInputs")["cases"]):
        expected: dict[str, Any] = case["expected"][version]
        options = only(
            case["input"].get("options"), "allowedToolNames", "allowProviderOwnedThinkingReplay"
        )
        rule = call_rule(
            rule_of(preset),
            tuple(options.get("allowedToolNames") or ()),
            whole_thinking=bool(options.get("allowProviderOwnedThinkingReplay")),
        )
        repaired = repair_calls(flat(case["input"]["messages"]), rule)
        found = {
            "messages": written(repaired.messages),
            "droppedToolCalls": repaired.dropped_calls,
            "droppedAssistantMessages": repaired.dropped_messages,
        }
        name = f"{number} {case['name']}"
        # The newest recording has no counts.
        ours[name] = {field: found[field] for field in expected}
        theirs[name] = expected

    assert ours == theirs

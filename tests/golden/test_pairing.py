"""Calls and results are paired as in the recorded OpenClaw, in both generations."""

from typing import Any

import pytest
from tests.golden.data import load, only
from tests.golden.generations import GENERATIONS, rule_of
from tests.golden.openclaw import NEWEST
from tests.golden.openclaw_messages import flat, result_back, written

from palimpsest.context.message_repair.message_blocks import RepairReport, is_result
from palimpsest.context.message_repair.rule_order import pair_by_rule
from palimpsest.transcript.context_values.neutral_messages import NeutralMessages

SYNTHETIC = {
    "details": {"openclawSyntheticMissingToolResult": True, "reason": "missing_tool_result"}
}
"""How the newest version marks a result it inserted; ours is recognised by its text."""


def report(repair: RepairReport, given: NeutralMessages, version: str) -> dict[str, Any]:
    mark = SYNTHETIC if version == NEWEST else {}
    messages = written(repair.messages)
    for back, message in zip(messages, repair.messages, strict=True):
        if is_result(message) and any(
            message.blocks[0] is result for result in repair.added_results
        ):
            back.update(mark)
    found = {
        "messages": messages,
        "added": [result_back(block) | mark for block in repair.added_results],
        "droppedDuplicateCount": repair.duplicate_count,
        "droppedOrphanCount": repair.orphans,
        "moved": repair.is_changed,
        "sameReference": repair.messages is given,
    }
    if version == NEWEST:
        found["discarded"] = written(repair.discarded_messages)
    return found


@pytest.mark.parametrize(("version", "preset"), GENERATIONS)
def test_every_recorded_transcript_is_paired_alike(version: str, preset: str) -> None:
    ours, theirs = {}, {}
    for number, case in enumerate(load("openclaw", "repairToolUseResultPairing")["cases"]):
        name = f"{number} {case['name']}"
        given = flat(case["input"]["messages"])
        options = only(case["input"].get("options"), "erroredAssistantResultPolicy")
        failed_calls = options.get("erroredAssistantResultPolicy", "preserve")
        ours[name] = report(pair_by_rule(given, rule_of(preset), failed_calls), given, version)
        theirs[name] = case["expected"][version]

    assert ours == theirs

"""Ids of tool calls are written as in the recorded OpenClaw, in both generations."""

from typing import Any

import pytest
from tests.golden.data import load, only
from tests.golden.generations import BEFORE_NEWEST, GENERATIONS, rule_of
from tests.golden.openclaw import NEWEST, OLDEST
from tests.golden.openclaw_messages import flat, written

from palimpsest.context.message_repair.rule_order import with_tool_ids
from palimpsest.context.message_repair.tool_ids import Mode, tool_id
from palimpsest.transcript.provider_profile.profile import NINE_ID_CHARS, letters_and_digits


def is_tool_id(identifier: str, mode: Mode) -> bool:
    """Return whether an id can stay as it is."""
    long_enough = len(identifier) == NINE_ID_CHARS if mode == "strict9" else bool(identifier)
    return long_enough and identifier == letters_and_digits(identifier)


@pytest.mark.parametrize("version", [OLDEST, BEFORE_NEWEST, NEWEST])
def test_every_recorded_id_is_written_alike(version: str) -> None:
    recorded = load("openclaw", "sanitizeToolCallId")["cases"]
    cases = [case for case in recorded if version in case["expected"]]
    if not cases:
        pytest.skip(f"{version} was not recorded writing a single id")

    ours = [
        {
            "sanitizeToolCallId": tool_id(case["input"]["id"], case["input"]["mode"]),
            "isValid": is_tool_id(case["input"]["id"], case["input"]["mode"]),
        }
        for case in cases
    ]

    assert ours == [case["expected"][version] for case in cases]


@pytest.mark.parametrize(("version", "preset"), GENERATIONS)
def test_every_recorded_transcript_gets_the_same_ids(version: str, preset: str) -> None:
    ours, theirs = {}, {}
    for number, case in enumerate(load("openclaw", "sanitizeToolCallIds")["cases"]):
        given: dict[str, Any] = case["input"]
        options = only(
            given.get("options"),
            "preserveNativeAnthropicToolUseIds",
            "preserveReplaySafeThinkingToolCallIds",
        )
        messages = with_tool_ids(
            flat(given["messages"]),
            given["mode"],
            rule_of(preset),
            keep_native=bool(options.get("preserveNativeAnthropicToolUseIds")),
            keep_signed=bool(options.get("preserveReplaySafeThinkingToolCallIds")),
        )
        name = f"{number} {case['name']}"
        ours[name] = written(messages, both_ids=version == NEWEST)
        theirs[name] = case["expected"][version]

    assert ours == theirs

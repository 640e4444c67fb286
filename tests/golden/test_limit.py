"""History limits are found and applied as in the recorded OpenClaw, in both generations."""

import pytest
from tests.golden.data import load
from tests.golden.openclaw import NEWEST, OLDEST, limits, plain

from palimpsest.context.policy_overrides import preset_policy
from palimpsest.context.request_assembly.turn_limit import history_limit, with_turn_limit
from palimpsest.transcript.context_values.neutral_messages import (
    NeutralMessage,
    NeutralMessages,
    TextBlock,
)

GENERATIONS = [(OLDEST, "openclaw-2026.2"), (NEWEST, "openclaw-2026.9")]
ROLES = {"toolResult": "tool"}
OTHER = "system"
"""A role for entries of neither user nor assistant, such as a summary."""


def flat(recorded: list[dict[str, str]]) -> NeutralMessages:
    messages = []
    for number, message in enumerate(recorded):
        role = message["role"]
        role = ROLES.get(role, role if role in {"user", "assistant"} else OTHER)
        messages.append(
            NeutralMessage.model_validate(
                {"role": role, "blocks": [TextBlock(text="x")], "message_id": str(number)}
            )
        )
    return tuple(messages)


@pytest.mark.parametrize(("version", "preset"), GENERATIONS)
def test_every_recorded_key_sets_the_same_limit(version: str, preset: str) -> None:
    ours, theirs = {}, {}
    for case in load("openclaw", "getHistoryLimitFromSessionKey")["cases"]:
        given = plain(case["input"])
        ours[case["name"]] = history_limit(
            given.get("sessionKey"), limits(given.get("config")), preset_policy(preset).limit
        )
        theirs[case["name"]] = plain(case["expected"][version])

    assert ours == theirs


@pytest.mark.parametrize(("version", "preset"), GENERATIONS)
def test_every_recorded_history_is_limited_alike(version: str, preset: str) -> None:
    ours, theirs = {}, {}
    for case in load("openclaw", "limitHistoryTurns")["cases"]:
        given = plain(case["input"])
        limited = with_turn_limit(
            flat(given["messages"]), given.get("limit"), preset_policy(preset).limit
        )
        ours[case["name"]] = [int(message.message_id or "-1") for message in limited]
        theirs[case["name"]] = case["expected"][version]["keptIndexes"]

    assert ours == theirs

"""Presets over the recorded session of pi act as often as their projects' rules say.

The session has 88 turns, 3 writes and 146 edits. The figures are those of a second implementation of the rules
that was written without knowledge of this one, and that counts requests by characters / 4 (Cline: / 3, so that
its window is larger by as much).
"""

import pytest
from tests.review.policies.pi_session import pi_timeline

from palimpsest.review.policies.registry import get
from palimpsest.review.replay.ruler import Ruler
from palimpsest.review.replay.simulation import Simulation, simulate

NEAR = 0.01


def replayed(policy: str) -> Simulation:
    return simulate(pi_timeline(), get(policy), Ruler(unseen=1600))


def millions(found: Simulation) -> float:
    return sum(one.total for one in found.sizes) / 1e6


ROWS = {
    "anthropic_sdk.compaction_control measure=estimated": (1, 24.4),
    "claude_code.microcompact": (0, 36.22),
    "cline.compact window=80000 measure=estimated": (4, 15.85),
    "codex.compact window=60000 measure=estimated": (2, 13.7),
    "dcp.deduplicate": (46, 34.99),
    "gemini.compress window=60000 measure=estimated": (5, 9.25),
    "gemini.truncate": (1, 35.87),
    "goose.compact window=60000 measure=estimated": (2, 11.65),
    "inspect.compaction_edit window=60000 measure=estimated": (76, 21.11),
    "inspect.compaction_trim window=60000 measure=estimated": (4, 19.75),
    "langchain.clear_tool_uses measure=estimated": (98, 29.43),
    "learn_claude_code.micro": (260, 17.03),
    "letta.sliding_window window=60000 measure=estimated": (3, 18.94),
    "openclaw.compact window=60000 measure=estimated": (5, 13.50),
    "openhands.amortized": (16, 5.25),
    "openhands.conversation_window window=60000 measure=estimated": (2, 18.13),
    "openhands.llm": (16, 5.86),
    "openhands.observation_masking": (273, 22.83),
    "roo.truncate window=60000 measure=estimated": (2, 16.84),
    "strands.offload": (2, 29.70),
    "strands.summarizing window=60000 measure=estimated": (3, 20.51),
}


@pytest.mark.parametrize("policy", ROWS)
def test_two_implementations_of_a_rule_agree(policy: str) -> None:
    fired, input_tokens = ROWS[policy]

    found = replayed(policy)

    assert len(found.fired) == fired
    assert millions(found) == pytest.approx(input_tokens, rel=NEAR)


def test_dcp_takes_the_input_of_a_whole_write_and_no_edit() -> None:
    found = replayed("dcp.supersede_writes")

    items = [pi_timeline().items[one.item] for one in found.timeline.transitions]
    assert [(item.kind, item.tool) for item in items] == [("call", "write")]


def test_adk_summarises_each_three_turns_up_to_their_last_answer() -> None:
    timeline = pi_timeline()

    found = replayed("google_adk.compaction").timeline

    acted = sorted({one.request for one in found.transitions})
    assert {(timeline.requests[one].turn - 1) % 3 for one in acted} == {0}
    for number in acted:
        last, request = timeline.requests[number - 1], timeline.requests[number]
        before = [
            item.index for item in timeline.items[: request.items] if item.turn < request.turn
        ]
        whole = [index for index in before if found.state(index, number) == "whole"]
        assert whole == [index for index in before if index >= last.answer[0]]

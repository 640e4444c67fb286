"""Presets over the recorded session of pi act as often as their projects' rules say.

The session has 88 turns, 3 writes and 146 edits. The figures are those of a second implementation of the rules
that was written without knowledge of this one, and that counts requests by characters / 4 (Cline: / 3, so that
its window is larger by as much).
"""

import pytest
from tests.context_policies.pi_session import pi_timeline
from tests.sample_size import thinned

from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.replay.simulation import Simulation, simulate

NEAR = 0.01


def replayed(policy: str) -> Simulation:
    return simulate(pi_timeline(), get(policy), Ruler(unseen_tokens=1600))


def millions(found: Simulation) -> float:
    return sum(size.total for size in found.sizes) / 1e6


ROWS = {
    "anthropic_sdk.compaction_control measure=estimated": (1, 24.40),
    "claude_code.microcompact": (0, 36.22),
    "codex.compact window=60000 measure=estimated": (2, 13.70),
    "dcp.deduplicate": (46, 34.99),
    "goose.compact window=60000 measure=estimated": (2, 11.65),
    "inspect.compaction_edit window=60000 measure=estimated": (76, 21.11),
    "inspect.compaction_trim window=60000 measure=estimated": (4, 19.75),
    "langchain.clear_tool_uses measure=estimated": (98, 29.43),
    "openhands.conversation_window window=60000 measure=estimated": (2, 18.13),
    "strands.offload": (2, 29.70),
    "strands.summarizing window=60000 measure=estimated": (3, 20.51),
}
CORRECTED = {
    "cline.compact window=80000 measure=estimated": (4, 16.52),
    "gemini.compress window=60000 measure=estimated": (6, 9.29),
    "gemini.truncate": (0, 36.22),
    "learn_claude_code.micro": (215, 31.83),
    "letta.sliding_window window=60000 measure=estimated": (2, 19.58),
    "openclaw.compact window=60000 measure=estimated": (5, 15.42),
    "openhands.amortized": (17, 4.87),
    "openhands.llm": (17, 5.46),
    "openhands.observation_masking": (327, 19.12),
    "roo.truncate window=60000 measure=estimated": (3, 14.28),
}
"""Rules that were corrected beside their originals since; these figures are their own, so that a later change is seen."""


@pytest.mark.parametrize("policy", thinned(ROWS | CORRECTED, 3))
def test_two_implementations_of_a_rule_agree(policy: str) -> None:
    fired, input_tokens = (ROWS | CORRECTED)[policy]

    replay = replayed(policy)

    assert len(replay.firing_requests) == fired
    assert millions(replay) == pytest.approx(input_tokens, rel=NEAR)


def test_dcp_takes_the_input_of_a_whole_write_and_no_edit() -> None:
    replay = replayed("dcp.supersede_writes")

    items = [pi_timeline().items[transition.item] for transition in replay.timeline.transitions]
    assert [(item.kind, item.tool) for item in items] == [("call", "write")]


def test_adk_summarises_each_three_turns_up_to_their_last_answer() -> None:
    timeline = pi_timeline()

    found = replayed("google_adk.compaction").timeline

    acted = sorted({transition.request for transition in found.transitions})
    assert {(timeline.requests[at].turn - 1) % 3 for at in acted} == {0}
    for number in acted:
        last, request = timeline.requests[number - 1], timeline.requests[number]
        before = [
            item.index for item in timeline.items[: request.items] if item.turn < request.turn
        ]
        whole = [index for index in before if found.state(index, number) == "whole"]
        assert whole == [index for index in before if index >= last.answer[0]]

"""The thresholds of presets whose originals can be asked are those that the originals answered."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.context_policies.originals.test_presets_beside_originals import run_original
from tests.context_policies.presets.test_thresholds import ESTIMATED, REPORTED

ANSWERED: dict[str, Any] = json.loads(
    Path(__file__).with_name("thresholds.json").read_text("utf-8")
)
"""By package and version: of a rule and its threshold whether it acts one token below, at it and above; or a number."""
SCRIPT = Path(__file__).with_name("run_thresholds.py")
ROWS = {
    "anthropic_sdk.compaction_control 100000": "anthropic_sdk.compaction_control",
    "langchain.summarization 4000": "langchain.summarization",
    "langchain.clear_tool_uses 100000": "langchain.clear_tool_uses trigger=100000",
    "openai.compact": "openai.compact",
    "openai.compact gpt-4.1": "openai.compact trigger=0 window_share=0.9 window=1047576",
}
"""The row of a preset by what its original was asked."""


@pytest.mark.parametrize("asked", ROWS)
def test_a_preset_acts_where_its_original_answered_that_it_does(asked: str) -> None:
    [answered] = [told[asked] for told in ANSWERED.values() if asked in told]
    [row] = [
        threshold_row
        for threshold_row in (*REPORTED, *ESTIMATED)
        if threshold_row.policy == ROWS[asked]
    ]

    if isinstance(answered, list):
        assert answered == [False, row.acts == "at", True]
    else:
        assert answered == row.threshold


@pytest.mark.soak  # with each commit the recorded answers are compared, above; this adds the original, installed
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("requirement", ANSWERED)
def test_an_original_answers_its_thresholds_the_same_today(
    requirement: str, tmp_path: Path
) -> None:
    answers = tmp_path / "answers.json"
    ran: subprocess.CompletedProcess[str] = run_original(requirement, answers, tmp_path, SCRIPT)

    assert ran.returncode == 0, ran.stderr[-2_000:]
    assert json.loads(answers.read_text("utf-8")) == ANSWERED[requirement]

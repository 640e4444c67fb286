"""The figures of a turn are the same sums and words as the page's."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.render.sample_parts import assistant

from palimpsest.render.content.turn_figures import figure_words, figures_item, turn_figures
from palimpsest.transcript.messages import Message

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "turn_figures.json").read_text(encoding="utf-8")
)
"""What ``labextension/tests/state/display/turnFigures.test.ts`` holds the page to."""


def message(number: int, step: dict[str, Any], *, summary: bool) -> Message:
    info = assistant().info.model_copy(update={"summary": summary})
    part = {"id": f"prt_{number}", "session_id": "s", "message_id": "m", **step}
    return Message.model_validate({"info": info, "parts": [part]})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_sums_and_their_words(case: dict[str, Any]) -> None:
    messages = [
        message(number, step["step"], summary=step["summary"])
        for number, step in enumerate(case["messages"])
    ]

    figures, told = turn_figures(messages), case["told"]

    if told is None:
        assert (figures, figures_item(messages)) == (None, None)
        return
    assert figures is not None
    assert (figures.steps, figure_words(figures)) == (told["steps"], told["words"])
    assert (figures.used_tokens, figures.window) == (told.get("used"), told.get("window"))
    line = figures_item(messages)
    assert line is not None
    assert line.summary.partition(" · ")[2] == " · ".join(told["words"])

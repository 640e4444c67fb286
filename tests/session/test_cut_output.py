"""The advice in a truncated output can be followed, under every preset, and in a subagent, too."""

import re
from typing import Any

import pytest
from tests.sample_size import sample_size, thinned

from palimpsest.context.presets import PRESETS
from palimpsest.context.reduction.truncation import RECALL_HINT, TASK_HINT, WHOLE_OUTPUT_HINT
from palimpsest.model.interface import ModelRequest
from palimpsest.testing import ModelAnswer, ScriptedModel, calls, isolated_session, says

pytestmark = pytest.mark.slow

LONG = calls("bash", command="seq 1 30000", description="Count")
ALLOWED = {"permission": {"*": "allow"}}


def newest(request: ModelRequest) -> str:
    """Return the newest tool output of a request."""
    return next(
        str(message["content"])
        for message in reversed(request.messages)
        if message["role"] == "tool"
    )


def named(request: ModelRequest) -> str:
    """Return the name by which a truncated output can be recalled."""
    match = re.search(r"recall (\w+)", newest(request))
    assert match is not None
    return match[1]


@pytest.mark.parametrize("preset", thinned(PRESETS, 6))
def test_the_note_names_recall_and_a_task_and_both_find_the_output(preset: str) -> None:
    def reads(request: ModelRequest) -> ModelAnswer:
        name = named(request)
        return calls("recall", name=name, pattern="^29999$", context=0).calls(
            "task", agent="explore", description="Find it", prompt=f"recall {name}"
        )

    def finds(request: ModelRequest) -> ModelAnswer:
        name = str(request.messages[-1]["content"]).removeprefix("recall ")
        return calls("recall", name=name, pattern="^29998$", context=0)

    model = ScriptedModel(LONG, reads, finds, says("Row 29998."), says("Good."))
    with isolated_session(model, settings={"policy": preset, **ALLOWED}) as session:
        assert session.prompt("Count.").stopped_by == "finished"
        assert all(session.rebuild(requested).matches for requested in session.requests())

    assert newest(model.requests[1]).endswith(TASK_HINT.format(name=named(model.requests[1])))
    assert "29998: 29998" in newest(model.requests[3])  # in the subagent
    outputs = [
        message["content"] for message in model.requests[4].messages if message["role"] == "tool"
    ]
    assert "29999: 29999" in str(outputs[-2])
    assert "Row 29998." in str(outputs[-1])


CHOICES: list[tuple[dict[str, Any], str]] = [
    ({"task": False}, RECALL_HINT),
    ({"recall": False}, WHOLE_OUTPUT_HINT),
    ({"recall": False, "task": False}, WHOLE_OUTPUT_HINT),
]


@pytest.mark.parametrize("preset", list(PRESETS)[:: sample_size(3, 1)])
@pytest.mark.parametrize(("tools", "hint"), CHOICES)
def test_the_note_names_no_tool_that_is_not_offered(
    preset: str, tools: dict[str, bool], hint: str
) -> None:
    model = ScriptedModel(LONG, says("Good."))
    with isolated_session(model, settings={"policy": preset, **ALLOWED}) as session:
        session.prompt("Count.", tools=tools)

    cut = newest(model.requests[1])
    name = named(model.requests[1]) if "{name}" in hint else ""
    assert cut.endswith(hint.format(name=name))

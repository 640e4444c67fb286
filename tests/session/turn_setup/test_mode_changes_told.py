"""The model is told when plan mode or another agent begins, in each preset's own form."""

import itertools
from collections.abc import Sequence

import pytest
from tests.sample_size import thinned

from palimpsest.context.engine_text.reminders import BUILD_BESIDE_NEWEST, PLAN_BESIDE_NEWEST
from palimpsest.context.presets import PRESETS
from palimpsest.recordings.reconstruction.decision_points import DecisionPoint
from palimpsest.testing import ScriptedModel, calls, isolated_session, says
from palimpsest.transcript.messages import Messages

pytestmark = pytest.mark.slow

OPENCODE = ("opencode-1.1", "opencode-1.18")
IN_NOTES = tuple(name for name in PRESETS if name not in OPENCODE)
AGENT = {"agent": {"poet": {"description": "Writes poems.", "prompt": "Write a poem."}}}


def talk(
    preset: str, *prompts: tuple[str, str]
) -> tuple[list[list[str]], Sequence[DecisionPoint], Messages]:
    """Return the user messages of each request, the repeated decisions, and the session's messages."""
    model = ScriptedModel(*(says("Good.") for _ in prompts))
    with isolated_session(model, settings={"policy": preset, **AGENT}) as session:
        for words, agent in prompts:
            assert session.prompt(words, agent=agent).stopped_by == "finished"
        assert all(session.rebuild(request).matches for request in session.requests())
        occasions = session.redecide().occasions
        assert [occasion for occasion in occasions if not occasion.is_same] == []
        messages = session.messages
    return [said(request) for request in model.requests], occasions, messages


def said(request: object) -> list[str]:
    return [message["content"] for message in request.messages if message["role"] == "user"]  # type: ignore[attr-defined]


PLANNED = (("Look.", "build"), ("Plan it.", "plan"), ("More.", "plan"), ("Do it.", "build"))


@pytest.mark.parametrize("preset", IN_NOTES)
def test_a_note_beside_the_prompt_says_it_and_stays(preset: str) -> None:
    requests, *_ = talk(preset, *PLANNED)

    looked, planned, more, done = requests[3]
    assert (looked, more) == ("Look.", "More.")
    assert planned.startswith("Plan it.")
    assert "From here on you are in plan mode" in planned
    assert "Plan mode has ended" in done
    for before, after in itertools.pairwise(requests):
        assert after[: len(before)] == before


@pytest.mark.parametrize("preset", OPENCODE)
def test_the_recorded_form_says_it_beside_the_newest_prompt_alone(preset: str) -> None:
    requests, told, messages = talk(preset, *PLANNED)

    assert requests == [
        ["Look."],
        ["Look.", f"Plan it.\n\n{PLAN_BESIDE_NEWEST}"],
        ["Look.", "Plan it.", f"More.\n\n{PLAN_BESIDE_NEWEST}"],
        ["Look.", "Plan it.", "More.", f"Do it.\n\n{BUILD_BESIDE_NEWEST}"],
    ]
    assert [occasion.decider for occasion in told if occasion.decider == "remind"] == ["remind"] * 2
    # What was added beside the older prompts stays in the log.
    kept = [part.text for m in messages for part in m.parts if part.type == "text"]
    assert kept.count(PLAN_BESIDE_NEWEST) == 2


@pytest.mark.parametrize("preset", OPENCODE)
def test_the_recorded_form_holds_for_each_step_of_a_turn(preset: str) -> None:
    model = ScriptedModel(calls("read", path="."), says("A plan."))
    with isolated_session(model, settings={"policy": preset}) as session:
        session.prompt("Plan it.", agent="plan")

    assert [said(request) for request in model.requests] == [
        [f"Plan it.\n\n{PLAN_BESIDE_NEWEST}"]
    ] * 2


@pytest.mark.parametrize("preset", thinned(PRESETS, 3))
def test_another_agent_is_told_in_a_note(preset: str) -> None:
    requests, *_ = talk(preset, ("Look.", "build"), ("Sing.", "poet"), ("Go on.", "poet"))

    looked, sung, went_on = requests[2]
    assert (looked, went_on) == ("Look.", "Go on.")
    assert "From here on you answer as the agent poet; until now it was build." in sung


@pytest.mark.parametrize("preset", thinned(PRESETS, 3, 1))
def test_the_mode_of_a_session_is_told_in_a_note(preset: str) -> None:
    model = ScriptedModel(says("Good."), says("Good."), says("Good."))
    with isolated_session(model, settings={"policy": preset}) as session:
        session.prompt("Look.")
        session.control.use_mode("plan")
        session.prompt("Plan it.")
        session.control.use_mode("ask")
        session.prompt("Do it.")

    looked, planned, done = said(model.requests[2])
    assert looked == "Look."
    assert "The user has put this session in plan mode" in planned
    assert "Plan mode has ended" in done

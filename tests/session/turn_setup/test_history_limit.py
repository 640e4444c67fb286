"""A session is found by its key, and its history is limited to the configured number of turns."""

from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask

from palimpsest.app.loaded_config import trust_project
from palimpsest.app.wiring import App
from palimpsest.context.policy_overrides import preset_policy
from palimpsest.model.script import says
from palimpsest.recordings.reconstruction.requests import policy_of, rebuild_all
from palimpsest.session.config.context_policy import session_key, users_of, with_history_limit
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.messages import Origin
from palimpsest.transcript.session_record.sessions import SessionInfo, SessionTime

ANN = SessionInfo(
    id="ses_1",
    project_id="p:1",
    directory="/w",
    title="t",
    version="1",
    time=SessionTime(created=1_700, updated=1_700),
)
LIMITS = {"history_limit": 3, "dm_history_limit": 2, "dms": {"ann": {"history_limit": 1}}}


def test_a_persons_session_is_named_after_the_person() -> None:
    assert session_key("build", ANN, {"ann"}) == "agent:build:jupyter:direct:ann"


def test_a_session_of_several_is_named_after_the_project() -> None:
    assert session_key("build", ANN, {"ann", "bob"}) == "agent:build:jupyter:group:p_1"


def test_a_task_of_another_session_is_a_thread() -> None:
    child = ANN.model_copy(update={"parent_id": "ses_0"})

    assert session_key("a:b", child, {"ann"}) == "agent:a_b:jupyter:direct:ann:thread:1700"


@pytest.mark.parametrize("name", ["palimpsest", "openclaw-2026.2", "openclaw-2026.9"])
@pytest.mark.parametrize(
    ("user", "limits", "turns"),
    [
        ("ann", LIMITS, 1),
        ("bob", LIMITS, 2),
        ("ann", LIMITS | {"dms": {"ann": {"history_limit": 0}}}, 0),
        ("ann", LIMITS | {"dms": {"ann": {}}}, 2),
        ("ann", {"history_limit": 3}, None),
        ("ann", {}, None),
    ],
)
def test_the_limit_is_that_of_the_key(
    name: str, user: str, limits: dict[str, Any], turns: int | None
) -> None:
    policy = with_history_limit(
        preset_policy(name), limits, agent="build", session=ANN, messages=(), user=user
    )

    assert policy.history_limit == turns


async def test_the_live_loop_sends_the_turns_that_the_key_allows(tmp_path: Path) -> None:
    model = ScriptedModel(*(says(f"Answer {n}.") for n in range(6)))
    harness = SessionHarness(
        tmp_path, model, policy="openclaw-2026.2", history_limits=LIMITS, user="bob"
    )
    session = await harness.session()

    for n in range(4):
        await ask(session, f"Question {n}?")
    alone = [m["content"] for m in model.requests[-1].messages if m["role"] == "user"]
    await session.prompt("And I?", PromptOptions(origin=Origin(user="ann")))
    together = [m["content"] for m in model.requests[-1].messages if m["role"] == "user"]

    assert alone == ["Question 2?", "Question 3?"]
    assert together == ["Question 2?", "Question 3?", "And I?"]
    assert users_of(session.snapshot().messages, "bob") == {"ann", "bob"}
    rebuilt = list(rebuild_all(harness.store, session.id, await harness.records(session)))
    assert all(rebuilt_request.matches for rebuilt_request in rebuilt)
    assert [
        policy_of(harness.store, rebuilt_request.record).history_limit
        for rebuilt_request in rebuilt
    ] == [2] * 4 + [3]


async def test_without_a_limit_everything_is_sent(tmp_path: Path) -> None:
    model = ScriptedModel(*(says(f"Answer {n}.") for n in range(6)))
    session = await SessionHarness(tmp_path, model, user="bob").session()

    for n in range(5):
        await ask(session, f"Question {n}?")

    assert len([m for m in model.requests[-1].messages if m["role"] == "user"]) == 5


def test_the_limits_are_configured(tmp_path: Path) -> None:
    words = "dm_history_limit = 4\nhistory_limit = 9\n[dms.ann]\nhistory_limit = 0\n"
    (tmp_path / "palimpsest.toml").write_text(words)
    trust_project(tmp_path, {"HOME": str(tmp_path)})

    app = App(start=tmp_path, environment={"JUPYTERHUB_USER": "ann", "HOME": str(tmp_path)})
    try:
        assert app.config.problems == ()
        assert app.services.user == "ann"
        assert app.services.agents.history_limits == {
            "history_limit": 9,
            "dm_history_limit": 4,
            "dms": {"ann": {"history_limit": 0}},
        }
    finally:
        app.close()

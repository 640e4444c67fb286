"""A warning about a small window is shown at a prompt, once for each session and model."""

from pathlib import Path
from typing import Any

import pytest
from tests.harness.compacted_sessions import SUMMARY
from tests.harness.replay_checks import check_log_laws

from palimpsest.app.wiring import App
from palimpsest.public.session_object import Session, open_session
from palimpsest.render.formats import markdown, text
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel, calls, isolated_session, says
from palimpsest.transcript.user_notices import user_notice_text

pytestmark = pytest.mark.slow

SMALL, TINY, LARGE = "scripted/model", "scripted/tiny", "scripted/large"
MODELS = {
    SMALL: {"window": 20_000, "output": 2_000},
    TINY: {"window": 16_000, "output": 2_000},
    LARGE: {"window": 32_000, "output": 2_000},
}
SETTINGS: dict[str, Any] = {"models": MODELS}
WORDS = "has a small context window"


def told(session: Session) -> list[tuple[bool, str]]:
    """Return the notices about windows: whether in a summary, and the model they name."""
    return [
        (getattr(message.info, "summary", False), words.split()[0])
        for message in session.messages
        for part in message.parts
        if (words := user_notice_text(part)) is not None and WORDS in words
    ]


def test_it_is_told_once_for_each_model_and_never_sent(tmp_path: Path) -> None:
    answers = [says("One."), says("Two."), says("Three."), says("Four."), says("Five.")]
    model = ScriptedModel(*answers)

    with isolated_session(model, folder=tmp_path, settings=SETTINGS) as session:
        session.prompt("One?")
        session.prompt("Two?")
        session.prompt("Three?", model=TINY)
        session.prompt("Four?", model=LARGE)
        session.prompt("Five?", model=SMALL)

        assert told(session) == [(False, SMALL), (False, TINY)]
        session_id = session.id
    assert WORDS not in str([request.messages for request in model.requests])
    check_log_laws(JsonlStore(open_project_folder(tmp_path)), session_id)


def test_it_stands_in_the_answer_wherever_that_is_shown() -> None:
    with isolated_session(ScriptedModel(says("One.")), settings=SETTINGS) as session:
        answer = session.prompt("One?")

    [message] = answer.messages
    assert answer.text == "One."
    for shown in (text.render_message(message), markdown.render_message(message)):
        assert "20,000 tokens. Below 32,000 the conversation is summarised often" in shown


def test_a_summary_holds_none_and_a_new_kernel_tells_it_no_more(tmp_path: Path) -> None:
    long = "The mean of bill_length_mm is 43.92. " * 280
    answers = [says(long), says(long), says(SUMMARY), says("Then.")]
    model = ScriptedModel(*answers)
    with isolated_session(model, folder=tmp_path, settings=SETTINGS) as session:
        session.prompt("One?")
        session.prompt("Two?")
        session.compact().result()
        assert told(session) == [(False, SMALL)]
        session_id = session.id
    assert [request.purpose for request in model.requests] == ["step", "step", "compaction"]
    assert WORDS not in str([request.messages for request in model.requests])

    again = ScriptedModel(says("Five."))
    home = {"HOME": str(tmp_path / "home")}
    overrides = {"titles": False, "model": SMALL, **SETTINGS}
    app = App(start=tmp_path, environment=home, overrides=overrides, model=lambda _: again)
    try:
        session = open_session(app, session_id)
        answer = session.prompt("Five?", model=SMALL)
        assert answer.text == "Five."
        new = [user_notice_text(part) for message in answer.messages for part in message.parts]
        assert [words for words in new if words is not None] == []
    finally:
        app.close()
    assert WORDS not in str(again.requests[-1].messages)


def test_a_task_is_told_nothing() -> None:
    task = calls("task", description="Look", prompt="Look.", agent="general")
    model = ScriptedModel(task, says("Looked."), says("Done."))

    with isolated_session(model, settings=SETTINGS) as session:
        session.prompt("Look.", yes=True)
        [child] = session.children()
        opened = open_session(session._app, child.id)

        assert told(session) == [(False, SMALL)]
        assert told(opened) == []


@pytest.mark.parametrize("policy", ["opencode-1.18", "openclaw-2026.2"])
def test_it_is_told_under_other_policies(policy: str) -> None:
    settings = {**SETTINGS, "policy": policy}
    with isolated_session(ScriptedModel(says("One.")), settings=settings) as session:
        session.prompt("One?")

        assert told(session) == [(False, SMALL)]


def test_a_window_that_is_large_enough_needs_no_words() -> None:
    with isolated_session(ScriptedModel(says("One.")), settings=SETTINGS) as session:
        session.prompt("One?", model=LARGE)

        assert told(session) == []

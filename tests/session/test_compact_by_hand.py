"""A manual compaction is written by the configured model, and the agent continues after it if told so."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.harness.compacted_sessions import SUMMARY
from tests.harness.replay_checks import check_log_laws
from tests.sample_size import thinned
from tests.waiting import LAST_RESORT_SECONDS, eventually

from palimpsest.public.session_object import Session
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel, calls, isolated_session, says, stalls
from palimpsest.transcript.errors import AbortedError, ConfigError, UserError, WaitAborted
from palimpsest.transcript.parts import CompactionPart

pytestmark = pytest.mark.slow

OWN, WRITER = "scripted/model", "scripted/writer"
LONG = "The mean of bill_length_mm is 43.92. " * 280


@contextmanager
def talked(model: ScriptedModel, folder: Path | None = None, **settings: Any) -> Iterator[Session]:
    """Open a session with a long conversation."""
    limits = {"window": 200_000, "output": 8_000}
    models = {"models": {OWN: limits, WRITER: limits}}
    with isolated_session(model, folder=folder, settings={**models, **settings}) as session:
        session.prompt("What is the mean?")
        yield session


def asked(model: ScriptedModel) -> list[tuple[str, str]]:
    return [(request.purpose, request.model.ref.id) for request in model.requests]


def markers(session: Session) -> list[CompactionPart]:
    parts = [part for message in session.messages for part in message.parts]
    return [part for part in parts if isinstance(part, CompactionPart)]


def test_the_model_that_is_named_writes_this_one_summary(tmp_path: Path) -> None:
    model = ScriptedModel(says(LONG), says(SUMMARY), says(LONG), says(SUMMARY))

    with talked(model, tmp_path) as session:
        first = session.compact("the mean", model=WRITER).result()
        session.prompt("And now?")
        second = session.compact().result()
        session_id = session.id

    assert (first.error, second.error) == (None, None)
    assert asked(model) == [
        ("step", OWN),
        ("compaction", WRITER),
        ("step", OWN),
        ("compaction", OWN),
    ]
    assert first.messages[-1].info.model.id == WRITER  # type: ignore[union-attr]
    check_log_laws(JsonlStore(open_project_folder(tmp_path)), session_id)


@pytest.mark.parametrize(
    ("name", "words"),
    thinned(
        [
            ("openai/gpt-4o-mni", "did you mean 'openai/gpt-4o-mini'"),
            ("opnai/gpt-4o", "did you mean 'openai'"),
            ("nothing-at-all", "Write it as provider/name"),
        ],
        3,
    ),
)
def test_a_wrong_name_is_refused_at_once(name: str, words: str) -> None:
    with isolated_session() as session:
        session.prompt("Hello.")
        with pytest.raises(ConfigError, match=words):
            session.compact(model=name).result()

        assert markers(session) == []


def test_nothing_follows_a_summary_that_a_person_asked_for() -> None:
    model = ScriptedModel(says(LONG), says(SUMMARY))

    with talked(model) as session:
        answer = session.compact().result()

    assert asked(model) == [("step", OWN), ("compaction", OWN)]
    assert answer.text.strip() == SUMMARY.strip()


def test_the_agent_goes_on_by_itself_where_it_is_told_so(tmp_path: Path) -> None:
    model = ScriptedModel(says(LONG), says(SUMMARY), says("All is done."))

    with talked(model, tmp_path) as session:
        answer = session.compact(model=WRITER, auto=True).result()
        [marker] = markers(session)
        session_id = session.id

    assert (answer.text, answer.error) == ("All is done.", None)
    assert asked(model) == [("step", OWN), ("compaction", WRITER), ("step", OWN)]
    assert (marker.auto, marker.goes_on) == (False, True)
    said = str(model.requests[-1].messages[-1]["content"])
    assert "Go on if there is a next step" in said
    assert "What is the mean?" not in said
    check_log_laws(JsonlStore(open_project_folder(tmp_path)), session_id)


def test_it_goes_on_with_what_is_open_on_the_todo_list() -> None:
    todos = [{"content": "Plot the masses", "status": "pending"}]
    answers = calls("todowrite", todos=todos), says(LONG), says(SUMMARY), says("Plotted.")
    model = ScriptedModel(*answers)

    with talked(model) as session:
        answer = session.compact(auto=True).result()

    assert answer.text == "Plotted."
    said = str(model.requests[-1].messages[-1]["content"])
    assert "still open on the todo list:\n\n- Plot the masses" in said


@pytest.mark.parametrize("runs", [True, False])
def test_a_wait_for_it_is_rejected_where_the_session_is_closed(*, runs: bool) -> None:
    """Like the seed documents' waitForCompactionRetry after unsubscribe, before and during a compaction."""
    model = ScriptedModel(says(LONG), stalls())

    with talked(model) as session:
        summary = session.compact() if runs else None
        eventually(lambda: len(model.requests) == 1 + runs)
        waiting = session.wait_compaction()
        if not runs:
            assert waiting.result() is True

    if summary is not None:
        with pytest.raises(WaitAborted, match="was closed during a compaction"):
            waiting.result(LAST_RESORT_SECONDS)
        assert isinstance(summary.result(LAST_RESORT_SECONDS).error, AbortedError)
    with pytest.raises(WaitAborted, match="no compaction to wait for; open it again") as caught:
        session.wait_compaction().result(LAST_RESORT_SECONDS)
    assert isinstance(caught.value, UserError)
    with pytest.raises(WaitAborted):
        asyncio.run(session.aio.wait_compaction())


def test_it_goes_on_in_the_words_of_the_policy() -> None:
    model = ScriptedModel(says(LONG), says(SUMMARY), says("Nothing is left."))

    with talked(model, policy="opencode-1.18") as session:
        answer = session.compact(auto=True).result()

    assert answer.text == "Nothing is left."
    assert "Continue if you have next steps" in str(model.requests[-1].messages)

"""A window of 0 means that no limit is known or wanted: nothing is truncated, and no percentage is shown."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.harness.compacted_sessions import SUMMARY
from tests.harness.replay_checks import check_log_laws
from tests.sample_size import sampled_cases

from palimpsest.app.wiring import App
from palimpsest.context.presets import PRESETS
from palimpsest.public.session_object import Session
from palimpsest.render.formats import markdown, text
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel, calls, fails, isolated_session, says
from palimpsest.transcript.parts import CompactionPart

pytestmark = pytest.mark.slow

MODEL = "scripted/model"
STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
HUGE = "word " * 400_000
TOO_LONG = (
    "This model's maximum context length is 131072 tokens. However, your messages resulted in "
    "140000 tokens. Please reduce the length of the messages."
)


@contextmanager
def unlimited(
    model: ScriptedModel, folder: Path | None = None, **settings: Any
) -> Iterator[Session]:
    limits = {"window": 0, "output": 8_000, **settings.pop("limits", {})}
    with isolated_session(
        model, folder=folder, settings={"models": {MODEL: limits}, **settings}
    ) as session:
        yield session


def last_prompt(model: ScriptedModel) -> str:
    return str(model.requests[-1].messages[-1]["content"])


@pytest.mark.soak  # with each commit nothing old is pruned, beside it; this adds a huge prompt
@pytest.mark.parametrize("preset", sampled_cases([*PRESETS], "palimpsest"))
def test_a_huge_prompt_is_sent_whole_under_every_policy(preset: str) -> None:
    model = ScriptedModel(says("Read."), says("Again."))

    with unlimited(model, policy=preset) as session:
        first = session.prompt(HUGE)
        second = session.prompt("And now?")

    assert (first.text, second.text) == ("Read.", "Again.")
    assert [request.purpose for request in model.requests] == ["step", "step"]
    assert HUGE.strip() in str(model.requests[-1].messages)
    assert model.requests[-1].parameters["max_tokens"] == 8_000


def test_nothing_old_is_pruned_and_the_log_is_replayed_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("a line of the log that says nothing\n" * 1_200)
    reads = [calls("read", path="long.txt", limit=1_200 - number) for number in range(12)]
    model = ScriptedModel(*reads, says("Read."), says("Done."))

    with unlimited(model, tmp_path) as session:
        session.prompt("Read it.", yes=True)
        session.prompt("Done?")
        session_id = session.id

    last = str(model.requests[-1].messages)
    assert last.count("a line of the log") == sum(1_200 - number for number in range(12))
    store = JsonlStore(open_project_folder(tmp_path))
    check_log_laws(store, session_id)


def test_a_refusal_of_the_provider_leads_to_a_summary() -> None:
    refusal = fails(400, TOO_LONG, code="context_length_exceeded", type="invalid_request_error")
    model = ScriptedModel(says("Noted. " * 300), refusal, says(SUMMARY), says("It is 43.92."))

    with unlimited(model) as session:
        session.prompt("Tell me all about penguins. " + "word " * 3_000)
        answer = session.prompt("What was the mean?")

    assert answer.text == "It is 43.92."
    purposes = [request.purpose for request in model.requests]
    assert purposes == ["step", "step", "compaction", "step"]
    marks = [
        part
        for message in session.messages
        for part in message.parts
        if isinstance(part, CompactionPart)
    ]
    assert [mark.overflow for mark in marks] == [True]


def test_the_context_is_told_without_a_window() -> None:
    with unlimited(ScriptedModel(says("Hello."))) as session:
        session.prompt("Hello?")
        held = session.context()

    assert (held.window, held.free_tokens, held.reserve, held.excess_tokens) == (0, 0, 0, 0)
    assert held.used_tokens > 0
    assert f"{held.used_tokens:,} tokens, no limit" in held.text
    for words in (held.text, held.markdown, repr(held), STYLE.sub("", held.html)):
        assert "%" not in words
        assert "Free" not in words
        assert "000,000" not in words
        assert " of 0" not in words


def test_a_step_tells_its_tokens_without_a_share(tmp_path: Path) -> None:
    with unlimited(ScriptedModel(says("Hello.")), tmp_path, density="all steps") as session:
        session.prompt("Hello?")
        [message] = [answer for answer in session.messages if answer.info.role == "assistant"]
        page = session.export("html").read_text()
        notebook = session.export("md").read_text()

    for words in (text.render_message(message), markdown.render_message(message), notebook, page):
        lines = words.replace("\N{NO-BREAK SPACE}", " ").splitlines()
        [step] = [line for line in lines if "step 1" in line]
        assert re.search(r"\b[\d.]+k? tokens", step)
        assert "%" not in step
        assert "gauge" not in step


def test_a_cap_is_a_limit_also_there() -> None:
    with unlimited(ScriptedModel(says("Hello.")), context_tokens=40_000) as session:
        session.prompt("Hello?")

        assert session.context().window == 40_000


def test_a_list_of_models_says_that_there_is_no_limit(tmp_path: Path) -> None:
    limits = {"models": {MODEL: {"window": 0}}}
    app = App(start=tmp_path, environment={"HOME": str(tmp_path)}, overrides=limits)
    try:
        found = {name: window for name, window, _ in app.models()}
    finally:
        app.close()

    assert found[MODEL] == "no limit"

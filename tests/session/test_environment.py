"""The environment is described in the words of the policy at the session's start, and stays unchanged."""

from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask
from tests.loop.context_management.test_fit_driver import rebuilt
from tests.sample_size import thinned

from palimpsest.context.engine_text.system_prompt import prompt_sections
from palimpsest.context.presets import PRESETS
from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import ModelAnswer, says
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel

LINES = {
    "palimpsest": ("You are powered by the model scripted/model.", "  Session began on: "),
    "opencode-1.1": ("You are powered by the model named model.", "  Today's date: "),
    "opencode-1.18": (
        "You are powered by the model named model. The exact model ID is scripted/model",
        "  Workspace root folder: ",
    ),
}


def environment(model: ScriptedModel, number: int = -1) -> str:
    body = model.requests[number].messages[0]["content"]
    text = body if isinstance(body, str) else "\n\n".join(block["text"] for block in body)
    return text[text.index("You are powered by") : text.index("</env>") + len("</env>")]


@pytest.mark.parametrize("preset", PRESETS)
async def test_a_live_request_tells_it_in_the_words_of_its_preset(
    tmp_path: Path, preset: str
) -> None:
    model = ScriptedModel(says("Hello."))
    harness = SessionHarness(tmp_path, model, policy=preset)
    session = await harness.session()

    await ask(session, "Hello")

    sentence = environment(model)
    words = LINES[PRESETS[preset].environment]
    assert sentence.split("\n")[0] == words[0]
    assert words[1] in sentence
    assert [section.name for section in prompt_sections(sentence)] == ["environment"]
    await rebuilt(harness, session, model)


async def test_another_policy_later_and_a_restart_change_no_byte_of_it(tmp_path: Path) -> None:
    store = JsonlStore(open_project_folder(tmp_path), heartbeat_seconds=0.1, watch_seconds=2.5)
    model = ScriptedModel(says("One."), says("Two."))
    harness = SessionHarness(tmp_path, model, store=store)
    session = await harness.session()
    await ask(session, "One")
    await session.use_policy("opencode-1.1")
    await ask(session, "Two")
    await harness.workspace.close()
    later = ScriptedModel(says("Three."))
    again = SessionHarness(tmp_path, later, store=store)
    await ask(await again.session(), "Three")

    assert environment(model, 0) == environment(model, 1) == environment(later)
    assert environment(model, 0).startswith(LINES["palimpsest"][0])
    await again.workspace.close()


GOOD = "## Goal\n- read the logs\n" + "- none of that matters at all\n" * 20
BETWEEN: dict[str, dict[str, Any]] = {
    "another model": {"model": "scripted/other"},
    "another agent": {"agent": "plan"},
    "further words": {"system": "Be terse."},
    "a compaction": {},
}


@pytest.mark.parametrize("between", thinned(BETWEEN, 4))
async def test_a_restart_after_something_else_was_asked_keeps_every_byte(
    tmp_path: Path, between: str
) -> None:
    def told(request: ModelRequest) -> ModelAnswer:
        return says(GOOD if request.purpose == "compaction" else "word " * 1_500)

    (tmp_path / "AGENTS.md").write_text("Answer in metres.")
    store = JsonlStore(open_project_folder(tmp_path), heartbeat_seconds=0.1, watch_seconds=2.5)
    model = ScriptedModel(*[told] * 8)
    harness = SessionHarness(tmp_path, model, store=store)
    session = await harness.session()
    usual = {"model": "scripted/model", "agent": "build"}
    await ask(session, "One", **usual)
    await ask(session, "Two", **usual | BETWEEN[between])
    if between == "a compaction":
        await session.compact()
    await harness.workspace.close()
    (tmp_path / "AGENTS.md").write_text("Answer in feet.")
    again = SessionHarness(tmp_path, model, store=store)
    session = await again.session()
    session.basis()  # inspecting the request first changes nothing
    await ask(session, "Three", **usual)

    begins = [[m for m in sent.messages if m["role"] == "system"] for sent in model.requests]
    assert begins[-1] == begins[0]
    assert "Answer in metres." in str(begins[-1])
    await again.workspace.close()


async def test_a_model_that_was_never_asked_is_told_what_holds_now(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Answer in metres.")
    store = JsonlStore(open_project_folder(tmp_path), heartbeat_seconds=0.1, watch_seconds=2.5)
    model = ScriptedModel(says("One."), says("Two."))
    harness = SessionHarness(tmp_path, model, store=store)
    await ask(await harness.session(), "One")
    await harness.workspace.close()
    (tmp_path / "AGENTS.md").write_text("Answer in feet.")
    again = SessionHarness(tmp_path, model, store=store)
    await ask(await again.session(), "Two", model="scripted/other")

    assert "Answer in feet." in str(model.requests[-1].messages)
    await again.workspace.close()

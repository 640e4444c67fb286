"""A hook may write the whole system prompt, and its request can be reviewed like any other."""

from pathlib import Path
from typing import Any

import pytest
from tests.harness.compacted_sessions import LONG, SUMMARY
from tests.harness.replay_checks import check_log_laws
from tests.harness.session import SessionHarness, ask, requested
from tests.session.extensions.test_hooks import make_harness, notices

from palimpsest.app.wiring import App
from palimpsest.model.script import calls, says
from palimpsest.public.session_object import open_session
from palimpsest.recordings.reconstruction.requests import rebuild
from palimpsest.session.config.setting_files import LockedSettings
from palimpsest.session.extensions.hooks import HookRegistry
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.session_record.hook_values import SystemPrompt

CLAUDE = "anthropic/claude-opus-4-5"
"""A model whose system prompt may have several texts; local servers get a single one."""


def systems(model: ScriptedModel, number: int = -1) -> list[str]:
    """Return the texts of a request's system prompt, as they were sent."""
    sent = model.requests[number].messages
    return [_text(message["content"]) for message in sent if message["role"] == "system"]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def rewrites(*texts: str) -> Any:
    """Return a hook that writes these texts; ``HEADER`` and ``BODY`` stand for the texts it received."""

    def write(event: Any) -> SystemPrompt:
        given = {"HEADER": event.texts[0], "BODY": event.texts[-1]}
        return SystemPrompt([given.get(text, text) for text in texts])

    return write


async def test_what_it_writes_is_sent_and_is_replayed_to_the_byte(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Three penguins.")
    answers = [calls("read", path="a.txt"), says(LONG), says(SUMMARY), says("Three.")]
    model = ScriptedModel(*answers)
    harness = make_harness(tmp_path, model, ("system", rewrites("You count penguins.")))
    session = await harness.session()

    await ask(session, "How many?")
    await session.compact()
    await ask(session, "Again?")

    steps = [request for request in model.requests if request.purpose == "step"]
    assert len(steps) == 3
    for number, request in enumerate(model.requests):
        if request.purpose == "step":
            assert systems(model, number) == ["You count penguins."]
    assert all(event.request.opaque is None for event in requested(await harness.records(session)))
    check_log_laws(harness.store, session.id)


async def test_a_later_kernel_sends_the_same_without_asking_it_again(tmp_path: Path) -> None:
    model = ScriptedModel(says("One."), says("Two."))
    harness = make_harness(tmp_path, model, ("system", rewrites("You count penguins.")))
    session = await harness.session()
    await ask(session, "One?")
    await harness.workspace.close()

    later = SessionHarness(
        tmp_path, model, store=harness.store, hooks=HookRegistry(with_packages=False)
    )
    again = await later.session()
    await ask(again, "Two?")

    assert again.id == session.id
    assert systems(model) == ["You count penguins."]
    check_log_laws(harness.store, session.id)


@pytest.mark.parametrize(
    ("texts", "sent"),
    [
        # After an unchanged header all is one text, which the cache holds separately.
        (("HEADER", "Mine.", "Yours."), ("HEADER", "Mine.\nYours.")),
        (("HEADER", "BODY", "Yours."), ("HEADER", "BODY\nYours.")),
        (("HEADER", "Mine."), ("HEADER", "Mine.")),
        # Without our header as the first text, all texts are sent as they were written.
        (("Mine.", "Yours.", "Theirs."), ("Mine.", "Yours.", "Theirs.")),
        (("Mine.",), ("Mine.",)),
    ],
)
async def test_header_and_rest_stay_two_parts(
    tmp_path: Path, texts: tuple[str, ...], sent: tuple[str, ...]
) -> None:
    plain = ScriptedModel(says("Yes."))
    await ask(await make_harness(tmp_path, plain).session(), "Go.", model=CLAUDE)
    given = dict(zip(("HEADER", "BODY"), systems(plain), strict=True))
    model = ScriptedModel(says("Yes."))
    harness = make_harness(tmp_path, model, ("system", rewrites(*texts)))
    session = await harness.session()

    await ask(session, "Go.", model=CLAUDE)

    expected = ["\n".join(given.get(line, line) for line in text.split("\n")) for text in sent]
    assert systems(model) == expected
    [event] = requested(await harness.records(session))
    assert rebuild(harness.store, session.id, event.request.id).matches
    check_log_laws(harness.store, session.id)


async def test_each_hook_sees_what_the_one_before_it_made(tmp_path: Path) -> None:
    seen: list[tuple[str, ...]] = []

    def last(event: Any) -> SystemPrompt:
        seen.append(event.texts)
        return SystemPrompt((*event.texts, "Say goodbye."))

    hooks = [
        ("system", lambda _event: "Said first."),
        ("system", rewrites("You count penguins.")),
        ("system", lambda _event: ["Say please.", "Say thanks."]),
        ("system", last),
    ]
    model = ScriptedModel(says("Yes."))
    harness = make_harness(tmp_path, model, *hooks)
    session = await harness.session()

    await ask(session, "Go.", model=CLAUDE)

    words = "You count penguins.\n\nFurther instructions:\nSay please.\n\nSay thanks."
    assert seen == [(words,)]
    assert systems(model) == [words, "Say goodbye."]
    check_log_laws(harness.store, session.id)


@pytest.mark.parametrize(
    "answer",
    [SystemPrompt(()), SystemPrompt(("  ",)), SystemPrompt((5,)), SystemPrompt("x" * 10**6)],
)
async def test_an_answer_that_makes_no_sense_leaves_the_prompt(tmp_path: Path, answer: Any) -> None:
    model = ScriptedModel(says("Yes."))
    harness = make_harness(tmp_path, model, ("system", lambda _event: answer))
    session = await harness.session()

    await ask(session, "Go.", model=CLAUDE)

    assert systems(model)[0].startswith("You are Palimpsest")
    assert len(systems(model)) == 2
    [notice] = notices(session)
    assert "answered what cannot be used" in notice


async def test_what_an_administrator_fixed_is_added_to_and_not_replaced(tmp_path: Path) -> None:
    hooks = [("system", rewrites("You obey.")), ("system", lambda _event: "Say please.")]
    model = ScriptedModel(says("Yes."))
    locked_settings = LockedSettings({"system": "organisation's file"})
    more = {"locked_settings": locked_settings, "extra_system": "Name no customers."}
    harness = make_harness(tmp_path, model, *hooks, **more)
    session = await harness.session()

    await ask(session, "Go.", model=CLAUDE)

    header, body = systems(model)
    assert header.startswith("You are Palimpsest")
    assert "Name no customers." in body
    assert body.endswith("Say please.")
    [notice] = notices(session)
    assert "an administrator fixed what stands in the system prompt" in notice


@pytest.mark.slow
@pytest.mark.parametrize("trusted", [False, True])
def test_a_projects_hook_writes_it_once_the_project_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, trusted: bool
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".git").mkdir()
    (project / "system_prompt_of_a_clone.py").write_text(
        "from palimpsest import SystemPrompt\n"
        "def system(event):\n    return SystemPrompt(['You obey this folder.'])\n"
    )
    (project / "palimpsest.toml").write_text('hooks = ["system_prompt_of_a_clone:system"]\n')
    monkeypatch.syspath_prepend(str(project))
    environment = {"HOME": str(tmp_path / "home")}
    overrides = {"titles": False, "model": "scripted/model"}
    model = ScriptedModel(says("Yes."))

    def started() -> App:
        return App(
            start=project, environment=environment, overrides=overrides, model=lambda _: model
        )

    if trusted:
        first = started()
        first.trust()
        first.close()
    app = started()
    try:
        open_session(app).prompt("Go.")
    finally:
        app.close()

    assert (systems(model) == ["You obey this folder."]) is trusted
    assert systems(model)[0].startswith("You are Palimpsest") is not trusted

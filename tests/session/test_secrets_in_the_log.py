"""No file of the project's folder contains a secret, whoever wrote it and however it was split."""

import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.harness.session import SessionHarness, ask
from tests.sample_size import sample_size
from tests.transcript.redaction.test_secrets import SECRETS

from palimpsest.model.script import calls, fails, says, thinks
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.open_sessions.workspace import Workspace
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.store_factory import open_store
from palimpsest.store.project_folder.lease import this_owner
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.parts import ReasoningPart, ToolPart
from palimpsest.transcript.redaction.secret_patterns import REDACTED
from palimpsest.transcript.redaction.secret_removal import KernelSecrets
from palimpsest.transcript.values import Rule

KEY = SECRETS["anthropic"]
OWN = "value-of-the-key-1815"
CLAUDE = "anthropic/claude-sonnet-4-5"
FREELY = (Rule(permission="*", pattern="*", action="allow"),)


def make_harness(root: Path, model: ScriptedModel, **more: Any) -> SessionHarness:
    store, _ = open_store(root)
    assert isinstance(store, JsonlStore)
    made = SessionHarness(root, model, store=store, rules=FREELY, **more)
    environment = {"MY_API_KEY": OWN, "PATH": "/usr/bin:/bin"}
    made.services = dataclasses.replace(
        made.services, environment=environment, secrets=KernelSecrets(environment, time.monotonic)
    )
    made.workspace = Workspace(made.services, this_owner("kernel-test"), project_id="project")
    return made


def holding(root: Path, *secrets: str) -> list[str]:
    """Return the files of the project's folder that contain a secret, plain or escaped as in JSON."""
    forms = {form for secret in secrets for form in (secret, json.dumps(secret)[1:-1])}
    found = []
    for path in sorted((root / ".palimpsest").rglob("*")):
        if path.is_file():
            text = path.read_bytes().decode("utf-8", "replace")
            found += [str(path.relative_to(root)) for form in forms if form in text]
    return found


async def rebuilt(made: SessionHarness, session: LiveSession, model: ScriptedModel) -> None:
    found = list(rebuild_all(made.store, session.id, await made.records(session)))
    assert len(found) == len(model.requests)
    assert all(rebuilt_request.matches for rebuilt_request in found)
    assert [rebuilt_request.request.messages for rebuilt_request in found] == [
        request.messages for request in model.requests
    ]


async def test_a_key_in_a_prompt_is_neither_kept_nor_sent(tmp_path: Path) -> None:
    model = ScriptedModel(says("Done."))
    made = make_harness(tmp_path, model)
    session = await made.session()

    await ask(session, f"use {KEY} and {OWN}", system=f"Mind {KEY}.")
    await rebuilt(made, session, model)
    await made.workspace.close()

    assert holding(tmp_path, KEY, OWN) == []
    sent = json.dumps(model.requests[0].messages)
    assert KEY not in sent
    assert OWN not in sent
    assert f"use {REDACTED} and {REDACTED}" in sent


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_a_key_that_the_model_repeats_is_not_kept(tmp_path: Path, size: int) -> None:
    command = f"echo {KEY} {OWN}"
    model = ScriptedModel(
        thinks(f"They gave me {KEY}.").says(f"I run it with {KEY} now.")
        .calls("bash", command=command, description="d").in_pieces(size),
        says(f"It printed {OWN}, {KEY}.").in_pieces(size),
    )  # fmt: skip
    made = make_harness(tmp_path, model)
    session = await made.session()

    answer = await ask(session, "go")
    await rebuilt(made, session, model)
    await made.workspace.close()

    assert holding(tmp_path, KEY, OWN) == []
    assert answer.text == f"It printed {REDACTED}, {REDACTED}."
    call = next(part for m in answer.messages for part in m.parts if isinstance(part, ToolPart))
    assert call.state.input["command"] == f"echo {REDACTED} {REDACTED}"
    assert getattr(call.state, "output", "").strip().startswith(f"{REDACTED} {REDACTED}")


async def test_what_was_called_is_what_the_model_said(tmp_path: Path) -> None:
    model = ScriptedModel(calls("write", path="a.txt", content=f"A={KEY}\n"), says("Written."))
    made = make_harness(tmp_path, model)
    session = await made.session()

    await ask(session, "go")
    await made.workspace.close()

    assert (tmp_path / "a.txt").read_text() == f"A={KEY}\n"
    assert holding(tmp_path, KEY) == []


async def test_the_word_for_a_secret_is_not_written_over_the_secret(tmp_path: Path) -> None:
    before = f"name: ada\nkey: {KEY}\n"
    (tmp_path / "a.txt").write_text(before)
    model = ScriptedModel(
        calls("read", path="a.txt"),
        calls("write", path="a.txt", content=f"name: Ada\nkey: {REDACTED}\n"),
        calls("edit", path="a.txt", old="name: ada", new="name: Ada"),
        says("Done."),
    )
    made = make_harness(tmp_path, model)
    session = await made.session()

    await ask(session, "go")
    await made.workspace.close()

    sent = json.dumps(model.requests[-1].messages)
    assert f"key: {REDACTED}" in sent
    assert KEY not in sent
    assert "would be lost" in sent
    assert (tmp_path / "a.txt").read_text() == before.replace("ada", "Ada")


async def test_a_long_output_is_clean_in_its_blob_too(tmp_path: Path) -> None:
    line = f"{'x' * 60} {KEY}\n"
    (tmp_path / "keys.txt").write_text(line * 1_500)
    model = ScriptedModel(calls("bash", command="cat keys.txt", description="d"), says("Long."))
    made = make_harness(tmp_path, model)
    session = await made.session()

    await ask(session, "go")
    await rebuilt(made, session, model)
    await made.workspace.close()

    blobs = [path for path in (tmp_path / ".palimpsest" / "blobs").rglob("*") if path.is_file()]
    assert any(blob.stat().st_size > 32_000 for blob in blobs)
    assert holding(tmp_path, KEY) == []


async def test_errors_titles_and_instruction_files_are_clean(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text(f"The key is {KEY}.\n")
    model = ScriptedModel(
        fails(400, f"no access for {KEY}"), says("ok"), says(f"About {KEY}"), says("more")
    )
    made = make_harness(tmp_path, model, titles=True)
    session = await made.session()

    await ask(session, f"{KEY} is what?")
    await ask(session, "and now?")
    session.log.change_session(title=f"Using {KEY}")
    await made.workspace.close()

    assert holding(tmp_path, KEY) == []
    assert KEY not in json.dumps([request.messages for request in model.requests])


async def test_thoughts_that_held_a_key_lose_their_signature(tmp_path: Path) -> None:
    model = ScriptedModel(thinks(f"So {KEY} it is.").says("Yes."), says("And?"))
    made = make_harness(tmp_path, model)
    session = await made.session()

    answer = await ask(session, "go", model=CLAUDE)
    await ask(session, "on", model=CLAUDE)
    await rebuilt(made, session, model)
    await made.workspace.close()

    thought = next(
        part for m in answer.messages for part in m.parts if isinstance(part, ReasoningPart)
    )
    assert thought.text == f"So {REDACTED} it is."
    assert "sig-1" not in json.dumps(model.requests[1].messages)
    assert holding(tmp_path, KEY) == []


async def test_thoughts_without_a_key_keep_their_signature(tmp_path: Path) -> None:
    model = ScriptedModel(thinks("So it is.").says("Yes."), says("And?"))
    made = make_harness(tmp_path, model)
    session = await made.session()

    await ask(session, "go", model=CLAUDE)
    await ask(session, "on", model=CLAUDE)
    await made.workspace.close()

    assert "sig-1" in json.dumps(model.requests[1].messages)


async def test_ids_of_calls_stay_as_the_provider_gave_them(tmp_path: Path) -> None:
    identifier = "toolu_" + SECRETS["aws"]
    model = ScriptedModel(
        calls("bash", call_id=identifier, command="true", description="d"), says("ok")
    )
    made = make_harness(tmp_path, model)
    session = await made.session()

    answer = await ask(session, "go")
    await made.workspace.close()

    call = next(part for m in answer.messages for part in m.parts if isinstance(part, ToolPart))
    assert call.call_id == identifier


@pytest.mark.slow
@settings(
    max_examples=sample_size(5, 800),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    before=st.text(max_size=30),
    secret=st.sampled_from([*SECRETS.values(), OWN]),
    after=st.text(max_size=30),
    size=st.integers(1, 40),
)
async def test_no_text_and_no_cut_brings_a_secret_into_a_file(
    tmp_path_factory: pytest.TempPathFactory, before: str, secret: str, after: str, size: int
) -> None:
    root = tmp_path_factory.mktemp("secret")
    text = f"{before} {secret} {after}"
    given_input = json.dumps({"command": f"cat <<'X'\n{text}\nX", "description": "d"})
    model = ScriptedModel(
        thinks(text).says(text).writes("bash", given_input).in_pieces(size),
        says(text).in_pieces(size),
    )
    made = make_harness(root, model)
    session = await made.session()

    await ask(session, text or "go")
    await made.workspace.close()

    assert holding(root, secret) == []

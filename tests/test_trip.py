"""One prompt through all layers: the documentation of the system, as a test.

frontends -> session -> loop -> context -> model -> processor -> store -> frontends
"""

from pathlib import Path

import pytest
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.app.wiring import App
from palimpsest.model.script import thinks
from palimpsest.public.session_object import open_session
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.values import Reply


def test_a_prompt_travels_the_whole_trip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "birds.csv").write_text("species,mass\nAdelie,3700\nGentoo,5000\n")
    model = ScriptedModel(
        thinks("First the file.").calls("read", path="birds.csv"),
        thinks("Then the note.").calls("write", path="note.md", content="Two species.\n"),
        thinks("Enough.").says("Two species, noted in `note.md`."),
    )
    app = App(
        model=lambda _: model,
        environment={},
        overrides={"model": "scripted/model", "titles": False},
    )

    # A prompt enters the session ...
    session = open_session(app)
    answer = session.start("Which birds are there? Note it down.")

    # ... the agent asks before it changes a file ...
    while not (asks := session.snapshot.asks):
        assert not answer.done(), answer.result()
    assert (asks[0].permission, asks[0].input["path"]) == ("write", "note.md")
    assert session.reply(asks[0].id, Reply(answer="once"))

    # ... and the turn ends with an answer, after three steps.
    assert answer.result(LAST_RESORT_SECONDS).text == "Two species, noted in `note.md`."
    assert answer.result().steps == 3
    assert (tmp_path / "note.md").read_text() == "Two species.\n"
    kinds = [part.type for message in session.messages for part in message.parts]
    step = ["step-start", "reasoning", "tool", "step-finish"]
    last = ["step-start", "reasoning", "text", "step-finish"]
    assert kinds == ["text", "snapshot", *step, *step, "patch", *last]

    # The request of each step can be rebuilt from the log, to the byte.
    for sent, recorded in zip(model.requests, session.requests(), strict=True):
        rebuilt = session.rebuild(recorded)
        assert rebuilt.matches
        assert rebuilt.request.messages == sent.messages
    app.close()

    # Everything is stored below the folder, and another kernel continues the session.
    assert (tmp_path / ".palimpsest" / "sessions" / session.id).is_dir()
    later = App(
        model=lambda _: model,
        environment={},
        overrides={"model": "scripted/model", "titles": False},
    )
    again = open_session(later, session.id)
    assert again.messages == session.messages
    later.close()

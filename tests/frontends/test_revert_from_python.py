"""Reverting through the Python session object."""

from pathlib import Path

import pytest
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.app.wiring import App
from palimpsest.model.script import calls, says
from palimpsest.public.session_object import Session
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import UserError

QUIET = {"titles": False}
"""Settings without titles, so that the scripted model answers prompts only."""


def session_of(app: App) -> Session:
    return Session(app, app.engine.submit(app.workspace.current(None)).result(LAST_RESORT_SECONDS))


def test_a_script_takes_back_and_looks_at_changes(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    model = ScriptedModel(calls("write", path="a.txt", content="one\n"), says("Written."))
    app = App(start=tmp_path, model=lambda _info: model, environment={}, overrides=QUIET)
    try:
        session = session_of(app)
        session.prompt("Write it", yes=True)

        assert [diff.file for diff in session.diff()] == ["a.txt"]
        looked = session.preview()
        assert (looked.done, looked.files[0].action) == (False, "delete")
        assert session.revert().done
        assert not (tmp_path / "a.txt").exists()
        session.unrevert()
        assert (tmp_path / "a.txt").read_text() == "one\n"
        session.revert("last")
        assert session.cleanup() == 3
        assert session.messages == ()
        with pytest.raises(UserError, match="Nothing is reverted"):
            session.unrevert()
    finally:
        app.close()


def test_snapshots_are_switched_off_by_the_settings(tmp_path: Path) -> None:
    model = ScriptedModel(calls("write", path="a.txt", content="one\n"), says("Written."))
    off = QUIET | {"snapshot": False}
    app = App(start=tmp_path, model=lambda _info: model, environment={}, overrides=off)
    try:
        session = session_of(app)
        session.prompt("Write it", yes=True)
        done = session.revert()

        assert "snapshot = false" in (done.problem or "")
        assert (tmp_path / "a.txt").exists()
        assert not (tmp_path / ".palimpsest" / "snapshots").exists()
        with pytest.raises(UserError, match="snapshot = false"):
            session.diff()
    finally:
        app.close()

"""A session that another process holds is read-only here, and becomes live once that process has ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sample_size import sampled_cases
from tests.waiting import eventually

from palimpsest.app.wiring import App
from palimpsest.model.script import says
from palimpsest.public.session_object import open_session
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import SessionHeld

ROOT = Path(__file__).parents[3]
HOLDER = """
import sys, palimpsest
session = palimpsest.current_session()
session.prompt("What is 17 * 23?", yes=True)
print(session.id, flush=True)
sys.stdin.readline()
"""
Holder = subprocess.Popen[str]


def ends(holder: Holder) -> None:
    holder.communicate("\n")


def is_killed(holder: Holder) -> None:
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()


@pytest.mark.slow
@pytest.mark.parametrize("goes", sampled_cases([ends, is_killed], is_killed))
def test_what_another_process_held_can_be_gone_on_with_when_it(
    goes: Callable[[Holder], None], tmp_path: Path
) -> None:
    (tmp_path / ".palimpsest").mkdir(mode=0o700)
    home = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        cwd=tmp_path,
        env=home | {"PYTHONPATH": str(ROOT / "kernel_ext"), "PALIMPSEST_REHEARSAL_DELAY": "0"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    app = App(
        start=tmp_path,
        environment=home,
        overrides={"model": "scripted/model", "titles": False},
        model=lambda _: ScriptedModel(says("As before.")),
    )
    try:
        assert holder.stdout is not None
        session = open_session(app, holder.stdout.readline().strip())
        said = len(session.messages)
        assert said >= 2
        with pytest.raises(SessionHeld, match=str(holder.pid)):
            session.prompt("Too early?")

        goes(holder)

        eventually(lambda: not session._kernel_session.read_only)
        assert session.prompt("And now?").text == "As before."
        assert len(session.messages) == said + 2
        assert open_session(app, session.id).messages == session.messages
    finally:
        app.close()
        holder.kill()
        holder.communicate()

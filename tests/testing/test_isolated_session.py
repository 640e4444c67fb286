"""An isolated session gives the same result on every machine, and leaves nothing behind."""

from pathlib import Path
from typing import Any

import pytest

from palimpsest.app.wiring import APPS
from palimpsest.testing import FaultServer, ScriptedModel, calls, isolated_session, says
from palimpsest.testing.dialects import WireFormat
from palimpsest.transcript.errors import ConfigError, UserError

pytestmark = pytest.mark.slow


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user with settings, keys and skills."""
    home = tmp_path / "home"
    own = home / ".config" / "palimpsest"
    own.mkdir(parents=True)
    (own / "config.toml").write_text('model = "anthropic/claude-opus-4-5"\nmax_steps = 1\n')
    skill = home / ".claude" / "skills" / "birds"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: birds\ndescription: Counts birds.\n---\nCount.\n")
    for name, value in {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "ANTHROPIC_API_KEY": "sk-ant-test-0123456789",
        "PALIMPSEST_CONFIG_CONTENT": '{"system": "Speak Latin."}',
    }.items():
        monkeypatch.setenv(name, value)
    return home


def test_reads_no_settings_keys_or_skills_of_the_person(person: Path) -> None:
    model = ScriptedModel(
        calls("bash", command="echo $ANTHROPIC_API_KEY$HOME", description="Look"), says("Done.")
    )

    with isolated_session(model) as session:
        answer = session.prompt("Look.", yes=True)

    assert (answer.steps, answer.stopped_by) == (2, "finished")
    sent = str(model.requests[-1].messages)
    assert [word for word in ("Latin", "birds", "sk-ant", str(person)) if word in sent] == []


def test_keeps_to_its_folder_also_below_another_project(tmp_path: Path) -> None:
    (tmp_path / ".palimpsest").mkdir()
    inner = tmp_path / "inner"
    model = ScriptedModel(calls("write", path="note.md", content="Birds."), says("Done."))

    with isolated_session(model, folder=inner) as session:
        session.prompt("Note it.", yes=True)

    assert (inner / "note.md").read_text() == "Birds."
    assert [path.name for path in (inner / ".palimpsest" / "sessions").iterdir()] == [session.id]
    assert list((tmp_path / ".palimpsest").iterdir()) == []


def test_ends_with_its_block_and_takes_its_own_folder_along() -> None:
    before = list(APPS)

    with isolated_session(ScriptedModel()) as session:
        place = Path(session.snapshot.session.directory)
        assert place.is_dir()

    assert before == APPS
    assert not place.exists()


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"settings": {"modle": "x"}}, ConfigError, "did you mean 'model'"),
        ({"settings": {"permission": {"bash": "never"}}}, ConfigError, "'allow', 'ask' or 'deny'"),
        ({"tools": [lambda: 1]}, UserError, "def"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_runs(
    given: Any, error: type[Exception], says: str
) -> None:
    before = list(APPS)

    with pytest.raises(error, match=says), isolated_session(**given):
        pytest.fail("It opened.")

    assert before == APPS


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini", "mistral"])
def test_asks_a_fault_server_in_every_format(dialect: WireFormat) -> None:
    with (
        FaultServer(says("Hi.")) as server,
        isolated_session(settings=server.settings(dialect)) as session,
    ):
        answer = session.prompt("Hello.")

    assert (answer.text, answer.error, answer.cost) == ("Hi.", None, 0.0)

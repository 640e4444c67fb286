"""A path with ``~name`` of a user who does not exist is answered in a sentence, wherever a path is given."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import palimpsest
from palimpsest.home_paths import home_path
from palimpsest.testing import ScriptedModel, isolated_session, says
from palimpsest.transcript.errors import ConfigError, UserError

PACKAGE = Path(palimpsest.__file__).parent
NOBODY = "~nobody-of-this-name/file"


def test_a_home_is_found_and_an_unknown_user_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")

    assert home_path("~/file") == Path("/somewhere/file")
    assert home_path(NOBODY) == Path(NOBODY)


def test_every_path_of_a_person_goes_through_it() -> None:
    """Words of a shell's command line are text, not paths: they are expanded as the shell does it."""
    places = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if ".expanduser(" in path.read_text(encoding="utf-8")
    }

    assert places == {
        "home_paths.py",
        "tools/permission_rules/shell_files.py",
        "tools/permission_rules/shell_globs.py",
    }


@pytest.mark.parametrize(
    "given",
    [
        lambda session: session.prompt("Look.", files=[NOBODY]),
        lambda session: session.export(NOBODY),
        lambda session: session.report(NOBODY + ".html"),
        lambda _: palimpsest.corpus(NOBODY),
        lambda _: palimpsest.open_recording(NOBODY),
    ],
    ids=["prompt", "export", "report", "corpus", "recording"],
)
def test_an_unknown_user_is_a_sentence(given: Callable[[Any], object]) -> None:
    with (
        isolated_session(ScriptedModel(says("Yes."))) as session,
        pytest.raises(UserError, match="~nobody-of-this-name"),
    ):
        given(session)


def test_instructions_of_an_unknown_user_are_a_problem_of_the_settings() -> None:
    with (
        pytest.raises(ConfigError, match=r"no file '.*~nobody-of-this-name/file'"),
        isolated_session(ScriptedModel(), settings={"instructions": [NOBODY]}),
    ):
        pass

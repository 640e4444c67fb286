"""A new session may have its own title, parent and rules, and its rules restrict it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from palimpsest import project
from palimpsest.frontends.magic.line_parser import OptionError, parse_line
from palimpsest.public.session_object import Session
from palimpsest.testing import ScriptedModel, calls, isolated_session, says
from palimpsest.transcript.errors import ConfigError, NotFound, UserError

pytestmark = pytest.mark.slow

Desk = tuple[ScriptedModel, Session]
LOOKS = calls("bash", command="echo birds", description="Look")


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Desk]:
    model = ScriptedModel()
    settings = getattr(request, "param", {})
    with isolated_session(model, settings=settings) as session:
        monkeypatch.setattr(project, "current_app", lambda: session._app)
        yield model, session


def outputs(session: Session) -> list[str]:
    """Return the outputs or errors of a session's calls."""
    parts = [part for message in session.messages for part in message.parts if part.type == "tool"]
    return [getattr(part.state, "output", None) or part.state.error for part in parts]  # type: ignore[union-attr]


ALLOWED = {"permission": {"*": "allow"}}


def test_a_title_that_was_given_stays(user: Desk) -> None:
    model, _ = user
    model.script(says("Good."))
    begun = project.new_session("Birds  by\nisland")

    begun.prompt("Count the penguins.")

    assert begun.title == "Birds by island"


@pytest.mark.parametrize("user", [ALLOWED], indirect=True)
def test_what_its_rules_deny_is_neither_offered_nor_run(user: Desk) -> None:
    model, first = user
    model.script(LOOKS, says("Good."), LOOKS, says("Good."))
    begun = project.new_session(permission={"bash": "deny", "read": {"*.csv": "deny"}})

    begun.prompt("Look.")
    first.prompt("Look.")

    ruled, _, free, _ = ({tool.name for tool in sent.tools} for sent in model.requests)
    assert free - ruled == {"bash"}
    assert "birds" not in str(outputs(begun))
    assert "birds" in str(outputs(first))


@pytest.mark.parametrize("user", [ALLOWED], indirect=True)
def test_what_its_rules_ask_for_is_asked_whatever_the_settings_allow(user: Desk) -> None:
    model, first = user
    model.script(LOOKS, says("Good."), LOOKS, says("Good."), LOOKS, says("Good."))
    begun = project.new_session(permission={"bash": "ask"})

    begun.prompt("Look.")  # nobody can answer here, so the recorded reply is a rejection
    begun.prompt("Look.", yes=True)
    first.prompt("Look.")

    assert ["birds" in output for output in outputs(begun)] == [False, True]
    assert "birds" in str(outputs(first))


def test_what_its_rules_allow_is_not_asked_and_in_no_other_session(user: Desk) -> None:
    model, first = user
    model.script(LOOKS, says("Good."), LOOKS, says("Good."))
    begun = project.new_session(permission={"bash": {"echo *": "allow"}})

    begun.prompt("Look.")
    first.prompt("Look.")

    assert "birds" in str(outputs(begun))
    assert "birds" not in str(outputs(first))


@pytest.mark.parametrize("user", [ALLOWED], indirect=True)
def test_one_with_a_parent_belongs_to_it_and_has_its_limits(user: Desk) -> None:
    model, _ = user
    model.script(LOOKS, says("Good."))
    parent = project.new_session(permission={"bash": "deny"})
    child = project.new_session(parent=parent, permission={"bash": "allow"})

    child.prompt("Look.")

    assert re.fullmatch(r"Look\.|Child session - [\d:.TZ-]+", child.title)
    assert [child.id for child in parent.children()] == [child.id]
    assert "birds" not in str(outputs(child))
    assert project.new_session(parent=parent.id).title.startswith("Child session - ")


def test_what_cannot_be_begins_nothing(user: Desk) -> None:
    _, first = user
    known = {session.id for session in project.sessions().sessions}

    for given, error in (
        ({"parent": "ses_none"}, NotFound),
        ({"permission": {"bash": "perhaps"}}, ConfigError),
        ({"permission": "perhaps"}, ConfigError),
        ({"permission": 7}, ConfigError),
        ({"permission": {7: "deny"}}, UserError),
        ({"title": 7}, UserError),
    ):
        with pytest.raises(error):
            project.new_session(**given)  # type: ignore[arg-type]

    assert {session.id for session in project.sessions().sessions} == known
    assert first.id in known


def test_the_line_of_a_cell_says_the_same() -> None:
    line = parse_line("--new --title 'By island' --permission bash=deny,edit=ask Count.")

    assert (line.options.title, line.prompt) == ("By island", "Count.")
    assert line.options.permission == {"bash": "deny", "edit": "ask"}
    assert parse_line("--new --permission ask Count.").options.permission == "ask"
    refused: tuple[Any, ...] = ("--title Birds Count.", "--new --permission bash=,x Count.")
    for words in refused:
        with pytest.raises(OptionError):
            parse_line(words)

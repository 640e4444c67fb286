"""The tools that a prompt offers: a list of names is exclusive, a mapping switches single tools."""

from collections.abc import Mapping, Sequence

import pytest

from palimpsest.testing import ScriptedModel, isolated_session, says
from palimpsest.transcript.errors import UserError

pytestmark = pytest.mark.slow


def offered(*choices: Sequence[str] | Mapping[str, bool] | None) -> list[set[str]]:
    """Return the names of the tools that each choice offers to a model."""
    model = ScriptedModel(*(says("Good.") for _ in choices))
    with isolated_session(model) as session:
        for choice in choices:
            session.prompt("Look.", tools=choice)
    return [{tool.name for tool in request.tools} for request in model.requests]


def test_a_mapping_switches_single_tools_and_leaves_the_others() -> None:
    every, without, only, none, on = offered(
        None,
        {"bash": False, "write": False},
        {"*": False, "read": True},
        {"*": False},
        {"bash": True},
    )

    assert {"bash", "write", "read"} <= every
    assert without == every - {"bash", "write"}
    assert only == {"read"}
    assert none == set()
    assert on == every


def test_names_offer_only_these() -> None:
    assert offered(("read", "grep"), []) == [{"read", "grep"}, set()]


def test_the_choice_is_kept_with_the_prompt_and_holds_for_its_turn_alone() -> None:
    model = ScriptedModel(says("Good."), says("Good."))
    with isolated_session(model) as session:
        session.prompt("Look.", tools={"bash": False})
        session.prompt("Look again.")
        chosen = [m.info.tools for m in session.messages if m.info.role == "user"]

    assert chosen == [{"bash": False}, None]
    without, every = ({tool.name for tool in request.tools} for request in model.requests)
    assert every - without == {"bash"}


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"bahs": False}, "There is no tool 'bahs'."),
        ({"bash": "no"}, "a mapping that switches single tools, such as {'bash': False}, not"),
        ({7: False}, "not {7: False}."),
        (7, "not 7."),
    ],
)
def test_what_is_no_choice_is_refused(choice: object, words: str) -> None:
    with isolated_session(ScriptedModel()) as session:
        with pytest.raises(UserError) as refused:
            session.prompt("Look.", tools=choice)  # type: ignore[arg-type]

        assert words in str(refused.value)
        assert session.messages == ()

"""The answer that a cell gives back is an answer of the session layer, and an object like others of a notebook."""

import copy
from types import SimpleNamespace
from typing import Any

from palimpsest.frontends.cell_turn.agent_answer import AgentAnswer
from palimpsest.session.interfaces.prompt_answer import Answer

ANSWER = Answer("ses", "msg", text="Seven.", steps=2, structured={"sum": 7})
PAGES: Any = None


def made(*, recorded: bool = False) -> AgentAnswer:
    return AgentAnswer(ANSWER, SimpleNamespace(execution_count=3), PAGES, is_recorded=recorded)


def test_it_says_what_the_answer_says() -> None:
    answer = made()

    assert isinstance(answer, Answer)
    assert (str(answer), answer.steps, answer.structured) == ("Seven.", 2, {"sum": 7})
    assert (answer.session, answer.turn) == ("ses", "msg")


def test_it_is_equal_to_itself_alone_and_takes_attributes() -> None:
    answer = made()
    answer.mine = True  # type: ignore[attr-defined]  # as a person's notebook may

    assert answer == answer
    assert answer != made()
    assert {answer: 1}[answer] == 1


def test_a_copy_of_it_knows_what_it_knows() -> None:
    answer = copy.copy(made(recorded=True))

    assert answer.recorded
    assert answer.text == "Seven."
    assert repr(answer) == repr(made())

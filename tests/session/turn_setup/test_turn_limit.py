"""The number of turns that a configured limit sends: at least as many, or exactly, as documented."""

from typing import Any

import pytest

from palimpsest.testing import ScriptedModel, isolated_session, says

pytestmark = pytest.mark.slow


def turns(settings: dict[str, Any]) -> list[int]:
    """Return the number of prompts in each of nine requests."""
    model = ScriptedModel(*(says("Good.") for _ in range(9)))
    with isolated_session(model, settings={"dm_history_limit": 3, **settings}) as session:
        for number in range(9):
            session.prompt(f"Look {number}.")
    return [sum(message["role"] == "user" for message in sent.messages) for sent in model.requests]


def test_by_default_up_to_half_as_many_more_are_sent() -> None:
    assert turns({}) == [1, 2, 3, 4, 5, 3, 4, 5, 3]


def test_the_sliding_rule_sends_exactly_so_many() -> None:
    assert turns({"policy": {"limit": {"rule": "sliding"}}}) == [1, 2, 3, 3, 3, 3, 3, 3, 3]

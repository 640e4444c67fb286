"""Values are compared member by member, and whatever a learner hands in gets a sentence."""

from dataclasses import dataclass
from typing import Any

import pytest

from palimpsest.lessons.exercise_checks import call_answer, is_same
from palimpsest.transcript.errors import UserError


class Kind:
    """A key that is written like a name."""

    def __str__(self) -> str:
        return "output"


@dataclass
class Callable:
    """An answer with a method, which cannot be hashed."""

    number: int = 0

    def __call__(self, _session: Any) -> Any:
        raise ValueError("no way")


@pytest.mark.parametrize(
    ("value", "expected", "same"),
    [
        ({"output": 52}, {"output": 51.9}, True),
        ({"output": 50}, {"output": 51.9}, False),
        ({Kind(): 0}, {"output": 51.9}, False),
        ({Kind(): 51.9}, {"output": 51.9}, True),
        ({"output": 51.9, "user": 1}, {"output": 51.9}, False),
        ([1, 2], (1, 2), True),
        ([1], (1, 2), False),
        ("7", 7, True),
        (True, 1, False),
        (float("nan"), 1, False),
        (None, 1, False),
        ("raw", "raw", True),
    ],
)
def test_compares_member_by_member(value: Any, expected: Any, *, same: bool) -> None:
    assert is_same(value, expected) is same


def test_an_object_that_fails_gets_a_sentence() -> None:
    with pytest.raises(UserError, match="Your function failed: ValueError: no way"):
        call_answer(Callable(), None)

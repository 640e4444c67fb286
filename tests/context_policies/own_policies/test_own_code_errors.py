"""An error in a person's own policy is one sentence with the line of their cell or file."""

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import currentframe
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from tests.context_policies.own_policies.test_custom import newest_ten, replayed

import palimpsest
from palimpsest import policies
from palimpsest.context_policies.interface.laws import PolicyBreach
from palimpsest.context_policies.interface.policy import (
    Change,
    ContextPolicy,
    PolicyResult,
    PolicyView,
    When,
)
from palimpsest.context_policies.own_policies.past_view import PastView
from palimpsest.transcript.timeline import CHARS4


def refused(policy: ContextPolicy) -> str:
    """Return the sentence with which a replay under a policy ends."""
    with pytest.raises(PolicyBreach) as raised:
        replayed(policy)
    return str(raised.value)


def line_here() -> int:
    """Return the number of the line that calls this function."""
    frame = currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_a_file_is_named_with_the_line_and_its_code() -> None:
    line = line_here() + 4

    @palimpsest.policy
    def mine(view: PastView) -> Iterator[Change]:
        yield policies.clear(view.outputs[view.count // 0])

    assert refused(mine) == (
        f"The policy 'mine' failed at request 1, line {line} of {Path(__file__).name} "
        "(yield policies.clear(view.outputs[view.count // 0])): ZeroDivisionError: integer division or modulo by zero."
    )


def test_a_cell_is_named_by_its_number_in_the_notebook() -> None:
    shell = InteractiveShell()
    shell.run_cell("import palimpsest", store_history=True)
    shell.run_cell(
        "@palimpsest.policy\ndef mine(view):\n    limit = {}\n    return limit['tokens']\n",
        store_history=True,
    )

    assert refused(shell.user_ns["mine"]) == (
        "The policy 'mine' failed at request 1, line 4 of cell In[2] (return limit['tokens']): KeyError: 'tokens'."
    )


def test_code_that_is_in_no_cell_and_no_file_has_its_line() -> None:
    scope: dict[str, Any] = {}
    exec("def mine(view):\n    raise ValueError('so\\nand so')\n", scope)

    assert refused(palimpsest.policy(scope["mine"])) == (
        "The policy 'mine' failed at request 1, line 2 of its cell: ValueError: so and so."
    )


def test_an_error_below_the_function_names_the_line_that_called() -> None:
    line = line_here() + 4

    @palimpsest.policy
    def mine(view: PastView) -> list[Change]:
        return [policies.clear(view.item(view.count).index)]

    assert f"line {line} of {Path(__file__).name} (" in refused(mine)


class Wordless(Exception):
    """An error whose text fails, too."""

    def __str__(self) -> str:
        raise RuntimeError


def test_an_error_without_a_text_is_named() -> None:
    @palimpsest.policy
    def mine(_view: PastView) -> list[Change]:
        raise Wordless

    assert refused(mine).endswith("(raise Wordless): Wordless.")


@dataclass(frozen=True)
class OwnObject:
    """A policy that a person wrote as a class."""

    answer: Any
    fails_at_start: bool = False
    name: str = "mine"
    source: str = "mine"
    estimator: str = CHARS4
    when: When = "request"

    def start(self, _facts: object) -> Any:
        return dict[str, str]()["start"] if self.fails_at_start else None

    def step(self, state: Any, view: PolicyView) -> PolicyResult:
        answer: PolicyResult = self.answer(state, view)
        return answer


def fails(_state: Any, _view: PolicyView) -> PolicyResult:
    raise ValueError("no")


@pytest.mark.parametrize("follows", [False, True])
def test_an_object_of_ones_own_has_its_line_too(follows: bool) -> None:  # noqa: FBT001
    mine: ContextPolicy = OwnObject(fails)
    sentence = refused(newest_ten | mine if follows else mine)

    name = "newest_ten | mine" if follows else "mine"
    assert sentence.startswith(f"The policy {name!r} failed at request 1, line ")
    assert sentence.endswith(f'of {Path(__file__).name} (raise ValueError("no")): ValueError: no.')
    assert refused(OwnObject(fails, fails_at_start=True)).startswith(
        "The policy 'mine' failed before the first request, line "
    )


def test_an_object_that_gives_no_result_is_told_so() -> None:
    assert refused(OwnObject(lambda _state, _view: None)) == (
        "The policy 'mine' gave None at request 1; its step returns a PolicyResult."
    )


def test_an_error_of_the_package_is_no_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    preset = policies.get("opencode.prune")
    monkeypatch.setattr(type(preset), "step", lambda *_: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        replayed(preset)

"""What an answer cost is what the line below its turn says."""

import pytest
from tests.builders import Builder

from palimpsest.session.prompts.answers import collect_answer
from palimpsest.transcript.messages import Message


def step(build: Builder, cost: float | None) -> Message:
    """Return an answer of one step that cost so many dollars."""
    finish = build.step_finish().model_copy(update={"cost": cost})
    return build.assistant(build.text("Yes."), finish)


@pytest.mark.parametrize(
    ("costs", "whole"),
    [((0.25, 0.5), 0.75), ((0.25, None), None), ((None, None), None), ((), None)],
)
def test_a_step_of_unknown_price_makes_the_whole_unknown(
    costs: tuple[float | None, ...], whole: float | None
) -> None:
    build = Builder()
    asked = build.user("Is it so?")
    messages = [asked, *(step(build, cost) for cost in costs)]

    answer = collect_answer("ses_test", messages, asked.info.id, None)

    assert answer.cost == whole

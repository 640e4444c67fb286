"""``%agent compact`` in a real kernel: the summary stands in the cell, and the session goes on behind it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.frontends.kernel import Kernel

pytestmark = pytest.mark.slow

SUMMARY = (
    "## Goal\\n- know the penguins\\n\\n## Numbers and facts\\n- mean 43.92\\n" + "- none\\n" * 30
)
SETUP = f"""
from palimpsest.model.script import calls, says, stalls
from tests.frontends.room import load
room = load(get_ipython())
room.script(says('The mean is 43.92. ' * 400), says('{SUMMARY}'), says('It was 43.92.'))
heavy = [1, 2, 3]
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with Kernel(cwd=tmp_path) as kernel:
        assert kernel.client.run(SETUP).status == "ok"
        yield kernel


def sent(kernel: Kernel, number: int) -> str:
    return kernel.client.value(f"str(room.model.requests[{number}].messages)")


def test_puts_a_summary_in_the_place_of_what_was_said(kernel: Kernel) -> None:
    kernel.client.run("%agent What is the mean?")

    run = kernel.client.run("%agent compact focus on the numbers")

    assert run.status == "ok"
    assert "Summary of what came before" in run.story()
    assert "know the penguins" in run.story()
    assert "keeps this above all: the numbers" in sent(kernel, 1)
    again = kernel.client.run("%agent And the mean?")
    assert "It was 43.92." in again.story()
    after = sent(kernel, 2)
    assert "know the penguins" in after
    assert "What is the mean?" not in after
    # What the kernel holds was looked at, not summarised.
    assert "- heavy: list" in after


def test_says_what_is_missing_when_nothing_was_said(kernel: Kernel) -> None:
    run = kernel.client.run("%agent compact")

    assert "There is nothing to summarise yet" in str(run.reply["content"]["evalue"])
    assert "Traceback" not in str(run.messages)


def test_a_summary_that_is_no_good_is_said_to_be_none(kernel: Kernel) -> None:
    kernel.client.run(
        "room.script(says('The mean is 43.92. ' * 400), says('No.'), says('Still here.'))"
    )
    kernel.client.run("%agent What is the mean?")

    run = kernel.client.run("%agent compact")

    assert "too short to be of use" in run.story()
    kernel.client.run("%agent And now?")
    assert "What is the mean?" in sent(kernel, 2)


def test_other_words_after_compact_are_a_prompt(kernel: Kernel) -> None:
    kernel.client.run("%agent compact the table into five rows")

    assert "compact the table into five rows" in sent(kernel, 0)


def test_is_stopped_like_any_turn(kernel: Kernel) -> None:
    kernel.client.run("room.script(says('The mean is 43.92. ' * 400), stalls())")
    kernel.client.run("%agent What is the mean?")
    cell = kernel.client.send("%agent compact")
    kernel.client.wait_text("waits for the model")

    kernel.interrupt()
    run = kernel.client.finish(cell)

    assert "Stopped." in str(run.of("error"))

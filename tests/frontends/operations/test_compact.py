"""``%agent compact`` in a real kernel: the cell shows the summary, and the session continues after it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel
from tests.waiting import eventually

pytestmark = pytest.mark.slow

SUMMARY = (
    "## Goal\\n- know the penguins\\n\\n## Numbers and facts\\n- mean 43.92\\n" + "- none\\n" * 30
)
SETUP = f"""
from palimpsest.model.script import calls, says, stalls
from tests.harness.kernel_session import load
harness = load(get_ipython())
harness.script(says('The mean is 43.92. ' * 400).in_pieces(4_000), says('{SUMMARY}'), says('It was 43.92.'))
heavy = [1, 2, 3]
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with Kernel(cwd=tmp_path) as kernel:
        assert kernel.client.run(SETUP).status == "ok"
        yield kernel


def sent(kernel: Kernel, number: int) -> str:
    return kernel.client.value(f"str(harness.model.requests[{number}].messages)")


def test_puts_a_summary_in_the_place_of_what_was_said(kernel: Kernel) -> None:
    kernel.client.run("%agent What is the mean?")

    run = kernel.client.run("%agent compact focus on the numbers")

    assert run.status == "ok"
    assert "Summary of what came before" in run.markdown()
    assert "know the penguins" in run.markdown()
    assert "keeps this above all: the numbers" in sent(kernel, 1)
    again = kernel.client.run("%agent And the mean?")
    assert "It was 43.92." in again.markdown()
    after = sent(kernel, 2)
    assert "know the penguins" in after
    assert "What is the mean?" not in after
    # The kernel's variables were looked at, not summarised.
    assert "- heavy: list" in after


def test_says_what_is_missing_when_nothing_was_said(kernel: Kernel) -> None:
    run = kernel.client.run("%agent compact")

    assert "There is nothing to summarise yet" in str(run.reply["content"]["evalue"])
    assert "Traceback" not in str(run.messages)


def test_a_summary_that_is_no_good_is_said_to_be_none(kernel: Kernel) -> None:
    kernel.client.run(
        "harness.script(says('The mean is 43.92. ' * 400).in_pieces(4_000), says('No.'), says('Still here.'))"
    )
    kernel.client.run("%agent What is the mean?")

    run = kernel.client.run("%agent compact")

    assert "too short to be of use" in run.markdown()
    kernel.client.run("%agent And now?")
    assert "What is the mean?" in sent(kernel, 2)


def test_other_words_after_compact_are_a_prompt(kernel: Kernel) -> None:
    kernel.client.run("%agent compact the table into five rows")

    assert "compact the table into five rows" in sent(kernel, 0)


NARROW = """
from palimpsest.context.policy_overrides import preset_policy
from tests.harness.kernel_session import INFO
chosen = preset_policy('palimpsest')
def use(window=8_000, recovery={}, **compact):
    info = INFO.model_copy(update={'window': window, 'output_limit': 1_000})
    object.__setattr__(harness.services.models, 'info', lambda name, variant: info)
    guard = chosen.guard.model_copy(update={'hard_minimum': 4_000})
    update = {
        'guard': guard,
        'compact': chosen.compact.model_copy(update=compact),
        'recovery': chosen.recovery.model_copy(update=recovery),
    }
    object.__setattr__(harness.services.rules, 'policy', chosen.model_copy(update=update))
"""


@pytest.mark.soak  # with each commit tests/loop/context_management/test_compaction_parts.py summarises parts; this adds what the cell shows
def test_what_parts_were_summarised_as_can_be_looked_at(kernel: Kernel) -> None:
    run = kernel.client.run
    run(NARROW)
    run("use(window=60_000)")
    run(
        "harness.script(*[says('The mean is 43.92. ' * 800).in_pieces(4_000)] * 3, "
        f"says('{SUMMARY}- of the first part'), says('{SUMMARY}- of all'), says('Yes.'))"
    )
    for number in range(3):
        run(f"%agent What is mean {number}?")
    run("use(window=12_000)")

    markdown = run("%agent compact").markdown()

    assert markdown.index("Summary so far, of a part of it") < markdown.index(
        "Summary of what came before"
    )
    after = kernel.client.run("%agent Well?")
    assert "Yes." in after.markdown()
    assert "of the first part" not in sent(kernel, 5)
    assert "of all" in sent(kernel, 5)


def test_a_summary_that_does_not_come_is_given_up_with_a_sentence(kernel: Kernel) -> None:
    run = kernel.client.run
    run(NARROW)
    run("use(window=100_000, recovery={'compaction_seconds': 0.3})")
    run(
        "harness.script(says('The mean is 43.92. ' * 400).in_pieces(4_000), stalls(), says('Still here.'))"
    )
    run("%agent What is the mean?")

    markdown = run("%agent compact").markdown()

    assert "did not come within 0.3 seconds" in markdown
    assert "compaction.model" in markdown
    run("%agent And now?")
    assert "What is the mean?" in sent(kernel, 2)


OTHERS = """
import dataclasses
from palimpsest.transcript.errors import ConfigError
def info(name, variant):
    if name.endswith('nobody'):
        raise ConfigError("There is no model 'nobody'; did you mean 'somebody'?")
    provider, _, plain = name.partition('/')
    return FIRST.model_copy(update={'ref': FIRST.ref.model_copy(update={'provider': provider, 'name': plain})})
FIRST = harness.services.models.info('', None)
object.__setattr__(harness.services.models, 'info', info)
"""
ASKED = "', '.join(f'{one.purpose} {one.model.ref.name}' for one in harness.model.requests)"


def test_the_model_that_is_named_writes_and_the_agent_goes_on(kernel: Kernel) -> None:
    run = kernel.client.run
    run(OTHERS)
    run("%agent What is the mean?")

    refused = run("%agent compact --model test/nobody --auto")
    markdown = run("%agent compact --model test/writer --auto focus on the numbers").markdown()

    assert "did you mean 'somebody'" in refused.reply["content"]["evalue"]
    assert "know the penguins" in markdown
    assert "It was 43.92." in markdown
    assert kernel.client.value(ASKED) == "'step scripted, compaction writer, step scripted'"
    assert "keeps this above all: the numbers" in sent(kernel, 1)


@pytest.mark.soak  # with each commit the model that is named in a cell writes, above; this adds the page's command
def test_the_page_names_the_model_too(kernel: Kernel) -> None:
    kernel.client.run(OTHERS)
    kernel.client.run("%agent What is the mean?")

    kernel.client.request(type="compact", model="test/writer", auto=True)

    eventually(lambda: kernel.client.value("len(harness.model.requests)") == "3")
    assert kernel.client.value(ASKED) == "'step scripted, compaction writer, step scripted'"


LESSON = """
import os
os.environ["PALIMPSEST_REHEARSAL_DELAY"] = "0"
from palimpsest.rehearsal.scenario import register_scenario
register_scenario("lesson", [{"says": f"Step {number}. " + "More was said. " * 400} for number in range(6)])
"""


@pytest.mark.soak  # with each commit tests/frontends/test_loading.py goes on in the next kernel; this adds a scenario that was compacted
def test_a_rehearsed_scenario_goes_on_where_it_was_also_in_a_new_kernel(tmp_path: Path) -> None:
    with Kernel(cwd=tmp_path) as kernel:
        assert kernel.run(f"%load_ext palimpsest\n{LESSON}").status == "ok"
        told = [kernel.run("%agent --new -m rehearsal/lesson Begin.").markdown()]
        told += [kernel.run(f"%agent Go on, {number}.").markdown() for number in range(2)]

        compacted = kernel.run("%agent compact")

        assert "Summary of what came before" in compacted.markdown()
        told += [kernel.run("%agent Go on.").markdown() for _ in range(2)]
        assert kernel.run("%agent compact").status == "ok"
        known = kernel.run("import palimpsest\nprint(palimpsest.current_session().id)").stream()
    with Kernel(cwd=tmp_path) as kernel:
        kernel.run(f"%load_ext palimpsest\n{LESSON}")
        kernel.run(f"%agent open {known.strip()}")
        told.append(kernel.run("%agent And the last.").markdown())
    assert [story.count(f"Step {at}.") for at, story in enumerate(told)] == [1] * 6

"""Failures are shown in cell and panel, with a button for the remedy."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.forked_kernels import STARTED
from tests.e2e.jupyterlab import READY, Lab, PageErrors, open_notebook, photograph, record, recorded
from tests.e2e.test_panel import (
    BEGIN,
    RUN,
    at_rest,
    book,
    composer,
    open_panel,
    open_scripted_notebook,
    send,
    transcript_region,
)

from palimpsest.model.script import calls, fails, out_of_quota, says, unauthorized
from palimpsest.testing import FaultServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

OUTPUT = ".jp-Notebook .plm-SegmentWidget"
REFUSALS = (
    fails(429, "Slow down.", retry_after=3),
    fails(429, "Slow down.", retry_after=1),
    fails(500, "Out of order.", retry_after=3),
)
KILL = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"


def test_a_failed_turn_is_tried_again_from_its_cell(page: Page, lab: Lab, seen: PageErrors) -> None:
    answers = "calls('python', code='6 * 7'), says(''), says('It is 42.')"
    # After a tool call an empty answer means "done", so the scripted failure is the provider's.
    answers = answers.replace("says('')", "*[fails(503, retry_after=0.02)] * 6")
    panel = open_scripted_notebook(page, lab, "again-cell.ipynb", answers, "%%agent -y\nwork")
    page.evaluate(RUN, 1)
    cell = page.locator(OUTPUT).last
    retry = cell.get_by_role("button", name="Retry", exact=True)
    expect(retry).to_be_visible()
    expect(panel.get_by_role("button", name="Retry", exact=True)).to_be_visible()
    photograph(page, "again-failed")

    retry.click()

    expect(cell.get_by_text("It is 42.")).to_be_visible()
    expect(transcript_region(panel).get_by_text("It is 42.")).to_be_visible()
    at_rest(panel)
    expect(panel.locator(".plm-TurnPrompt-text")).to_have_text(["work"])
    expect(panel.locator(".plm-Tool-name", has_text="python")).to_have_count(1)
    transcript_region(panel).get_by_role("button", name="python").click()
    expect(transcript_region(panel).get_by_text("allowed by --yes")).to_be_visible()
    expect(page.get_by_role("button", name="Retry", exact=True)).to_have_count(0)
    photograph(page, "again-answered")
    # What was received is saved in the notebook too, for readers without a kernel.
    page.wait_for_function(
        "() => JSON.stringify(window.jupyterapp.shell.currentWidget.context.model.toJSON())"
        ".includes('It is 42.')"
    )
    assert seen.errors == []


@pytest.mark.soak  # with each commit the cell does, above
def test_the_panel_tries_again_and_says_what_else_helps(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    answers = "says(''), says('At last.'), fails(401, 'No such key.')"
    panel = open_scripted_notebook(page, lab, "again-panel.ipynb", answers)
    send(panel, "Hello?")
    expect(transcript_region(panel).get_by_text("without a word")).to_be_visible()
    panel.get_by_role("button", name="Retry", exact=True).press("Enter")
    expect(transcript_region(panel).get_by_text("At last.")).to_be_visible()
    at_rest(panel)
    expect(panel.locator(".plm-TurnPrompt-text")).to_have_text(["Hello?"])

    send(panel, "And now?")
    # The first failure has nearly the same text, and stays visible.
    expect(panel.locator(".plm-Failure-advice")).to_have_text("Or choose another model.")
    at_rest(panel)
    expect(panel.get_by_role("button", name="Retry", exact=True)).to_have_count(0)
    photograph(page, "again-key")
    assert seen.errors == []


@pytest.mark.soak  # with each commit labextension/tests/state/lines/retryRuns.test.ts has the row, and tests/frontends/turn_output/test_cell_output.py counts down
def test_a_retry_is_one_row_that_counts_down_and_says_once_what_happened(
    page: Page, lab: Lab
) -> None:
    with FaultServer(*REFUSALS, says("Here I am.")) as server:
        setting = (
            f"%env OPENAI_BASE_URL={server.url}/v1\n%env OPENAI_API_KEY=none\n"
            "%env OPENAI_MODEL=fault\n%env PALIMPSEST_CONFIG_CONTENT=titles = false\n"
            "%load_ext palimpsest"
        )
        open_notebook(page, lab, book(lab, "again-row.ipynb", setting, "%%agent\nHello?"))
        page.evaluate(READY)
        panel = open_panel(page)
        page.evaluate(RUN, 0)
        expect(composer(panel)).to_be_visible()
        record(page, f"{OUTPUT} .plm-TurnFooter, #jupyter-palimpsest-panel")
        page.evaluate(BEGIN, 1)
        places = {"cell": page.locator(OUTPUT).last, "panel": transcript_region(panel)}
        for attempt in (2, 4):
            for place in places.values():
                expect(place.get_by_text(f"Attempt {attempt} in")).to_be_visible()
            photograph(page, f"retry-row-{attempt}")
            for name, place in places.items():
                said = place.locator(".plm-TurnFooter").inner_text()
                assert place.locator(".plm-Failure").count() == 0, name
                assert said.count("Slow down.") == 1, (name, said)
                assert said.count("127.0.0.1") == 1, (name, said)
                assert not re.search(r"--model|%agent|http|came|answered after", said), (name, said)
        for name, place in places.items():
            expect(place.get_by_text("Here I am.")).to_be_visible()
            told = place.locator(".plm-Failure")
            expect(told).to_have_count(1)
            expect(told).to_contain_text("Failed 3 times; answered after")
            expect(told).to_contain_text("answered 429: Slow down. Then: 500: Out of order.")
            assert not re.search(r"--model|%agent|http", told.inner_text()), name
        photograph(page, "retry-row-answered")
        expect(panel.get_by_role("log")).to_contain_text("Slow down. It is sent again.")
        at_rest(panel)
        assert len(server.requests) == len(REFUSALS) + 1
        for words in ("Attempt 2 in 2 s", "Attempt 2 in 1 s"):
            assert any(words in told for told in recorded(page)), words

        # Beside other work it joins the row of work, and is read by opening that.
        server.script(fails(429, "Slow down.", retry_after=1), calls("list"), says("No files."))
        send(panel, "Any files?")
        expect(transcript_region(panel).get_by_text("No files.")).to_be_visible()
        at_rest(panel)
        work = transcript_region(panel).locator(".plm-Work")
        expect(work).to_have_text("searched once · sent again once")
        photograph(page, "retry-row-folded")
        work.get_by_role("button").first.click()
        expect(work.locator(".plm-Failure")).to_contain_text("answered 429: Slow down. Failed once")
        photograph(page, "retry-row-unfolded")

        # What ends a turn is one row, with one address, one advice and one button.
        server.script(unauthorized())
        send(panel, "And now?")
        failure = transcript_region(panel).locator(".plm-Failure[data-state=error]")
        expect(failure).to_contain_text("Set the environment variable OPENAI_API_KEY")
        expect(failure).to_have_count(1)
        photograph(page, "retry-row-key")
        assert failure.inner_text().count("127.0.0.1") == 1
        assert failure.inner_text().count("choose another model") == 1
        at_rest(panel)
        server.script(out_of_quota())
        send(panel, "And then?")
        expect(failure).to_have_count(2)
        expect(failure.last).to_contain_text("no quota left. Raise it there, or choose another")
        photograph(page, "retry-row-quota")
        assert failure.last.inner_text().count("choose another model") == 1
        assert "--model" not in failure.last.inner_text()


@pytest.fixture
def failing_kernel(lab: Lab) -> Iterator[Path]:
    """A kernel spec that cannot start while a file exists; yields the file."""
    flag = lab.folder / "mortal.flag"
    folder = lab.folder.parent / "share" / "kernels" / "mortal"
    folder.mkdir(parents=True, exist_ok=True)
    specs = [folder.parent / name / "kernel.json" for name in ("python3", STARTED)]
    other = json.loads(next(spec for spec in specs if spec.is_file()).read_text())
    spec = {
        "argv": ["bash", "-c", f'test ! -e {flag} && exec "$@"', "bash", *other["argv"]],
        "display_name": "Mortal",
        "language": "python",
    }
    (folder / "kernel.json").write_text(json.dumps(spec))
    yield flag
    flag.unlink(missing_ok=True)


@pytest.mark.soak  # with each commit labextension/tests/views/chat/chatPanel.test.tsx restarts one, and tests/e2e/test_step_mode.py loads it again
@pytest.mark.usefixtures("own_page")
def test_a_dead_kernel_is_restarted_from_the_panel(
    page: Page, lab: Lab, failing_kernel: Path
) -> None:
    name = book(lab, "again-dead.ipynb", "%load_ext palimpsest", KILL, kernel="mortal")
    open_notebook(page, lab, name)
    page.evaluate(READY)
    panel = open_panel(page)
    page.evaluate(RUN, 0)
    send(panel, "hello")
    expect(panel.locator(".plm-Text").first).to_be_visible()
    at_rest(panel)
    composer(panel).fill("a draft")

    failing_kernel.touch()
    page.evaluate(BEGIN, 1)
    expect(panel.get_by_text("The kernel of again-dead.ipynb has died")).to_be_visible()
    # JupyterLab shows a dialog, too, one for each attempt; they may come later than ours.
    page.add_locator_handler(
        page.locator(".jp-Dialog").first,
        lambda dialog: dialog.get_by_role("button").last.click(),
        no_wait_after=True,  # of two dialogs on top of each other one remains
    )
    photograph(page, "again-dead")
    failing_kernel.unlink()
    panel.get_by_role("button", name="Restart the kernel").click()

    panel.get_by_role("button", name="Load it").click()
    expect(panel.locator(".plm-TurnPrompt-text", has_text="hello")).to_be_visible()
    expect(composer(panel)).to_have_value("a draft")
    send(panel, "again")
    expect(panel.locator(".plm-TurnPrompt-text", has_text="again")).to_be_visible()
    at_rest(panel)

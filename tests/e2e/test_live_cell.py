"""A cell's answer while it is streaming, in a real JupyterLab."""

import os
import signal

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.forked_kernels import STARTED
from tests.e2e.jupyterlab import (
    ROOT,
    SAMPLED_THEMES,
    Lab,
    PageErrors,
    choose_theme,
    into_command_mode,
    photograph,
    seen_for_a_while,
    wait_until_drawn,
)
from tests.e2e.running_notebook import begin
from tests.e2e.saved_notebooks import XSS
from tests.e2e.test_panel import BLOCKS
from tests.e2e.test_saved_answer import POOR_CONTRAST, RUNS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_words_are_seen_before_the_turn_ends(page: Page, lab: Lab, seen: PageErrors) -> None:
    notebook = begin(
        page,
        lab,
        "streams",
        "harness.script(says('First **this**.\\n\\nThen').stalls())",
        "%%agent\nGo.",
    )
    notebook.run(1)
    notebook.run(2, wait=False)
    shown = notebook.cell(2).locator(".plm-Segment")

    expect(shown.locator("strong", has_text="this")).to_be_visible()
    expect(shown.locator(".plm-TurnFooter")).to_be_visible()
    photograph(page, "live-streams")
    shown.get_by_role("button", name="Stop", exact=True).click()
    notebook.ended()
    expect(shown.locator(".plm-TurnFooter")).to_have_count(0)
    assert seen.errors == []


@pytest.mark.parametrize(
    ("magic", "way"),
    [
        ("%%time\n%agent Go.", "keys"),
        pytest.param("%%agent\nGo.", "mouse", marks=pytest.mark.soak),
        pytest.param("%%agent\nGo.", "keys", marks=pytest.mark.soak),
        pytest.param("%%time\n%agent Go.", "mouse", marks=pytest.mark.soak),
    ],
    ids=["blocking-keys", "awaiting-mouse", "awaiting-keys", "blocking-mouse"],
)
def test_a_question_is_answered_in_its_card(
    page: Page, lab: Lab, seen: PageErrors, magic: str, way: str
) -> None:
    notebook = begin(
        page,
        lab,
        f"asks-{way}-{len(magic)}",
        "harness.script(calls('python', code='x = 6 * 7\\nx').says('I compute.'), says('It is 42.'))",
        magic,
    )
    notebook.run(1)
    notebook.run(2, wait=False)
    card = notebook.cell(2).locator(".plm-Question")
    expect(card).to_be_visible()
    seen_for_a_while(page)
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        photograph(page, f"live-asks-{theme.rpartition(' ')[2].lower()}")
        assert page.evaluate(POOR_CONTRAST) == []
    if way == "mouse":
        card.get_by_role("button", name="Allow once").click()
    else:
        into_command_mode(page)
        page.keyboard.press("1")
    notebook.ended()

    expect(notebook.cell(2).get_by_text("It is 42.")).to_be_visible()
    notebook.cell(2).get_by_role("button", name="python").click()
    expect(notebook.cell(2).get_by_text("allowed once")).to_be_visible()
    assert page.locator("input.jp-Stdin-input").count() == 0
    photograph(page, f"live-answered-{way}")
    assert seen.errors == []


@pytest.mark.soak  # with each commit tests/e2e/test_step_mode.py reloads in mid-turn, and tests/frontends/page_channel/test_channel.py makes the end again
def test_an_answer_goes_on_after_a_reload_and_its_end_is_saved(page: Page, lab: Lab) -> None:
    slow = BLOCKS.format(flag="live.flag")
    notebook = begin(
        page,
        lab,
        "reloaded",
        f"harness.script(says('Before.').calls('python', code={slow!r}), says('After **all**.'))",
        "%%time\n%agent -y Go.",
    )
    notebook.run(1)
    notebook.run(2, wait=False)
    expect(notebook.cell(2).locator(".plm-Tool-note").first).to_be_visible()
    notebook.save()
    page.reload()
    shown = notebook.cell(2).locator(".plm-Segment")
    shown.wait_for()  # an older JupyterLab needs time to open
    expect(shown.locator(".plm-TurnFooter")).to_be_visible()
    photograph(page, "live-reloaded")
    (lab.folder / "live.flag").touch()

    expect(shown.locator("strong", has_text="all")).to_be_visible()
    expect(shown.locator(".plm-TurnFooter")).to_have_count(0)
    data = notebook.kept(2, "After **all**.")
    assert data["application/vnd.palimpsest.segment+json"]["open"] is False


@pytest.mark.soak  # with each commit tests/e2e/test_step_mode.py restarts a kernel in mid-cell
def test_a_restart_ends_the_answer(page: Page, lab: Lab) -> None:
    # A forked kernel starts so soon that the page may miss the last messages of the previous kernel.
    script = "harness.script(says('I begin').stalls())"
    notebook = begin(page, lab, "restarted", script, "%%agent\nGo.", kernel=STARTED)
    notebook.run(1)
    notebook.run(2, wait=False)
    shown = notebook.cell(2).locator(".plm-Segment")
    expect(shown.get_by_text("I begin")).to_be_visible()
    expect(shown.locator(".plm-TurnFooter")).to_be_visible()
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")

    expect(shown.get_by_text("Stopped.")).to_be_visible()
    expect(shown.locator(".plm-TurnFooter")).to_have_count(0)
    expect(shown.get_by_text("I begin")).to_be_visible()


@pytest.mark.soak  # with each commit the next test kills one
def test_a_kernel_that_dies_leaves_the_answer_marked_as_interrupted(page: Page, lab: Lab) -> None:
    code = BLOCKS.format(flag="died.flag") + "\nos.kill(os.getpid(), 9)"
    notebook = begin(
        page,
        lab,
        "died",
        f"harness.script(says('I begin').calls('python', code={code!r}))",
        "%%agent -y\nGo.",
    )
    notebook.run(1)
    notebook.run(2, wait=False)
    shown = notebook.cell(2).locator(".plm-Segment")
    expect(shown.get_by_text("I begin")).to_be_visible()
    (lab.folder / "died.flag").touch()

    expect(shown.get_by_text("Interrupted: the kernel ended")).to_be_visible()
    expect(shown.locator(".plm-Tool [data-state='stopped']").first).to_be_attached()
    expect(shown.locator(".plm-TurnFooter")).to_have_count(0)
    expect(shown.get_by_text("I begin")).to_be_visible()
    photograph(page, "live-interrupted")
    data = notebook.kept(2, "Interrupted")
    for form in ("text/markdown", "text/plain"):
        assert "I begin" in data[form]
        assert "Interrupted: the kernel ended before the answer did." in data[form].splitlines()[-1]
        assert "running" not in data[form]


def test_words_that_only_the_page_received_are_saved_when_the_kernel_dies(
    page: Page, lab: Lab
) -> None:
    notebook = begin(
        page,
        lab,
        "killed",
        "import os; print(os.getpid()); harness.script(says('First words.\\n\\nLast words').stalls())",
        "%%agent -y\nGo.",
    )
    notebook.run(1)
    kernel = int(notebook.cell(1).locator(".jp-OutputArea-output").inner_text())
    notebook.run(2, wait=False)
    shown = notebook.cell(2).locator(".plm-Segment")
    expect(shown.get_by_text("Last words")).to_be_visible()
    os.kill(kernel, signal.SIGKILL)
    expect(shown.get_by_text("Interrupted: the kernel ended")).to_be_visible()
    expect(shown.locator(".plm-TurnFooter")).to_have_count(0)

    data = notebook.kept(2, "Interrupted")
    assert "Last words" in str(data["application/vnd.palimpsest.segment+json"]["messages"])
    for form in ("text/markdown", "text/plain"):
        assert "First words" in data[form]
        assert "Interrupted: the kernel ended before the answer did." in data[form].splitlines()[-1]
    told = page.locator(".jp-Dialog")
    if (
        told.count()
    ):  # JupyterLab's own, which it does not show each time: without it the page can be used again
        told.get_by_role("button").last.click()


@pytest.mark.soak  # with each commit labextension/tests/pageMatchesLog.test.tsx has several pages, and tests/frontends/page_channel/test_channel.py a kernel with them
def test_a_second_page_sees_the_same(page: Page, lab: Lab) -> None:
    notebook = begin(
        page,
        lab,
        "twice",
        "harness.script(calls('python', code='x = 6 * 7').says('I compute.'), says('It is 42.'))",
        "%%agent\nGo.",
    )
    notebook.run(1)
    notebook.run(2, wait=False)
    expect(notebook.cell(2).locator(".plm-Question")).to_be_visible()
    notebook.save()
    other = notebook.beside(lab).cell(2)
    other.get_by_role("button", name="Allow once").click()
    notebook.ended()

    expect(notebook.cell(2).get_by_text("It is 42.")).to_be_visible()
    expect(notebook.cell(2).locator(".plm-Question")).to_have_count(0)
    expect(other.get_by_text("It is 42.")).to_be_visible()
    other.get_by_role("button", name="python").click()
    expect(other.get_by_text("allowed once")).to_be_visible()


@pytest.mark.soak  # with each commit tests/e2e/test_turn_rows.py plays a turn with a figure
def test_figures_stand_between_the_parts_of_a_live_answer(page: Page, lab: Lab) -> None:
    # A picture, since matplotlib takes seconds to import.
    plot = "from PIL import Image\ndisplay(Image.new('RGB', (200, 80), 'teal'))\nprint('drawn')"
    notebook = begin(
        page,
        lab,
        "figures",
        f"harness.script(says('I plot.').calls('python', code={plot!r}), says('It is **plotted**.').stalls())",
        "%%agent -y\nGo.",
    )
    notebook.run(1)
    notebook.run(2, wait=False)
    outputs = notebook.cell(2).locator(".jp-OutputArea-output")
    expect(outputs.locator("strong", has_text="plotted")).to_be_visible()

    kinds = outputs.evaluate_all(
        "nodes => nodes.map(node => node.querySelector('img') ? 'figure' : 'segment')"
    )
    assert kinds == ["segment", "figure", "segment"]
    assert outputs.nth(0).locator(".plm-Tool").count() == 1
    assert outputs.nth(2).locator(".plm-Tool").count() == 0
    expect(outputs.nth(0).get_by_text("plotted")).to_have_count(0)
    photograph(page, "live-figures")
    outputs.get_by_role("button", name="Stop", exact=True).click()
    notebook.ended()


@pytest.mark.soak  # with each commit tests/e2e/test_hostile_views.py has more of it
def test_nothing_that_a_model_writes_live_runs(page: Page, lab: Lab, seen: PageErrors) -> None:
    notebook = begin(
        page,
        lab,
        "evil-live",
        f"evil = {XSS!r}\n"
        "harness.script(says(evil).thinks(evil).calls('python', code='print(evil)  # ' + evil)"
        ".calls(evil, path=evil), says(evil).stalls())",
        "%%agent\nGo.",
    )
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    notebook.run(1)
    notebook.run(2, wait=False)
    shown = notebook.cell(2).locator(".plm-Segment")
    notebook.cell(2).get_by_role("button", name="Allow once").first.click()
    expect(shown.locator(".plm-TurnFooter-text", has_text="writes")).to_be_visible()
    closed = shown.locator("button[aria-expanded='false']")
    while closed.count():
        closed.first.click()
    wait_until_drawn(page)
    photograph(page, "live-evil")

    assert "ran" not in page.title().split()
    assert not [url for url in asked if "example.invalid" in url]
    expect(shown.locator(RUNS)).to_have_count(0)
    for link in shown.locator("a").all():
        assert not (link.get_attribute("href") or "").startswith("javascript")
    shown.get_by_role("button", name="Stop", exact=True).click()
    notebook.ended()
    assert [error for error in seen.errors if "404" not in error] == []


@pytest.mark.soak  # with each commit a slow one is, above
def test_a_fast_answer_is_drawn_while_it_comes(page: Page, lab: Lab) -> None:
    setup = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom tests.e2e.sample_answer import answer\n"
    notebook = begin(
        page,
        lab,
        "fast",
        setup + "from dataclasses import replace\n"
        "harness.script(replace(says(answer(5_000)), drip_seconds=0.03, chunk_chars=105))",
        "%%agent\nGo.",
    )
    notebook.run(1)
    notebook.run(2, wait=False)
    shown = notebook.cell(2).locator(".plm-Segment").first
    shown.wait_for()
    page.wait_for_function(
        "node => window.ended || node.innerText.length > 5000", arg=shown.element_handle()
    )
    ended = page.evaluate("window.ended")
    photograph(page, "live-fast")
    notebook.ended()

    assert not ended
    expect(notebook.cell(2).locator("mjx-container").first).to_be_attached()


def test_run_all_goes_on_over_a_turn_that_failed_where_somebody_watches(
    page: Page, lab: Lab
) -> None:
    notebook = begin(
        page,
        lab,
        "run-all",
        "from palimpsest.model.script import fails\nharness.script(fails(401))",
        "%%agent\nGo.",
        "print('went on')",
    )
    page.evaluate(
        """async () => {
          const { content } = window.jupyterapp.shell.currentWidget;
          content.deselectAll();
          content.activeCellIndex = 1;
          await window.jupyterapp.commands.execute('notebook:run-all-below');
        }"""
    )

    expect(notebook.cell(3).get_by_text("went on", exact=True)).to_be_visible()
    expect(notebook.cell(2).locator(".plm-Segment")).to_be_visible()
    expect(page.locator(".jp-RenderedText[data-mime-type*='stderr'], .jp-mod-error")).to_have_count(
        0
    )

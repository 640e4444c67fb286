"""A cell's answer while it is streaming, in a real JupyterLab."""

import os
import signal

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import (
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


@pytest.mark.soak  # with each commit tests/e2e/test_hostile_views.py has more of it; this adds thoughts and calls while they come
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

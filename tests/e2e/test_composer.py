"""Writing, choosing, queueing and looking things up in the panel's composer."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import (
    READY,
    SAMPLED_THEMES,
    THEMES,
    Lab,
    PageErrors,
    choose_theme,
    open_notebook,
    photograph,
    wait_until_drawn,
)
from tests.e2e.test_panel import (
    AXE,
    RUN,
    VIOLATIONS,
    at_rest,
    book,
    composer,
    open_panel,
    open_scripted_notebook,
    send,
    transcript_region,
)
from tests.sample_size import SOAKING

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FOCUS_EARLY = """() => new Promise(resolve => {
  const wait = setInterval(() => {
    const { commands } = window.jupyterapp ?? {};
    if (commands?.hasCommand('jupyter-palimpsest:focus-composer')) {
      clearInterval(wait);
      void commands.execute('jupyter-palimpsest:focus-composer');
      resolve(document.querySelector('.plm-Composer-field') === null);
    }
  }, 5);
})"""


AT_END = """node => node.scrollHeight - node.scrollTop - node.clientHeight <= 1"""


def violations(page: Page) -> list[str]:
    """Return the accessibility violations in the panel."""
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=AXE)
    found: list[str] = page.evaluate(VIOLATIONS, "#jupyter-palimpsest-panel")
    return found


@pytest.mark.soak  # with each commit labextension/tests/views/chat/chatPanel.test.tsx gives it the keyboard; this adds a page that asks early
def test_the_text_field_gets_the_keyboard_when_the_kernel_has_answered(
    page: Page, lab: Lab
) -> None:
    open_notebook(page, lab, book(lab, "early.ipynb", "%load_ext palimpsest"))
    page.evaluate(READY)
    page.evaluate(RUN, 0)
    page.goto(page.url.replace("reset", ""))
    was_early = page.evaluate(FOCUS_EARLY)

    assert was_early, "the panel was there before it was asked for"
    expect(composer(page.locator("#jupyter-palimpsest-panel"))).to_be_focused()


@pytest.mark.soak  # with each commit labextension/tests/views/chat/chatPanel.test.tsx tells what fills it; this adds pointer, keys and colours
def test_the_gauge_tells_what_fills_the_window_also_after_a_reload(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    answers = "calls('python', code='print(list(range(3000)))'), says('Many numbers.')"
    panel = open_scripted_notebook(page, lab, "gauge.ipynb", answers, "%%agent -y\nwork")
    page.evaluate(RUN, 1)
    at_rest(panel)
    gauge = panel.get_by_role("button", name="Context window")
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        gauge.hover()
        expect(panel.get_by_role("row", name="Tool outputs")).to_be_visible()
        assert violations(page) == []
        photograph(page, f"composing-gauge-{theme.rpartition(' ')[2].lower()}")
        panel.locator(".plm-Composer-field").hover()
        expect(panel.get_by_role("table")).to_have_count(0)
    choose_theme(page, "JupyterLab Light")
    if (
        SOAKING
    ):  # in each run tests/frontends/page_channel/test_channel.py tells a page that comes late
        page.reload()
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        panel = open_panel(page)
    panel.get_by_role("button", name="python").click()
    expect(panel.get_by_text("allowed by --yes")).to_be_visible()
    gauge.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(panel.get_by_role("row", name="Tool outputs")).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel.get_by_role("table")).to_have_count(0)
    assert seen.errors == []


@pytest.mark.soak  # with each commit labextension/tests/views/dom/tailScroll.test.tsx stays there; this adds a page with sizes
def test_it_stays_at_the_newest_when_its_size_or_theme_changes(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    lines = "\n\n".join(f"Line {number} of a long answer." for number in range(60))
    panel = open_scripted_notebook(page, lab, "stays.ipynb", f"says({lines!r}), says('')")
    send(panel, "Tell me much.")
    expect(transcript_region(panel).get_by_text("Line 59")).to_be_visible()
    at_rest(panel)
    send(panel, "And what fails?")
    expect(panel.get_by_role("button", name="Retry", exact=True)).to_be_visible()
    at_rest(panel)
    themes = THEMES if SOAKING else (THEMES[0], *THEMES[:2])
    for width, theme in zip((900, 1400, 1100), themes, strict=True):
        page.set_viewport_size({"width": width, "height": 700 + width // 10})
        choose_theme(page, theme)
        expect(panel.get_by_role("button", name="Retry", exact=True)).to_be_in_viewport()
        assert theme not in SAMPLED_THEMES or violations(page) == []
    choose_theme(page, THEMES[0])
    transcript = transcript_region(panel)
    at_end = transcript.element_handle()
    page.wait_for_function(AT_END, arg=at_end)
    transcript.hover()
    page.mouse.wheel(0, -600)
    expect(panel.get_by_role("button", name="To the newest")).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 800})
    wait_until_drawn(page)
    assert not transcript.evaluate(AT_END), "a person who looks above stays there"
    panel.get_by_role("button", name="To the newest").click()
    page.wait_for_function(AT_END, arg=at_end)
    assert seen.errors == []

"""``%agent context`` in JupyterLab: drawn in every theme and width, and also in an untrusted notebook."""

import html
import re

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    SAMPLED_THEMES,
    THEMES,
    Lab,
    PageErrors,
    choose_theme,
    open_instead,
    photograph,
    wait_until_drawn,
)
from tests.e2e.running_notebook import Notebook, begin
from tests.e2e.saved_notebooks import XSS
from tests.e2e.shared_browser import SIZE
from tests.e2e.test_panel import AXE, VIOLATIONS
from tests.e2e.test_saved_answer import RUNS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SETUP = f"""from pathlib import Path
from palimpsest.model.script import thinks
Path('AGENTS.md').write_text('Answer in metres. ' * 200)
Path('data').mkdir(exist_ok=True)
for name in ('penguins.csv', 'seals.csv'):
    Path('data', name).write_text('species,bill_length_mm,43.92\\n' * 1200)
hostile = {XSS!r}
harness.script(
    says('The mean is 43.92. ' * 700).in_pieces(4_000), says('It was measured in 2009. ' * 500).in_pieces(4_000),
    says('## Goal\\n- know the penguins\\n\\n## Numbers and facts\\n- mean 43.92\\n' + '- none\\n' * 30),
    thinks('Which file holds it? ' * 60).says('I look.').calls('read', path='data/penguins.csv'),
    calls('read', path='data/seals.csv'), calls('python', code='import math\\nmath.pi'),
    says('שלום, the mean is 43.92 mm. ' * 40))"""
CELLS = (
    SETUP,
    "%agent policy truncate.max_bytes=20000 compact.tail_turns=1",
    "%agent What is the mean?",
    "%agent When was it measured?",
    "%agent compact focus on the numbers",
    "%agent --yes Is that so? " + XSS.splitlines()[0],
    "%agent context",
)
SHOWN = len(CELLS)


def asked(page: Page, lab: Lab, name: str) -> Notebook:
    notebook = begin(page, lab, name, *CELLS)
    for number in range(1, SHOWN + 1):
        notebook.run(number)
    return notebook


def window(notebook: Notebook) -> Locator:
    return notebook.cell(SHOWN).locator(".plm-Saved-window")


def bar_widths(drawn: Locator) -> list[float]:
    """Return the widths of the bar's segments, as shares of the bar."""
    widths: list[float] = drawn.locator("> .plm-Saved-words > .bar").evaluate(
        "bar => [...bar.children].map(piece => piece.getBoundingClientRect().width / bar.clientWidth)"
    )
    return widths


def test_the_window_is_drawn_everywhere_and_runs_nothing(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook = asked(page, lab, "context")
    in_every_theme_and_width(page, window(notebook))
    runs_nothing_of_what_was_said(page, notebook)
    assert seen.errors == []
    assert_drawn_without_trust(page, lab, notebook)
    assert seen.errors == []


def in_every_theme_and_width(page: Page, drawn: Locator) -> None:
    expect(drawn).to_contain_text("Context window of test/scripted")
    expect(drawn).to_contain_text("Summary of older turns")
    assert abs(sum(bar_widths(drawn)) - 1) < 0.02
    page.set_viewport_size({"width": 1280, "height": 1300})
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        drawn.evaluate("node => node.scrollIntoView({ block: 'start' })")
        name = theme.removeprefix("JupyterLab ").replace(" ", "-").lower()
        photograph(page, f"context-{name}")
        page.add_script_tag(path=str(AXE))
        assert page.evaluate(VIOLATIONS, [".plm-Saved-window"]) == [], theme
    choose_theme(page, THEMES[0])
    drawn.get_by_text("Everything in it").click()
    drawn.evaluate("node => node.scrollIntoView({ block: 'start' })")
    photograph(page, "context-open")
    for width in (700, 480):
        page.set_viewport_size({"width": width, "height": 1300})
        wait_until_drawn(page)
        drawn.evaluate("node => node.scrollIntoView({ block: 'start' })")
        photograph(page, f"context-{width}")
        over = drawn.evaluate("node => node.scrollWidth - node.clientWidth")
        assert over <= 1, f"{over} px too wide at {width}"
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]


def assert_drawn_without_trust(page: Page, lab: Lab, notebook: Notebook) -> None:
    saved = notebook.save()
    saved["cells"].append(new_markdown_cell("Sent to somebody."))
    nbformat.write(saved, lab.folder / "context-sent.ipynb")
    open_instead(page, lab, "context-sent.ipynb")

    drawn = window(notebook)
    expect(drawn).to_be_visible()
    wait_until_drawn(page)
    drawn.evaluate("node => node.scrollIntoView({ block: 'start' })")
    photograph(page, "context-untrusted")
    assert drawn.locator("style").count() == 0, "it is trusted"
    expect(drawn).to_contain_text("Kept for the answer")
    widths = bar_widths(drawn)
    assert abs(sum(widths) - 1) < 0.02
    assert max(widths) > 0.4
    colours = drawn.locator(".bar .fill").evaluate_all(
        "all => all.map(one => getComputedStyle(one).backgroundColor)"
    )
    assert len(set(colours)) == len(colours)


def runs_nothing_of_what_was_said(page: Page, notebook: Notebook) -> None:
    drawn = window(notebook)
    # JupyterLab draws a cell anew that was out of sight, and closes it.
    drawn.get_by_text("Everything in it").evaluate(
        "node => { node.closest('details').open = true; }"
    )
    wait_until_drawn(page)

    words = XSS.splitlines()[0]
    expect(drawn).to_contain_text(words[:20])
    expect(drawn.locator(RUNS)).to_have_count(0)
    expect(drawn.locator("a, img, mjx-container")).to_have_count(0)
    assert "ran" not in page.title().split()
    [output] = notebook.save()["cells"][SHOWN]["outputs"]
    assert set(output["data"]) == {"text/html", "text/markdown", "text/plain"}
    assert html.unescape(re.sub(r"<[^>]*>", "", output["data"]["text/html"])).count(words[:20])

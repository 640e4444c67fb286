"""What the agent's Python shows: in the panel where there is no cell, and small beside the cell that shows it."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import SAMPLED_THEMES, Lab, PageErrors, choose_theme, photograph
from tests.e2e.shared_browser import SIZE
from tests.e2e.test_panel import (
    AXE,
    RUN,
    VIOLATIONS,
    at_rest,
    open_scripted_notebook,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SETUP = """class Frame:
    def _repr_html_(self):
        row = ''.join(f'<td>{n}.{n}</td>' for n in range(12))
        head = ''.join(f'<th>bill_length_{n}</th>' for n in range(12))
        return ('<style>body { display: none }</style><script>window.ran = 1</script>'
                '<img src=x onerror="window.ran = 1"><table border="1" class="dataframe" onclick="window.ran = 1">'
                f'<thead><tr>{head}</tr></thead><tbody>' + 3 * f'<tr>{row}</tr>' + '</tbody></table>')
    def __repr__(self):
        return 'a frame'
from IPython.display import Markdown, display
view = {'application/vnd.jupyter.widget-view+json': {'model_id': '1'}, 'text/plain': 'IntSlider(value=0)'}
"""
SHOWS = "display(view, raw=True); display(Markdown('**Three** species'))\nFrame()"
FIGURE = """import io
from IPython.display import Image
from PIL import Image as Pixels
made = io.BytesIO()
Pixels.linear_gradient('L').resize((400, 240)).convert('RGB').save(made, 'png')
Image(made.getvalue())"""


@pytest.mark.soak  # with each commit tests/e2e/test_hostile_views.py has foreign HTML in the panel; this adds tables and widgets
def test_a_prompt_of_the_panel_shows_tables_and_names_widgets(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = open_scripted_notebook(
        page,
        lab,
        "results.ipynb",
        f"calls('python', code={SHOWS!r}), says('There they are.')",
        SETUP,
    )
    page.evaluate(RUN, 1)
    send(panel, "Show me the penguins.")
    panel.get_by_role("button", name="Allow once").click()
    at_rest(panel)

    results = panel.locator(".plm-ShownResult")
    expect(results).to_have_count(3)
    expect(results.nth(0)).to_have_text(
        "A widget, IntSlider: it works only in a cell. Ask in a cell to use it."
    )
    expect(results.nth(1).locator("strong")).to_have_text("Three")
    table = results.nth(2).get_by_role("table")
    expect(table).to_be_visible()
    expect(table.get_by_role("row")).to_have_count(4)
    expect(results.locator("style, script, img")).to_have_count(0)
    assert page.evaluate("window.ran") is None
    # Folded: the call itself stays one row.
    expect(panel.locator(".plm-Tool[data-open='false']")).to_have_count(1)
    page.add_script_tag(path=str(AXE))
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        photograph(page, f"panel-results-{theme.rpartition(' ')[2].lower()}")
        assert page.evaluate(VIOLATIONS, "#jupyter-palimpsest-panel") == []
    page.set_viewport_size({"width": 420, "height": 800})
    photograph(page, "panel-results-420")
    over = panel.evaluate("node => node.scrollWidth - node.clientWidth")
    assert over <= 0
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]
    assert seen.errors == []


@pytest.mark.soak  # with each commit labextension/tests/views/parts/attachments.test.tsx has figures; this adds their size, and the cell
def test_a_figure_of_a_cell_is_small_in_the_panel_and_leads_to_the_cell(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    answers = f"calls('python', code={FIGURE!r}), says('A slope.')"
    panel = open_scripted_notebook(page, lab, "thumbnail.ipynb", answers, "%%agent -y\nDraw", "1")
    page.evaluate(RUN, 1)
    at_rest(panel)
    expect(page.locator(".jp-Notebook .jp-OutputArea-output img")).to_be_visible()
    expect(transcript_region(panel).get_by_text("A slope.")).to_be_visible()

    thumbnail = panel.get_by_role("button", name="Show the figure in its cell")
    expect(thumbnail.get_by_role("img")).to_be_visible()
    size = thumbnail.bounding_box()
    assert size is not None
    assert 24 <= size["height"] <= 90
    photograph(page, "panel-thumbnail")
    page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 2")
    thumbnail.press("Enter")

    page.wait_for_function("window.jupyterapp.shell.currentWidget.content.activeCellIndex === 1")
    assert seen.errors == []

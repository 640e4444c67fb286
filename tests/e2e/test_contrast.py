"""Cell and panel are readable in every theme, and with the system's forced colours."""

import io
from collections import Counter
from collections.abc import Iterator

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import READY, Lab, choose_theme, open_notebook, photograph
from tests.e2e.test_panel import AXE, BEGIN, RUN, VIOLATIONS, at_rest, book, composer, open_panel

from palimpsest.model.script import fails, thinks
from palimpsest.testing import FaultServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

THEMES = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")
CELL, PANEL = ".jp-Notebook .plm-SegmentWidget", "#jupyter-palimpsest-panel"
ANSWERS = (
    thinks("First I look.")
    .says("Let me look at `penguins`.")
    .calls("python", code="import math\nmath.factorial(5)"),
    fails(429, retry_after=600),
    fails(400, "The request is wrong."),
)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    """A model server that answers with a tool call, then with a request to wait, and then with a refusal."""
    with FaultServer(*ANSWERS) as server:
        yield server


def begin(page: Page, lab: Lab, server: FaultServer, name: str) -> Locator:
    """Open a notebook whose agent asks this server, and the panel beside it."""
    setting = (
        f"%env OPENAI_BASE_URL={server.url}/v1\n%env OPENAI_API_KEY=none\n%env OPENAI_MODEL=fault\n"
        "%env PALIMPSEST_CONFIG_CONTENT=titles = false"
    )
    cells = (f"{setting}\n%load_ext palimpsest", "%%agent\nHow many?", "%%agent\nAnd now?")
    open_notebook(page, lab, book(lab, name, *cells))
    page.evaluate(READY)
    panel = open_panel(page)
    page.evaluate(RUN, 0)
    expect(composer(panel)).to_be_visible()
    page.evaluate(BEGIN, 1)
    return panel


def allow(panel: Locator) -> Locator:
    return panel.get_by_role("button", name="Allow once")


def stop(panel: Locator) -> None:
    panel.get_by_role("button", name="Stop").click()
    at_rest(panel)


def painted(shown: Locator) -> Counter[tuple[int, ...]]:
    """Return the colours that are painted in an element, the most common first."""
    picture = Image.open(io.BytesIO(shown.screenshot())).convert("RGB")
    counted = {colour: count for count, colour in picture.getcolors(1 << 20)}
    return Counter(counted)


def ground(shown: Locator) -> tuple[int, ...]:
    ((colour, _),) = painted(shown).most_common(1)
    return colour


def test_a_question_a_wait_and_an_error_can_be_read_in_every_theme(
    page: Page, lab: Lab, server: FaultServer
) -> None:
    panel = begin(page, lab, server, "contrast.ipynb")
    page.add_script_tag(path=AXE)

    def accessible(state: str) -> None:
        for theme in THEMES:
            choose_theme(page, theme)
            photograph(page, f"contrast-{state}-{theme.rpartition(' ')[2].lower()}")
            for where in (CELL, PANEL):
                assert page.evaluate(VIOLATIONS, where) == [], (state, theme, where)

    expect(allow(panel)).to_be_visible()
    accessible("question")
    allow(panel).click()
    for place in (panel, page.locator(CELL)):
        expect(place.get_by_text("in 59", exact=False).first).to_be_visible()
    accessible("wait")
    stop(panel)
    page.evaluate(BEGIN, 2)
    for place in (panel, page.locator(CELL)):
        expect(place.get_by_text("The request is wrong.").first).to_be_visible()
    at_rest(panel)
    accessible("error")
    choose_theme(page, THEMES[0])
    page.set_viewport_size({"width": 1280, "height": 480})
    assert page.locator(PANEL).evaluate("node => node.scrollHeight <= node.clientHeight"), (
        "only the transcript scrolls, never the panel"
    )


@pytest.mark.usefixtures("own_page")
@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.soak), "dark"])
def test_what_a_colour_says_is_said_by_lines_where_the_system_paints(
    page: Page, lab: Lab, server: FaultServer, scheme: str
) -> None:
    panel = begin(page, lab, server, f"forced-{scheme}.ipynb")
    expect(allow(panel)).to_be_visible()
    page.emulate_media(forced_colors="active", color_scheme=scheme)  # type: ignore[arg-type]
    photograph(page, f"forced-{scheme}-asks")
    page.add_script_tag(path=AXE)
    for where in (CELL, PANEL):
        assert page.evaluate(VIOLATIONS, where) == []

    answer, other = allow(panel), panel.get_by_role("button", name="Reject")
    assert ground(answer) != ground(other)
    card = panel.locator(".plm-Tool", has=page.locator(".plm-Question"))
    assert card.evaluate("node => getComputedStyle(node).borderTopWidth") == "2px"
    said = panel.locator(".plm-TurnPrompt").first
    assert said.evaluate("node => getComputedStyle(node).borderTopStyle") == "solid"
    pie = panel.locator(".plm-Tool .plm-StatusIcon[data-state='waiting'] .plm-StatusIcon-picture")
    assert "conic" in pie.evaluate("node => getComputedStyle(node).backgroundImage")
    answer.click()
    expect(panel.get_by_text("tries again")).to_be_visible()
    stop(panel)
    panel.get_by_role("button", name="Context window").click()
    photograph(page, f"forced-{scheme}-window")
    swatches = panel.locator(".plm-WindowTable .plm-Swatch").all()
    grounds = [ground(swatch) for swatch in swatches]
    assert len(set(grounds)) == len(grounds) > 5
    assert len(painted(panel.locator(".plm-ContextWindow .plm-Gauge-bar"))) > 4

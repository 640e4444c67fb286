"""Cell and panel are readable in every theme, and with the system's forced colours."""

import io
from collections import Counter
from collections.abc import Iterator

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    READY,
    THEMES,
    Lab,
    PageErrors,
    choose_theme,
    open_notebook,
    photograph,
)
from tests.e2e.recorded_turns import script
from tests.e2e.running_notebook import begin as begin_scripted
from tests.e2e.test_panel import (
    AXE,
    BEGIN,
    RUN,
    VIOLATIONS,
    at_rest,
    book,
    composer,
    open_panel,
    transcript_region,
)
from tests.sample_size import SOAKING

from palimpsest.model.script import calls, fails, says, thinks
from palimpsest.testing import FaultServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ONE_MORE = THEMES if SOAKING else THEMES[1:2]
"""Themes for what is drawn with what was looked at in all of them."""
MOVING = """document.getAnimations().filter(one => one.playState === 'running' && (
  one.effect.target.closest('.plm-Segment, .plm-Panel')
)).length"""
"""The number of things that move in an answer and in the panel."""
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
    panel.get_by_role("button", name="Stop", exact=True).click()
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

    def accessible(state: str, themes: tuple[str, ...] = THEMES) -> None:
        for theme in themes:
            choose_theme(page, theme)
            photograph(page, f"contrast-{state}-{theme.rpartition(' ')[2].lower()}")
            for where in (CELL, PANEL):
                assert page.evaluate(VIOLATIONS, where) == [], (state, theme, where)

    expect(allow(panel)).to_be_visible()
    accessible("question")
    allow(panel).click()
    for place in (panel, page.locator(CELL)):
        expect(place.get_by_text("in 59", exact=False).first).to_be_visible()
    accessible("wait", ONE_MORE)
    assert page.evaluate(MOVING) == 0, "a person asked for less motion"
    stop(panel)
    page.evaluate(BEGIN, 2)
    for place in (panel, page.locator(CELL)):
        expect(place.get_by_text("The request is wrong.").first).to_be_visible()
    at_rest(panel)
    accessible("error", ONE_MORE)
    choose_theme(page, THEMES[0])
    page.set_viewport_size({"width": 1280, "height": 480})
    assert page.locator(PANEL).evaluate("node => node.scrollHeight <= node.clientHeight"), (
        "only the transcript scrolls, never the panel"
    )


def assert_lines_for_colours(page: Page, panel: Locator) -> None:
    """Hold a question and the prompt above it to the lines and grounds that stand for colours."""
    assert ground(allow(panel)) != ground(panel.get_by_role("button", name="Reject…"))
    card = panel.locator(".plm-Tool", has=page.locator(".plm-Question"))
    assert card.evaluate("node => getComputedStyle(node).borderTopWidth") == "2px"
    said = panel.locator(".plm-TurnPrompt").first
    assert said.evaluate("node => getComputedStyle(node).borderTopStyle") == "solid"
    pie = panel.locator(".plm-Tool .plm-StatusIcon[data-state='waiting'] .plm-StatusIcon-picture")
    assert "conic" in pie.evaluate("node => getComputedStyle(node).backgroundImage")


def tells_parts_of_the_window(page: Page, panel: Locator, name: str) -> None:
    """Open the table of the context window: each of its parts has a ground of its own."""
    panel.get_by_role("button", name="Context window").click()
    photograph(page, name)
    swatches = panel.locator(".plm-WindowTable .plm-Swatch").all()
    grounds = [ground(swatch) for swatch in swatches]
    assert len(set(grounds)) == len(grounds) > 5
    assert len(painted(panel.locator(".plm-ContextWindow .plm-Gauge-bar"))) > 4


FULL_TURN = (
    calls("list", path="."),
    thinks("Now the column.").calls("python", code="penguin.mass"),
    calls("write", path="out.md", content="One.\nTwo.\n"),
    calls("edit", path="signs.txt", old="holds", new="contains"),
    says("I leave the first file as it is."),
    says("Then").stalls(),
)
"""A turn with a row of work, and calls that failed, were refused, and went well; then one that does not end."""


def contrast(shown: Locator) -> float:
    """Return the highest contrast between what is painted in an element and its ground."""

    def bright(colour: tuple[int, ...]) -> float:
        parts = [value / 255 for value in colour]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    colours = painted(shown)
    ((behind, _),) = colours.most_common(1)
    levels = [bright(colour) for colour in colours]
    return max(
        (max(level, bright(behind)) + 0.05) / (min(level, bright(behind)) + 0.05)
        for level in levels
    )


def style(shown: Locator, name: str, pseudo: str = "") -> str:
    """Return a computed style of an element."""
    said: str = shown.evaluate(
        "(node, [name, pseudo]) => getComputedStyle(node, pseudo || null).getPropertyValue(name)",
        [name, pseudo],
    )
    return said


SYSTEM = """name => {
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.cssText = `color: ${name}; forced-color-adjust: none`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}"""


@pytest.mark.soak  # with each commit the test above reads a turn in every theme; this adds colours of the system
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_sign_of_a_turn_is_painted_where_the_system_chooses_the_colours(
    page: Page, lab: Lab, seen: PageErrors, scheme: str
) -> None:
    (lab.folder / "signs.txt").write_text("It holds 1.\n")
    notebook = begin_scripted(
        page, lab, f"signs-{scheme}", script(*FULL_TURN), "%%agent\nGo.", "%%agent\nAgain.", "x = 1"
    )
    panel = open_panel(page)
    notebook.run(1)
    page.emulate_media(forced_colors="active", color_scheme=scheme)  # type: ignore[arg-type]
    page.add_script_tag(path=AXE)
    highlight, text, link = (
        page.evaluate(SYSTEM, name) for name in ("Highlight", "CanvasText", "LinkText")
    )
    notebook.run(2, wait=False)

    allow(panel).click()
    expect(panel.locator(".plm-Tool-name", has_text="write")).to_be_visible()
    assert_lines_for_colours(page, panel)
    question = panel.locator(".plm-Tool", has=page.locator(".plm-Question"))
    added = question.locator(".plm-Diff > [data-change='added']").first
    assert added.inner_text().startswith("+")
    assert style(added, "font-weight") == "700"
    photograph(page, f"signs-{scheme}-question")
    panel.get_by_role("button", name="Reject…").click()
    panel.get_by_role("textbox", name="What should it do instead?", exact=False).fill("No.")
    panel.get_by_role("button", name="Reject", exact=True).click()
    expect(panel.locator(".plm-Tool-name", has_text="edit")).to_be_visible()
    removed = panel.locator(".plm-Question .plm-Diff > [data-change='removed']").first
    assert removed.inner_text().startswith("-")
    allow(panel).click()
    notebook.ended()
    at_rest(panel)
    photograph(page, f"signs-{scheme}-turn")

    for place in (notebook.cell(2), transcript_region(panel)):
        place.locator(".plm-TurnSummary").last.scroll_into_view_if_needed()
        for state in ("completed", "error", "refused"):
            sign = place.locator(f".plm-Tool > * .plm-StatusIcon[data-state='{state}']").first
            assert contrast(sign) > 4.5, state
        for row in (
            ".plm-Work > .plm-Disclosure-head",
            ".plm-Tool > .plm-Disclosure-head",
            ".plm-TurnSummary",
        ):
            assert contrast(place.locator(row).first) > 4.5, row
        for caret in place.locator(".plm-Disclosure-caret").all():
            assert contrast(caret) > 3
    gauge = notebook.cell(2).locator(".plm-TurnSummary .plm-Gauge-bar")
    assert len(painted(gauge)) >= 3
    region = transcript_region(panel)
    assert style(region.get_by_role("button", name="cell [3]"), "color") == link
    assert style(notebook.cell(2).locator(".jp-OutputArea").first, "--plm-rule") == "Highlight"

    steps = region.locator(".plm-TurnSummary-steps")
    assert style(steps, "text-decoration-line") == "none"
    steps.click()
    expect(steps).to_have_attribute("aria-pressed", "true")
    assert style(steps, "text-decoration-line") == "underline"
    for place in (notebook.cell(2), region):
        for button in (
            place.locator(".plm-Disclosure-head").first,
            place.locator(".plm-TurnSummary-steps"),
        ):
            button.focus()
            page.keyboard.press("Shift+Tab")
            page.keyboard.press("Tab")
            assert style(button, "outline-style") != "none"
            assert style(button, "outline-color") == highlight
    steps.press("Enter")

    # The switch of step mode: where its knob stands is seen on and off. A chip that tells more is marked.
    chip = panel.locator(".plm-PermissionMode .plm-Picker-chip")
    assert style(chip, "border-top-color") == style(panel, "background-color")
    chip.click()
    switch = panel.get_by_role("switch", name="Step mode")
    track = switch.locator(".plm-StepModeSwitch-track")
    assert contrast(track) > 4.5
    assert style(track, "background-color", "::after") == text
    off = painted(track)
    photograph(page, f"signs-{scheme}-mode")
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "true")
    assert painted(track) != off
    page.keyboard.press("Escape")
    expect(chip).to_have_attribute("data-more", "true")
    assert style(chip, "border-top-color") == highlight
    chip.click()
    switch.click()
    page.keyboard.press("Escape")

    notebook.run(3, wait=False)
    running = panel.locator(".plm-TurnFooter .plm-StatusIcon[data-state='running']")
    expect(running).to_be_visible()
    assert contrast(running) > 3
    photograph(page, f"signs-{scheme}-running")
    for where in (CELL, PANEL):
        assert page.evaluate(VIOLATIONS, where) == []
    stop(panel)
    notebook.ended()
    stopped = region.locator(".plm-Failure .plm-StatusIcon[data-state='stopped']")
    assert contrast(stopped) > 4.5
    tells_parts_of_the_window(page, panel, f"signs-{scheme}-window")
    assert seen.errors == []


def accessible(
    page: Page,
    state: str,
    themes: tuple[str, ...],
    schemes: tuple[str, ...] = ("dark", "light") if SOAKING else ("dark",),
) -> None:
    """Have axe look at cell and panel in themes, and with the system's colours in its schemes."""
    for theme in themes:
        choose_theme(page, theme)
        photograph(page, f"axe-{state}-{theme.rpartition(' ')[2].lower()}")
        for where in (CELL, PANEL):
            assert page.evaluate(VIOLATIONS, where) == [], (state, theme, where)
    choose_theme(page, THEMES[0])
    for scheme in schemes:
        page.emulate_media(forced_colors="active", color_scheme=scheme)  # type: ignore[arg-type]
        photograph(page, f"axe-{state}-forced-{scheme}")
        for where in (CELL, PANEL):
            assert page.evaluate(VIOLATIONS, where) == [], (state, scheme, where)
    page.emulate_media(forced_colors="none", color_scheme="null")

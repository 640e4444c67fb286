"""The inspector as a tab in JupyterLab: opened from everywhere, moved by keyboard, following a turn, over files."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    THEMES,
    Lab,
    PageErrors,
    choose_theme,
    open_notebook,
    photograph,
    wait_until_drawn,
)
from tests.e2e.shared_browser import SIZE
from tests.e2e.test_panel import (
    AXE,
    VIOLATIONS,
    at_rest,
    book,
    open_scripted_notebook,
    send,
    transcript_region,
)
from tests.recordings.formats.sample_files import sample as copied_sample
from tests.sample_size import SOAKING
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ANSWERS = (
    "calls('list', path='.'), says('There is one notebook. ' * 3).in_pieces(4_000),"
    " calls('list', path='.'), says('Two.'), says('Three.'), says('Four.')"
)
INSPECT = "args => void window.jupyterapp.commands.execute('palimpsest:inspect', args)"
ICON = "window.jupyterapp.shell.currentWidget.title.icon.name"
"""The icon of the tab in front."""
OPEN_FILE = "path => void window.jupyterapp.commands.execute('docmanager:open', { path })"


def tab(page: Page) -> Locator:
    """Return the inspector that is in front."""
    return page.locator(".plm-InspectorWidget:visible")


def inspected(page: Page) -> Locator:
    """Return the views of the inspector in front, once they are drawn."""
    views = tab(page).locator(".plm-Inspector")
    expect(cursor(views)).to_be_visible()
    return views


def close(page: Page) -> None:
    """Close the tab in front."""
    page.evaluate("window.jupyterapp.shell.currentWidget.close()")


def test_it_opens_from_gauge_palette_session_list_and_step(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = open_scripted_notebook(page, lab, "inspect.ipynb", ANSWERS)
    send(panel, "What is here?")
    expect(transcript_region(panel).get_by_text("There is one notebook.").first).to_be_visible()
    at_rest(panel)

    panel.locator(".plm-Panel-window").click()
    panel.get_by_role("button", name="Inspect the context").click()
    inspected(page)
    photograph(page, "inspector-gauge")
    close(page)
    expect(tab(page)).to_have_count(0)

    page.evaluate(INSPECT, {})
    inspected(page)
    close(page)

    panel.locator(".plm-Panel-sessions").click()
    panel.get_by_role("button", name="What to do with").first.click()
    panel.get_by_role("button", name="Inspect the context").click()
    inspected(page)
    close(page)
    panel.get_by_role("searchbox").press("Escape")

    transcript_region(panel).get_by_role("button", name="2 steps").click()
    panel.locator(".plm-Step").first.get_by_role("button", name="Inspect", exact=True).click()
    inspected(page)
    assert seen.errors == []


def unpacked(lab: Lab, name: str, target_name: str) -> str:
    """Put a sample, by its name with or without ``.xz``, into the folder that JupyterLab shows."""
    target = lab.folder / "recordings" / target_name
    target.parent.mkdir(exist_ok=True)
    copied_sample(name.removesuffix(".xz"), target.parent).rename(target)
    return f"recordings/{target_name}"


@pytest.mark.parametrize(
    ("sample", "name"),
    [
        # Its numbers are explained with each commit in labextension/tests/views/inspector.
        pytest.param("pi_large_session.jsonl.xz", "pi.jsonl", marks=pytest.mark.soak),
        ("claude_code/compaction_session.jsonl", "claude.jsonl"),
        pytest.param("marshmallow-1867.traj.xz", "marshmallow.traj", marks=pytest.mark.soak),
    ],
)
def test_a_recorded_file_opens_by_double_click(
    page: Page, lab: Lab, seen: PageErrors, sample: str, name: str
) -> None:
    path = unpacked(lab, sample, name)
    before = listed(lab.folder / "recordings")
    # A notebook of its own: of one that was open before, JupyterLab may ask which of its kernels to use.
    open_notebook(page, lab, book(lab, f"beside-{Path(name).stem}.ipynb", "1"))
    page.evaluate(OPEN_FILE, path)
    views = inspected(page)
    photograph(page, f"inspector-{Path(name).stem}")
    assert page.evaluate(ICON) == "jupyter-palimpsest:inspector"
    moves_by_keyboard(views)
    if name == "pi.jsonl":
        explains_a_dear_request(views)
        asks_what_if(views)
        chooses_prices_and_lifetime(page, views)
        in_every_theme_and_width(page, views)
    close(page)
    expect(tab(page)).to_have_count(0)
    assert listed(lab.folder / "recordings") == before
    assert seen.errors == []


def cursor(views: Locator) -> Locator:
    """Return the cursor over the recorded track."""
    return views.get_by_role("slider", name="Request, recorded")


def moves_by_keyboard(views: Locator) -> None:
    last = cursor(views).get_attribute("aria-valuemax") or ""
    cursor(views).press("Home")
    expect(cursor(views)).to_have_attribute("aria-valuenow", "1")
    cursor(views).press("ArrowRight")
    expect(cursor(views)).to_have_attribute("aria-valuenow", "2")
    cursor(views).press("End")
    expect(cursor(views)).to_have_attribute("aria-valuenow", last)


def explains_a_dear_request(views: Locator) -> None:
    """Walk as docs/teaching-a-dear-request.md does: a number and two buttons lead to the answers."""
    told = views.get_by_role("group", name="What the request cost")
    told.get_by_role("spinbutton", name="Request").fill("212")
    expect(told).to_contain_text("109,037 tokens, 0.03 USD. 108,913 of them came from the cache.")
    told.get_by_role("button", name="Break before").click()
    expect(cursor(views)).to_have_attribute("aria-valuenow", "209")
    expect(told).to_contain_text("108,197 of them were written anew for 0.37 USD more")
    expect(told).to_contain_text("With a warm cache it would have cost ~0.04 USD.")
    told.get_by_role("button", name="Dearest request").click()
    expect(cursor(views)).to_have_attribute("aria-valuenow", "416")
    expect(told).to_contain_text("No request cost more.")


def asks_what_if(views: Locator) -> None:
    """Move a slider of the second policy: its track is another one."""
    figures = views.locator(".plm-Track-figures").nth(1)
    before = figures.inner_text()
    views.locator(".plm-PolicyControls-slider input").first.press("End")
    expect(figures).not_to_have_text(before)


def chooses_prices_and_lifetime(page: Page, views: Locator) -> None:
    """Give a price of one's own and another lifetime: the figures of the second policy are others, and come back."""
    figures = views.locator(".plm-Track-figures").nth(1)
    views.get_by_role("button", name="prices").click()
    own = views.get_by_role("textbox", name="own price")
    first = figures.inner_text()
    own.fill("claude-sonnet-4-5=30/150/3/37.5/60")
    own.press("Enter")
    expect(figures).not_to_have_text(first)
    dear = figures.inner_text()
    views.get_by_role("combobox", name="cache kept").select_option("1h")
    expect(figures).not_to_have_text(dear)
    photograph(page, "inspector-pi-prices")
    own.fill("claude-sonnet-4-5=soon")
    own.press("Enter")
    expect(views.locator(".plm-Inspector-notice")).to_contain_text("is no price")
    own.fill("")
    own.press("Enter")
    views.get_by_role("combobox", name="cache kept").select_option("unchanged")
    expect(figures).to_have_text(first)


def in_every_theme_and_width(page: Page, views: Locator) -> None:
    """Look at the views in themes and widths: the grid keeps its cursor in sight through all of them."""
    wider = views.get_by_role("button", name="Wider columns")
    while wider.get_attribute("aria-disabled") != "true":
        wider.click()
    cursor(views).press("End")
    for theme in THEMES if SOAKING else ():  # test_inspector_views.py has them of another recording
        choose_theme(page, theme)
        wait_until_drawn(page)
        assert grid_shows_cursor(views), theme
        name = theme.removeprefix("JupyterLab ").replace(" ", "-").lower()
        photograph(page, f"inspector-pi-{name}")
        page.add_script_tag(path=str(AXE))
        assert page.evaluate(VIOLATIONS, ".plm-InspectorWidget") == [], theme
    choose_theme(page, THEMES[0])
    wait_until_drawn(page)
    assert grid_shows_cursor(views)
    for width in (320, 640, 768, 1440) if SOAKING else (320, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        wait_until_drawn(page)
        eventually(lambda: grid_shows_cursor(views))
        photograph(page, f"inspector-pi-{width}")
        over = tab(page).evaluate("node => node.scrollWidth - node.clientWidth")
        assert over <= 1, f"{over} px too wide at {width}"
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]


def listed(folder: Path) -> list[str]:
    """Return what lies in a folder, without the empty one that JupyterLab makes for every open document."""
    found = (str(path.relative_to(folder)) for path in folder.rglob("*"))
    return sorted(one for one in found if one != ".ipynb_checkpoints")


def test_it_says_why_pins_and_follows_a_turn(page: Page, lab: Lab, seen: PageErrors) -> None:
    panel = open_scripted_notebook(page, lab, "inspect-live.ipynb", ANSWERS)
    send(panel, "What is here?")
    at_rest(panel)
    page.evaluate(INSPECT, {})
    views = inspected(page)
    expect(cursor(views)).to_have_attribute("aria-valuemax", "2")

    views.get_by_role("tab", name="Items").click()
    grid = views.get_by_role("grid")
    views.get_by_placeholder("Find items").fill("list")
    # The definition of the tool has the name, too.
    views.get_by_role("combobox", name="Kind").select_option("call")
    expect(views.get_by_text(re.compile(r"^1 item$"))).to_be_visible()
    wait_until_drawn(page)
    grid.click(position={"x": 128, "y": 32})
    card = views.get_by_role("group", name="The chosen item")
    expect(card.locator(".plm-ItemCard-why")).not_to_be_empty()
    photograph(page, "inspector-why")
    expect(card.get_by_role("heading")).to_contain_text("list")
    card.get_by_role("button", name="Leave out").click()
    expect(card.get_by_text("The next request shows it left out.")).to_be_visible()
    card.get_by_role("button", name="Restore", exact=True).click()
    expect(card.get_by_text("The next request shows it left out.")).to_have_count(0)
    card.get_by_role("button", name="Pin", exact=True).click()
    expect(card.get_by_text("It holds from the next request on.")).to_be_visible()
    # What is so is shown at once, not with the next request.
    expect(card.get_by_role("button", name="Unpin")).to_be_visible()

    send(panel, "And now?")
    at_rest(panel)
    expect(cursor(views)).to_have_attribute("aria-valuemax", "4")
    expect(card.get_by_role("button", name="Unpin")).to_be_visible()
    expect(card.get_by_text("It holds from the next request on.")).to_have_count(0)
    photograph(page, "inspector-live")
    assert seen.errors == []


def grid_shows_cursor(views: Locator) -> bool:
    """Return whether the cursor's column is in the part of the grid that is seen."""
    return bool(
        views.get_by_role("grid").evaluate(
            """(box, request) => {
              const width = box.clientWidth;
              const names = width < 520 ? 132 : Math.min(300, Math.round(width * 0.4));
              const x = (request - 1) * 11;
              return x >= box.scrollLeft && x + 11 <= box.scrollLeft + width - names;
            }""",
            int(cursor(views).get_attribute("aria-valuenow") or 0),
        )
    )

"""The inspector's first screen answers what fills the window, what was dear, and what a policy changes."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import Lab, PageErrors, open_notebook, photograph
from tests.e2e.test_inspector import OPEN_FILE, close, cursor, inspected, unpacked
from tests.e2e.test_panel import book

import palimpsest
from palimpsest.render.content.phrases import usd_text

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

WIDTH, HEIGHT = 1440, 900
STATUS_BAR_PX = 24
MIN_ROWS = 14
ROW_PX, HEAD_PX = 17, 20
SESSIONS = [
    pytest.param("pi_large_session.jsonl.xz", "pi.jsonl", marks=pytest.mark.soak),  # with each commit tests/e2e/test_first_screen.py has the one of OpenHands, the highest of them
    pytest.param("claude_code/compaction_session.jsonl", "claude.jsonl", marks=pytest.mark.soak),  # with each commit tests/e2e/test_first_screen.py has the one of OpenHands, the highest of them
    pytest.param("marshmallow-1867.traj.xz", "swe.traj", marks=pytest.mark.soak),  # with each commit tests/e2e/test_first_screen.py has the one of OpenHands, the highest of them
    pytest.param("codex_rollout.jsonl.xz", "codex.jsonl", marks=pytest.mark.soak),  # with each commit tests/e2e/test_first_screen.py has the one of OpenHands, the highest of them
    ("openhands_v0.jsonl", "openhands.jsonl"),
]  # fmt: skip

FILE_BROWSER = """async () => {
  const { shell, commands } = window.jupyterapp;
  shell.mode = 'multiple-document';
  await commands.execute('filebrowser:activate');
}"""
NARROWER = """before => {
  const views = document.querySelector('.plm-InspectorWidget .plm-Inspector');
  return views.clientWidth < before - 200;
}"""


def bottom(place: Locator) -> float:
    """Return where an element ends, in pixels from the top of the window."""
    box = place.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


@pytest.mark.parametrize(("sample", "name"), SESSIONS)
@pytest.mark.usefixtures("own_page")
def test_the_first_screen_answers(
    page: Page, lab: Lab, seen: PageErrors, sample: str, name: str
) -> None:
    path = unpacked(lab, sample, name)
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    open_notebook(page, lab, book(lab, f"first-{Path(name).stem}.ipynb", "1"))
    page.evaluate(OPEN_FILE, path)
    views = inspected(page)
    expect(views.locator(".plm-Track")).to_have_count(2)
    all_is_on_it(views)
    photograph(page, f"first-screen-{Path(name).stem}")
    # Who opens a recording by a double click has the file browser beside it.
    alone = views.evaluate("element => element.clientWidth")
    page.evaluate(FILE_BROWSER)
    expect(page.locator(".jp-DirListing:visible")).to_be_visible()
    page.wait_for_function(NARROWER, arg=alone, polling=50)
    all_is_on_it(views)
    photograph(page, f"first-screen-beside-files-{Path(name).stem}")

    session = palimpsest.open_recording(lab.folder / path)[0]
    costs = [float(request["cost"] or 0) for request in session.requests.records()]
    fills_the_window(views)
    go_to_dearest_request(views, costs, session.price(None).unit)
    changes_by_policy(views)
    close(page)
    assert seen.errors == []


def all_is_on_it(views: Locator) -> None:
    """Find tracks, sentence, policy, the rows of the grid, and the chosen item's card beside it, without scrolling."""
    grid = views.get_by_role("grid")
    # By a key the browser would scroll to the end of the grid.
    grid.evaluate("element => element.focus({ preventScroll: true })")
    views.page.keyboard.press("ArrowDown")
    chosen = views.get_by_role("group", name="The chosen item")
    expect(chosen).to_be_visible()
    seen_until = HEIGHT - STATUS_BAR_PX
    for place in (".plm-Inspector-header", ".plm-Tracks", ".plm-CursorSentence"):
        expect(views.locator(place)).to_be_in_viewport(ratio=1)
    assert bottom(views.locator(".plm-PolicyControls")) < seen_until
    box, card = grid.bounding_box(), chosen.bounding_box()
    assert box is not None
    assert card is not None
    rows = int(grid.get_attribute("aria-rowcount") or 0)
    seen_px = min(seen_until, box["y"] + box["height"]) - box["y"] - HEAD_PX
    assert seen_px >= min(MIN_ROWS, rows) * ROW_PX
    assert card["x"] > box["x"] + box["width"]
    assert card["y"] < box["y"]


def fills_the_window(views: Locator) -> None:
    """Read the share of each kind in the last request: together they are all of it."""
    kinds = views.locator(".plm-Inspector-legend li").all_inner_texts()
    shares = [int(match[1]) for kind in kinds if (match := re.search(r"(\d+)%", kind))]
    assert len(shares) == len(kinds) > 0
    assert abs(sum(shares) - 100) <= len(shares)


def go_to_dearest_request(views: Locator, costs: list[float], unit: str) -> None:
    """Go to the dearest request: it is that of Python's table, with its amount."""
    button = views.get_by_role("button", name="Dearest request")
    if button.get_attribute("aria-disabled") != "true":
        button.click()
    dearest = max(range(len(costs)), key=lambda place: (costs[place], -place))
    amount = f"{usd_text(costs[dearest])} USD" if unit == "USD" else f"{costs[dearest]:,.0f} units"
    sentence = views.get_by_role("group", name="What the request cost")
    expect(sentence).to_contain_text("No request cost more.")
    expect(cursor(views)).to_have_attribute("aria-valuenow", str(dearest + 1))
    expect(sentence).to_contain_text(amount)


def changes_by_policy(views: Locator) -> None:
    """Read what the policy changes: estimate beside estimate, with the difference."""
    figures = views.locator(".plm-Track-figures").nth(1)
    expect(figures).to_contain_text(
        re.compile(
            r"estimate of the recording ~\S+ \S+ → ~\S+ \S+ with refetching, [\u2212+±]\d+ %"
        )
    )

"""A compaction in JupyterLab: the inspector shows the numbers that Python tells, and leads to what needed a lost name."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    SAMPLED_THEMES,
    THEMES,
    Lab,
    PageErrors,
    choose_theme,
    photograph,
    wait_until_drawn,
)
from tests.e2e.shared_browser import SIZE
from tests.e2e.test_inspector import INSPECT, close, inspected
from tests.e2e.test_panel import (
    AXE,
    COMMAND,
    RUN,
    VIOLATIONS,
    at_rest,
    open_scripted_notebook,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FIRST = (
    "The rows come from data/penguins.csv by load_penguins, and fit_mass_model failed with "
    "ValueError: 17 rows are empty. The mean of body_mass is 4201.75. "
)
SUMMARY = (
    "## Goal\n- know the penguins\n\n## State\n- load_penguins reads them\n- body_mass is 4201.75\n"
    + "- none\n" * 30
)
ANSWERS = (
    f"says({FIRST!r} * 60), says('Two.'), says('Three.'), says({SUMMARY!r}), "
    "says('I call fit_mass_model again, over data/penguins.csv.')"
)
TOLD = """import json
from palimpsest.review.recorded_sessions.stored_review import stored_review
[session] = harness.services.store.list()
review = stored_review(harness.services.store, session.id, lambda _model: None)
print("told", json.dumps(review.compactions().json()))"""


def table(region: Locator, caption: str) -> list[list[str]]:
    """Return the cells of a table, row by row, without its head."""
    found = region.get_by_role("table", name=re.compile(caption)).locator("tbody tr")
    return [row.locator("th, td").all_inner_texts() for row in found.all()]


def told(page: Page, cell: int) -> dict[str, Any]:
    """Return what Python tells in a cell."""
    page.evaluate(RUN, cell)
    output = page.locator(".jp-Notebook .jp-OutputArea-output", has_text="told {").last
    expect(output).to_be_visible()
    found: dict[str, Any] = json.loads(output.inner_text().split("told ", 1)[1])
    return found


@pytest.mark.soak  # with each commit tests/e2e/test_inspector_views.py has its numbers; this adds the lost names, and where they lead
def test_the_view_shows_the_numbers_of_python_and_leads_to_what_needed_a_lost_name(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = open_scripted_notebook(page, lab, "compactions.ipynb", ANSWERS, "%agent compact", TOLD)
    for words in ("First", "Second", "Third"):
        send(panel, words)
        expect(transcript_region(panel).get_by_text(words, exact=True).first).to_be_visible()
        at_rest(panel)
    page.evaluate(RUN, 1)
    expect(transcript_region(panel).get_by_role("button", name="Compacted")).to_be_visible()
    send(panel, "Fourth")
    expect(transcript_region(panel).get_by_text("I call").first).to_be_visible()
    at_rest(panel)
    [kept] = told(page, 2)["compactions"]
    needed = [one for one in kept["lost"] if one["needed"]]
    assert {one["name"] for one in needed} == {"data/penguins.csv", "fit_mass_model"}

    page.evaluate(INSPECT, {})
    views = inspected(page)
    views.get_by_role("tab", name="Requests").click()
    region = views.get_by_role("group", name="Compactions")
    expect(region.get_by_role("button", expanded=True)).to_contain_text(
        f"Compaction 1, before request {kept['request']}, by hand"
    )
    for sentence in kept["sentences"]:
        expect(region).to_contain_text(sentence)
    expect(region.get_by_role("heading", name="Before")).to_have_text(
        f"Before: {len(kept['items'])} items, ~{kept['tokens_before']:,} tokens"
    )
    expect(region.get_by_role("heading", name="After")).to_have_text(
        f"After: a summary, ~{kept['tokens_after']:,} tokens"
    )
    lost = {kind: [one for one in kept["lost"] if one["kind"] == kind] for kind in kept["found"]}
    assert table(region, "by kind") == [
        [
            kind,
            str(found),
            str(found - len(lost[kind])),
            str(len(lost[kind])),
            str(sum(bool(one["needed"]) for one in lost[kind])),
        ]
        for kind, found in kept["found"].items()
    ]
    assert sorted(row[0] for row in table(region, "lost names")) == sorted(
        one["name"].strip() for one in kept["lost"]
    )
    region.get_by_placeholder("Find in the summary").fill("LOAD_PENGUINS")
    expect(region.locator("mark")).to_have_text(["load_penguins"])
    region.get_by_placeholder("Find in the summary").fill("")

    region.get_by_role("checkbox").check()
    assert len(table(region, "lost names")) == len(needed)
    views.get_by_role("slider", name="Request, recorded").press("Home")
    link = region.get_by_role("button", name=f"request {needed[0]['needed'][0]}", exact=True)
    link.first.press("Enter")
    expect(views.get_by_role("slider", name="Request, recorded")).to_have_attribute(
        "aria-valuenow", str(needed[0]["needed"][0])
    )
    in_themes_and_widths(page, region)
    close(page)
    assert seen.errors == []


def in_themes_and_widths(page: Page, region: Locator) -> None:
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        wait_until_drawn(page)
        region.scroll_into_view_if_needed()
        name = theme.removeprefix("JupyterLab ").replace(" ", "-").lower()
        photograph(page, f"compactions-{name}")
        page.add_script_tag(path=str(AXE))
        assert page.evaluate(VIOLATIONS, ".plm-Compactions") == [], theme
    choose_theme(page, THEMES[0])
    # In a narrow window the panel would hide the tab.
    page.evaluate(COMMAND, "application:toggle-right-area")
    for width in (320, 768, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        wait_until_drawn(page)
        region.scroll_into_view_if_needed()
        photograph(page, f"compactions-{width}")
        # Lists reach into the frame's padding, to leave room for the rings of the focus.
        over = region.evaluate(
            "node => (card => card.scrollWidth - card.clientWidth)(node.closest('.plm-Inspector-card'))"
        )
        assert over <= 1, f"{over} px too wide at {width}"
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]

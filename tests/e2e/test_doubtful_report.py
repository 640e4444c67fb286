"""What rests on a replay that does not reproduce its recording is marked, says why beside it, and can be read in each theme."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.test_panel import AXE, VIOLATIONS
from tests.recordings.money_recordings import write_recordings

from palimpsest import open_recording
from palimpsest.frontends.static_files import STATIC_FOLDER

pytestmark = pytest.mark.slow

POLICY = "sweagent.last_n"
REASON = "The replay does not reproduce this recording"
INK = {"light": ("rgba(0,0,0,.87)", "#fff"), "dark": ("rgba(255,255,255,.87)", "#111")}
"""Text and page of JupyterLab's themes, in which a table is shown."""


@pytest.fixture(scope="module")
def doubtful(front_end: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:  # noqa: ARG001  # built
    """The report of a recording whose every third request lost the cache for no cause, and its table of policies."""
    assert (STATIC_FOLDER / "report.js").is_file(), (
        "The front end is not built; make front builds it."
    )
    folder = tmp_path_factory.mktemp("doubtful")
    path = write_recordings(folder)["five_minutes.jsonl"]
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    usages = [row["message"]["usage"] for row in rows if "usage" in row.get("message", {})]
    for usage in usages[2::3]:
        usage["cache_creation_input_tokens"] += usage["cache_read_input_tokens"]
        usage["cache_read_input_tokens"] = 0
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    with open_recording(path) as recording:
        assert recording[0].proof().is_doubtful
        report = recording[0].report(folder / "doubtful.html", policies=[POLICY])
        return report, recording[0].compare([POLICY]).table.html


@pytest.fixture(params=[pytest.param("light", marks=pytest.mark.soak), "dark"])
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """A page as narrow as half a screen, in a light and a dark theme."""
    scheme: Any = request.param
    context = browser.new_context(
        offline=True, viewport={"width": 760, "height": 900}, color_scheme=scheme
    )
    yield context.new_page()
    context.close()


def test_a_doubtful_policy_is_marked_and_the_reason_stands_beside_it(
    page: Page, doubtful: tuple[Path, str]
) -> None:
    page.goto(doubtful[0].as_uri())
    page.evaluate(AXE.read_text(encoding="utf-8"))
    tracks = page.locator("figure.plm-Track")

    expect(page.locator(".plm-Tracks")).to_contain_text(REASON)
    expect(tracks.locator("strong")).to_have_text(["recorded", f"what if · {POLICY} ?"])
    expect(tracks.nth(0)).to_have_attribute("data-doubtful", "false")
    expect(tracks.nth(1)).to_have_attribute("data-doubtful", "true")
    assert page.evaluate(VIOLATIONS, ".plm-Inspector") == []
    page.get_by_role("tab", name="Cost", exact=True).click()
    expect(page.locator("section[aria-label=Figures]")).to_contain_text(REASON)
    expect(page.get_by_role("columnheader", name=f"{POLICY}, estimated ?")).to_be_visible()
    expect(page.get_by_role("rowheader", name=f"{POLICY} ?", exact=True)).to_be_visible()
    assert page.evaluate(VIOLATIONS, ".plm-Inspector") == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_pale_row_of_a_table_can_be_read(page: Page, doubtful: tuple[Path, str]) -> None:
    scheme = (
        "dark" if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") else "light"
    )
    ink, paper = INK[scheme]
    page.set_content(f"<body style='color:{ink};background:{paper}'>{doubtful[1]}")
    page.evaluate(AXE.read_text(encoding="utf-8"))

    expect(page.get_by_role("row", name=f"{POLICY} ?")).to_be_visible()
    assert page.evaluate(VIOLATIONS, "table") == []

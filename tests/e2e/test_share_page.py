"""A shared page is readable offline, without scripts, on a phone, in dark mode and on paper."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.jupyterlab import READY, Lab, PageErrors, open_notebook, photograph
from tests.e2e.test_panel import AXE, RUN, VIOLATIONS, at_rest, book, open_panel, send
from tests.harness.sample_session import everything
from tests.sample_size import SOAKING, sampled_cases

from palimpsest.session.sharing.share_page import write_page
from palimpsest.store.log.memory_store import MemoryStore

pytestmark = pytest.mark.slow

WIDTHS = {"wide": 1000, "narrow": 480, "phone": 340}
LOOKED_AT = {
    "light": tuple(WIDTHS) if SOAKING else ("wide",),
    "dark": tuple(WIDTHS) if SOAKING else ("phone",),
}
"""Colours, and the widths in which axe looks at them."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The page of a session with every kind of content."""
    store = MemoryStore()
    session = everything().write(store)
    write_page(store, session.id, tmp_path / "page.html", {})
    return tmp_path / "page.html"


@pytest.fixture
def quiet(browser: Browser) -> Iterator[Page]:
    """A page in a browser without network and scripts, whose console must stay empty."""
    context = browser.new_context(java_script_enabled=False, offline=True)
    opened = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("request", lambda request: asked.append(request.url))
    yield opened
    context.close()
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


@pytest.mark.parametrize("scheme", sampled_cases(("light", "dark"), "dark"))
@pytest.mark.parametrize("width", sampled_cases(WIDTHS.keys(), "wide", "phone"))
def test_it_is_read_offline_without_script(
    quiet: Page, path: Path, width: str, scheme: str
) -> None:
    quiet.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    quiet.set_viewport_size({"width": WIDTHS[width], "height": 900})
    quiet.goto(path.as_uri())
    photograph(quiet, f"share-{width}-{scheme}")

    expect(quiet.get_by_role("heading", level=1)).to_have_text("How penguins differ")
    under = quiet.get_by_text("59 a line of a long file")
    expect(under).to_be_hidden()
    quiet.get_by_text("Cleared for the model").click()
    expect(under).to_be_visible()
    expect(quiet.get_by_role("img", name="figure 1.png")).to_be_visible()
    quiet.get_by_text("2 prompts", exact=True).click()
    quiet.get_by_role("link", name="And now draw it").click()
    assert quiet.url.endswith("#prompt-2")


def test_it_has_landmarks_headings_and_contrast(browser: Browser, path: Path) -> None:
    context = browser.new_context(bypass_csp=True)  # only to inject the accessibility checker
    page = context.new_page()
    page.goto(path.as_uri())
    page.add_script_tag(path=AXE)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")

    for scheme, widths in LOOKED_AT.items():
        for width in (WIDTHS[name] for name in widths):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert page.evaluate(VIOLATIONS, "html") == [], (scheme, width)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    for role in ("banner", "navigation", "main", "contentinfo"):
        expect(page.get_by_role(role)).to_have_count(1)  # type: ignore[arg-type]
    context.close()


@pytest.mark.soak  # with each commit tests/e2e/test_inspector_report.py prints a report; this adds the page of a session
def test_its_text_is_printed_also_where_it_is_folded(quiet: Page, path: Path) -> None:
    quiet.set_viewport_size({"width": 720, "height": 900})
    quiet.goto(path.as_uri())
    quiet.emulate_media(media="print", color_scheme="dark")
    photograph(quiet, "share-print")

    for words in ("59 a line of a long file", "First I look at the columns", "Adelie,152"):
        expect(quiet.get_by_text(words)).to_be_visible()
    ground = quiet.locator("body").evaluate("node => getComputedStyle(node).backgroundColor")
    assert ground == "rgb(255, 255, 255)", "paper is white"


@pytest.mark.soak  # with each commit labextension/tests/views/sessions/sharePage.test.tsx has the buttons; this adds the file that is saved
def test_the_panel_makes_a_page_and_takes_it_back(page: Page, lab: Lab, seen: PageErrors) -> None:
    setting = "%env PALIMPSEST_REHEARSAL_DELAY=0\n%load_ext palimpsest"
    open_notebook(page, lab, book(lab, "share.ipynb", setting))
    page.evaluate(READY)
    panel = open_panel(page)
    page.evaluate(RUN, 0)
    send(panel, "Say hello to the penguins")
    at_rest(panel)
    panel.locator(".plm-Panel-sessions").click()
    panel.get_by_role("button", name="What to do with Say hello").click()
    panel.get_by_role("button", name="Share", exact=True).click()
    expect(panel.get_by_role("button", name="Make the page")).to_be_focused()
    photograph(page, "panel-share")
    page.add_script_tag(path=AXE)
    assert page.evaluate(VIOLATIONS, "#jupyter-palimpsest-panel") == []

    panel.get_by_role("button", name="Make the page").click()
    keep = panel.get_by_role("button", name="Save a copy")
    expect(keep).to_be_focused()
    photograph(page, "panel-shared")
    with page.expect_download() as download:
        keep.click()
    saved = download.value
    assert saved.suggested_filename == "session.html"
    (kept,) = (lab.folder / ".palimpsest" / "share").glob("*.html")
    assert saved.path().read_bytes() == kept.read_bytes()
    assert "Say hello to the penguins" in kept.read_text(encoding="utf-8")

    panel.get_by_role("button", name="Delete the page").click()
    expect(panel.get_by_text("The page is deleted.")).to_be_visible()
    assert not kept.exists()
    assert seen.errors == []

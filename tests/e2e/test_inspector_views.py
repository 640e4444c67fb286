"""Every view of the inspector, in JupyterLab and in a report: its numbers are Python's, and it is accessible."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.e2e.inspected_sessions import POLICY, own_project, shows_what_python_says, view_of
from tests.e2e.jupyterlab import (
    READY,
    THEMES,
    Lab,
    PageErrors,
    choose_theme,
    open_notebook,
    photograph,
    wait_until_drawn,
)
from tests.e2e.leak_monitor import OPEN_FOLDS, LeakMonitor, watching
from tests.e2e.shared_browser import MEDIA, SIZE
from tests.e2e.test_inspector import INSPECT, OPEN_FILE, close, inspected, tab, unpacked
from tests.e2e.test_inspector_report import _pi_session as session_saying
from tests.e2e.test_inspector_report import quiet as quiet
from tests.e2e.test_panel import AXE, RUN, VIOLATIONS, book
from tests.recordings.formats.sample_files import sample
from tests.sample_size import SOAKING

from palimpsest import open_recording
from palimpsest.public.recorded_session import RecordedSession

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

RECORDINGS = {
    "pi.jsonl": "pi_large_session.jsonl.xz",
    "claude.jsonl": "claude_code/cc1df109.jsonl.xz",
    "marshmallow.traj": "marshmallow-1867.traj.xz",
}
TABS = ("Timeline", "Items", "Requests", "Cost", "Wastes")
FOREIGN = ":is(script, iframe, form, object, embed, img, video, link, style, svg [onload])"
WIDTHS = (320, 768, 1440)
OVER = "node => node.scrollWidth - node.clientWidth"
PAGE_OVER = "document.documentElement.scrollWidth - innerWidth"
TOO_WIDE = """() => [...document.querySelectorAll('.plm-Inspector :is(.plm-Inspector-scroll, .plm-Inspector-card)')]
  .filter(node => node.scrollWidth > node.clientWidth + 1)
  .map(node => `${node.getAttribute('aria-label') ?? node.className} is too wide`)"""
"""Names the tables and cards that would have to be scrolled sideways."""

ENLARGED = """:root, .plm-Inspector.plm-Inspector, [data-jp-theme-light] {
  --jp-ui-font-size0: 22px; --jp-ui-font-size1: 26px; --jp-code-font-size: 26px;
}"""
"""Words of twice the size, as a browser or JupyterLab enlarges them without the rest of the page."""
RINGS_CUT = """() => {
  const found = [];
  const all = '.plm-Inspector :is(button, input, select, summary, [tabindex="0"])';
  for (const one of document.querySelectorAll(all)) {
    one.focus();
    const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(one);
    const over = parseFloat(outlineWidth) + parseFloat(outlineOffset);
    if (document.activeElement !== one || one.getClientRects().length === 0) {
      continue;
    }
    const ring = one.getBoundingClientRect();
    const name = one.getAttribute('aria-label') ?? one.textContent;
    if (outlineStyle === 'none') {
      found.push(`${name} shows no focus`);
    }
    for (let box = one.parentElement; box !== null && box !== document.body; box = box.parentElement) {
      const edge = box.getBoundingClientRect();
      if (getComputedStyle(box).overflow !== 'visible' && (
        ring.left - over < edge.left || ring.right + over > edge.right ||
        ring.top - over < edge.top && box.scrollTop === 0
      )) {
        found.push(`the focus of ${name} is cut by ${box.className}`);
      }
    }
  }
  return found;
}"""
"""Names what shows no line around it when it has the focus, or one that is cut."""


@pytest.mark.soak  # with each commit the next test goes through own sessions; this adds recordings of other agents
@pytest.mark.parametrize("name", RECORDINGS)
def test_every_view_of_a_recording_shows_pythons_numbers_in_the_tab_and_in_a_report(
    page: Page, lab: Lab, seen: PageErrors, quiet: Page, tmp_path: Path, name: str
) -> None:
    path = unpacked(lab, RECORDINGS[name], f"views-{name}")
    open_notebook(page, lab, book(lab, f"beside-views-{Path(name).stem}.ipynb", "1"))
    page.evaluate(OPEN_FILE, path)
    views = inspected(page)
    with open_recording(lab.folder / path) as recording:
        review = recording[0]
        shows_what_python_says(views, review)
        assert seen.errors == []
        as_report(quiet, review, tmp_path)


def as_report(quiet: Page, review: RecordedSession, folder: Path) -> None:
    """Write a session's report, open it from the disk, and hold every view to the session."""
    path = review.report(folder / "views.html", policies=[POLICY], texts="all")
    quiet.goto(path.as_uri())
    views = quiet.locator(".plm-Inspector")
    expect(views.get_by_role("tab", name="Timeline")).to_be_visible()
    shows_what_python_says(views, review, whole=False)


def test_every_view_of_own_sessions_shows_pythons_numbers_in_the_tab_and_in_a_report(
    page: Page, lab: Lab, seen: PageErrors, quiet: Page, tmp_path: Path
) -> None:
    folder = lab.folder / "own"
    folder.mkdir()
    own_project(folder)
    notebook = book(lab, "own/inspected.ipynb", "%load_ext palimpsest")
    open_notebook(page, lab, notebook)
    page.evaluate(READY)
    page.evaluate(RUN, 0)
    kinds, shown = set(), 0
    with open_recording(folder) as project:
        for review in project:
            view = view_of(review)
            if "@" in view.title or not view.requests.id:
                continue  # a subagent's own session, or the one that an open panel has just begun
            kinds |= {*view.recorded.transitions.state} | (
                {"subagent"} if view.subagents else set()
            )
            if not SOAKING and "reverted" in view.recorded.transitions.state:
                continue  # the views of a fork and of what it was forked from take as long as the other two
            page.evaluate(INSPECT, {"session": review.timeline.session, "notebook": notebook})
            shows_what_python_says(inspected(page), review)
            if SOAKING or shown == 0:  # in each run one report is gone through
                as_report(quiet, review, tmp_path)
            close(page)
            shown += 1
    assert shown == 4 if SOAKING else 2 <= shown < 4  # the fourth is the fork of the third
    assert {"cleared", "summarised", "subagent", "reverted"} <= kinds, kinds
    assert seen.errors == []


def test_every_view_is_accessible_in_every_theme_and_width(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    path = unpacked(lab, RECORDINGS["claude.jsonl"], "views-accessible.jsonl")
    open_notebook(page, lab, book(lab, "beside-accessible.ipynb", "1"))
    page.evaluate(OPEN_FILE, path)
    views = inspected(page)
    page.add_script_tag(path=str(AXE))

    def violations(why: str, widths: tuple[int, ...]) -> dict[str, list[str]]:
        by_rule = {}
        for name in TABS:
            views.get_by_role("tab", name=name, exact=True).click()
            for width in widths:
                page.set_viewport_size({"width": width, "height": 900})
                wait_until_drawn(page)
                photograph(page, f"inspector-views-{why}-{width}-{name.lower()}")
                bad = page.evaluate(VIOLATIONS, ".plm-InspectorWidget")
                for whose, over in (
                    ("the tab", tab(page).evaluate(OVER)),
                    ("the page", page.evaluate(PAGE_OVER)),
                ):
                    bad += [f"{whose} is {over} px too wide"] if over > 0 else []
                bad += page.evaluate(TOO_WIDE) if width == min(WIDTHS) else []
                if bad:
                    by_rule[f"{why} {width} {name}"] = bad
        return by_rule

    bad = {}
    light, dark, contrast = THEMES
    # In each run they are looked at narrow in the light and wide in forced colours.
    everywhere = ((light, WIDTHS), (dark, WIDTHS), (contrast, WIDTHS[-1:]))
    for theme, widths in everywhere if SOAKING else ((light, WIDTHS[:1]),):
        choose_theme(page, theme)
        bad |= violations(theme.rpartition(" ")[2].lower(), widths)
    page.emulate_media(forced_colors="active")
    bad |= violations("forced", WIDTHS[-1:])
    bad |= {f"forced {name}": found for name, found in opened_violations(page, views) if found}
    page.emulate_media(**MEDIA)  # type: ignore[arg-type]
    choose_theme(page, THEMES[0])
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]
    assert bad == {}, json.dumps(bad, indent=1)
    assert seen.errors == []


def opened_violations(page: Page, views: Locator) -> Iterator[tuple[str, list[str]]]:
    """Yield what axe says of each thing that a button or a key opens in the first tab: card, keys, words, note."""
    views.get_by_role("tab", name="Timeline", exact=True).click()
    explain = views.get_by_role("button", name="What the pictures show")
    for name, begin, end in (
        ("card", lambda: views.get_by_role("grid").press("ArrowDown"), "Escape"),
        ("keys", views.get_by_role("button", name="Keys").click, "Escape"),
        ("explained", explain.click, ""),
        ("glossary", views.get_by_role("button", name="Glossary").click, "Escape"),
        ("note", views.get_by_role("button", name="Write a note").click, ""),
    ):
        begin()
        wait_until_drawn(page)
        photograph(page, f"inspector-views-opened-{name}")
        yield name, page.evaluate(VIOLATIONS, ".plm-InspectorWidget")
        if end:
            page.keyboard.press(end)


@pytest.mark.soak  # with each commit the tab has the same views, above; this adds a report, at all widths and enlarged
@pytest.mark.parametrize("scheme", ["light", "dark", "forced"])
def test_every_view_of_a_report_is_accessible(
    browser: Browser, front_end: Path, tmp_path: Path, scheme: str
) -> None:
    assert front_end
    with open_recording(sample("pi_version_3.jsonl", tmp_path)) as recording:
        path = recording[0].report(tmp_path / "x.html", policies=[POLICY], texts="all")
    context = browser.new_context(
        bypass_csp=True,
        color_scheme="light" if scheme == "light" else "dark",
        forced_colors="active" if scheme == "forced" else "none",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(path.as_uri())
    page.add_script_tag(path=str(AXE))
    bad = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for name in TABS:
            page.get_by_role("tab", name=name, exact=True).click()
            wait_until_drawn(page)
            photograph(page, f"report-{scheme}-{width}-{name.lower()}")
            found = page.evaluate(VIOLATIONS, "html")
            found += page.evaluate(TOO_WIDE) if width == min(WIDTHS) else []
            page.keyboard.press("Shift")  # a line around the focus is drawn for who uses keys
            found += page.evaluate(RINGS_CUT) if width == max(WIDTHS) else []
            over = page.evaluate(PAGE_OVER)
            bad[f"{name} {width}"] = found + ([f"{over} px too wide"] if over > 0 else [])
    page.add_style_tag(content=ENLARGED)
    for width in WIDTHS[1:]:
        page.set_viewport_size({"width": width, "height": 900})
        for name in TABS:
            page.get_by_role("tab", name=name, exact=True).click()
            wait_until_drawn(page)
            photograph(page, f"report-{scheme}-{width}-{name.lower()}-enlarged")
            bad[f"{name} {width} enlarged"] = page.evaluate(TOO_WIDE)
    context.close()
    assert {name: found for name, found in bad.items() if found} == {}


@pytest.fixture
def watch(page: Page) -> Iterator[LeakMonitor]:  # noqa: ARG001  # is there until all that it asked was heard
    """A server that must receive no request."""
    with watching() as watch:
        yield watch


@pytest.mark.soak  # with each commit tests/e2e/test_inspector_report.py has them in a report; this adds the tab, and every view
def test_payloads_stay_words_in_every_view(
    page: Page, lab: Lab, watch: LeakMonitor, quiet: Page, tmp_path: Path
) -> None:
    said = [*watch.sixth(0).values(), "</script><script>top.ran=1</script>", "<!--<script>"]
    (lab.folder / "hostile").mkdir()
    path = lab.folder / "hostile" / "session.jsonl"
    path.write_text(session_saying(said), encoding="utf-8")
    open_notebook(page, lab, book(lab, "beside-hostile.ipynb", "1"))
    watch.follow(page)
    page.evaluate(OPEN_FILE, "hostile/session.jsonl")
    inspected(page)
    through_all_views(page, ".plm-InspectorWidget:visible")
    with open_recording(path) as recording:
        report = recording[0].report(tmp_path / "x.html", policies=[POLICY], texts="all")
    quiet.goto(report.as_uri())
    through_all_views(quiet, "#inspector")
    assert watch.leaks() == []


def through_all_views(page: Page, where: str) -> None:
    """Open every view and all that it folds away; nothing of what was said may be more than words."""
    views = page.locator(f"{where} .plm-Inspector")
    for name in TABS:
        views.get_by_role("tab", name=name, exact=True).click()
        page.evaluate(OPEN_FOLDS, where.removesuffix(":visible"))
        if name == "Items":
            views.get_by_role("grid").press("ArrowDown")
            views.get_by_role("grid").press("Enter")
            expect(views.locator(".plm-ItemCard-why")).not_to_be_empty()
        if name == "Requests":
            expect(views.locator(".plm-RequestViewer-block").first).to_be_visible()
        wait_until_drawn(page)
        assert views.locator(FOREIGN).count() == 0, name
        assert page.evaluate("window.ran ?? null") is None, name

"""How a turn stands in a cell and in the panel of a real JupyterLab: its rows, its pixels, and how all of it is reached."""

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    READY,
    SAMPLED_THEMES,
    Lab,
    PageErrors,
    choose_theme,
    photograph,
    wait_until_drawn,
)
from tests.e2e.recorded_turns import PANEL, TURNS, RecordedTurn, looks, play, script
from tests.e2e.running_notebook import Notebook, begin
from tests.e2e.test_panel import AXE, COMMAND, VIOLATIONS
from tests.sample_size import SOAKING

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROWS = """places => places.flatMap(place => [...place.querySelectorAll(
  '.plm-Work, .plm-Tool, .plm-Reasoning, .plm-Step, .plm-FileChanges, .plm-TurnSummary, .plm-Failure, .plm-Reduced,'
    + '.plm-ModeNotice'
)]).filter(row => row.parentElement.closest('.plm-Work, .plm-Tool') === null).map(row => row.textContent)"""
ONE_LINE = 28
"""The height of a row of work or of an act, in pixels."""
TALL = """(places, high) => places.flatMap(place => [...place.querySelectorAll(
  ':is(.plm-Work, .plm-Tool, .plm-Reasoning)[data-open="false"], .plm-TurnSummary'
)]).filter(row => row.getBoundingClientRect().height > high).map(row => row.outerHTML.slice(0, 200))"""
BORDERED = """places => places.flatMap(place => [...place.querySelectorAll('[data-open="false"], .plm-TurnSummary')])
  .filter(row => !row.matches('.plm-Reduced'))
  .filter(row => [row, ...row.children].some(one => {
    const style = getComputedStyle(one);
    return ['Top', 'Right', 'Bottom', 'Left'].some(side => style[`border${side}Width`] !== '0px');
  })).map(row => row.outerHTML.slice(0, 200))"""
"""Closed rows around which a line is drawn; what was scraped off the page has a dashed strip of its own."""
SHARE = """([places, texts]) => {
  const boxes = where => [...document.querySelectorAll(where)].map(one => one.getBoundingClientRect());
  const turn = boxes(places).filter(({ height }) => height > 0);
  const edge = (side, pick) => pick(...turn.map(box => box[side]));
  const high = edge('bottom', Math.max) - edge('top', Math.min);
  const whole = high * (edge('right', Math.max) - edge('left', Math.min));
  const found = boxes(texts);
  const sum = of => found.reduce((all, box) => all + of(box), 0);
  return { high: sum(({ height }) => height), share: sum(({ height, width }) => height * width) / whole };
}"""
"""Returns the height of a turn's texts and results, and their share of its pixels: see docs/design/0044."""
QUICK = {"figure"}
"""Turns that are played in each run."""
BY_KEYS = {"cell", "panel"} if SOAKING else {"cell"}
"""Places whose parts are reached by keys."""
PLACES = {
    "cell": (".jp-OutputArea-output", ".plm-Text, .jp-OutputArea-output:not(.plm-SegmentWidget)"),
    "panel": (".plm-Segment", ".plm-Text, .plm-Figures"),
}
"""In cell and panel: what a turn consists of, and what of it is text or result."""


def shown(page: Page, notebook: Notebook, cell: int) -> dict[str, Locator]:
    """Return the turn in cell and panel, once it is drawn as ended."""
    places = {
        "cell": notebook.cell(cell).locator(".jp-OutputArea").first,
        "panel": page.locator(f"{PANEL} .plm-Turn").last,
    }
    for name, place in places.items():
        expect(place.locator(".plm-TurnSummary").last).to_be_visible()
        place.evaluate("(one, name) => { one.dataset.measured = name; }", name)
    return places


def alone(page: Page, name: str, width: int) -> None:
    """Show the notebook without the panel, or the panel beside it, in a window of a width."""
    page.set_viewport_size({"width": width, "height": 900})
    if name == "cell":
        page.evaluate("window.jupyterapp.shell.collapseRight()")
    else:
        page.evaluate(COMMAND, "jupyter-palimpsest:open-panel")
    wait_until_drawn(page)


@pytest.mark.parametrize(
    "turn",
    [
        pytest.param(turn, marks=() if turn.name in QUICK else pytest.mark.soak, id=turn.name)
        for turn in TURNS
    ],
)
def test_a_turn_is_a_row_of_work_a_row_an_act_and_one_below_and_each_part_two_presses_away(
    page: Page, lab: Lab, seen: PageErrors, turn: RecordedTurn
) -> None:
    places = shown(page, *play(page, lab, turn))
    page.add_script_tag(path=AXE)
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        photograph(page, f"turn-{turn.name}-{theme.rpartition(' ')[2].lower()}")
        for name in places:
            answer = f"[data-measured='{name}'] .plm-Segment"
            assert page.evaluate(VIOLATIONS, answer) == [], (name, theme)

    for name, place in places.items():
        alone(page, name, 1440)
        # What is far from the viewport is drawn as mere words.
        place.locator(".plm-TurnSummary").last.scroll_into_view_if_needed()
        expect(place.locator('.plm-LineGroup[data-far="true"]')).to_have_count(0)
        rows = place.locator(".plm-Segment").evaluate_all(ROWS)
        assert len(rows) == turn.rows, (name, rows)
        if turn.works:
            expect(place.locator(".plm-Work-words").first).to_contain_text(turn.works)
        of_turn, of_text = (
            ", ".join(f"[data-measured='{name}'] {one}" for one in where.split(", "))
            for where in PLACES[name]
        )
        for width in (1440, 420):
            alone(page, name, width)
            place.scroll_into_view_if_needed()
            found = page.evaluate(SHARE, [of_turn, of_text])
            assert found["high"] <= 100 or found["share"] >= 0.5, (name, width, found)
        alone(page, name, 320 if name == "panel" else 420)
        assert place.locator(".plm-Segment").evaluate_all(TALL, ONE_LINE) == [], name
        for colours in ("none", "active"):
            page.emulate_media(forced_colors=colours)  # type: ignore[arg-type]
            assert place.locator(".plm-Segment").evaluate_all(BORDERED) == [], (name, colours)
        page.emulate_media(forced_colors="none")

    for name in places.keys() & BY_KEYS:
        place = places[name]
        alone(page, name, 1440)
        place.scroll_into_view_if_needed()
        presses = _by_keys(page, place, name, turn.parts)
        lost = [part for part, count in presses.items() if count is None or count > 2]
        assert lost == [], (name, presses)
        assert page.evaluate(VIOLATIONS, f"[data-measured='{name}'] .plm-Segment") == [], name
    assert seen.errors == []


DEPTHS = """([where, parts]) => {
  const bare = text => text.replaceAll(/\\s/g, '');
  const place = document.querySelector(where);
  return parts.map(part => {
    const sought = bare(part);
    const holders = [...place.querySelectorAll('*')].filter(
      one => one.checkVisibility() && bare(one.textContent).includes(sought)
    );
    const innermost = holders.filter(one => !holders.some(other => one !== other && one.contains(other)));
    const folds = innermost.map(one => {
      let count = 0;
      for (let up = one; up !== place; up = up.parentElement) {
        count += up.matches('.plm-Disclosure-body') ? 1 : 0;
      }
      return count;
    });
    return folds.length === 0 ? null : Math.min(...folds);
  });
}"""
"""Returns for each part in how many opened rows it stands; null for one that is not seen."""
FOCUSED = """where => {
  const one = document.activeElement;
  return one?.closest(where) == null ? 'outside' : one.matches('.plm-TurnSummary-steps') ? 'steps'
    : one.matches('.plm-Disclosure-head[aria-expanded="false"]') ? 'closed' : 'other';
}"""


def _by_keys(page: Page, place: Locator, name: str, parts: list[str]) -> dict[str, int | None]:
    """Open every row with Tab and Enter, then show all steps and do it again; return the presses of Enter for each part."""
    where = f"[data-measured='{name}']"
    found: dict[str, int | None] = dict.fromkeys(parts)

    def walk(spent: int) -> None:
        place.get_by_role("button").first.focus()
        while (now := page.evaluate(FOCUSED, where)) != "outside":
            if now == "closed":
                page.keyboard.press("Enter")
            page.keyboard.press("Tab")
        for part, folds in zip(parts, page.evaluate(DEPTHS, [where, parts]), strict=True):
            known = found[part]
            if folds is not None and (known is None or folds + spent < known):
                found[part] = folds + spent

    walk(0)
    place.get_by_role("button").first.focus()
    while page.evaluate(FOCUSED, where) != "steps":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(place.locator(".plm-Step").first).to_be_visible()
    walk(1)
    place.locator(".plm-TurnSummary-steps").press("Enter")  # for both, cell and panel
    return found


@pytest.mark.soak  # with each commit labextension/tests/state/display/density.test.ts has the rows; this adds the setting itself
def test_a_setting_shows_all_steps_and_the_number_of_steps_folds_one_turn(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    settings = lab.folder.parent / "config" / "lab" / "user-settings"
    file = settings / "jupyter-palimpsest" / "panel.jupyterlab-settings"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{"density": "all steps"}', encoding="utf-8")
    try:
        (lab.folder / "file0.txt").write_text("0\n", encoding="utf-8")
        (lab.folder / "file1.txt").write_text("1\n", encoding="utf-8")
        notebook = begin(page, lab, "rows-all", script(*looks(2)), "%%agent -y\nWhat do they hold?")
        notebook.run(1)
        page.reload()
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        page.evaluate(READY)
        page.evaluate(COMMAND, "jupyter-palimpsest:open-panel")
        notebook.run(2)
    finally:
        file.unlink()
    cell = notebook.cell(2)
    expect(cell.locator(".plm-Step")).to_have_count(3)
    expect(cell.locator(".plm-Work")).to_have_count(0)

    cell.get_by_role("button", name="3 steps").click()
    expect(cell.locator(".plm-Step")).to_have_count(0)
    expect(cell.get_by_role("button", name="looked at 2 files")).to_be_visible()

    page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0")
    page.locator("#jupyter-palimpsest-panel").get_by_role("button", name="cell [3]").click()
    page.wait_for_function("window.jupyterapp.shell.currentWidget.content.activeCellIndex === 2")
    assert seen.errors == []

"""Long sessions in panel and cell: rows near the viewport are rendered, distant ones show their plain text."""

from typing import Any

import pytest
from playwright.sync_api import CDPSession, Locator, Page, expect
from tests.e2e.jupyterlab import READY, ROOT, Lab, open_notebook, photograph
from tests.e2e.running_notebook import Notebook
from tests.e2e.test_panel import book, composer, open_panel
from tests.sample_size import sample_size

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TURNS = sample_size(120, 650)
"""Five messages and fifteen parts each: 9,750 parts in the soak."""
SHORT = 3
MAX_RENDERED_TURNS = 10
"""Maximum number of rendered turns: two screens around the viewport, and the viewport itself."""

OLD = f"""import random, sys; sys.path.insert(0, {str(ROOT)!r})
from tests.bench.generate_session import LogAuthor, generate
from tests.harness import kernel_session
from palimpsest.transcript.values import ModelInfo
kernel_session.INFO = ModelInfo(ref=kernel_session.INFO.ref, window=100_000_000, output_limit=4_000)
harness = kernel_session.load(get_ipython())
def old(turns):
    made = harness.services.ids.new('ses', descending=True)
    author = LogAuthor(made, random.Random(7), turns, turn_bytes=1000, compact_every=10**9)
    generate(harness.services.store, made, author=author, close=False)
    return made
def use(session):
    get_ipython().run_line_magic('agent', f'use {{session}}')
warm, short, long = old(1), old({SHORT}), old({TURNS})"""
GO = "%%agent\nGo on."

COUNTS = """() => {
  const all = selector => [...document.querySelectorAll(`.plm-Panel ${selector}`)];
  const inside = row => row.querySelectorAll('*').length + 1;
  const far = all('.plm-Turn[data-far="true"]');
  return {
    turns: all('.plm-Turn').length,
    whole: all('.plm-Turn[data-far="false"]').length,
    far_nodes: Math.max(0, ...far.map(inside)),
    nodes: all('*').length,
  };
}"""
TO = """(at) => {
  const place = document.querySelector('.plm-Transcript');
  place.dispatchEvent(new WheelEvent('wheel', { deltaY: -100 }));
  place.scrollTop = at * place.scrollHeight;
}"""
COPIED = """() => {
  const selection = document.getSelection();
  selection.selectAllChildren(document.querySelector('.plm-Transcript-feed'));
  const text = selection.toString();
  selection.removeAllRanges();
  return text.length;
}"""
NEWEST = """(turns) => {
  const newest = document.querySelector(`.plm-Turn[aria-posinset="${turns}"] .plm-Text`);
  return newest !== null && newest.textContent.trim() !== '';
}"""
AT_TOP = """() => {
  const place = document.querySelector('.plm-Transcript').getBoundingClientRect();
  const row = document.elementFromPoint(place.left + 40, place.top + 40)?.closest('.plm-Turn');
  return row && [row.ariaPosInSet, Math.round(row.getBoundingClientRect().top)];
}"""
SETTLED = f"""() => new Promise(done => {{
  const place = {AT_TOP};
  let before = '', same = 0;
  const next = () => {{
    const now = place();
    same = now && String(now) === before ? same + 1 : 0;
    before = String(now);
    same < 10 ? requestAnimationFrame(next) : done(now);
  }};
  next();
}})"""
"""Resolves with the position of the first visible row once the rows around it are typeset."""
FRAMES = """() => new Promise(done => {
  let left = 20;
  const next = () => left-- > 0 ? requestAnimationFrame(next) : done();
  next();
})"""


def worked(cpu: CDPSession) -> float:
    """Return the CPU seconds of the page's main thread."""
    told = cpu.send("Performance.getMetrics")["metrics"]
    return float({one["name"]: one["value"] for one in told}["TaskDuration"])


def counts(page: Page) -> dict[str, Any]:
    """Count rows and elements of the panel."""
    found: dict[str, Any] = page.evaluate(COUNTS)
    return found


def are_few(told: dict[str, Any]) -> None:
    """Assert that few turns are rendered, and that a distant one has hardly any elements."""
    assert told["whole"] <= MAX_RENDERED_TURNS
    assert told["far_nodes"] <= 3
    assert told["nodes"] < 650 + TURNS


def old_sessions(page: Page, lab: Lab, name: str, *cells: str) -> tuple[Notebook, Locator]:
    """Open a notebook whose kernel holds sessions of several lengths, and the panel beside it."""
    open_notebook(page, lab, book(lab, f"{name}.ipynb", OLD, *cells))
    page.evaluate(READY)
    notebook = Notebook(page, lab.folder / f"{name}.ipynb")
    notebook.run(0)
    return notebook, open_panel(page)


def test_a_long_session_is_found_copied_and_looked_at_anywhere(page: Page, lab: Lab) -> None:
    notebook, panel = old_sessions(page, lab, "long-reading", "use(long)")
    notebook.run(1)
    turns = panel.get_by_role("article")
    expect(turns).to_have_count(TURNS)
    first, last = turns.first, turns.last
    expect(last).to_have_attribute("aria-setsize", str(TURNS))
    expect(last).to_have_attribute("aria-posinset", str(TURNS))
    expect(last).to_have_attribute("data-far", "false")
    expect(first).to_have_attribute("data-far", "true")
    are_few(counts(page))

    # Distant rows are in the page as text: to find, to copy, to be read aloud.
    assert page.evaluate(COPIED) > 500 * TURNS
    words = (first.text_content() or "").split("\n")[0][:60]
    assert page.evaluate("words => window.find(words, true, true)", words)

    # Visible rows are rendered, and do not move while rows above get their height.
    page.evaluate(TO, 0.5)
    seen = panel.locator(".plm-Turn[data-far='false'] .plm-Text")
    expect(seen.first).to_be_visible()
    expect(last).to_have_attribute("data-far", "true")
    assert counts(page)["whole"] <= MAX_RENDERED_TURNS
    photograph(page, "long-middle")
    top = page.evaluate(SETTLED)
    assert top
    page.evaluate(FRAMES)
    assert page.evaluate(AT_TOP) == top

    # What the user opened stays open, however far away it is.
    call = panel.locator(".plm-Turn[data-far='false'] .plm-Tool .plm-Disclosure-head").first
    call.click()
    opened = panel.locator(".plm-Tool[data-open='true']")
    expect(opened).to_have_count(1)
    page.get_by_role("button", name="To the newest").click()
    expect(last).to_have_attribute("data-far", "false")
    expect(opened).to_have_count(1)

    # The panel's own search finds it too, and leads there.
    composer(panel).press("ControlOrMeta+f")
    panel.get_by_role("searchbox", name="Find in this session").fill(words.strip())
    expect(panel.locator(".plm-SessionSearch-count")).to_have_text("1 of 1")
    expect(first).to_have_attribute("data-far", "false")

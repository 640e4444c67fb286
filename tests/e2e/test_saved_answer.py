"""A saved answer is rendered without a kernel, in every theme, and runs nothing."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import (
    THEMES,
    Lab,
    PageErrors,
    choose_theme,
    open_notebook,
    photograph,
    wait_until_drawn,
)
from tests.e2e.saved_notebooks import TABLE, XSS, SavedAnswer, segment, write

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

RUNS = (
    "script, svg[onload], [onerror], iframe, form, "
    "[data-commandlinker-command]:not(a[data-commandlinker-command='rendermime:handle-local-link'])"
)
"""Elements that run something; JupyterLab lets a link to a file beside the notebook open that file."""
MATHS = "The mean is $\\bar x = \\frac{1}{n}\\sum x_i$, see `groupby`:\n\n```python\ndf.mean()\n```"

POOR_CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = colour => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) =>
    [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const behind = node => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) {
      layers.push(rgba(getComputedStyle(at).backgroundColor));
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const light = colour => {
    const [r, g, b] = colour.slice(0, 3).map(value => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const poor = [];
  for (const node of document.querySelectorAll('.plm-Segment *')) {
    const words = [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim());
    // Code and Markdown of the notebook have the theme's own colours.
    if (!words || node.closest('.jp-RenderedMarkdown, mjx-container')) {
      continue;
    }
    const page = behind(node);
    const pair = [light(page), light(over(rgba(getComputedStyle(node).color), page))].sort();
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (ratio < 4.5) {
      poor.push(`${node.className}: ${node.textContent.slice(0, 30)} ${ratio.toFixed(2)}`);
    }
  }
  return poor;
}"""


def write_story(lab: Lab) -> str:
    story = (
        SavedAnswer()
        .thought("The user asks for **odd** values.")
        .text("I'll look at the distribution per species first.")
        .ran("python", TABLE, code='penguins.groupby("species").bill_length_mm.describe()')
        .ran("read", "a,b", path="data/a.csv")
        .ran("read", "a,b", path="data/b.csv")
        .ran("read", "a,b", path="data/README.md")
        .failed("bash", "bash: nope: command not found", command="nope --please")
        .compacted()
        .text(f"## Found\n\n{MATHS}\n\n| species | odd |\n|---|---:|\n| Gentoo | 3 |")
        .step()
    )
    waiting = SavedAnswer().running(
        "write", path="data/penguins_clean.csv", content="species,bill\n"
    )
    ask = {
        "id": "per_1",
        "permission": "write",
        "patterns": ["data/penguins_clean.csv"],
        "always": ["data/*"],
        "title": "Write data/penguins_clean.csv?",
        "input": {},
        "call_id": "call_prt_0000",
    }
    stopped = (
        SavedAnswer().text("I was about to").running("python", code="import time\ntime.sleep(99)")
    )
    write(
        lab.folder / "story.ipynb",
        segment(story.message()),
        segment(waiting.message(), is_open=True, asks=[ask]),
        segment(stopped.message(error={"type": "aborted", "message": "Stopped."})),
    )
    return "story.ipynb"


def test_an_answer_is_drawn_as_our_rows_and_a_fold_opens_by_keys(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    open_notebook(page, lab, write_story(lab))

    segments = page.locator(".plm-Segment")
    expect(segments).to_have_count(3)
    expect(segments.first.get_by_role("button", name="Thought for 3.2 s")).to_be_visible()
    expect(segments.first.get_by_text("23%")).to_be_visible()
    expect(segments.first.locator("mjx-container").first).to_be_visible()
    expect(page.get_by_text("fallback")).to_have_count(0)

    button = page.get_by_role("button", name="Thought for 3.2 s")
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_text("The user asks for")).to_be_visible()
    assert seen.errors == []


def test_an_answer_can_be_read_in_every_theme(page: Page, lab: Lab) -> None:
    page.set_viewport_size({"width": 1280, "height": 1500})
    open_notebook(page, lab, write_story(lab))
    page.locator(".plm-Tool-name", has_text="python").first.click()
    page.locator("mjx-container").first.wait_for()
    for theme in THEMES:
        choose_theme(page, theme)
        photograph(page, f"saved-{theme.removeprefix('JupyterLab ').replace(' ', '-').lower()}")

        poor = page.evaluate(POOR_CONTRAST)
        assert poor == [], f"{theme}: text under 4.5 : 1"
    choose_theme(page, THEMES[0])


def test_nothing_that_a_model_or_a_tool_wrote_runs(page: Page, lab: Lab, seen: PageErrors) -> None:
    evil = (
        SavedAnswer()
        .text(XSS)
        .thought(XSS)
        .ran("python", XSS, code=XSS)
        .ran("<img src=x onerror=\"document.title='ran'\">", XSS, path=XSS)
        .failed("bash", XSS, command=XSS)
    )
    write(lab.folder / "evil.ipynb", segment(evil.message()))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_notebook(page, lab, "evil.ipynb")
    closed = page.locator(".plm-Segment button[aria-expanded='false']")
    closed.first.wait_for()
    while closed.count():
        closed.first.click()
    wait_until_drawn(page)

    shown = page.locator(".plm-Segment")
    assert "ran" not in page.title().split()
    assert not [url for url in asked if "example.invalid" in url]
    expect(shown.locator(RUNS)).to_have_count(0)
    for link in shown.locator("a").all():
        assert not (link.get_attribute("href") or "").startswith("javascript")
    # The image x beside the notebook is requested, and does not exist.
    assert [error for error in seen.errors if "404" not in error] == []

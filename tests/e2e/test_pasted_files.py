"""Pictures, files, tables and cells are pasted and dropped into the composer, and go along as chips."""

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
from tests.e2e.test_panel import (
    AXE,
    VIOLATIONS,
    at_rest,
    open_scripted_notebook,
    transcript_region,
)
from tests.sample_size import SOAKING

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HTML = (
    "<html><body><style>td {}</style><table><tr><th>name</th><th>mass</th></tr>"
    "<tr><td>robin<script>window.ran = true</script></td><td>20 <img src=x onerror='window.ran = true'></td></tr>"
    "</table></body></html>"
)
TRANSFER = """(field, {kind, texts, files}) => {
  const data = new DataTransfer();
  for (const [mime, text] of Object.entries(texts)) data.setData(mime, text);
  for (const {name, type, base64, text} of files) {
    const bytes = base64 === undefined
      ? text : Uint8Array.from(atob(base64), one => one.charCodeAt(0));
    data.items.add(new File([bytes], name, {type}));
  }
  const init = {bubbles: true, cancelable: true};
  if (kind === 'paste') {
    return !field.dispatchEvent(new ClipboardEvent('paste', {...init, clipboardData: data}));
  }
  field.dispatchEvent(new DragEvent('dragover', {...init, dataTransfer: data}));
  return !field.dispatchEvent(new DragEvent('drop', {...init, dataTransfer: data}));
}"""
DRAG_HERE = """(field, {mime, value}) => {
  const data = {hasData: name => name === mime, getData: name => (name === mime ? value : undefined)};
  for (const type of ['lm-dragenter', 'lm-dragover', 'lm-drop']) {
    const event = new Event(type, {bubbles: true, cancelable: true});
    Object.assign(event, {mimeData: data, proposedAction: 'move', dropAction: 'none'});
    field.dispatchEvent(event);
  }
}"""


def composer(panel: Locator) -> Locator:
    return panel.get_by_role("textbox", name="Prompt for the agent")


def transfer(
    panel: Locator,
    kind: str,
    texts: dict[str, str] | None = None,
    files: list[dict[str, Any]] | None = None,
) -> bool:
    """Paste or drop into the composer; return whether the panel took it."""
    given = {"kind": kind, "texts": texts or {}, "files": files or []}
    return bool(composer(panel).evaluate(TRANSFER, given))


def chips(panel: Locator) -> Locator:
    return panel.get_by_role("list", name="Files that go along").get_by_role("listitem")


@pytest.mark.soak  # with each commit labextension/tests/views/dom/transferredContent.test.ts takes it, and tests/frontends/page_channel/test_pasted_files.py sends it; this adds what JupyterLab drags
def test_what_is_pasted_and_dropped_goes_along(page: Page, lab: Lab, seen: PageErrors) -> None:
    panel = open_scripted_notebook(page, lab, "pasted.ipynb", "says('A robin.')", "1 + 1")
    (lab.folder / "birds.csv").write_text("name,mass\nrobin,20\n")
    (lab.folder / "two words.csv").write_text("name,mass\nowl,300\n")
    png = {"name": "shot.png", "type": "image/png", "base64": PIXEL}

    assert not transfer(panel, "paste", {"text/plain": "def f():\n\treturn 1\n"})
    assert transfer(panel, "paste", files=[png])
    expect(chips(panel)).to_have_count(1)
    expect(chips(panel).nth(0)).to_contain_text("shot.png")
    expect(chips(panel).nth(0)).to_contain_text("named only: this model sees no pictures")

    assert transfer(panel, "paste", {"text/html": HTML, "text/plain": "name\tmass\nrobin\t20"})
    expect(chips(panel)).to_have_count(2)
    expect(panel.get_by_text(re.compile(r"^table\.tsv$"))).to_be_visible()
    assert page.evaluate("() => window.ran === undefined")

    notes = {"name": "notes.md", "type": "text/markdown", "text": "# Birds\n"}
    assert transfer(panel, "drop", files=[notes])
    expect(chips(panel)).to_have_count(3)

    cell = {"cell_type": "code", "execution_count": 7, "source": "birds.head()", "outputs": []}
    drag = {"mime": "application/vnd.jupyter.cells", "value": [cell]}
    composer(panel).evaluate(DRAG_HERE, drag)
    expect(chips(panel)).to_have_count(4)
    expect(panel.get_by_text("cell 7", exact=True)).to_be_visible()
    expect(page.locator(".jp-Notebook .jp-Cell")).to_have_count(2)

    composer(panel).fill("What is in")
    paths = {"mime": "application/x-jupyter-icontents", "value": ["birds.csv"]}
    composer(panel).evaluate(DRAG_HERE, paths)
    expect(composer(panel)).to_have_value("What is in @birds.csv ")
    expect(panel.get_by_text(re.compile(r"^file birds\.csv"))).to_be_visible()
    paths["value"] = ["two words.csv"]
    composer(panel).evaluate(DRAG_HERE, paths)
    expect(chips(panel)).to_have_count(5)
    expect(chips(panel).filter(has_text="two words.csv")).to_contain_text(
        re.compile(r"~\d+ tokens")
    )

    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        for width in (1440, 420):
            page.set_viewport_size({"width": width, "height": 900})
            wait_until_drawn(page)
            name = theme.removeprefix("JupyterLab ").lower()
            photograph(page, f"pasted-{name}-{width}")
        page.set_viewport_size(SIZE)  # type: ignore[arg-type]
        page.add_script_tag(path=str(AXE))
        assert page.evaluate(VIOLATIONS, "#jupyter-palimpsest-panel") == [], theme
    choose_theme(page, THEMES[0])

    panel.get_by_role("button", name="Remove notes.md").click()
    expect(chips(panel)).to_have_count(4)
    composer(panel).press("Enter")
    expect(transcript_region(panel).get_by_text("A robin.")).to_be_visible()
    at_rest(panel)
    expect(chips(panel)).to_have_count(0)
    along = transcript_region(panel).get_by_role("button", name=re.compile("^Went along: "))
    along.click()
    for name in ("table.tsv", "cell 7", "two words.csv"):
        expect(transcript_region(panel).get_by_text(name, exact=False).first).to_be_visible()
    expect(transcript_region(panel).get_by_role("img", name="Picture: shot.png")).to_be_visible()
    expect(transcript_region(panel).get_by_text("notes.md")).to_have_count(0)
    assert seen.errors == []


@pytest.mark.soak  # with each commit labextension/tests/views/dom/transferredContent.test.ts reads files; this adds large ones, and what is said of them
def test_what_is_large_is_asked_about_and_what_cannot_go_says_why(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = open_scripted_notebook(page, lab, "pasted-large.ipynb", "says('Many rows.')")
    rows = {"name": "rows.csv", "type": "text/csv", "text": "name,mass\n" * 20_000}
    transfer(panel, "drop", files=[rows])
    asked = panel.get_by_role("group", name=re.compile(r"^rows\.csv is large: ~[\d,]+ tokens"))
    expect(asked).to_be_visible()
    expect(chips(panel)).to_have_count(0)

    composer(panel).fill("How many?")
    composer(panel).press("Enter")
    expect(asked.get_by_role("button", name="Attach")).to_be_focused()
    expect(composer(panel)).to_have_value("How many?")
    for width in (1440, 420):
        page.set_viewport_size({"width": width, "height": 900})
        wait_until_drawn(page)
        photograph(page, f"pasted-large-{width}")
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]
    page.keyboard.press("Enter")
    expect(asked).to_have_count(0)
    expect(chips(panel)).to_contain_text(re.compile(r"rows\.csv · ~[\d.]+k tokens"))

    if SOAKING:  # in each run labextension/tests/views/drafts/editedTurn.test.tsx has files that outlive a reload
        page.reload()
        expect(chips(panel)).to_contain_text(re.compile(r"rows\.csv · ~[\d.]+k tokens"))
    transfer(panel, "drop", files=[rows | {"name": "more.csv"}])
    panel.get_by_role("button", name="Leave out").click()
    expect(chips(panel)).to_have_count(1)

    binary = {"name": "model.bin", "type": "text/plain", "base64": "//4AAQ=="}
    transfer(panel, "drop", files=[binary])
    problem = panel.get_by_role("alert").filter(has_text="model.bin")
    expect(problem).to_contain_text("neither a text nor a picture (PNG, JPEG, GIF, WebP) nor a PDF")
    problem.get_by_role("button", name="Dismiss").click()
    expect(problem).to_have_count(0)
    huge = "(name => { const data = new DataTransfer(); data.items.add(new File([new Uint8Array(7e6)], name));"
    composer(panel).evaluate(
        f"field => {huge} field.dispatchEvent(new ClipboardEvent('paste', "
        "{bubbles: true, cancelable: true, clipboardData: data})); })('huge.csv')"
    )
    expect(panel.get_by_role("alert")).to_contain_text(
        "huge.csv has 7.0 MB; at most 6 MB can be attached."
    )
    composer(panel).fill("How many?")
    composer(panel).press("Enter")
    expect(transcript_region(panel).get_by_text("Many rows.")).to_be_visible()
    at_rest(panel)
    assert seen.errors == []

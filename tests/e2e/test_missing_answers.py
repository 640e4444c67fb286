"""An answer that was lost because the notebook was not saved is inserted again from the panel."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import READY, Lab, PageErrors, open_instead, photograph
from tests.e2e.running_notebook import Notebook, begin
from tests.e2e.saved_notebooks import MIME
from tests.e2e.test_panel import open_panel, transcript_region

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

DRAWS = "from PIL import Image\ndisplay(Image.new('RGB', (200, 80), 'teal'))\nprint('drawn')"
SCRIPT = f"harness.script(calls('python', code={DRAWS!r}), says('It is **teal**.'), says('Again.'))"
ASKS = "%%agent -y\nDraw it."
OUTPUTS = """cell => window.jupyterapp.shell.currentWidget.content.model.cells.get(cell).toJSON().outputs"""
CLOSED = f"""cell => {{
  const [first] = ({OUTPUTS})(cell);
  const part = first?.data[{MIME!r}];
  return (part?.end ?? null) !== null && part.messages.every(({{ info }}) => info.time.completed);
}}"""
"""Returns whether the segment before the answer's figure is closed in the notebook."""
WORDS = "Insert the answer again"


def unnumbered(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the data of outputs, without the sequence numbers of records."""
    unnumbered_rows = []
    for output in outputs:
        data = {
            mime: "".join(form) if isinstance(form, list) else form
            for mime, form in output["data"].items()
        }
        if MIME in data:
            data[MIME] = data[MIME] | {"seq": []}
        data = {
            mime: form.strip() if isinstance(form, str) else form for mime, form in data.items()
        }
        unnumbered_rows.append(data)
    return unnumbered_rows


def kept(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the data of outputs, reduced to the forms of a figure that the session stores."""
    return [
        data if MIME in data else {"image/png": data["image/png"]} for data in unnumbered(outputs)
    ]


def asked(page: Page, lab: Lab, name: str, *cells: str) -> Notebook:
    """A notebook on disk with these cells, run up to its script."""
    notebook = begin(page, lab, name, SCRIPT, *cells)
    notebook.run(1)
    return notebook


def back(panel: Locator) -> Locator:
    return panel.get_by_role("button", name=WORDS)


def test_an_answer_that_was_not_saved_is_put_back_into_its_cell(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook = asked(page, lab, "put-back", ASKS)
    notebook.run(2)
    cell = notebook.cell(2)
    expect(cell.get_by_text("It is teal.")).to_be_visible()
    page.wait_for_function(CLOSED, arg=2)
    before = page.evaluate(OUTPUTS, 2)
    panel = open_panel(page)
    expect(transcript_region(panel).get_by_text("It is teal.")).to_be_visible()
    expect(back(panel)).to_have_count(0)

    open_instead(page, lab, notebook.path.name)
    page.evaluate(READY)
    panel = open_panel(page)
    expect(back(panel)).to_be_visible()
    expect(cell.locator(".jp-OutputArea-output")).to_have_count(0)
    photograph(page, "put-back-offered")
    back(panel).press("Enter")

    expect(cell.locator(".plm-Segment")).to_have_count(2)
    expect(cell.get_by_text("It is teal.")).to_be_visible()
    expect(cell.locator(".jp-RenderedImage img")).to_be_visible()
    expect(back(panel)).to_have_count(0)
    expect(
        panel.get_by_role("status").get_by_text("The answer is in the notebook.")
    ).to_be_visible()
    photograph(page, "put-back")
    saved = notebook.save()["cells"][2]
    assert kept(saved["outputs"]) == kept(before)
    assert saved["execution_count"] == 3
    assert seen.errors == []

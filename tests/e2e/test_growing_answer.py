"""A streaming answer is updated in place in its cell, and keeps what the user opened or scrolled."""

import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import READY, Lab, PageErrors, open_notebook
from tests.e2e.saved_notebooks import MIME, SavedAnswer, segment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SHOW = """import json
from IPython.display import display, update_display
show = {show}
show({{{mime!r}: json.loads({data!r}), 'text/markdown': 'fallback'}}, raw=True, display_id='one')"""
RUN = "cell => { const { content } = window.jupyterapp.shell.currentWidget; content.activeCellIndex = cell; return window.jupyterapp.commands.execute('notebook:run-cell'); }"


def code(show: str, story: SavedAnswer, **more: object) -> str:
    return SHOW.format(show=show, mime=MIME, data=json.dumps(segment(story.message(), **more)))


def test_what_a_person_opened_stays_open_while_the_answer_grows(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    begun = SavedAnswer().thought("First I look.").ran("python", "42", code="6 * 7").text("It is")
    grown = (
        SavedAnswer()
        .thought("First I look.")
        .ran("python", "42", code="6 * 7")
        .text("It is **42**.")
    )
    cells = [
        new_code_cell(code("display", begun, is_open=True, status="*waits for the model*")),
        new_code_cell(code("update_display", grown.step())),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(book, lab.folder / "grows.ipynb")
    open_notebook(page, lab, "grows.ipynb")
    page.evaluate(READY)
    page.evaluate(RUN, 0)
    shown = page.locator(".plm-Segment")
    # This kernel has no Palimpsest, so no session can be writing the answer.
    expect(shown.get_by_text("Interrupted: the kernel ended")).to_be_visible()
    shown.locator(".plm-Tool > button").click()
    page.evaluate("document.querySelector('.plm-Segment').dataset.kept = 'yes'")

    page.evaluate(RUN, 1)

    expect(shown).to_have_count(1)
    expect(shown.locator("strong", has_text="42")).to_be_visible()
    expect(shown.get_by_text("Interrupted")).to_have_count(0)
    expect(shown.locator(".plm-Tool > button")).to_have_attribute("aria-expanded", "true")
    expect(shown).to_have_attribute("data-kept", "yes")
    assert seen.errors == []

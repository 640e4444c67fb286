"""The agent reads the notebook as the page shows it: a cell that was edited and not run is told with what it holds now."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import Lab, PageErrors
from tests.e2e.running_notebook import Notebook, begin
from tests.e2e.test_fix_error import CHANGE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

RAN = "total = 'RAN-' + 'BEFORE'\ntotal"
SCRIPT = """import palimpsest.session.turn_setup.notebook_updates as updates
updates.PAGE_SECONDS = 60
harness.script(says('Ready.'), calls('notebook'), calls('notebook', cell='3'), says('Read.'))
harness.wait_for_page()"""
"""The page answers in time, also on a machine that has more to do than it can."""
SENT = "print('SENT', harness.model.requests[-1].messages)"
HIDE = """() => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.widgets[5].model.setMetadata('tags', ['agent-hidden']);
}"""


def sent(notebook: Notebook, cell: int) -> str:
    """Run the cell that prints the newest request; return it."""
    notebook.run(cell)
    shown = notebook.cell(cell).locator(".jp-OutputArea-output")
    expect(shown).to_contain_text("SENT")
    return shown.inner_text()


@pytest.mark.soak  # with each commit labextension/tests/notebook/cells/cellReader.test.ts reads it, and tests/frontends/user_cells/test_live_cells.py asks for it; this adds both together
def test_an_edited_cell_is_read_from_the_live_page(page: Page, lab: Lab, seen: PageErrors) -> None:
    cells = (
        SCRIPT,
        RAN,
        "%agent are you there?",
        "%agent read cell three",
        "never = 'HID-DEN'",
        SENT,
    )
    notebook = begin(page, lab, "live-cells", *cells, told=True)
    page.evaluate(HIDE)
    for number in (1, 2, 3):
        notebook.run(number)
    page.evaluate(CHANGE, "total = 'EDITED-ONLY'")
    notebook.run(4)

    messages = sent(notebook, 6)

    assert "As the live page shows the notebook now" in messages
    assert "~[3]" in messages
    assert "edited since it ran: total = 'EDITED-ONLY'" in messages
    assert "[source now, on the live page; it did not run]" in messages
    assert "[source that ran, to which the outputs belong]" in messages
    assert 'edited="since it ran"' in messages
    assert "(1 cell kept from you by the user.)" in messages
    assert "HID-DEN" not in messages
    assert seen.errors == []

"""A button that an operation brings into the panel, in a real JupyterLab."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import READY, Lab, PageErrors, open_notebook, photograph
from tests.e2e.running_notebook import RUN
from tests.e2e.test_panel import (
    AXE,
    SCRIPTED_MODEL_SETUP,
    VIOLATIONS,
    at_rest,
    book,
    composer,
    open_panel,
    send,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

REGISTERED = """from palimpsest.frontends.operation_table import TABLE
from tests.frontends.operations.count_words import CountWords
TABLE.register(CountWords)"""


@pytest.mark.soak  # with each commit labextension/tests/views/composer/operationButtons.test.tsx has it, and tests/frontends/operations/test_new_operation.py answers; this adds both together
def test_a_button_of_an_operation_stands_in_the_panel_and_shows_its_answer(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    setup = SCRIPTED_MODEL_SETUP.format(answers="says('Three small words.')")
    loads = setup.replace("from tests.harness", f"{REGISTERED}\nfrom tests.harness", 1)
    open_notebook(page, lab, book(lab, "operation-button.ipynb", loads))
    page.evaluate(READY)
    panel = open_panel(page)
    page.evaluate(RUN, 0)
    expect(composer(panel)).to_be_visible()
    send(panel, "Say three.")
    at_rest(panel)

    group = panel.get_by_role("group", name="More")
    group.get_by_role("button", name="Count words").press("Enter")

    expect(group.get_by_role("status")).to_have_text("5 words were said.")
    photograph(page, "operation-button")
    page.add_script_tag(path=AXE)
    assert page.evaluate(VIOLATIONS, "#jupyter-palimpsest-panel .plm-Operations") == []
    assert seen.errors == []

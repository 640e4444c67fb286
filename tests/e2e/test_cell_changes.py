"""The agent's changes to cells of an open notebook: made by the page, all or none, and the reader goes on."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.changed_notebook import (
    REDO,
    UNDO,
    ask_page,
    cells_of,
    open_changing,
)
from tests.e2e.jupyterlab import Lab, PageErrors

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def sources(page: Page) -> list[str]:
    return [str(cell["source"]) for cell in cells_of(page)][1:]


def test_changes_are_made_together_and_undone_in_one_step(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook = open_changing(page, lab, "changes", "1 + 1", "2 + 2", "3 + 3")
    for number in (1, 2, 3):
        notebook.run(number)
    before = cells_of(page)
    ids = [cell["id"] for cell in before]

    results = ask_page(
        page,
        {"action": "edit", "cell": ids[1], "old": "1 + 1", "new": "1 + 10"},
        {"action": "insert", "cell": "new-cell", "after": ids[1], "new": "# *New*", "kind": "markdown"},
        {"action": "move", "cell": ids[3], "after": ids[0], "old": "3 + 3"},
        {"action": "delete", "cell": ids[2], "old": "2 + 2"},
    )

    assert [result.get("problem") for result in results] == [None] * 4
    assert results[3]["removed"]["outputs"] == before[2]["outputs"]
    after = cells_of(page)
    assert sources(page) == ["3 + 3", "1 + 10", "# *New*"]
    assert after[1]["outputs"] == before[3]["outputs"]
    assert after[1]["execution_count"] == before[3]["execution_count"]
    expect(notebook.page.locator(".jp-MarkdownCell em", has_text="New")).to_be_visible()

    page.evaluate(UNDO)
    assert cells_of(page) == before
    page.evaluate(REDO)
    assert cells_of(page) == after
    saved = notebook.save()
    assert [cell["id"] for cell in saved["cells"]] == [cell["id"] for cell in after]
    assert seen.errors == []

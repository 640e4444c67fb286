"""A subagent's progress is shown in the card of its task call, in a real JupyterLab."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import SAMPLED_THEMES, Lab, PageErrors, choose_theme, photograph
from tests.e2e.running_notebook import begin
from tests.e2e.test_panel import composer, transcript_region
from tests.e2e.test_saved_answer import POOR_CONTRAST

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SCRIPT = """from palimpsest.tools.workflow.task import TaskTool
harness.services.agents.registry.register(TaskTool(lambda: [("explore", "Finds things.")]))
harness.script(
    calls("task", description="Find the loader", prompt="Where are the penguins loaded?", agent="explore"),
    calls("glob", pattern="*.py").calls("grep", pattern="read_csv"),
    calls("bash", command="ls -a | head -3\\necho done").pauses(1.0),
    says("They are loaded in load.py, line 3."),
    says("The penguins are loaded in load.py."),
)"""


@pytest.mark.soak  # with each commit labextension/tests/views/parts/subagentCall.test.tsx has the card; this adds the session that it opens
def test_the_card_lists_its_calls_asks_and_opens_its_session(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook = begin(page, lab, "tasks", SCRIPT, "%%agent\nFind it.")
    notebook.run(1)
    notebook.run(2, wait=False)
    cell = notebook.cell(2)
    work = cell.locator(".plm-SubagentCall")
    expect(work.get_by_role("listitem")).to_have_count(3)
    expect(work.get_by_role("listitem").nth(1)).to_contain_text("grep")
    once = cell.get_by_role("button", name="Allow once")
    expect(once).to_be_visible()
    expect(cell.get_by_text("echo done").first).to_be_visible()
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        photograph(page, f"task-asks-{theme.rpartition(' ')[2].lower()}")
        assert page.evaluate(POOR_CONTRAST) == []
    cell.get_by_role("button", name="Open its session").click()
    panel = page.locator("#jupyter-palimpsest-panel")
    expect(panel.get_by_text("it is here to read")).to_be_visible()
    expect(panel.get_by_text("Where are the penguins loaded?")).to_be_visible()
    photograph(page, "task-child")
    panel.get_by_role("button", name="Back", exact=True).click()
    expect(transcript_region(panel).get_by_text("Find it.")).to_be_visible()
    expect(composer(panel)).to_be_focused()
    once.click()
    notebook.ended()
    transcript_region(panel).get_by_role("button", name="Find the loader").click()
    transcript_region(panel).get_by_role("button", name="Open its session").click()
    expect(panel.get_by_text("it is here to read")).to_be_visible()
    panel.get_by_role("button", name="Back", exact=True).click()
    expect(panel.get_by_role("button", name="Send", exact=True)).to_be_visible()
    assert seen.errors == []

    shown = cell.locator(".plm-Segment")
    expect(shown.get_by_text("The penguins are loaded in load.py.")).to_be_visible()
    shown.get_by_role("button", name="Find the loader").click()
    expect(work).to_contain_text("agent explore")
    expect(shown.get_by_role("group", name="Output")).to_contain_text("line 3")
    photograph(page, "task-done")
    assert "They are loaded in load.py" in notebook.kept(2, "The penguins")["text/markdown"]

"""The inspector's tab over its life: restored, linked to, compared, without its kernel, and over changed files."""

import re
import urllib.request

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    Lab,
    PageErrors,
    into_command_mode,
    open_notebook,
    photograph,
)
from tests.e2e.test_inspector import (
    INSPECT,
    OPEN_FILE,
    cursor,
    inspected,
    tab,
    unpacked,
)
from tests.e2e.test_panel import (
    RUN,
    at_rest,
    book,
    open_scripted_notebook,
    send,
)
from tests.recordings.formats.sample_files import sample as copied_sample
from tests.review.comparison.one_task import write_both
from tests.waiting import LAST_RESORT_SECONDS, eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ANSWERS = "calls('list', path='.'), says('One.'), says('Two.')"
SESSION = "window.jupyterapp.shell.currentWidget.content.model.arguments.session"
LINKED = """async source => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.model.sharedModel.insertCell(0, { cell_type: 'markdown', source });
  await window.jupyterapp.commands.execute('notebook:render-all-markdown');
}"""
BLOCKS = "import pathlib, time\nwhile not pathlib.Path({flag!r}).exists(): time.sleep(0.02)"
REHEARSED = "%env PALIMPSEST_REHEARSAL_DELAY=0\n%load_ext palimpsest"
OPENED = "[...window.jupyterapp.shell.widgets('main')].filter(one => !one.context).length"
"""Counts the inspectors of sessions in the main area; a notebook or file has a context."""


def strip(page: Page, *, at: str = "") -> Locator:
    """Return the strip above the views that says what is missing."""
    return tab(page).locator(f".plm-InspectorTab-notice{at}")


def kernel_of(page: Page, notebook: str) -> str:
    """Return the id of a notebook's kernel."""
    found: str = page.evaluate(
        """notebook => [...window.jupyterapp.shell.widgets('main')].find(
             one => one.context?.path === notebook
           ).sessionContext.session.kernel.id""",
        notebook,
    )
    return found


def ask_server(lab: Lab, what: str, method: str = "GET", body: bytes | None = None) -> bytes:
    """Ask JupyterLab's server as another page or program would."""
    request = urllib.request.Request(
        f"{lab.url}/{what}",
        data=body,
        method=method,
        headers={"Authorization": f"token {lab.token}"},
    )
    with urllib.request.urlopen(request, timeout=LAST_RESORT_SECONDS) as answer:
        data: bytes = answer.read()
    return data


@pytest.mark.usefixtures("own_page")
def test_it_comes_back_where_it_was_left_and_a_link_a_shortcut_and_a_comparison_lead_to_it(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    name = "tab-restored.ipynb"
    whole = f"{lab.url}/lab/workspaces/inspected/tree"
    lab_page = Lab(lab.url, lab.token, lab.folder)
    lab_page.page_of = lambda notebook: f"{whole}/{notebook}?token={lab.token}"  # type: ignore[method-assign]
    panel = open_scripted_notebook(page, lab_page, name, ANSWERS, "%agent fork")
    send(panel, "What is here?")
    at_rest(panel)
    send(panel, "And now?")
    at_rest(panel)
    into_command_mode(page)
    page.keyboard.press("Alt+Shift+I")
    views = inspected(page)
    session = page.evaluate(SESSION)
    cursor(views).press("Home")
    cursor(views).press("ArrowRight")
    views.get_by_role("tab", name="Requests").click()
    kept = "lab/api/workspaces/inspected"
    for part in (rb'"request":\s*1,', rb'"tab":\s*"requests"'):
        eventually(lambda part=part: re.search(part, ask_server(lab, kept)))

    page.goto(f"{lab.url}/lab/workspaces/inspected?token={lab.token}")
    views = inspected(page)
    expect(cursor(views)).to_have_attribute("aria-valuenow", "2")
    expect(views.get_by_role("tab", name="Requests")).to_have_attribute("aria-selected", "true")
    assert page.evaluate(SESSION) == session

    page.evaluate(OPEN_FILE, name)
    page.locator(".jp-Notebook:visible").wait_for()
    page.evaluate(LINKED, f"[the third](#palimpsest:{session}/3)")
    page.get_by_role("link", name="the third").click()
    expect(cursor(inspected(page))).to_have_attribute("aria-valuenow", "3")
    assert page.evaluate(OPENED) == 1
    cursor(inspected(page)).press("Alt+ArrowLeft")
    expect(cursor(inspected(page))).to_have_attribute("aria-valuenow", "2")
    cursor(inspected(page)).press("Alt+ArrowRight")
    expect(cursor(inspected(page))).to_have_attribute("aria-valuenow", "3")
    page.evaluate(INSPECT, {"session": session, "request": 8, "item": 9_999})
    expect(notice(page)).to_have_text(
        "There is no request 9: the last one is shown. There is no item 10,000."
    )
    cursor(inspected(page)).press("End")
    expect(notice(page)).to_have_text("There is no item 10,000.")

    page.evaluate(OPEN_FILE, name)
    page.locator(".jp-Notebook:visible").wait_for()
    page.evaluate(RUN, 2)
    into_command_mode(page)
    page.evaluate(INSPECT, {"session": session})
    inspected(page)
    page.evaluate("void window.jupyterapp.commands.execute('palimpsest:compare')")
    page.get_by_role("dialog").get_by_role("button", name="Compare", exact=True).click()
    views = inspected_both(page)
    expect(views.get_by_role("group", name="Where they part")).to_be_visible()
    assert page.evaluate(OPENED) == 1
    views.get_by_role("button", name="of the second").or_(
        views.get_by_role("button", name="inspect the second")
    ).click()
    expect(views.locator(".plm-Inspector-origin")).to_contain_text("the second of two")
    expect(cursor(inspected(page))).to_be_visible()
    assert seen.errors == []


def inspected_both(page: Page) -> Locator:
    """Return the views of the inspector in front, once they show two sessions."""
    views = tab(page).locator(".plm-Inspector")
    expect(views.get_by_role("tab", name="Two sessions")).to_have_attribute("aria-selected", "true")
    return views


def choose_in_browser(page: Page, *names: str) -> None:
    """Select files in the file browser, which is at the root, and open the menu of the last one."""
    rows = page.locator(".jp-DirListing-item")
    for number, name in enumerate(names):
        row = rows.filter(has_text=re.compile(rf"^{re.escape(name)}"))
        row.click(modifiers=["ControlOrMeta"] if number else [])
    rows.filter(has_text=re.compile(rf"^{re.escape(names[-1])}")).click(button="right")


def compare_in_menu(page: Page, label: str) -> None:
    """Choose a comparison in the open menu of the file browser."""
    page.locator(".lm-Menu").get_by_text(label, exact=True).click()


@pytest.mark.usefixtures("own_page")
def test_two_recorded_files_are_compared_from_the_file_browser_and_come_back(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    for path in write_both(lab.folder):
        path.rename(lab.folder / f"two-{path.name}")
    (lab.folder / "two-table.jsonl").write_text('{"a": 1}\n')
    place = f"{lab.url}/lab/workspaces/compared"
    page.goto(f"{place}?token={lab.token}")
    choose_in_browser(page, "two-mended.jsonl", "two-rewritten.jsonl")
    photograph(page, "inspector-two-menu")
    compare_in_menu(page, "Compare in the Inspector")

    views = inspected_both(page)
    parting = views.get_by_role("group", name="Where they part")
    expect(parting).to_contain_text("They do the same in 2 steps, and then part")
    photograph(page, "inspector-two")
    parting.get_by_role("button", name="of the second").click()
    expect(views.locator(".plm-Inspector-origin")).to_contain_text("the second of two")
    kept = "lab/api/workspaces/compared"
    eventually(lambda: re.search(rb'"side":\s*"second"', ask_server(lab, kept)))

    page.goto(f"{place}?token={lab.token}")
    expect(tab(page).locator(".plm-Inspector-origin")).to_contain_text("the second of two")
    expect(inspected(page).get_by_role("tab", name="Timeline")).to_have_attribute(
        "aria-selected", "true"
    )
    assert page.evaluate(OPENED) == 1

    # One that is selected is compared with another one that is asked for.
    choose_in_browser(page, "two-rewritten.jsonl")
    compare_in_menu(page, "Compare in the Inspector with…")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("combobox")).to_be_visible()
    names = dialog.locator("option").all_inner_texts()
    assert "two-mended.jsonl" in names, names
    assert "two-rewritten.jsonl" not in names, names
    dialog.get_by_role("combobox").select_option("Another recorded file…")
    dialog.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_role("dialog").get_by_role("textbox").fill("two-table.jsonl")
    page.get_by_role("dialog").get_by_role("button", name="Compare", exact=True).click()
    expect(strip(page)).to_contain_text("two-table.jsonl")
    expect(inspected(page).get_by_role("tab", name="Two sessions")).to_have_count(0)
    photograph(page, "inspector-two-failed")
    strip(page).get_by_role("button", name="Dismiss").click()
    expect(strip(page)).to_have_count(0)
    assert seen.errors == []


def notice(page: Page) -> Locator:
    """Return what the views say of themselves, such as that no newer ones could be read."""
    return tab(page).locator(".plm-Inspector-notice")


def answers_anew(sent: Locator, words: str) -> None:
    """Ask something that was not asked before, and wait for its answer."""
    find = sent.get_by_role("searchbox")
    find.fill(words)
    expect(sent.locator("mark").first).to_have_text(words, ignore_case=True)
    find.fill(f"no {words} such words")
    expect(sent).to_contain_text("0 blocks")


@pytest.mark.soak  # with each commit labextension/tests/inspector/fileWatch.test.ts watches; this adds JupyterLab's files
def test_a_file_that_grows_on_disk_is_read_again(page: Page, lab: Lab, seen: PageErrors) -> None:
    path = unpacked(lab, "claude_code/cc1df109.jsonl.xz", "grows.jsonl")
    whole = (lab.folder / path).read_text().splitlines(keepends=True)
    (lab.folder / path).write_text("".join(whole[: len(whole) * 3 // 4]))
    open_notebook(page, lab, book(lab, "beside-grows.ipynb", "1"))
    page.evaluate(OPEN_FILE, path)
    views = inspected(page)
    before = int(cursor(views).get_attribute("aria-valuemax") or "")
    cursor(views).press("Home")
    cursor(views).press("ArrowRight")
    expect(cursor(views)).to_have_attribute("aria-valuenow", "2")

    (lab.folder / path).write_text("".join(whole))

    expect(cursor(views)).not_to_have_attribute("aria-valuemax", str(before))
    expect(cursor(views)).to_have_attribute("aria-valuenow", "2")
    assert int(cursor(views).get_attribute("aria-valuemax") or "") > before
    expect(notice(page)).to_be_hidden()

    # What was read stays, and answers, while the file is empty or not there.
    (lab.folder / path).write_text("")
    expect(notice(page)).to_contain_text("is empty")
    (lab.folder / path).unlink()
    expect(notice(page)).to_have_text(
        re.compile(r"^There is no '\S+/grows\.jsonl'\. What is shown was read before\.$")
    )
    photograph(page, "inspector-file-gone")
    views.get_by_role("tab", name="Requests").click()
    answers_anew(views.get_by_role("group", name="The request as it is sent"), "the")
    (lab.folder / path).write_text("".join(whole[: len(whole) * 3 // 4]))
    expect(cursor(views)).to_have_attribute("aria-valuemax", str(before))
    expect(notice(page)).to_be_hidden()
    missing = "/api/contents/recordings/grows.jsonl"
    # The browser reports the one request that found it missing.
    assert len([error for error in seen.errors if missing in error]) <= 1
    assert [error for error in seen.errors if missing not in error] == []


@pytest.mark.soak  # with each commit tests/e2e/test_inspector.py opens them by other ways; this adds the launcher
def test_the_launcher_asks_which_session_or_recording(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    path = unpacked(lab, "claude_code/compaction_session.jsonl", "chosen.jsonl")
    (lab.folder / "recordings" / "table.jsonl").write_text('{"a": 1}\n')
    panel = open_scripted_notebook(page, lab, "tab-launcher.ipynb", ANSWERS)
    send(panel, "What is here?")
    at_rest(panel)
    page.evaluate(
        "void window.jupyterapp.commands.execute('launcher:create', { cwd: 'recordings' })"
    )
    card = page.locator(".jp-LauncherCard:visible", has_text="Inspect the Context")
    expect(card).to_be_visible()
    photograph(page, "inspector-launcher")
    card.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("combobox")).to_be_visible()
    names = dialog.locator("option").all_inner_texts()
    photograph(page, "inspector-launcher-asks")
    assert any("tab-launcher.ipynb" in name for name in names), names
    assert any(name.endswith("chosen.jsonl") for name in names), names
    assert not any(name.endswith("table.jsonl") for name in names), names
    dialog.get_by_role("combobox").select_option(path)
    dialog.get_by_role("button", name="Inspect", exact=True).click()
    inspected(page)
    assert seen.errors == []


def test_a_call_opens_the_subagent_that_it_started_and_leads_back(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    folder = lab.folder / "recordings"
    folder.mkdir(exist_ok=True)
    copied_sample("gemini_cli_subagent", folder)
    path = "recordings/gemini_cli_subagent/session-2026-11-26T19-07-5f0e7d1c.jsonl"
    open_notebook(page, lab, book(lab, "beside-subagent.ipynb", "1"))
    page.evaluate(INSPECT, {"path": path, "request": 1, "item": 2})
    views = inspected(page)
    title = views.get_by_role("heading", level=2)
    expect(title).not_to_have_text("")
    own_title = title.inner_text()
    photograph(page, "subagent-call")

    views.get_by_role("button", name="Open its inspector").click()

    expect(views.get_by_text("A subagent, with a window of its own.")).to_be_visible()
    expect(title).not_to_have_text(own_title)
    photograph(page, "subagent-opened")
    cursor(views).press("Home")
    expect(cursor(views)).to_have_attribute("aria-valuenow", "1")
    views.get_by_role("button", name="Back to the session that started it").click()
    expect(title).to_have_text(own_title)
    expect(views.get_by_text("A subagent, with a window of its own.")).to_have_count(0)
    views.get_by_role("tab", name="Requests").click()
    views.get_by_role("group", name="Subagents").get_by_role("button").first.click()
    expect(title).not_to_have_text(own_title)
    assert page.evaluate(OPENED) == 1
    views.get_by_role("button", name="Back to the session that started it").click()
    expect(title).to_have_text(own_title)
    expect(views.get_by_role("tab", name="Requests")).to_have_attribute("aria-selected", "true")
    cursor(views).press("Alt+ArrowLeft")
    expect(views.get_by_text("A subagent, with a window of its own.")).to_be_visible()
    assert seen.errors == []

"""The inspector's tab over kernels that are killed, and recorded files that come back with the page's layout."""

import json
import os
import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import READY, Lab, PageErrors, open_notebook, photograph
from tests.e2e.test_errors_and_retry import failing_kernel as failing_kernel
from tests.e2e.test_inspector import INSPECT, OPEN_FILE, cursor, inspected, unpacked
from tests.e2e.test_inspector_tab import OPENED, REHEARSED, answers_anew, ask_server, strip
from tests.e2e.test_panel import RUN, book
from tests.waiting import eventually

from palimpsest.server_extension import RECORDING_PATH

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PID = "import os, pathlib\n_ = pathlib.Path({file!r}).write_text(str(os.getpid()))"
AGAIN = "%agent -m rehearsal/rules Hello again."
RESTARTED = "has restarted: load the agent in it to go on from what is shown"


def inspected_session(page: Page, lab: Lab, name: str, **more: str) -> tuple[Locator, int]:
    """Open the inspector of a notebook's session; return its views and the id of the kernel's process."""
    file = f"{name}.pid"
    cells = (REHEARSED, PID.format(file=file), "%agent -m rehearsal/rules Hello.", AGAIN)
    open_notebook(page, lab, book(lab, name, *cells, **more))
    page.evaluate(READY)
    for number in range(3):
        page.evaluate(RUN, number)
    page.evaluate(INSPECT, {})
    return inspected(page), int((lab.folder / file).read_text())


def says_and_keeps(page: Page, views: Locator, name: str, happened: str) -> None:
    """Hold the tab to what it says and shows while its kernel is gone."""
    expect(strip(page)).to_have_text(
        re.compile(rf"^The kernel of {re.escape(name)} {happened}\.\S")
    )
    expect(cursor(views)).to_be_visible()
    expect(views.get_by_role("img").or_(views.locator("canvas")).first).to_be_visible()
    for view in ("Items", "Requests", "Cost", "Wastes", "Timeline"):
        views.get_by_role("tab", name=view, exact=True).click()
        expect(views.get_by_role("tab", name=view, exact=True)).to_have_attribute(
            "aria-selected", "true"
        )
        expect(views.get_by_role("tabpanel")).not_to_be_empty()


@pytest.mark.soak  # with each commit labextension/tests/inspector/kernelSource.test.ts has a kernel that was started anew; this adds one that is killed
@pytest.mark.usefixtures("own_page")
def test_a_killed_kernel_that_jupyter_restarts_is_told_of_and_gone_on_with(
    page: Page, lab: Lab
) -> None:
    name = "tab-killed.ipynb"
    views, kernel = inspected_session(page, lab, name)
    shown = cursor(views).get_attribute("aria-valuetext") or ""
    closes_dialogs(page)

    os.kill(kernel, signal.SIGKILL)

    says_and_keeps(page, views, name, RESTARTED)
    photograph(page, "inspector-killed")
    expect(cursor(views)).to_have_attribute("aria-valuetext", shown)
    strip(page).get_by_role("button", name="Load it").click()
    expect(strip(page)).to_have_count(0)
    goes_on(page, views, name)


@pytest.mark.soak  # with each commit labextension/tests/inspector/kernelSource.test.ts has one that ended and is there again; this adds one that is killed
@pytest.mark.usefixtures("own_page")
def test_a_killed_kernel_that_cannot_be_restarted_is_told_of_and_started_again(
    page: Page, lab: Lab, failing_kernel: Path
) -> None:
    name = "tab-dead.ipynb"
    views, kernel = inspected_session(page, lab, name, kernel="mortal")
    shown = cursor(views).get_attribute("aria-valuetext") or ""
    closes_dialogs(page)

    failing_kernel.touch()
    os.kill(kernel, signal.SIGKILL)

    says_and_keeps(page, views, name, "has ended: start it again to go on from what is shown")
    photograph(page, "inspector-dead")
    expect(cursor(views)).to_have_attribute("aria-valuetext", shown)
    failing_kernel.unlink()
    strip(page).get_by_role("button", name="Start it again").click()
    strip(page).get_by_role("button", name="Load it").click()
    expect(strip(page)).to_have_count(0)
    goes_on(page, views, name)


def closes_dialogs(page: Page) -> None:
    """Close JupyterLab's own dialogs about a kernel that died, of which there may be one for each attempt."""
    page.add_locator_handler(
        page.locator(".jp-Dialog").first,
        lambda dialog: dialog.get_by_role("button").last.click(),
        no_wait_after=True,  # of two dialogs on top of each other one remains
    )


def goes_on(page: Page, views: Locator, name: str) -> None:
    """Ask something new of the session, and have the tab follow the next turn."""
    views.get_by_role("tab", name="Requests").click()
    sent = views.get_by_role("group", name="The request as it is sent")
    expect(sent.locator(".plm-RequestViewer-block").first).to_be_visible()
    answers_anew(sent, "Hello")
    views.get_by_role("tab", name="Timeline").click()
    expect(views.locator(".plm-Track-figures")).to_have_count(2)
    before = int(cursor(views).get_attribute("aria-valuemax") or "")
    page.evaluate(OPEN_FILE, name)
    page.locator(".jp-Notebook:visible").wait_for()
    page.evaluate(RUN, 3)
    page.evaluate(INSPECT, {})
    expect(cursor(views)).to_have_attribute("aria-valuemax", str(before + 1))


@pytest.mark.soak  # with each commit labextension/tests/inspector/recordingKernel.test.ts has one that was restarted; this adds one that is killed
@pytest.mark.usefixtures("own_page")
def test_the_killed_kernel_of_a_recorded_file_is_told_of_and_started_again(
    page: Page, lab: Lab
) -> None:
    path = unpacked(lab, "claude_code/compaction_session.jsonl", "killed.jsonl")
    open_notebook(page, lab, book(lab, "beside-killed.ipynb", "1"))
    page.evaluate(OPEN_FILE, path)
    views = inspected(page)
    shown = cursor(views).get_attribute("aria-valuetext") or ""
    (kernel,) = kernels_of(lab, path)

    os.kill(process_of(kernel), signal.SIGKILL)

    says_and_keeps(page, views, "killed.jsonl", RESTARTED)
    expect(cursor(views)).to_have_attribute("aria-valuetext", shown)
    strip(page).get_by_role("button", name="Load it").click()
    expect(strip(page)).to_have_count(0)
    views.get_by_role("tab", name="Requests").click()
    find = views.get_by_role("group", name="The request as it is sent").get_by_role("searchbox")
    find.fill("no such words at all")
    expect(views).to_contain_text("0 blocks")
    (again,) = kernels_of(lab, path)
    assert again != kernel


def kernels_of(lab: Lab, path: str) -> list[str]:
    """Return the ids of the kernels that read a recorded file for an inspector."""
    listed = json.loads(ask_server(lab, "api/sessions"))
    return [
        session["kernel"]["id"]
        for session in listed
        if (named := RECORDING_PATH.fullmatch(session["path"])) and named["file"] == path
    ]


def process_of(kernel: str) -> int:
    """Return the id of a kernel's process, by the name of its connection file."""
    (found,) = [
        int(path.name)
        for path in Path("/proc").iterdir()
        if path.name.isdigit() and is_kernel(path, kernel)
    ]
    return found


def is_kernel(process: Path, kernel: str) -> bool:
    """Return whether a process was started with a kernel's connection file."""
    try:
        return f"kernel-{kernel}".encode() in (process / "cmdline").read_bytes()
    except OSError:
        return False


@pytest.mark.soak  # with each commit tests/e2e/test_inspector_tab.py has a session that comes back; this adds recorded files
@pytest.mark.usefixtures("own_page")
def test_recorded_files_come_back_with_the_layout_where_they_were_left(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    lines = unpacked(lab, "claude_code/compaction_session.jsonl", "back.jsonl")
    other = unpacked(lab, "marshmallow-1867.traj.xz", "back.traj")
    space = "recorded"
    page.goto(f"{lab.url}/lab/workspaces/{space}?token={lab.token}&reset")
    page.wait_for_function("window.jupyterapp?.shell.currentWidget")
    for path in (other, lines):
        page.evaluate(OPEN_FILE, path)
        views = inspected(page)
        cursor(views).press("Home")
        cursor(views).press("ArrowRight")
        expect(cursor(views)).to_have_attribute("aria-valuenow", "2")
    views.get_by_role("tab", name="Requests").click()
    for path in (lines, other):
        place = rb'"path":\s*"%b"[^}]*"request":\s*1' % re.escape(path).encode()
        eventually(lambda place=place: re.search(place, kept(lab, space)))
    eventually(lambda: re.search(rb'"tab":\s*"requests"', kept(lab, space)))

    page.goto(f"{lab.url}/lab/workspaces/{space}?token={lab.token}")

    views = inspected(page)
    expect(cursor(views)).to_have_attribute("aria-valuenow", "2")
    expect(views.get_by_role("tab", name="Requests")).to_have_attribute("aria-selected", "true")
    assert page.evaluate(CURRENT) == lines
    photograph(page, "inspector-recording-restored")
    page.evaluate(OPEN_FILE, other)
    page.wait_for_function(f"path => {CURRENT} === path", arg=other)
    expect(cursor(inspected(page))).to_have_attribute("aria-valuenow", "2")
    # A double click shows the one that came back, and no second inspector beside it.
    page.evaluate(OPEN_FILE, lines)
    page.wait_for_function(f"path => {CURRENT} === path", arg=lines)
    assert page.evaluate(DOCUMENTS) == sorted([lines, other])
    assert page.evaluate(OPENED) == page.evaluate(LAUNCHERS)
    # The kernels of the page that went have ended with it.
    eventually(lambda: [len(kernels_of(lab, path)) for path in (lines, other)] == [1, 1])
    assert seen.errors == []


CURRENT = "window.jupyterapp.shell.currentWidget.context?.path"
DOCUMENTS = """[...window.jupyterapp.shell.widgets('main')]
  .flatMap(one => one.context?.path ?? []).sort()"""
LAUNCHERS = """[...window.jupyterapp.shell.widgets('main')]
  .filter(one => one.node.querySelector('.jp-Launcher')).length"""


def kept(lab: Lab, space: str) -> bytes:
    """Return what the server keeps of a workspace's layout."""
    return ask_server(lab, f"lab/api/workspaces/{space}")

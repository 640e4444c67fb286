"""A panel that opens at start, with a kernel that has not loaded the package: no messages about us in the server's log."""

import json
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import READY, Lab, PageErrors, open_notebook
from tests.e2e.test_panel import RUN, book, open_panel
from tests.sample_size import SOAKING

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

BARE = """import sys
sys.modules['palimpsest'] = None
from ipykernel.kernelapp import launch_new_instance
launch_new_instance()"""
"""Starts a kernel in which the package cannot be imported."""
OURS = ("palimpsest_", "registered: palimpsest", "UNKNOWN CONTROL", "comm_info")
"""What a kernel logs about requests or comms of ours that it does not know."""


def kernels(lab: Lab) -> str:
    """Install a kernel spec without our package; return its name."""
    folder = lab.folder.parent / "share" / "kernels" / "without"
    folder.mkdir(parents=True, exist_ok=True)
    spec = {
        "argv": [sys.executable, "-c", BARE, "-f", "{connection_file}"],
        "display_name": "without",
        "language": "python",
    }
    (folder / "kernel.json").write_text(json.dumps(spec))
    return "without"


@pytest.fixture
def opens_at_start(lab: Lab) -> Iterator[None]:
    """The setting by which the panel opens with the page."""
    folder = lab.folder.parent / "config" / "lab" / "user-settings" / "jupyter-palimpsest"
    folder.mkdir(parents=True, exist_ok=True)
    setting = folder / "panel.jupyterlab-settings"
    setting.write_text('{"openAtStart": true}')
    yield
    setting.unlink(missing_ok=True)


@pytest.mark.parametrize(
    "has_package",
    [True, pytest.param(False, marks=pytest.mark.soak)],
    ids=["not-loaded", "not-installed"],
)
@pytest.mark.usefixtures("own_page", "opens_at_start")
def test_the_panel_opens_at_start_where_a_person_set_so_and_the_server_says_nothing_of_us(
    page: Page, lab: Lab, seen: PageErrors, *, has_package: bool
) -> None:
    kernel = "python3" if has_package else kernels(lab)
    log = lab.folder.parent / "server.log"
    begins = len(log.read_text())
    name = book(lab, f"not-loaded-{kernel}.ipynb", "6 * 7", kernel=kernel)
    open_notebook(page, lab, name)
    page.evaluate(READY)
    panel = page.locator("#jupyter-palimpsest-panel")
    expect(panel.get_by_text(f"is not loaded in the kernel of {name}")).to_be_visible()
    page.evaluate(RUN, 0)
    if SOAKING:  # a page that was reloaded, a second one and a restart bring the same requests
        page.goto("about:blank")
        open_notebook(page, lab, name)
        page.evaluate(READY)
        panel = open_panel(page)
        expect(panel.get_by_text("is not loaded in the kernel")).to_be_visible()
        second = page.context.new_page()
        open_notebook(second, lab, name)
        second.evaluate(READY)
        second.close()
        page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
        page.evaluate(READY)
        expect(panel.get_by_text("is not loaded in the kernel")).to_be_visible()
        page.evaluate(RUN, 0)
    expect(page.locator(".jp-OutputArea-output", has_text="42")).to_be_visible()

    said = log.read_text()[begins:].splitlines()
    assert [line for line in said if any(words in line for words in OURS)] == []
    # A kernel without ipywidgets closes the comm that JupyterLab's own widgets open.
    assert [error for error in seen.errors if "Comm not found" not in error] == []

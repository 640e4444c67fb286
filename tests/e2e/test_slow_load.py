"""When a load that took long ends, the panel and the buttons under an error are there, and nothing says "not loaded"."""

import os

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import (
    READY,
    ROOT,
    Lab,
    PageErrors,
    open_notebook,
    record,
    recorded,
)
from tests.e2e.test_fix_error import FIX
from tests.e2e.test_panel import RUN, book, composer, open_panel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

HELD = f"""import sys
sys.path.insert(0, {str(ROOT)!r})
from palimpsest import ipython_extension
from palimpsest.model.script import says
from tests.frontends.foreign_logs import app_builder
build = app_builder(says('Here I am.'))
def held(*given):
    open({{gate!r}}).read()
    return build(*given)
ipython_extension.load_ipython_extension(get_ipython(), held)"""
"""Loads the extension, which waits in the loading thread until the test opens the gate."""


@pytest.mark.soak  # with each commit labextension/tests/kernel/kernelLink.test.ts waits for a load; this adds a kernel that loads slowly
@pytest.mark.usefixtures("own_page")
def test_the_panel_is_there_as_soon_as_the_load_ends(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    gate = lab.folder / "load.gate"
    os.mkfifo(gate)
    name = book(lab, "slow-load.ipynb", HELD.format(gate=str(gate)), "1 / 0")
    open_notebook(page, lab, name)
    page.evaluate(READY)
    panel = open_panel(page)
    expect(panel.get_by_text("is not loaded in the kernel")).to_be_visible()
    page.evaluate(RUN, 0)
    page.evaluate(RUN, 1)
    expect(panel.get_by_text("Loading Palimpsest in the kernel")).to_be_visible()
    error = page.locator(".jp-Notebook .jp-CodeCell").nth(1)
    expect(error).to_contain_text("ZeroDivisionError")
    record(page, "#jupyter-palimpsest-panel")

    gate.open("w").close()
    expect(composer(panel)).to_be_visible()
    expect(error.get_by_role("button", name=FIX)).to_be_visible()
    assert [told for told in recorded(page) if "is not loaded" in told] == []
    gate.unlink()
    assert seen.errors == []
